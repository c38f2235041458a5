/*
 * Prometheus text exposition, as dcgm-exporter writes it, turned into readings. Fed line by line;
 * no I/O. What lines have in common (metric names, label blocks, entities) is learnt once and known
 * again by comparing bytes, so a steady stream allocates nothing.
 */
#pragma once

#include "model/reading.h"

#define EXPOSITION_FIELDS_MAX 256 /* metrics and labels that somebody wants */
#define EXPOSITION_ENTITIES_MAX 16384
#define EXPOSITION_BLOCKS_MAX 65536 /* different label blocks */

struct exposition;

/* wanted: whether a metric or label means anything; NULL for all. 0 or -ENOMEM. */
int exposition_open(bool (*wanted)(enum dialect dialect, const char *field, size_t len),
                    struct exposition **ret);
void exposition_close(struct exposition *x);

/* Starts a round: one scrape. */
void exposition_begin(struct exposition *x);

enum exposition_line {
        EXPOSITION_SKIPPED, /* a comment, a metric nobody wants, nothing about a GPU */
        EXPOSITION_SAMPLE,
        EXPOSITION_BAD,     /* it cannot be understood */
        EXPOSITION_REPEATS, /* that series has its value in this round: a new scrape begins here */
        EXPOSITION_FULL,    /* beyond what is kept, or memory is short */
};

/* One line without its end of line. EXPOSITION_REPEATS leaves everything as it was. */
enum exposition_line exposition_line(struct exposition *x, const char *s, size_t len);

/* Entities seen in this round. */
size_t exposition_entities(const struct exposition *x);
/* Differs when any value, label or time of the round does. */
uint64_t exposition_digest(const struct exposition *x);
/* The newest time that a sample of this round carries; false when none does. */
bool exposition_time(const struct exposition *x, int64_t *ret_wall_ns);

/*
 * Hands out the round, valid until the next one begins; when it has nothing about a GPU, the one
 * given before once more. Only schema, readings and n are filled.
 */
void exposition_give(struct exposition *x, struct batch *ret);
/* Marks every number that was given last as that old. */
void exposition_set_age(struct exposition *x, enum state state, uint32_t age_ms);
