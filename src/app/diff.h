/* Two sides of recordings, compared: the same for `assay diff` and the library. */
#pragma once

#include "app/summarise.h"
#include "compute/diff/diff.h"

/* All zeros to begin with, except for the callback. */
struct run_diff {
        struct diff_side base, now;
        struct traces traces[2]; /* of the first run of each side */
        struct diff result;
        unsigned allow;
        struct diff_gate gates[DIFF_GATE_COUNT];
        size_t n_gates;
        struct strbuf notices;
        void (*on_tick)(void *arg); /* may be NULL */
        void *arg;
};

/* "time=5%,energy=10%,memory=2GiB". 0 or ERR_USAGE. */
int run_diff_gates(struct run_diff *r, const char *text, struct err *err);
/* "gpus,model": what must not forbid a verdict. 0 or ERR_USAGE. */
int run_diff_allow(struct run_diff *r, const char *text, struct err *err);
/*
 * Reads the files of a side, which are repeats of one run: sessions, captures, or folders
 * with the sessions of a job's ranks. 0, or a negative code with err.
 */
int run_diff_read(struct run_diff *r, const struct config *config, bool is_new,
                  const char *const *paths, size_t n, struct err *err);
/* When both sides are read. */
void run_diff_compare(struct run_diff *r);
/* format: text, json, markdown, html or junit. */
int run_diff_write(const struct run_diff *r, const char *format, struct strbuf *out,
                   struct err *err);
void run_diff_finish(struct run_diff *r);
