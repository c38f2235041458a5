/* A recorded run, whatever wrote it: a session, a capture, a monitor's folder or zip. */
#pragma once

#include "formats/hwmon/hwmon.h"
#include "formats/notebook/notebook.h"
#include "session/facts.h"
#include "session/phases.h"

struct input {
        const char *path;
        char gpus[4200];      /* the file that has the frames, for setup_open; empty for none */
        char gpus_else[4200]; /* the fallback when that has none; empty for none */
        bool lenient;         /* files of GPUs without one usable row are left out */
        bool is_log;          /* a run log: marks alone */
        struct run_facts facts;
        struct session_reader *session; /* NULL when it is not one */
        struct notebook *notebook;      /* NULL when it is not one */
        struct hwmon_cpu *cpu;          /* NULL when it is not a monitor's folder */
        struct mark *marks;
        size_t n_marks;
        size_t n_skipped;     /* lines of a run log that are no entries */
        struct phase *phases; /* those that nobody ended may end at INT64_MAX */
        size_t n_phases;
};

/* Whether a source is an exporter: http://…, https://… or HOST:PORT, with or without a path. */
bool input_is_address(const char *location);
/* Whether it is a list of them: all parts between commas are, or @FILE. A file of that name wins.
 */
bool input_is_list(const char *location);
/* Whether it is a recording, which has an end: neither of these. NULL, no source, is none. */
bool input_is_recording(const char *location);
/* 0, or a negative code with err; call input_finish either way. */
int input_open(struct input *in, const char *path, struct err *err);
/* The files of a hardware monitor, each on its own; one that is NULL or not there is none. */
int input_open_files(struct input *in, const char *gpu_csv, const char *cpu_csv,
                     const char *dmon_csv, struct err *err);
void input_finish(struct input *in);
/* When the newest tick was present now; 0 when that is not known. */
int64_t input_last_ns(struct input *in);
/* The levels that the host's samples report: bits, 0 when there are none. */
unsigned input_levels(struct input *in);
/* The next of the host's samples: 1 (valid until the next call), 0 at the end, or a negative code.
 */
int input_next_host(struct input *in, const struct host **ret, struct err *err);
