#include "api/core.h"

#include "api/findings.h"
#include "api/hwfiles.h"
#include "app/collecting.h"
#include "app/manifest.h"
#include "app/setup.h"
#include "base/clock.h"
#include "life/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- frames come in ---- */

static void publish_frame(struct core *c, struct assay_frame *f)
{
        if (!f)
                return;
        pthread_mutex_lock(&c->lock);
        f->tick = ++c->last;
        struct assay_frame **slot = &c->ring[c->last % c->size];
        struct assay_frame *old = *slot;
        *slot = f;
        if (c->last - c->first > c->size)
                c->first = c->last - c->size;
        pthread_cond_broadcast(&c->news);
        pthread_mutex_unlock(&c->lock);
        assay_frame_unref(old);
}

/* On the sampling thread, which alone uses names. */
static void on_frame(void *arg, const struct frame *f)
{
        struct core *c = arg;
        struct source_trouble trouble = {0};
        /* A tick without a source, or before it has started. */
        bool none = f->n == 0 && !f->provenance[0];
        if (none && c->pipeline)
                pipeline_trouble(c->pipeline, &trouble);
        pthread_mutex_lock(&c->lock);
        if (!c->gpus_over) {
                c->host_alone = none;
                snprintf(c->trouble, sizeof(c->trouble), "%s", trouble.notice);
        }
        struct host_snapshot *host_snapshot = none ? NULL : host_snapshot_ref(c->host_snapshot);
        pthread_mutex_unlock(&c->lock);
        if (none)
                return;
        publish_frame(c, frame_make(c->stock, f, &c->names, host_snapshot));
        host_snapshot_unref(host_snapshot);
        if (c->limits)
                limits_add(c->limits, f);
}

/* On the host's thread. */
static void on_host(void *arg, const struct host *h)
{
        struct core *c = arg;
        struct host_snapshot *host_snapshot = host_snapshot_make(c->stock, h);
        if (!host_snapshot)
                return;
        /* Only stop ends the session, and not before this thread has ended. */
        if (c->session)
                manifest_note_limits(c->session, &c->noted, h);
        if (c->limits)
                limits_see_host(c->limits, h);
        pthread_mutex_lock(&c->lock);
        struct host_snapshot *old = c->host_snapshot;
        c->host_snapshot = host_snapshot_ref(host_snapshot);
        bool alone = c->host_alone;
        pthread_cond_broadcast(&c->news);
        pthread_mutex_unlock(&c->lock);
        host_snapshot_unref(old);
        if (alone) {
                const struct frame f = {
                    .wall_ns = h->wall_ns, .mono_ns = h->mono_ns, .provenance = ""};
                publish_frame(c, frame_make(c->stock, &f, NULL, host_snapshot));
        }
        host_snapshot_unref(host_snapshot);
}

static void on_source_end(void *arg, const struct err *source)
{
        struct core *c = arg;
        pthread_mutex_lock(&c->lock);
        c->gpus_over = true;
        /* A source that ends because we stop leaves the last frame with its GPUs. */
        c->host_alone = c->host_alone || !c->ending;
        c->source = *source;
        snprintf(c->trouble, sizeof(c->trouble), "%s", source->code ? source->msg : "");
        if (!c->host)
                c->running = false;
        pthread_cond_broadcast(&c->news);
        pthread_mutex_unlock(&c->lock);
}

static void on_return(void *arg)
{
        core_unref(arg);
}

/* ---- starting ---- */

static int make_ring(struct core *c, uint64_t after, struct err *err)
{
        const struct config *config = &c->options.config;
        c->size = (size_t)config_number(config, OPT_HISTORY);
        c->first = c->last = after;
        c->ring = calloc(c->size, sizeof(*c->ring));
        c->stock = stock_new();
        return c->ring && c->stock ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* A capture or an exporter is of another machine: this host is watched only when asked for. */
static bool wants_levels(const struct config *config)
{
        if (config_is_set(config, OPT_LEVELS))
                return strcmp(config_text(config, OPT_LEVELS), "none") != 0;
        return !config_is_set(config, OPT_SOURCE);
}

/* It is reported before why there are no GPUs: that the interval is not kept matters more. */
static void raise_interval(struct core *c)
{
        char before[sizeof(c->notice)];
        memcpy(before, c->notice, sizeof(before));
        snprintf(c->notice, sizeof(c->notice),
                 "interval %g raised to %g: the kernel counts CPU time in hundredths of a "
                 "second%s%.300s",
                 clock_to_seconds(c->interval_ns), clock_to_seconds(ENGINE_HOST_MIN_NS),
                 before[0] ? "; " : "", before);
        c->interval_ns = ENGINE_HOST_MIN_NS;
}

static int open_source(struct core *c, bool levels, struct err *err)
{
        const struct config *config = &c->options.config;
        double speed = config_number(config, OPT_SPEED);
        char notice[SETUP_NOTICE_MAX];
        int r = setup_open_soon(config, config_text(config, OPT_SOURCE), speed, SETUP_PATIENCE_NS,
                                levels, &c->pipeline, notice, err);
        snprintf(c->notice, sizeof(c->notice), "%s", notice);
        if (r == 0) {
                c->interval_ns = pipeline_interval_ns(c->pipeline);
                snprintf(c->backend, sizeof(c->backend), "%s", pipeline_source_name(c->pipeline));
                return 0;
        }
        if (!levels || !setup_does_without(config, r))
                return r;
        snprintf(c->notice, sizeof(c->notice), "%.*s", (int)sizeof(c->notice) - 1, err->msg);
        snprintf(c->backend, sizeof(c->backend), "none");
        r = setup_interval(config, &c->interval_ns, err);
        if (r == 0 && c->interval_ns < ENGINE_HOST_MIN_NS)
                raise_interval(c);
        return r;
}

static int open_host(struct core *c, struct err *err)
{
        struct host_config hc;
        int r = setup_host(&c->options.config, &hc, err);
        if (r < 0)
                return r;
        if (hc.pid == 0)
                hc.pid = getpid();
        return host_view_open(&hc, &c->host, err);
}

#define COMMAND_MAX 4096
#define COMMAND_WORDS 64

/* The command line of the target, as far as it may be read. */
static void note_manifest(struct core *c, int32_t pid)
{
        char path[64], text[COMMAND_MAX] = "";
        char *words[COMMAND_WORDS + 1] = {NULL};
        size_t n = 0;
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
        for (char *s = text; s < text + len && n < COMMAND_WORDS; s += strlen(s) + 1)
                words[n++] = s;
        struct stat st;
        bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == getuid();
        if (!own && !config_flag(&c->options.config, OPT_ALL_COMMANDS))
                words[MIN(n, (size_t)1)] = NULL;
        manifest_describe(c->session, &c->options.config, words, c->pipeline);
}

static int open_session(struct core *c, struct err *err)
{
        const char *path = config_text(&c->options.config, OPT_OUTPUT);
        if (!path)
                return 0;
        bool own_times = c->pipeline && !pipeline_is_live(c->pipeline);
        snprintf(c->session_path, sizeof(c->session_path), "%s", path);
        int r = session_create(path, own_times ? SESSION_START_FIRST : clock_wall_ns(), &c->session,
                               err);
        if (r < 0) {
                c->session_path[0] = '\0';
                return r;
        }
        const struct err *trouble = session_trouble(c->session);
        if (trouble && !c->notice[0])
                snprintf(c->notice, sizeof(c->notice), "%.*s", (int)sizeof(c->notice) - 1,
                         trouble->msg);
        int32_t pid = (int32_t)config_number(&c->options.config, OPT_PID);
        note_manifest(c, pid ? pid : getpid());
        return c->options.careless ? session_relax(c->session, err) : 0;
}

/* A library prints nothing: what gives no numbers has none. */
static void ignore_message(const char *name UNUSED, const char *why UNUSED)
{
}

/* Numbers of the user's own are kept in the recording alone. */
static int start_collecting(struct core *c, struct err *err)
{
        if (!c->session && config_text(&c->options.config, OPT_COLLECT)) {
                err_set(err, ERR_USAGE, "'collect' needs a recording to keep its numbers in");
                return err_hint(err, "set 'output', too");
        }
        return c->session ? collecting_start(&c->options.config, c->session, ignore_message,
                                             &c->collecting, err)
                          : 0;
}

static int start_engine(struct core *c, struct err *err)
{
        struct engine_config rc = {
            .session = c->session,
            .pipeline = c->pipeline,
            .host = c->host,
            .interval_ns = c->interval_ns,
            .restamp = !c->pipeline || pipeline_is_live(c->pipeline),
            .until_stopped = c->host != NULL,
            .on_frame = on_frame,
            .on_host = on_host,
            .on_source_end = on_source_end,
            .on_return = on_return,
            .arg = c,
        };
        int r = setup_stacks(&c->options.config, &rc.stacks_hz, err);
        if (r < 0)
                return r;
        c->running = true;
        c->host_alone = !c->pipeline;
        c->start_ns = clock_wall_ns();
        return engine_start(&rc, &c->engine, err);
}

static int open_all(struct core *c, uint64_t after, struct err *err)
{
        bool levels = wants_levels(&c->options.config);
        int r = make_ring(c, after, err);
        if (r == 0)
                r = open_source(c, levels, err);
        if (r == 0 && levels)
                r = open_host(c, err);
        if (r == 0)
                r = open_session(c, err);
        if (r == 0)
                r = start_collecting(c, err);
        if (r == 0 && c->pipeline && !c->session) {
                c->limits = limits_new(&c->options.config);
                r = c->limits ? 0 : err_set(err, -ENOMEM, "out of memory");
        }
        if (r == 0)
                r = start_engine(c, err);
        if (r == 0 && c->options.hw_folder)
                r = hwfiles_start(c, c->options.hw_folder, &c->hwfiles, err);
        return r;
}

/* What is known of the machine and its GPUs right after the start is worth a moment. */
#define FIRST_PATIENCE_NS NS_PER_S

static void wait_for_first(struct core *c)
{
        int64_t end = clock_mono_ns() + FIRST_PATIENCE_NS;
        struct timespec ts = {end / NS_PER_S, end % NS_PER_S};
        pthread_mutex_lock(&c->lock);
        while (c->running &&
               ((c->host && !c->host_snapshot) || (c->pipeline && c->last == c->first)) &&
               pthread_cond_timedwait(&c->news, &c->lock, &ts) == 0)
                ;
        pthread_mutex_unlock(&c->lock);
}

static struct core *new_core(void)
{
        struct core *c = calloc(1, sizeof(*c));
        if (!c)
                return NULL;
        atomic_init(&c->users, 1);
        pthread_mutex_init(&c->lock, NULL);
        pthread_mutex_init(&c->storing, NULL);
        life_init_wake(&c->news);
        return c;
}

int core_start(const struct assay_options *options, uint64_t after, struct core **ret,
               struct err *err)
{
        struct core *c = new_core();
        if (!c || api_options_copy(options, &c->options) < 0) {
                core_unref(c);
                return err_set(err, -ENOMEM, "out of memory");
        }
        /* Sources start threads while they open; signals are for the program's own. */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &old);
        int r = open_all(c, after, err);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (r < 0) {
                struct err unused = {0};
                core_stop(c, &unused);
                core_unref(c);
                return r;
        }
        wait_for_first(c);
        *ret = c;
        return 0;
}

/* ---- ending ---- */

static int end_session(struct core *c, const struct engine_result *result, struct err *err)
{
        int r = 0;
        pthread_mutex_lock(&c->storing);
        if (c->session) {
                r = manifest_end(c->session, result, err);
                /* A thread that hangs may still add to it. */
                c->session = result->hung ? c->session : NULL;
        }
        pthread_mutex_unlock(&c->storing);
        if (r == 0 && result->store.code != 0) {
                *err = result->store;
                r = err->code;
        }
        return r;
}

int core_stop(struct core *c, struct err *err)
{
        struct engine_result result = {0};
        pthread_mutex_lock(&c->lock);
        struct engine *engine = c->engine;
        c->engine = NULL;
        c->ending = true;
        if (engine)
                engine_counts(engine, &c->counts);
        pthread_mutex_unlock(&c->lock);
        if (!engine)
                return 0;
        core_ref(c); /* a source that hangs uses all of this until it returns, if ever */
        engine_finish(engine, &result);
        collecting_stop(c->collecting);
        c->collecting = NULL;
        int r = end_session(c, &result, err);
        pthread_mutex_lock(&c->lock);
        c->counts = result.counts;
        c->running = false;
        c->stop_ns = clock_wall_ns();
        pthread_cond_broadcast(&c->news);
        pthread_mutex_unlock(&c->lock);
        struct err files = {0};
        if (hwfiles_finish(c->hwfiles, &files) < 0 && r == 0) {
                *err = files;
                r = files.code;
        }
        c->hwfiles = NULL;
        if (result.hung)
                return r;
        pipeline_close(c->pipeline);
        host_view_close(c->host);
        c->pipeline = NULL;
        c->host = NULL;
        atomic_fetch_sub(&c->users, 1); /* the caller's own is left */
        return r;
}

struct core *core_ref(struct core *c)
{
        atomic_fetch_add(&c->users, 1);
        return c;
}

void core_unref(struct core *c)
{
        if (!c || atomic_fetch_sub(&c->users, 1) != 1)
                return;
        pipeline_close(c->pipeline);
        host_view_close(c->host);
        collecting_stop(c->collecting);
        session_close(c->session, NULL);
        for (size_t i = 0; c->ring && i < c->size; i++)
                assay_frame_unref(c->ring[i]);
        free(c->ring);
        limits_free(c->limits);
        names_unref(c->names);
        host_snapshot_unref(c->host_snapshot);
        stock_close(c->stock);
        api_options_finish(&c->options);
        pthread_mutex_destroy(&c->lock);
        pthread_mutex_destroy(&c->storing);
        pthread_cond_destroy(&c->news);
        free(c);
}

/* ---- frames go out ---- */

uint64_t core_last(struct core *c)
{
        pthread_mutex_lock(&c->lock);
        uint64_t last = c->last;
        pthread_mutex_unlock(&c->lock);
        return last;
}

struct assay_frame *core_latest(struct core *c)
{
        struct assay_frame *f = NULL;
        pthread_mutex_lock(&c->lock);
        if (c->last > c->first)
                f = assay_frame_ref(c->ring[c->last % c->size]);
        pthread_mutex_unlock(&c->lock);
        return f;
}

struct assay_frame *core_next(struct core *c, uint64_t after)
{
        struct assay_frame *f = NULL;
        pthread_mutex_lock(&c->lock);
        uint64_t before = MAX(after, c->first);
        if (before < c->last)
                f = assay_frame_ref(c->ring[(before + 1) % c->size]);
        pthread_mutex_unlock(&c->lock);
        return f;
}

bool core_wait(struct core *c, uint64_t after, int64_t until_ns)
{
        struct timespec ts = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        pthread_mutex_lock(&c->lock);
        while (c->last <= after && c->running &&
               pthread_cond_timedwait(&c->news, &c->lock, &ts) == 0)
                ;
        bool present = c->last > after && c->last > c->first;
        pthread_mutex_unlock(&c->lock);
        return present;
}

int core_failure(struct core *c, struct err *err)
{
        pthread_mutex_lock(&c->lock);
        int code = c->running ? 0 : c->source.code;
        if (code != 0)
                *err = c->source;
        pthread_mutex_unlock(&c->lock);
        return code;
}

void core_counts(struct core *c, struct session_counts *ret)
{
        pthread_mutex_lock(&c->lock);
        if (c->engine)
                engine_counts(c->engine, &c->counts);
        *ret = c->counts;
        pthread_mutex_unlock(&c->lock);
}

int core_flush(struct core *c, struct err *err)
{
        pthread_mutex_lock(&c->storing);
        int r = c->session ? session_commit(c->session, err) : 0;
        pthread_mutex_unlock(&c->storing);
        return r;
}

/* The recording is read as it is; of the monitor's options only the type of FLOP is about it. */
static int recorded_findings(struct core *c, struct stretch_list *ret, struct err *err)
{
        struct assay_options own = {0};
        const char *flops = config_text(&c->options.config, OPT_FLOPS);
        int r = core_flush(c, err);
        if (r == 0 && api_options_copy(NULL, &own) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0 && flops)
                r = config_set(&own.config, "flops", flops, err);
        if (r == 0)
                r = findings_read(c->session_path, &own.config, ret, err);
        api_options_finish(&own);
        return r;
}

int core_findings(struct core *c, struct stretch_list *ret, struct err *err)
{
        if (c->session_path[0])
                return recorded_findings(c, ret, err);
        *ret = (struct stretch_list){0};
        int r = c->limits ? limits_cut(c->limits, ret) : 0;
        return r < 0 ? err_set(err, r, "out of memory") : 0;
}
