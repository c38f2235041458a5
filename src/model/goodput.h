/* Where the time of a run, or of a job's runs one after the other, went: parts that add up to it.
 */
#pragma once

#include "model/phase.h"

#include <stdbool.h>

enum goodput {
#define GOODPUT(id, name, words, help) GOODPUT_##id,
#include "model/goodput.def"
#undef GOODPUT
        GOODPUT_COUNT
};

struct goodput_info {
        const char *name, *words, *help;
};

const struct goodput_info *goodput_info(enum goodput part);
/* What a phase's time counts as, by the words of its name: GOODPUT_EVALUATION or _CHECKPOINT; else
 * GOODPUT_COUNT. */
enum goodput goodput_of_phase(const char *name);

/* One run. */
struct ledger {
        char file[256], ended[64]; /* ended: "exit status 1", …; empty: as it should */
        int64_t begin_ns, end_ns;
        double seconds[GOODPUT_COUNT]; /* their sum is its length */
        size_t n_steps, n_lost;
        size_t n_repeated; /* steps that an earlier run had done and lost */
        bool has_steps, has_waiting, has_checkpoints, is_failed;
};

/* Runs in order of their beginning, and all of them. */
struct goodput_list {
        struct ledger *list; /* owned */
        size_t n, cap;
        struct ledger all;
        size_t n_ranks; /* recordings of the same time, of which the first is taken */
};

void goodput_list_finish(struct goodput_list *l);
