/* Joins the layers: read → translate → compute. Pull one frame after the other. */
#pragma once

#include "base/err.h"
#include "compute/compute.h"
#include "entity/registry.h"
#include "entity/select.h"
#include "model/frame.h"
#include "read/source.h"

#define PIPELINE_FOLDER_MAX 1024

struct pipeline_config {
        const struct source_ops *ops;
        struct source_config source;
        struct compute_options compute;
        struct selection selection;
        /*
         * Above 0: a source that has not opened by then is waited for by its frames, which are
         * stale and have no GPUs meanwhile; one that finds nothing later on tries again if asked
         * to.
         */
        int64_t open_patience_ns;
        bool keep_trying;
        /* Of GPUs of this machine: where the power at rest is kept; "" for nowhere. */
        char state_folder[PIPELINE_FOLDER_MAX];
        bool holders_alone; /* processes that hold a GPU, without what they started */
};

struct pipeline;

/* Opens the source. 0, or a negative code with err. */
int pipeline_open(const struct pipeline_config *config, struct pipeline **ret, struct err *err);
/* Its processes are those that another lists; before it is first asked for a frame. */
void pipeline_follow_listing(struct pipeline *p, struct listing *leader);
void pipeline_close(struct pipeline *p);

/*
 * The next frame: 1 (valid until the next call), 0 at the end, or a negative code. A selection that
 * names nothing that exists fails on the first frame with ERR_USAGE.
 */
int pipeline_next(struct pipeline *p, const struct frame **ret, struct err *err);

/* Whether GPUs are left out because the source names ever new ones; then the words for it. */
bool pipeline_is_cut_off(const struct pipeline *p, char *buf, size_t size);
/* What could not be read so far. */
void pipeline_trouble(const struct pipeline *p, struct source_trouble *ret);
/* A GPU the user named that has not shown up; false when all have. */
bool pipeline_unmatched(const struct pipeline *p, char *buf, size_t size);
/* Whether frames come as time passes, rather than as fast as they are read. */
bool pipeline_is_live(const struct pipeline *p);
/* Whether it is a capture, whose times are of another day. */
bool pipeline_is_capture(const struct pipeline *p);
/* The host at the last frame as a recording has it, valid until the next one. NULL where it has
 * nothing of it, and always of a live source. */
const struct host *pipeline_host(struct pipeline *p);
/* The name of the host that a recording was made on, "" when it does not say; valid until the next
 * frame. */
const char *pipeline_recorded_host(struct pipeline *p);
/* Time between frames of a live source. */
int64_t pipeline_interval_ns(const struct pipeline *p);
/* "replay", "nvml", …: the source's name. */
const char *pipeline_source_name(const struct pipeline *p);
/* What this machine's host does for the GPUs, for the limiter of the next frames; a recording,
 * which is of another day, ignores it. Safe from another thread. */
void pipeline_see_host(struct pipeline *p, const struct host *host);
/* Decides the limiters of the newest frame once more, with a host that was seen since. */
void pipeline_decide(struct pipeline *p);
/* Whether frames say who uses the GPUs, from the next one on; safe from another thread. */
void pipeline_want_processes(struct pipeline *p, bool want);
/* Whether processes are wanted to be examined, rather than kept: how much of a GPU each uses is
 * asked for then also beside a model server, which it costs time. Told before the first frame. */
void pipeline_watch_processes(struct pipeline *p, bool looks);
/* Whether frames say what limits each GPU. They do unless nobody wants it, which is reported before
 * the first one. */
void pipeline_want_limits(struct pipeline *p, bool want);
/* Ends a waiting pipeline_next; safe from another thread. */
void pipeline_interrupt(struct pipeline *p);
