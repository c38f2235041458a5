/*
 * PSS and USS on a budget. The kernel walks a process's page tables for them, which costs time in
 * proportion to its memory and can hold the process up; so a thread of its own reads smaps_rollup,
 * oldest first, and uses no more than PSS_BUDGET of one core. Ticks never wait for it. The process
 * cannot map memory during the walk, so one whose walk takes longer than PSS_WALK_MAX_NS is left
 * alone: its PSS stays missing, or grows old.
 */
#pragma once

#include "read/host/scanner.h"

#define PSS_BUDGET 0.02
/* Where only the sums of levels need it, it may be older, and costs this at most once all are
 * measured: who neither grows nor shrinks, among the same others, is measured once a minute. */
#define PSS_BUDGET_UNASKED 0.005
#define PSS_WALK_MAX_NS 50000000

struct pss;

/* Starts the thread. root is borrowed; asked: the user wants it. 0 or a negative errno. */
int pss_open(int root, bool asked, struct pss **ret);
void pss_close(struct pss *p);
/*
 * Takes in what was measured and asks for more: of processes that belong to the levels, the
 * target's tree first, those never measured and the largest first. Called once a tick, after the
 * scan.
 */
void pss_tick(struct pss *p, struct scanner *scanner, unsigned levels, int64_t mono_ns);
