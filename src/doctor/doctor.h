/* Looks at everything assay depends on and says what is wrong and what to do. Prints nothing. */
#pragma once

#include "base/err.h"
#include "doctor/probe_nvml.h"
#include "read/dcgm/local.h"
#include "read/drm/gpu.h"
#include "read/source.h"

enum outcome {
        OUTCOME_OK,
        OUTCOME_NOTE, /* nothing to judge here: not installed, not in a job */
        OUTCOME_WARN,
        OUTCOME_FAIL,
        OUTCOME_COUNT
};

struct result {
        enum outcome outcome;
        bool counters; /* SM and tensor counters can be had this way */
        char says[400];
        char remedy[400]; /* empty when there is nothing to do */
};

/* What the checks look at. */
struct doctor {
        struct source_config source; /* root, dcgmi, …, nvml_lib, token_file, location */
        const char *(*get_env)(const char *name);
        bool to_terminal; /* the output goes to a terminal */
        unsigned columns, rows;
        struct nvml_probe nvml;
        struct local_gpu gpus[DCGM_GPUS_MAX]; /* as the driver lists them */
        size_t n_gpus;
        size_t n_pci;        /* NVIDIA GPUs on the PCI bus */
        struct drm_gpu *drm; /* GPUs with a driver of the kernel's own; the doctor's */
        size_t n_drm;
        struct drm_passed drm_passed;
};

struct check {
        const char *id;
        const char *name;
        const char *backends; /* that depend on it */
        const char *about;
        void (*run)(const struct doctor *d, struct result *ret);
};

/* "ok", "note", "warn", "fail". */
const char *outcome_name(enum outcome outcome);
/* The table. NULL at the end. */
const struct check *check_at(size_t i);
/* Whether a backend depends on it; "auto" may be any. */
bool check_is_of(const struct check *c, const char *backend);
/* Gathers what several checks need; d->source and what follows it up to rows are filled already.
 * Takes a few seconds when a driver hangs, not more. */
void doctor_prepare(struct doctor *d);
void doctor_finish(struct doctor *d);

/* For the checks: fill a result. */
void result_set(struct result *f, enum outcome outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
void result_remedy(struct result *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Reads a small file below the root. False when it cannot be read; cut at size - 1. */
bool doctor_read(const struct doctor *d, const char *path, char *buf, size_t size);
/* One of the GPUs that the kernel shows, with its vendor's number. */
struct entity doctor_drm_entity(const struct doctor *d, size_t i);
/* NVML's GPM gives samples on at least one GPU. */
bool doctor_gpm_works(const struct doctor *d);
/* No driver and no library: one result says so, the others stay silent. */
bool doctor_no_nvidia(const struct doctor *d);
