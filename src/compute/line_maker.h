/* Makes a profile of lines of the samples of a run: pure, in bounded memory. */
#pragma once

#include "base/lookup.h"
#include "model/line_profile.h"
#include "model/stack_log.h"

#define MAKER_BLOCKS 16 /* pieces of equal length, of whose differences the errors come */
#define MAKER_ENTRIES_MAX 16384

struct maker_entry {
        uint32_t own, inner; /* frames; inner: the one with most of the time */
        bool of_workers;
        uint64_t n_samples;
        double inner_s, seconds, blocks[MAKER_BLOCKS];
};

/* All zeros to begin with. */
struct line_maker {
        struct maker_entry *entries;
        size_t n, cap;
        struct lookup by_line;
        uint64_t n_samples;
        double seconds, blocks[MAKER_BLOCKS]; /* of main threads */
};

/* A sample of a holder's main thread, or of a worker that runs. block: in which piece of the time,
 * below MAKER_BLOCKS. 0 or -ENOMEM. */
int line_maker_add(struct line_maker *m, const struct stack_table *table,
                   const struct stack_count *c, bool of_workers, size_t block);
/* What was seen, empty where that is too little. Finishes the maker. 0 or -ENOMEM. */
int line_maker_end(struct line_maker *m, const struct stack_table *table, struct line_profile *ret);
