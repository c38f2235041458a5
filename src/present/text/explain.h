/* Verdicts in words: the rule, its inputs, the nearest other class, what is missing. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

/* "tensor-heavy compute: tensor >= 50 and sm >= 60 (tensor_active 87 %, …)". No newline. */
void explain_verdict(const struct row *row, struct strbuf *out);
/* The class in one or two words; "asleep" for a GPU that the kernel has suspended. */
const char *explain_class(const struct row *row);
/* The same in that many columns: its brief form where the words do not fit; "" where neither does.
 */
const char *explain_class_brief(const struct row *row, size_t columns);
/* "WARN: PCIe packets are being sent again (2.00 /s)"; nothing when OK. No newline. */
/* A ceiling with its unit: "93 %", "58.4 GB/s", "1.0". */
void explain_ceiling(enum ceiling at, double v, struct strbuf *out);
/* "copies over the link, or the kernels; …": what an unknown limiter without counters may be. False
 * where there is nothing to say. */
bool explain_candidates(const struct limit *l, struct strbuf *out);
/* What limits it, as every surface says it: "limited by the tensor cores, clocks held by the power
 * limit", "idle, no program uses it", "limiter unknown". */
#define EXPLAIN_LIMIT_MAX 160
void explain_limit_words(const struct limit *l, char buf[EXPLAIN_LIMIT_MAX]);
/* The same, and what is missing for an unknown one. */
void explain_limiter(const struct row *row, struct strbuf *out);
/* The same with its evidence: ": engine 99 %, …". */
void explain_limit(const struct row *row, struct strbuf *out);
void explain_health(const struct row *row, struct strbuf *out);
