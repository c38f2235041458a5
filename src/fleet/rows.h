/* From series to rows of tables: their owners, and the sums. */
#pragma once

#include "base/lookup.h"
#include "fleet/answer.h"
#include "model/fleet.h"
#include "model/integral.h"

/* What is known of an owner, a job, a node, a GPU or a limiter. */
struct fleet_sum {
        char *key;                    /* owned */
        struct answer_series labels;  /* of the first series, kept */
        struct value held;            /* in a limiter's sum: the time that it limited */
        struct value idle_unobserved; /* seen without counters: it was idle */
        struct value observed, real, gpus, up, owned, known;
        double wasted[IDLE_REASON_COUNT];
        bool has_wasted;
};

struct fleet_sums {
        struct fleet_sum *list;
        size_t n, cap;
        struct lookup places; /* by key */
};

void sums_finish(struct fleet_sums *s);
enum sum_by { SUM_BY_OWNER, SUM_BY_JOB, SUM_BY_NODE, SUM_BY_GPU, SUM_BY_UUID, SUM_BY_LIMITER };
/* Adds each series' number to one of the values of its sum; field is where that lies. */
void sums_add(struct fleet_sums *s, const struct answer *a, enum sum_by by, size_t field);
#define SUM_FIELD(name) offsetof(struct fleet_sum, name)
/* Adds what was wasted, by the label reason. */
void sums_add_wasted(struct fleet_sums *s, const struct answer *a, enum sum_by by);

/*
 * Waste is known ten minutes after it began: at the begin of a window some of it is of before. No
 * more counts than was held in the window; reasons keep their proportions.
 */
void sums_bound_wasted(struct fleet_sums *s);

/* The time of which is known what the GPU did: counters were present, or it was idle. */
struct value sum_seen(const struct fleet_sum *s);
double sum_wasted(const struct fleet_sum *s);
/* What was wasted, missing where nothing is known of the owner. */
struct value sum_wasted_value(const struct fleet_sum *s);
/* The time of which is known that work was done; and that of which nothing is known. These and what
 * was wasted add up to what was held, and are missing where that is. */
struct value sum_worked(const struct fleet_sum *s);
struct value sum_unseen(const struct fleet_sum *s);
/* The reason that most was wasted for; "" for none. */
const char *sum_reason(const struct fleet_sum *s);
/* a of b, at most 1; missing when either is or b is 0. */
struct value ratio_of(struct value a, struct value b);
/* Adds b to a; missing ones add nothing. */
void value_add(struct value *a, struct value b);
/* The user, or where there is none the namespace. */
const char *owner_name_of(const struct answer_series *s);
/* Whether a series is of this job. */
bool sums_is_job(const struct fleet_sum *job, const struct answer_series *s);
/* "4711", "namespace/pod". */
void job_name_of(const struct answer_series *s, char *ret, size_t size);
