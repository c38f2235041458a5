/*
 * Keeps the books on a thread of its own: who holds which GPU, what happened, and one record a
 * stay. A disk or a kubelet that hangs delays the books and nothing else.
 */
#pragma once

#include "read/owners/owners.h"
#include "serve/journal.h"
#include "serve/records.h"

struct keeper_config {
        struct live *live;
        struct journal *journal;
        struct owners_config owners;
        const char *records; /* the file; NULL: none are kept */
        int64_t keep_ns;     /* how long */
};

struct keeper;

/* Borrowed: live and journal, which must outlive it. A file that cannot be used is reported in
 * notice. */
int keeper_open(const struct keeper_config *config, struct keeper **ret, char *notice, size_t size,
                struct err *err);
/* Writes what is open. NULL is allowed. */
void keeper_close(struct keeper *k);

/* Idleness, judged on the last ten minutes; time that nobody saw is in nothing. */
#define IDLE_BUCKETS 10
#define IDLE_BUCKET_S 60

struct idle_window {
        double seen[IDLE_BUCKETS], idle[IDLE_BUCKETS];
        double open[IDLE_BUCKETS][IDLE_REASON_COUNT]; /* idle, and not yet reported as wasted */
        int64_t newest;                               /* number of the newest bucket */
};

/*
 * Adds seconds that were seen and idle, by reason, up to a time. ret gets the seconds that are
 * wasted: those of the window when it becomes idle, then those that are added while it stays so;
 * each second once. Returns their sum.
 */
double idle_window_add(struct idle_window *w, int64_t now_s, double seen,
                       const double idle[IDLE_REASON_COUNT], double ret[IDLE_REASON_COUNT]);
