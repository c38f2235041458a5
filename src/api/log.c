/*
 * The run log. A log keeps names and no open file: each entry is one write that other processes'
 * never mix with, and a process that forked may continue using it.
 */
#include "api/api.h"
#include "app/setup.h"
#include "base/outfile.h"
#include "session/runlog.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct assay_log {
        char *path;    /* NULL for none */
        char *session; /* NULL for none */
};

void assay_log_close(assay_log *log)
{
        if (!log)
                return;
        free(log->path);
        free(log->session);
        free(log);
}

/* An entry that cannot be written is reported at once rather than at the first one. */
static int check_path(const char *path, struct err *err)
{
        int fd = outfile_open(path, O_RDWR | O_APPEND | O_CREAT, 0666, "the log ", err);
        if (fd >= 0)
                return close(fd), 0;
        return err_hint(err, "give a file in a folder that is yours to write");
}

static int check_session(const char *path, struct err *err)
{
        if (session_is_one(path))
                return 0;
        err_set(err, ERR_DATA, "'%s' is not a session", path);
        return err_hint(err, "give a file that 'assay run', 'assay record' or a monitor writes");
}

/* Names are looked up at each entry, and a program may change its folder. */
static bool log_keep(const char *path, char **ret)
{
        return !path || (*ret = api_absolute(path)) != NULL;
}

int assay_log_open(const char *path, const char *session, assay_log **ret,
                   struct assay_error *error)
{
        struct err err = {0};
        if (!ret)
                return api_fail(error, ASSAY_E_USAGE, "there is no place for the log",
                                "give the address of a variable");
        if (!session)
                session = get_env("ASSAY_SESSION");
        if (session && !session[0])
                session = NULL;
        int r = path ? check_path(path, &err) : 0;
        if (r == 0 && session)
                r = check_session(session, &err);
        if (r < 0)
                return api_error(error, &err);
        struct assay_log *log = calloc(1, sizeof(*log));
        if (!log || !log_keep(path, &log->path) || !log_keep(session, &log->session)) {
                assay_log_close(log);
                return api_fail(error, -ENOMEM, "out of memory", "");
        }
        *ret = log;
        return 0;
}

static int api_log_put(const struct assay_log *log, const struct mark *m, struct err *err)
{
        int r = log->session ? session_put_mark(log->session, m, err) : 0;
        /* The file gets the entry also when the session cannot take it. */
        int also = log->path ? runlog_append(log->path, m, r < 0 ? NULL : err) : 0;
        return r < 0 ? r : also;
}

static int set_name(struct mark *m, const char *name, struct err *err)
{
        size_t len = name ? strlen(name) : 0;
        if (len == 0 || len >= sizeof(m->name)) {
                err_set(err, ERR_USAGE, "a name has 1 to %d bytes", MARK_NAME_MAX - 1);
                return err_hint(err, "'%.40s' has %zu", name ? name : "", len);
        }
        memcpy(m->name, name, len + 1);
        return 0;
}

/* Checks JSON and puts its shortest form into the mark. The keys of a phase are an object's. */
static int set_data(struct mark *m, const char *json, struct err *err)
{
        if (!json)
                return 0;
        int r = runlog_data(json, &m->data, err);
        if (r < 0) {
                char why[sizeof(err->msg) / 2];
                const char *colon = strchr(err->msg, ':');
                if (!colon) {
                        err_set(err, r, "the data is longer than %d bytes", MARK_DATA_MAX);
                        return err_hint(err, "keep it in a file, and its name here");
                }
                snprintf(why, sizeof(why), "%s", colon);
                err_set(err, r, "the data is not JSON%s", why);
                return err_hint(err, "give for example {\"step\":100}");
        }
        if (m->type == MARK_EVENT || m->data[0] == '{')
                return 0;
        err_set(err, ERR_USAGE, "what is kept with a phase is an object");
        return err_hint(err, "give for example {\"step\":100}");
}

static int add_entry(assay_log *log, struct mark *m, const char *name, const char *data,
                     struct assay_error *error)
{
        struct err err = {0};
        if (!log)
                return api_fail(error, ASSAY_E_USAGE, "there is no log",
                                "open one with assay_log_open");
        int r = set_name(m, name, &err);
        if (r == 0)
                r = set_data(m, data, &err);
        if (r == 0)
                r = api_log_put(log, m, &err);
        mark_finish(m);
        return r < 0 ? api_error(error, &err) : 0;
}

int assay_log_phase(assay_log *log, const char *name, double seconds, const char *more,
                    struct assay_error *error)
{
        struct mark m;
        if (!(seconds >= 0 && seconds <= MARK_SECONDS_MAX))
                return api_fail(error, ASSAY_E_USAGE, "a phase takes 0 to 1e9 seconds",
                                "give the seconds it took");
        mark_init(&m, MARK_PHASE);
        m.has_seconds = true;
        m.seconds = seconds;
        return add_entry(log, &m, name, more, error);
}

int assay_log_begin(assay_log *log, const char *name, const char *more, struct assay_error *error)
{
        struct mark m;
        mark_init(&m, MARK_BEGIN);
        return add_entry(log, &m, name, more, error);
}

int assay_log_end(assay_log *log, const char *name, const char *more, struct assay_error *error)
{
        struct mark m;
        mark_init(&m, MARK_END);
        return add_entry(log, &m, name, more, error);
}

int assay_log_event(assay_log *log, const char *name, const char *data, struct assay_error *error)
{
        struct mark m;
        mark_init(&m, MARK_EVENT);
        return add_entry(log, &m, name, data, error);
}

int assay_log_metric(assay_log *log, const char *name, double value, struct assay_error *error)
{
        struct mark m;
        if (!isfinite(value))
                return api_fail(error, ASSAY_E_USAGE, "a metric is a finite number",
                                "leave out what is not known");
        mark_init(&m, MARK_METRIC);
        m.value = value;
        return add_entry(log, &m, name, NULL, error);
}
