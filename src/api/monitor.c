#include "api/core.h"
#include "api/describe.h"
#include "api/findings.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct assay_monitor {
        pid_t pid; /* whose monitor it is: locks mean nothing in a child */
        struct assay_options options;
        pthread_mutex_t changing; /* held by start and stop, which may take seconds */
        pthread_mutex_t lock;     /* of what follows; never held for long */
        struct core *core;        /* NULL until it was started */
        struct err failure;       /* why it does not work; code 0 when it does */
        bool misfit;              /* its options cannot be used, as the failure says */
};

static int check_monitor(const assay_monitor *m, struct assay_error *error)
{
        if (!m)
                return api_fail(error, ASSAY_E_USAGE, "there is no monitor",
                                "make one with assay_monitor_new; without memory it gives none");
        if (m->pid != getpid())
                return api_fail(error, ASSAY_E_FORKED,
                                "the monitor belongs to the process before fork()",
                                "make a new one in this process");
        return 0;
}

static int no_place(struct assay_error *error)
{
        return api_fail(error, ASSAY_E_USAGE, "there is no place for the answer",
                        "give the address of a variable");
}

/* The current run, with a reference; NULL with the common error while there is none. */
static struct core *acquire_core(assay_monitor *m, struct assay_error *error, int *ret_code)
{
        *ret_code = check_monitor(m, error);
        if (*ret_code < 0)
                return NULL;
        pthread_mutex_lock(&m->lock);
        struct err failure = m->failure;
        struct core *c = failure.code == 0 && m->core ? core_ref(m->core) : NULL;
        pthread_mutex_unlock(&m->lock);
        if (failure.code != 0)
                *ret_code = api_error(error, &failure);
        else if (!c)
                *ret_code = api_fail(error, ASSAY_E_STOPPED, "the monitor was not started",
                                     "call assay_monitor_start first");
        return c;
}

/* What is written while it runs stays where it began when the program changes its folder. */
static int fix_places(struct assay_options *o, struct err *err)
{
        const char *output = config_text(&o->config, OPT_OUTPUT);
        CLEANUP(freep) char *session = output ? api_absolute(output) : NULL;
        char *folder = o->hw_folder ? api_absolute(o->hw_folder) : NULL;
        if ((output && !session) || (o->hw_folder && !folder)) {
                free(folder);
                return err_set(err, -ENOMEM, "out of memory");
        }
        if (folder) {
                free(o->hw_folder);
                o->hw_folder = folder;
        }
        return session ? config_set(&o->config, "output", session, err) : 0;
}

assay_monitor *assay_monitor_new(const assay_options *options)
{
        struct assay_monitor *m = calloc(1, sizeof(*m));
        if (!m)
                return NULL;
        m->pid = getpid();
        pthread_mutex_init(&m->changing, NULL);
        pthread_mutex_init(&m->lock, NULL);
        int r = api_options_copy(options, &m->options);
        if (r == 0)
                r = fix_places(&m->options, &m->failure);
        if (r == -ENOMEM) {
                assay_monitor_free(m);
                return NULL;
        }
        m->misfit = r < 0;
        return m;
}

/* Changing held. */
static int monitor_start(assay_monitor *m, struct err *err)
{
        struct core *c = NULL, *old;
        if (m->misfit)
                return *err = m->failure, err->code;
        pthread_mutex_lock(&m->lock);
        old = m->core;
        pthread_mutex_unlock(&m->lock);
        /* The one before has ended by itself, if not before. */
        if (old)
                core_stop(old, err);
        int r = core_start(&m->options, old ? core_last(old) : 0, &c, err);
        pthread_mutex_lock(&m->lock);
        if (r < 0) {
                m->failure = *err;
        } else {
                m->failure = (struct err){0};
                m->core = c;
        }
        pthread_mutex_unlock(&m->lock);
        if (r == 0)
                core_unref(old);
        return r;
}

static bool is_running(const struct core *c)
{
        struct core *own = (struct core *)c;
        pthread_mutex_lock(&own->lock);
        bool running = c->running;
        pthread_mutex_unlock(&own->lock);
        return running;
}

int assay_monitor_start(assay_monitor *m, struct assay_error *error)
{
        struct err err = {0};
        int r = check_monitor(m, error);
        if (r < 0)
                return r;
        pthread_mutex_lock(&m->changing);
        if (!m->core || m->failure.code != 0 || !is_running(m->core))
                r = monitor_start(m, &err);
        pthread_mutex_unlock(&m->changing);
        return r < 0 ? api_error(error, &err) : 0;
}

int assay_monitor_stop(assay_monitor *m, struct assay_error *error)
{
        int r;
        struct err err = {0};
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        pthread_mutex_lock(&m->changing);
        r = core_stop(c, &err);
        pthread_mutex_unlock(&m->changing);
        core_unref(c);
        return r < 0 ? api_error(error, &err) : 0;
}

int assay_monitor_running(const assay_monitor *m)
{
        int r;
        struct core *c = acquire_core((assay_monitor *)m, NULL, &r);
        if (!c)
                return 0;
        bool running = is_running(c);
        core_unref(c);
        return running;
}

void assay_monitor_free(assay_monitor *m)
{
        struct err err = {0};
        if (check_monitor(m, NULL) < 0)
                return;
        if (m->core)
                core_stop(m->core, &err);
        core_unref(m->core);
        api_options_finish(&m->options);
        pthread_mutex_destroy(&m->changing);
        pthread_mutex_destroy(&m->lock);
        free(m);
}

/* ---- frames ---- */

/* Nothing there: not yet, no more, or never. */
static int refuse_absent(struct core *c, struct assay_error *error)
{
        struct err err = {0};
        return core_failure(c, &err) < 0 ? api_error(error, &err) : 0;
}

int assay_monitor_latest(assay_monitor *m, assay_frame **ret, struct assay_error *error)
{
        int r;
        if (!ret)
                return no_place(error);
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        struct assay_frame *f = core_latest(c);
        if (f)
                *ret = f;
        r = f ? 1 : refuse_absent(c, error);
        core_unref(c);
        return r;
}

int assay_monitor_next(assay_monitor *m, uint64_t *cursor, assay_frame **ret,
                       struct assay_error *error)
{
        int r;
        if (!cursor || !ret)
                return no_place(error);
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        struct assay_frame *f = core_next(c, *cursor);
        if (f) {
                *cursor = f->tick;
                *ret = f;
        }
        r = f ? 1 : refuse_absent(c, error);
        core_unref(c);
        return r;
}

int assay_monitor_wait(assay_monitor *m, uint64_t cursor, double timeout_s,
                       struct assay_error *error)
{
        int r;
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        /* Not a number, and less than nothing, are no time at all. */
        int64_t wait = timeout_s > 0 ? clock_from_seconds(fmin(timeout_s, 1e9)) : 0;
        r = core_wait(c, cursor, clock_mono_ns() + wait) ? 1 : refuse_absent(c, error);
        core_unref(c);
        return r;
}

/* ---- what is known of it ---- */

int assay_monitor_counts(assay_monitor *m, struct assay_counts *ret, struct assay_error *error)
{
        int r;
        struct session_counts counts;
        if (!ret)
                return no_place(error);
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        core_counts(c, &counts);
        *ret = (struct assay_counts){.asked = counts.asked,
                                     .taken = counts.taken,
                                     .late = counts.late,
                                     .missed = counts.missed};
        core_unref(c);
        return 0;
}

int assay_monitor_describe(assay_monitor *m, char **ret, struct assay_error *error)
{
        int r;
        struct strbuf out = {0};
        if (!ret)
                return no_place(error);
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        r = describe_core(c, &out);
        core_unref(c);
        char *text = r < 0 || out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        if (!text)
                return api_fail(error, -ENOMEM, "out of memory", "");
        *ret = text;
        return 0;
}

int assay_monitor_findings(assay_monitor *m, assay_findings **ret, struct assay_error *error)
{
        int r;
        struct err err = {0};
        struct stretch_list list;
        if (!ret)
                return no_place(error);
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        r = core_findings(c, &list, &err);
        core_unref(c);
        if (r < 0)
                return api_error(error, &err);
        struct assay_findings *f = findings_make(&list);
        if (!f)
                return api_fail(error, -ENOMEM, "out of memory", "");
        *ret = f;
        return 0;
}

const char *assay_monitor_session(const assay_monitor *m)
{
        if (check_monitor(m, NULL) < 0)
                return NULL;
        return config_text(&m->options.config, OPT_OUTPUT);
}

int assay_monitor_flush(assay_monitor *m, struct assay_error *error)
{
        int r;
        struct err err = {0};
        struct core *c = acquire_core(m, error, &r);
        if (!c)
                return r;
        r = core_flush(c, &err);
        core_unref(c);
        return r < 0 ? api_error(error, &err) : 0;
}
