/* From samples to meaning: derived values, Real Utilization, the class, health. Pure, no I/O. */
#pragma once

#include "base/err.h"
#include "model/frame.h"

struct weights {
        double sm, tensor, dram, gr; /* sum 1 */
};

enum weights_preset { WEIGHTS_AI, WEIGHTS_HPC, WEIGHTS_MEM };

struct weights weights_preset(enum weights_preset preset);
/* "SM,TENSOR,DRAM,GR": four numbers of 0 or more, not all 0; made to sum 1. */
int weights_parse(const char *text, struct weights *ret, struct err *err);

struct compute_options {
        struct weights weights;
        bool missing_is_zero; /* count a missing counter as 0, as older tools do */
        bool margins;         /* also find the nearest other class; costs some microseconds a row */
};

/* What has to be remembered of an entity from tick to tick. */
struct memory_of {
        bool seen;
        int64_t mono_ns;
        struct value replay;
        struct value ecc_dbe;
        bool ecc_rose;
};

struct compute {
        struct compute_options options;
        struct memory_of *memory; /* by entity slot */
        size_t n;
};

void compute_init(struct compute *c, const struct compute_options *options);
void compute_finish(struct compute *c);
/*
 * Fills the derived metrics, verdict and health of a row whose sample is translated. whole is what
 * is known of the GPU that a slice is a part of, and may be NULL: a slice moves no more data than
 * its GPU. 0 or -ENOMEM.
 */
int compute_row(struct compute *c, int64_t mono_ns, const struct sample *whole, struct row *row);

/* The parts, for tests and for other callers. */
struct value real_util(const struct sample *s, const struct compute_options *options);
struct verdict classify(const struct sample *s, const struct compute_options *options);
/* Both at once. */
struct verdict assess(const struct sample *s, const struct sample *whole,
                      const struct compute_options *options, struct value *ret_real_util);
struct health health_of(const struct sample *s, bool ecc_rose,
                        const struct compute_options *options);
