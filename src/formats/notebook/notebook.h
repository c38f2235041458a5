/*
 * The session of a notebook monitor: a folder or zip with manifest.json, perf_<level>.csv and
 * cell_history.csv. Cells are our phases.
 */
#pragma once

#include "formats/bundle.h"
#include "formats/notebook/cells.h"
#include "formats/notebook/columns.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/phase.h"
#include "model/summary.h"
#include "session/mark.h"

#include <sched.h>

struct notebook;

/* Whether it is a zip, a folder with a manifest, or one of its perf files alone. */
bool notebook_is_one(const char *path);
int notebook_open(const char *path, struct notebook **ret, struct err *err);
/* Takes over the files of a bundle. */
int notebook_parse(struct bundle *files, struct notebook **ret, struct err *err);
/* The same for one perf file without a manifest; its times count from its first row. */
int notebook_parse_alone(struct bundle *files, struct notebook **ret, struct err *err);
void notebook_close(struct notebook *nb);
size_t notebook_gpus(const struct notebook *nb);
/* The files as they were, for writing them again without loss; NULL when one stands alone. */
struct bundle *notebook_files(struct notebook *nb);
/* Whether a name is one of the monitor's files. */
bool notebook_wants(const char *name);

/* The next tick, from the level that has GPUs: 1 (valid until the next call) or 0 at the end. */
int notebook_next(struct notebook *nb, const struct frame **ret);
/* The levels it has a file of: bits. */
unsigned notebook_levels(const struct notebook *nb);
/* The next tick of its levels, joined by their time: 1 (valid until the next call), 0 at the end,
 * or a negative code. */
int notebook_next_host(struct notebook *nb, const struct host **ret);
/* Interval, start and stop, CPUs, process, user and job; ticks taken, and missed by the gaps
 * between rows. 0 or -ENOMEM. */
int notebook_facts(struct notebook *nb, struct run_facts *f, struct err *err);
/* The CPUs that the monitor's process could use; NULL when not known. */
const cpu_set_t *notebook_handles(const struct notebook *nb);
/* The cells as marks. The caller frees each with mark_finish and the list with free. */
int notebook_marks(struct notebook *nb, struct mark **ret, size_t *ret_n, struct err *err);

/* ---- writing ---- */

/* The levels the monitor knows of. */
#define NOTEBOOK_LEVELS                                                                            \
        (LEVEL_BIT(LEVEL_PROCESS) | LEVEL_BIT(LEVEL_USER) | LEVEL_BIT(LEVEL_SYSTEM) |              \
         LEVEL_BIT(LEVEL_SLURM))

struct notebook_writer {
        struct bundle files;
        bool by_host;                            /* rows are the host's ticks, not frames */
        bool host_seen, host_lacks_gpus;         /* then they are frames all the same */
        int failed;                              /* on a frame, which may not matter */
        unsigned levels;                         /* that have rows */
        struct value memory_limits[LEVEL_COUNT]; /* bytes */
        struct value cpus;
        struct cells cells;
        struct phase_clock clock;
        struct notebook_layout layout;
        struct value *row; /* one, while it is written */
        int64_t first_ns, last_ns;
        double gpu_gib;
        char gpu_name[ENTITY_TEXT_MAX];
        bool started;
};

/* The phases are borrowed until the end. 0 or -ENOMEM. */
int notebook_writer_init(struct notebook_writer *w, const struct phase *phases, size_t n);
/* A tick of the GPUs. Where the host's ticks come afterwards, and have GPUs, only names are taken.
 */
int notebook_writer_add(struct notebook_writer *w, const struct frame *f);
/* A tick of the host, with its GPUs. by_host must be set before anything is added. */
int notebook_writer_add_host(struct notebook_writer *w, const struct host *h);
/* Writes a folder or zip. */
int notebook_writer_end(struct notebook_writer *w, const char *path, const char *version,
                        const struct run_facts *facts, struct err *err);
void notebook_writer_finish(struct notebook_writer *w);
