/* Stacks of a recording in the formats of other tools. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_sum.h"

/* The parts of the sums are pieces of time of equal length. */
struct stack_export {
        const struct stack_log *log;
        const struct stack_sums *sums; /* sorted */
        const char *name;              /* of the recording */
        double begin_s, piece_s;       /* since its start; the length of a part */
};

/*
 * Folded lines, as flamegraph.pl reads them: "python train.py (4711);main;main (train.py:88) 1520",
 * a thread's frames from its outermost one and milliseconds, of all pieces together. A thread that
 * does not run ends in "[waiting in futex]".
 */
void stack_export_folded(const struct stack_export *e, struct strbuf *out);
/* A file of speedscope's: a sampled profile a thread, in seconds; pieces in their order. */
void stack_export_speedscope(const struct stack_export *e, const char *version, struct strbuf *out);
