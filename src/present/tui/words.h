/* What a row says of itself in a few words: limiter, clock, memory, temperatures. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"
#include "model/recent.h"

#include <stddef.h>

#define WORDS_MAX 96
/* "limited by the tensor cores, clocks held by the power limit", shorter where w columns are too
 * few for that; of an idle GPU what it is. */
void words_limit(char *buf, size_t size, const struct row *row, int w);
/* The ink of a limiter: by what has to move. */
uint8_t words_limiter_ink(enum limiter limiter);
/* Whether something other than idling and settings holds the clock down. */
bool words_is_throttled(const struct row *row);
/* "clock 1515 of 1980 MHz, power limit". */
void words_clock(char *buf, size_t size, const struct row *row);
/* "memory 95.0 of 140 GiB". */
void words_memory(char *buf, size_t size, const struct row *row);
/* "power 691 of 700 W". */
void words_power(char *buf, size_t size, const struct row *row);
/* "GPU 60°, memory 50°". */
void words_heat(char *buf, size_t size, const struct row *row);
/* "PCIe in 59.4 GB/s, out 3.5 GB/s". */
void words_link(char *buf, size_t size, const char *name, struct value in, struct value out);

/* What the GPU of a row was in the last half minute. False when nothing is known of that. */
struct ui_data;
bool words_recent(const struct ui_data *d, const struct row *row, struct recent *ret);
/* "starved 60 % of the last 30 s: the input pipeline"; "" when there is nothing to report. */
/* What a limiter was decided from, in words: ": engine 0.0 %, its program 0.4 cores". */
void words_evidence(struct strbuf *out, const struct row *row);
/* A name of files in words, "PCIe in" for "pcie_rx", where these take at most w columns. */
void words_name(char *buf, size_t size, const char *name, int w);
void words_metric(char *buf, size_t size, enum metric metric, int w);
void words_trouble(char *buf, size_t size, const struct recent *r);
