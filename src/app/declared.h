/* Types of FLOP that the user or the program has declared: for the run, and for phases. */
#pragma once

#include "app/input.h"
#include "base/strbuf.h"
#include "compute/stretches.h"
#include "compute/summary.h"
#include "config/config.h"

/* All zeros to begin with. */
struct declared {
        bool has_run;        /* for all of it, by --flops or an event */
        enum flops_type run; /* which */
        uint8_t *phases; /* enum flops_type of each phase, FLOPS_COUNT for none; NULL for none */
};

/*
 * --flops names the type of all work. Else marks do: an event with the key flops that of the run, a
 * phase that of its time, and of the phases inside it that name none. 0 or -ENOMEM; what
 * contradicts itself is reported in the notices and left out.
 */
int declared_take(const struct config *config, const struct input *in, struct declared *ret,
                  struct strbuf *notices);
void declared_finish(struct declared *d);
/* What is to be counted from the first frame on. Stretches borrow it. */
void declared_use(const struct declared *d, struct stretches *stretches, struct summary *summary);
/* FLOP/s of the run and of its phases, once all frames were added. */
void declared_report(const struct declared *d, struct summary *s, struct strbuf *notices);
