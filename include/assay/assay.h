/*
 * libassay: what the GPUs, and the job around them, are really doing.
 *
 * Every function that can fail returns 0 or more when it went well and a negative code when it did
 * not, and then fills the error it was given (which may be NULL). The library never prints, never
 * exits, installs no signal handlers and keeps no state outside its handles. Handles may be used
 * from several threads at once, but for options, and but for freeing one that others use. Names of
 * files count from the folder that is current when they are given; the program may change it
 * afterwards. After fork() a monitor belongs to the parent: in the child every call on it fails
 * with ASSAY_E_FORKED and freeing it does nothing; frames, logs, options and tables go on working
 * there. Structs keep their size while the soname stays. libassay(3) tells more.
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_API __attribute__((visibility("default")))
#else
#define ASSAY_API
#endif

/* "0.2.0": of the library that is loaded. */
ASSAY_API const char *assay_version(void);

/* ---- errors ---- */

/* Other failures are negative errno values. */
enum assay_code {
        ASSAY_E_USAGE = -10001,     /* asked for something that does not exist */
        ASSAY_E_NO_SOURCE = -10002, /* a monitor has nothing to read from: no GPU, no such source */
        ASSAY_E_DATA = -10003,      /* a file is damaged, or not what it should be */
        ASSAY_E_FORKED = -10004,    /* the handle belongs to the process before fork() */
        ASSAY_E_STOPPED = -10005,   /* the monitor was never started */
};

struct assay_error {
        int code;
        char message[512]; /* what failed, the subject in quotes */
        char hint[512];    /* what to do about it; may be empty */
};

/* ---- values ---- */

enum assay_state {
        ASSAY_VALUE_ABSENT,      /* nobody measures it here */
        ASSAY_VALUE_OK,          /* measured now */
        ASSAY_VALUE_STALE,       /* measured age_ms ago */
        ASSAY_VALUE_BLANK,       /* the source has it and gave no value this time */
        ASSAY_VALUE_UNSUPPORTED, /* the device or driver does not have it */
        ASSAY_VALUE_DENIED,      /* this user may not read it */
        ASSAY_VALUE_ERROR,       /* reading failed */
};

/* There is a number only when state is ASSAY_VALUE_OK or ASSAY_VALUE_STALE. SI units, ratios 0
 * to 1. */
struct assay_value {
        double v;
        uint32_t age_ms;
        uint32_t state; /* enum assay_state */
};

/* One word: "absent", "ok", "stale", "blank", "unsupported", "denied", "error". */
ASSAY_API const char *assay_state_name(int state);

/* The metrics of a GPU: numbers from 0 on. They may differ from version to version; names do not.
 */
ASSAY_API size_t assay_metrics(void);
/* -1 when there is none of that name. */
ASSAY_API int assay_metric_find(const char *name);
/* NULL when there is no such number. */
ASSAY_API const char *assay_metric_name(int metric);
ASSAY_API const char *assay_metric_unit(int metric);
ASSAY_API const char *assay_metric_help(int metric);

/* The figures of a level, likewise. */
ASSAY_API size_t assay_figures(void);
ASSAY_API int assay_figure_find(const char *name);
ASSAY_API const char *assay_figure_name(int figure);
ASSAY_API const char *assay_figure_unit(int figure);
ASSAY_API const char *assay_figure_help(int figure);

/* The figures of the whole machine, likewise. */
ASSAY_API size_t assay_system_figures(void);
ASSAY_API int assay_system_figure_find(const char *name);
ASSAY_API const char *assay_system_figure_name(int figure);
ASSAY_API const char *assay_system_figure_unit(int figure);
ASSAY_API const char *assay_system_figure_help(int figure);

enum assay_level {
        ASSAY_LEVEL_PROCESS, /* the target and all that it started */
        ASSAY_LEVEL_USER,
        ASSAY_LEVEL_SLURM,
        ASSAY_LEVEL_CGROUP,
        ASSAY_LEVEL_SYSTEM,
};

/* ---- options ---- */

/*
 * Names and values as the program's flags have them ("interval" "0.5", "gpus" "0,2", "levels"
 * "process,system"). libassay(3) lists which function reads which. Not for several threads at once.
 */
typedef struct assay_options assay_options;

/* NULL when memory is short; a NULL handle is an empty set of options everywhere. */
ASSAY_API assay_options *assay_options_new(void);
/* ASSAY_E_USAGE for a name or a value that makes no sense. A NULL value takes the default back. */
ASSAY_API int assay_options_set(assay_options *options, const char *name, const char *value,
                                struct assay_error *error);
ASSAY_API void assay_options_free(assay_options *options);

/* ---- monitor ---- */

typedef struct assay_monitor assay_monitor;
typedef struct assay_frame assay_frame;

/*
 * A monitor that does not run yet. Options are copied: backend, source, interval, gpus, show-all,
 * levels (which of process,user,slurm,cgroup,system; "none" for none), pid (the target: this
 * process when not given), history (ticks kept in memory, 600), output (a session to record to,
 * which must not exist: such a monitor starts once),
 * durable (no: recorded without waiting for the disk), hardware-monitor (a folder for the three
 * files of that module), and those of the sources. NULL only when memory is short. What is wrong is
 * told by every call, on NULL too.
 */
ASSAY_API assay_monitor *assay_monitor_new(const assay_options *options);
/*
 * Starts sampling on threads of its own. Takes three seconds at most: two for the driver, one for
 * the first tick. A driver that needs longer is waited for by the frames, which have no GPUs until
 * it answers; describe's notice says so. A machine without GPUs is no error when there are levels
 * to watch. Starting one that runs does nothing; one that failed answers every call with that
 * error until it is started again.
 */
ASSAY_API int assay_monitor_start(assay_monitor *monitor, struct assay_error *error);
/* Ends sampling and completes the recording. What was measured stays readable; start begins anew.
 */
ASSAY_API int assay_monitor_stop(assay_monitor *monitor, struct assay_error *error);
/* 1 while it runs. */
ASSAY_API int assay_monitor_running(const assay_monitor *monitor);
/* Stops, and frees; frames that were taken stay valid. NULL is fine. */
ASSAY_API void assay_monitor_free(assay_monitor *monitor);

/* The newest frame: 1 with a reference to it, 0 while there is none, or why there will be none.
 * Copies nothing. */
ASSAY_API int assay_monitor_latest(assay_monitor *monitor, assay_frame **ret,
                                   struct assay_error *error);
/*
 * The oldest frame after the cursor that is still kept: 1 with a reference to it, and the cursor
 * moved to it; 0 when there is none yet. Begin with 0. Frames that were dropped meanwhile are
 * skipped: see assay_frame_tick.
 */
ASSAY_API int assay_monitor_next(assay_monitor *monitor, uint64_t *cursor, assay_frame **ret,
                                 struct assay_error *error);
/* Waits until there is a frame after the cursor: 1, or 0 after timeout_s seconds or when stopped.
 */
ASSAY_API int assay_monitor_wait(assay_monitor *monitor, uint64_t cursor, double timeout_s,
                                 struct assay_error *error);

/* Ticks so far: asked for, taken, of those late, and missed. */
struct assay_counts {
        uint64_t asked, taken, late, missed;
};
ASSAY_API int assay_monitor_counts(assay_monitor *monitor, struct assay_counts *ret,
                                   struct assay_error *error);
/*
 * What is watched, as JSON: backend, provenance, interval, gpus, num_cpus, num_gpus, gpu_name,
 * gpu_memory, memory_limits, … (libassay(3)); SI units. Release with assay_free.
 */
ASSAY_API int assay_monitor_describe(assay_monitor *monitor, char **ret, struct assay_error *error);
/* The file that is recorded to, or NULL. Valid until the monitor is freed. */
ASSAY_API const char *assay_monitor_session(const assay_monitor *monitor);
/* Everything measured so far is in the session's file when this returns. */
ASSAY_API int assay_monitor_flush(assay_monitor *monitor, struct assay_error *error);

/* ---- findings: what limits the GPUs, what could be won, what to try ---- */

typedef struct assay_findings assay_findings; /* never changes once it was given */

/*
 * Of all that a monitor has measured so far. One that records counts the phases of its session too;
 * one that does not knows of no phases, and reads option flops. Free ret with assay_findings_free.
 */
ASSAY_API int assay_monitor_findings(assay_monitor *monitor, assay_findings **ret,
                                     struct assay_error *error);
/* Of a recorded run. Options: flops, phase, gpus, weights, missing. */
ASSAY_API int assay_file_findings(const char *path, const assay_options *options,
                                  assay_findings **ret, struct assay_error *error);
ASSAY_API void assay_findings_free(assay_findings *findings); /* NULL is fine */

/* FLOP/s of one GPU, dense, if all its work is of the type: at least lo, at most hi. */
struct assay_flops {
        const char *type; /* "bf16"; NULL when no type is declared or the rate is not known */
        double lo, hi;
};

/* One thing worth telling: a limiter over all the time that has it. Texts live as long as the
 * findings. */
struct assay_finding {
        const char *limiter; /* "compute.tensor", "host.input", …: docs/LIMITS.md */
        const char *held_by; /* "power", "thermal", "clock.locked"; NULL for nothing */
        const char *phase;   /* the marked phase around its longest stretch; NULL for none */
        const char *gpus;    /* of that stretch: "0", "0-3" */
        const char *text;    /* what, the numbers that say so, what could be won */
        const char *advice;  /* what to try */
        size_t stretch;      /* the longest of its stretches */
        size_t stretches;    /* how many it has */
        double seconds;      /* of all of them */
        double gpu_seconds;  /* that could be won at most */
        double gain;         /* the GPU would do so many times as much; 0: no bound is known */
};
/* Those that matter most come first. */
ASSAY_API size_t assay_findings_count(const assay_findings *findings);
/* 0, or ASSAY_E_USAGE when there is none of that number. */
ASSAY_API int assay_findings_get(const assay_findings *findings, size_t at,
                                 struct assay_finding *ret);

/* A part of the run in which GPUs did one kind of thing, found without marks. */
struct assay_stretch {
        double begin_s, end_s;    /* since the first tick */
        const char *gpus;         /* "0", "0-3" */
        const char *limiter;      /* and why: */
        const char *held_by;      /* NULL for nothing */
        const char *phase;        /* the innermost marked phase; NULL for none */
        const char *rule;         /* in words */
        struct assay_value duty;  /* share of its time in which kernels ran */
        double uneven;            /* standard deviation of that over ticks */
        int before_work;          /* 1: it ends before the first sustained work */
        struct assay_flops flops; /* of the type that was declared for its time */
};
/* In order of time. */
ASSAY_API size_t assay_findings_stretches(const assay_findings *findings);
/* 0, or ASSAY_E_USAGE when there is none of that number. */
ASSAY_API int assay_findings_stretch(const assay_findings *findings, size_t at,
                                     struct assay_stretch *ret);
/* What a stretch's limiter, and a finding, rest on: "counters" or "driver"; NULL when there is no
 * such one. */
ASSAY_API const char *assay_findings_basis(const assay_findings *findings, size_t at);
ASSAY_API const char *assay_findings_stretch_basis(const assay_findings *findings, size_t at);
/* A mean of exactly its own time: "engine", "sm", "tensor", "dram", "cpu_main", … (docs/JSON.md).
 */
ASSAY_API struct assay_value assay_findings_evidence(const assay_findings *findings, size_t stretch,
                                                     const char *name);
/* A line of the program in which the time of a finding or a stretch went. Texts live as long as the
 * findings. */
struct assay_place {
        const char *what;        /* whose time: "code", "workers", "main", … (docs/JSON.md) */
        const char *words;       /* the same between share and line: "of its CPU time in" */
        const char *text;        /* "data.py:212 load"; of a library behind it: (in …) */
        const char *file;        /* the innermost line of the program's own code */
        const char *function;    /* empty when unknown */
        const char *in_file;     /* the line of a library that it is in; NULL when it is the same */
        const char *in_function; /* NULL likewise */
        uint32_t line, in_line;  /* 0: unknown */
        uint64_t looks;          /* samples that it rests on */
        double share;            /* of that time */
        double seconds;          /* of threads */
};
/* The lines of a finding and of a stretch, from 0 on, those of one `what` together and the largest
 * share first. 0, or ASSAY_E_USAGE when there is none of that number: nothing was seen of it, or
 * too little. */
ASSAY_API int assay_findings_place(const assay_findings *findings, size_t finding, size_t at,
                                   struct assay_place *ret);
ASSAY_API int assay_findings_stretch_place(const assay_findings *findings, size_t stretch,
                                           size_t at, struct assay_place *ret);
/* Members schema, seconds, judged, findings, stalls and stretches as `assay report --format json`
 * has them. assay_free it. */
ASSAY_API int assay_findings_json(const assay_findings *findings, char **ret,
                                  struct assay_error *error);

/* ---- frames: all that is known at one tick; neither they nor their texts ever change ---- */

ASSAY_API assay_frame *assay_frame_ref(assay_frame *frame);
ASSAY_API void assay_frame_unref(assay_frame *frame); /* NULL is fine */

ASSAY_API uint64_t assay_frame_tick(const assay_frame *frame);   /* from 1 */
ASSAY_API int64_t assay_frame_wall_ns(const assay_frame *frame); /* since 1970 */
ASSAY_API int64_t assay_frame_mono_ns(const assay_frame *frame); /* CLOCK_MONOTONIC */
ASSAY_API int assay_frame_stale(const assay_frame *frame);       /* 1: the GPUs gave nothing new */
/* Which source: "nvml+gpm", "nvml", "dcgm", …; "" without GPUs. */
ASSAY_API const char *assay_frame_provenance(const assay_frame *frame);

ASSAY_API size_t assay_frame_gpus(const assay_frame *frame);
/* "label", "model", "uuid", "pci", …; "" when not known. */
ASSAY_API const char *assay_frame_gpu_text(const assay_frame *frame, size_t gpu, const char *name);
ASSAY_API struct assay_value assay_frame_gpu(const assay_frame *frame, size_t gpu, int metric);

/* What a GPU does, and the evidence. Texts live as long as the frame. */
struct assay_verdict {
        const char *workload;   /* one of twelve classes, or "unknown" */
        const char *bottleneck; /* "compute", "memory", "io", "mixed", "idle", "unknown" */
        int rule;               /* 1 to 12; the one that could not be decided when unknown */
        const char *rule_text;  /* "tensor >= 50 and sm >= 60" */
        const char *evidence;   /* the values that decided, or what is missing */
        const char *health;     /* "OK", "HOT", "WARN", "CRIT", "unknown" */
        const char *health_why; /* worst first; "" when ok */
};
/* 0, or ASSAY_E_USAGE when there is no such GPU. */
ASSAY_API int assay_frame_verdict(const assay_frame *frame, size_t gpu, struct assay_verdict *ret);

/* What limits a GPU over about the last second. Texts live as long as the frame. */
struct assay_limit {
        const char *limiter; /* "compute.tensor", "host.input", …; "unknown" without counters */
        const char
            *held_by;       /* "power", "thermal", "clock.locked"; NULL when nothing holds clocks */
        const char *rule;   /* in words; the one that could not be decided when unknown */
        const char *text;   /* the limiter in words, with the values that decided */
        const char *advice; /* what to try */
};
/* 0, or ASSAY_E_USAGE when there is no such GPU. */
ASSAY_API int assay_frame_limit(const assay_frame *frame, size_t gpu, struct assay_limit *ret);
/* What that limiter rests on: "counters", or "driver" where no profiling counters are read, and it
 * is likely. NULL when there is no such GPU. */
ASSAY_API const char *assay_frame_limit_basis(const assay_frame *frame, size_t gpu);

/* What a GPU computes now. Types: fp8, fp16, bf16, tf32, fp64-tensor, fp32, fp64. 1; 0 when
 * the rate is not known; or ASSAY_E_USAGE. */
ASSAY_API int assay_frame_flops(const assay_frame *frame, size_t gpu, const char *type,
                                struct assay_flops *ret);

/* NULL when the level is there; else why not. */
ASSAY_API const char *assay_frame_level_missing(const assay_frame *frame, int level);
/* "1234 (python)", "alice", "77", …; "" when absent. */
ASSAY_API const char *assay_frame_level_name(const assay_frame *frame, int level);
ASSAY_API struct assay_value assay_frame_level(const assay_frame *frame, int level, int figure);
/* What the level's processes do on a GPU. */
enum assay_use {
        ASSAY_USE_UTIL,   /* ratio */
        ASSAY_USE_BAND,   /* memory controller, ratio */
        ASSAY_USE_MEMORY, /* bytes */
};
ASSAY_API struct assay_value assay_frame_level_gpu(const assay_frame *frame, int level, size_t gpu,
                                                   int use);
ASSAY_API struct assay_value assay_frame_system(const assay_frame *frame, int figure);
ASSAY_API size_t assay_frame_cores(const assay_frame *frame);
ASSAY_API struct assay_value assay_frame_core(const assay_frame *frame, size_t core);

/* The frame as `assay export --format jsonl` and --host write it, in one object. assay_free it. */
ASSAY_API int assay_frame_json(const assay_frame *frame, char **ret, struct assay_error *error);

/* ---- run log: phases, events, numbers of the program's own ---- */

typedef struct assay_log assay_log;

/*
 * Entries go to a file of JSON lines and to a session, as they happen. Either may be NULL; a NULL
 * session stands for the one that `assay run` names in ASSAY_SESSION, if any; "" for none.
 */
ASSAY_API int assay_log_open(const char *path, const char *session, assay_log **ret,
                             struct assay_error *error);
/* A phase that is over. more: a JSON object whose keys are kept with it, or NULL. */
ASSAY_API int assay_log_phase(assay_log *log, const char *name, double seconds, const char *more,
                              struct assay_error *error);
/* A phase from begin to end; they nest. */
ASSAY_API int assay_log_begin(assay_log *log, const char *name, const char *more,
                              struct assay_error *error);
ASSAY_API int assay_log_end(assay_log *log, const char *name, const char *more,
                            struct assay_error *error);
/* data: JSON, or NULL. */
ASSAY_API int assay_log_event(assay_log *log, const char *name, const char *data,
                              struct assay_error *error);
ASSAY_API int assay_log_metric(assay_log *log, const char *name, double value,
                               struct assay_error *error);
ASSAY_API void assay_log_close(assay_log *log); /* NULL is fine */

/* ---- steps: marks that cost next to nothing ---- */

/*
 * A step of the program ended now: one call in the loop. It takes well under a microsecond, and
 * less when nobody records; a program or recorder that is killed loses none. name: NULL for steps
 * that need no name. seconds: how long it took; below 0: since the step before. waited: how long of
 * that it waited for data; below 0 when that is not known. 1 when it was marked, 0 when nobody
 * records, or a negative code. Any thread may call it, and a child of fork(); a signal handler may
 * not.
 */
ASSAY_API int assay_step(const char *name, double seconds, double waited);
/* A phase from begin to end, and a number, at the same cost; they return the same. */
ASSAY_API int assay_mark_begin(const char *name);
ASSAY_API int assay_mark_end(const char *name);
ASSAY_API int assay_mark_metric(const char *name, double value);
/*
 * Where these go to: a session that is being recorded. NULL: the one that `assay run` names in
 * ASSAY_SESSION, as from the start; an empty one: nowhere.
 */
ASSAY_API int assay_mark_to(const char *session, struct assay_error *error);
/* Whether somebody records them. */
ASSAY_API int assay_mark_recording(void);

/* ---- recorded runs: sessions, and every file the program reads ---- */

/* What is known of the run, as JSON, with the keys of assay_monitor_describe. assay_free it. */
ASSAY_API int assay_file_describe(const char *path, char **ret, struct assay_error *error);

/*
 * format: text, json, html, csv, markdown, resource-summary or scalars. Options: level, phase,
 * tag-cpu, tag-memory, tag-gpu, tag-gpu-memory, weights, missing, gpus, flops. assay_free the text.
 */
ASSAY_API int assay_file_report(const char *path, const char *format, const assay_options *options,
                                char **ret, struct assay_error *error);
/* The format is what out ends in: .svg, .png, .pdf, .jpg. Options: metrics, phase, last, level and
 * others. */
ASSAY_API int assay_file_plot(const char *path, const char *out, const assay_options *options,
                              struct assay_error *error);
/* As `assay convert`: a session, CSV, JSON lines, a notebook's folder or zip, … Option: to. */
ASSAY_API int assay_file_convert(const char *path, const char *out, const assay_options *options,
                                 struct assay_error *error);
/*
 * Compares runs as `assay diff` does: each side is one recording, or repeats of one. format: text,
 * json, markdown, html or junit. Options: gate, allow, gpus. weights and missing change nothing.
 * assay_free the text.
 */
ASSAY_API int assay_diff(const char *const *base, size_t n_base, const char *const *now,
                         size_t n_now, const char *format, const assay_options *options, char **ret,
                         struct assay_error *error);
/* The summary of a hardware monitor's three files as JSON; each may be NULL. assay_free it. */
ASSAY_API int assay_resource_summary(const char *gpu_csv, const char *cpu_csv, const char *dmon_csv,
                                     char **ret, struct assay_error *error);

/*
 * Columns of a recorded run. what: "gpus" (one row a GPU and tick), "process", "user", "slurm",
 * "cgroup", "system" (a level, one row a tick), "phases", "events", "user_metrics", "stacks" (one
 * row a second, thread and line that it was in): the names and units of JSON, SI, times in seconds
 * since 1970. "notebook:process" and so on: a level in the columns and units of a notebook session.
 * Options: phase, last, gpus. A table never changes.
 */
typedef struct assay_table assay_table;

ASSAY_API int assay_table_open(const char *path, const char *what, const assay_options *options,
                               assay_table **ret, struct assay_error *error);
ASSAY_API size_t assay_table_rows(const assay_table *table);
ASSAY_API size_t assay_table_columns(const assay_table *table);
/* NULL when there is no such column. */
ASSAY_API const char *assay_table_name(const assay_table *table, size_t column);
/* The numbers of a column, NaN for what is missing; NULL for a column of texts. */
ASSAY_API const double *assay_table_numbers(const assay_table *table, size_t column);
/* One text, or NULL when it is missing or the column has numbers. */
ASSAY_API const char *assay_table_text(const assay_table *table, size_t column, size_t row);
ASSAY_API void assay_table_free(assay_table *table); /* NULL is fine */

/* Releases texts that functions above gave. NULL is fine. */
ASSAY_API void assay_free(void *text);

#ifdef __cplusplus
}
#endif

#endif
