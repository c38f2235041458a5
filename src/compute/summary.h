/* From frames to a summary: means, percentiles, time per class, tags. */
#pragma once

#include "base/err.h"
#include "model/naming.h"
#include "model/summary.h"

#define SUMMARY_UNUSED 0.05 /* at most this much utilization is none */

struct tag_thresholds {
        double cpu, memory, gpu_util, gpu_memory; /* ratios */
};

/* The phases, sorted by their beginning, are borrowed. 0 or -ENOMEM. */
int summary_init(struct summary *s, const struct phase *phases, size_t n, bool only_phases);
void summary_finish(struct summary *s);
/* 0 or -ENOMEM. */
int summary_add(struct summary *s, const struct frame *frame);
/* FLOP/s of each GPU in a scope, if all its work was of the type; FLOPS_COUNT: nothing is reported.
 */
void summary_count_flops(struct scope *scope, enum flops_type type);
/* Whether the frame added last is part of the whole: all are, unless only phases count. */
bool summary_holds(const struct summary *s);
/* What the host says of a level, always the same one. */
void summary_add_level(struct summary *s, const struct host *host, enum level level);
/* The same for one scope alone. */
void level_summary_add(struct level_summary *l, const struct host *host, enum level level);

/* Gives each GPU the name that distinguishes it from the others of the run, after the last frame;
 * ret is for what else is reported them. */
/* Says of each GPU and phase what limited it, once the run is cut into stretches. */
void summary_limit(struct summary *s);
void summary_name_gpus(struct summary *s, struct naming *ret);
/* Takes the lengths of phases again, when ends were not known at the start. */
void summary_time_phases(struct summary *s);
/* What an energy counter has not reported yet is taken from the power. */
void summary_settle_energy(struct summary *s);
/* Decides tags. Once, after the last frame. */
void summary_set_tags(struct summary *s, const struct tag_thresholds *thresholds);
