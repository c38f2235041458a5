#include "app/job.h"

#include "app/job_rank.h"
#include "app/setup.h"
#include "base/clock.h"
#include "base/tally.h"
#include "life/thread.h"
#include "present/document/document.h"
#include "present/report/job.h"
#include "present/report/runs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READERS_MAX 4

/* Files are taken one after the other by as many threads as there are CPUs, at most four: each
 * holds one file's figures at a time. */
struct crowd {
        pthread_mutex_t lock;
        struct job_reading *r;
        const struct config *config;
        size_t next;
        int64_t base_ns; /* times of steps are relative to this */
        struct err err;  /* of the first file that could not be read */
        size_t failed;
        struct tally skipped;
        int code; /* out of memory: all stop */
};

struct reader {
        struct crowd *crowd;
        bool first; /* on the caller's thread */
        struct job_fold fold;
};

static void on_frame(void *arg, const struct frame *f)
{
        struct reader *me = arg;
        job_fold_frame(&me->fold, f);
        if (me->first && me->crowd->r->on_tick)
                me->crowd->r->on_tick(me->crowd->r->arg);
}

static void on_host(void *arg, const struct host *h)
{
        struct reader *me = arg;
        job_fold_host(&me->fold, h);
}

static bool take_next(struct crowd *c, size_t *ret)
{
        pthread_mutex_lock(&c->lock);
        bool more = c->code == 0 && c->next < c->r->folder.n;
        if (more)
                *ret = c->next++;
        pthread_mutex_unlock(&c->lock);
        return more;
}

static int add_recording(struct crowd *c, struct reader *me, struct run_summary *s, size_t at)
{
        const struct folder *f = &c->r->folder;
        if (f->kind == FOLDER_RUNS)
                return job_row_add(&c->r->runs, s, &me->fold, f->group[at], f->is_job[at]);
        if (c->base_ns == 0)
                c->base_ns = s->summary.first_ns;
        return job_rank_add(&c->r->job, s, &me->fold, c->base_ns);
}

/* Why a file cannot be read, without its name, which is said once for all of a reason. */
static const char *why_not(const struct err *err, const char *path)
{
        const char *named = strstr(err->msg, path);
        size_t len = strlen(path);
        return named && strncmp(named + len, "': ", 3) == 0 ? named + len + 3 : err->msg;
}

static void job_keep(struct crowd *c, struct reader *me, struct run_summary *s, size_t at, int code,
                     const struct err *err)
{
        pthread_mutex_lock(&c->lock);
        if (code == 0)
                code = add_recording(c, me, s, at);
        else if (c->failed++ == 0)
                c->err = *err;
        if (code == -ENOMEM)
                c->code = code;
        else if (code < 0)
                tally_add(&c->skipped, c->r->folder.paths[at],
                          why_not(err, c->r->folder.paths[at]));
        pthread_mutex_unlock(&c->lock);
}

static void *read_files(void *arg)
{
        struct reader *me = arg;
        struct crowd *c = me->crowd;
        size_t i;
        while (take_next(c, &i)) {
                struct run_summary *s = calloc(1, sizeof(*s));
                struct err err = {0};
                int code = -ENOMEM;
                me->fold = (struct job_fold){0};
                if (s) {
                        s->on_frame = on_frame;
                        s->on_host = on_host;
                        s->watch = me;
                        code = run_summary_read(s, c->config, c->r->folder.paths[i], "text", &err);
                }
                job_keep(c, me, s, i, code, &err);
                if (s)
                        run_summary_finish(s);
                free(s);
        }
        return NULL;
}

static void read_all(struct crowd *c)
{
        pthread_t threads[READERS_MAX];
        struct reader *readers = calloc(READERS_MAX, sizeof(*readers));
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        size_t wanted = MIN((size_t)MAX(cpus, 1), MIN(c->r->folder.n, (size_t)READERS_MAX)), n = 0;
        if (!readers) {
                c->code = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < READERS_MAX; i++)
                readers[i] = (struct reader){.crowd = c, .first = i == 0};
        while (n + 1 < wanted && life_start_thread(read_files, &readers[n + 1], &threads[n]) == 0)
                n++;
        read_files(&readers[0]);
        while (n > 0)
                pthread_join(threads[--n], NULL);
        free(readers);
}

int job_read(struct job_reading *r, const struct config *config, struct err *err)
{
        struct crowd c = {.r = r, .config = config, .base_ns = r->folder.start_ns};
        if (r->folder.n > JOB_RANKS_MAX)
                return err_set(err, ERR_USAGE, "more than %d files", JOB_RANKS_MAX);
        if (r->folder.notices.len > 0)
                strbuf_put(&r->notices, r->folder.notices.s, r->folder.notices.len);
        pthread_mutex_init(&c.lock, NULL);
        read_all(&c);
        pthread_mutex_destroy(&c.lock);
        tally_write(&c.skipped, &r->notices);
        if (c.code == 0 && r->job.n + r->runs.n == 0) {
                if (err)
                        *err = c.err;
                return c.err.code ? c.err.code : err_set(err, ERR_DATA, "no session to read");
        }
        if (c.code == 0 && r->folder.kind == FOLDER_RUNS) {
                run_list_join(&r->runs);
        } else if (c.code == 0) {
                c.code = job_settle(&r->job, c.base_ns);
                if (c.code == 0)
                        c.code = job_find_stragglers(&r->job);
        }
        return c.code < 0 ? err_set(err, c.code, "out of memory") : 0;
}

bool job_finding(const struct config *config, const char *path, struct strbuf *out)
{
        struct job_reading r = {0};
        bool found = folder_read(path, &r.folder) == 0 && r.folder.kind == FOLDER_JOB &&
                     job_read(&r, config, NULL) == 0;
        if (found && r.job.n_stragglers > 0)
                job_put_straggler(&r.job, &r.job.stragglers[0], out);
        else if (found)
                job_put_no_straggler(&r.job, out);
        job_reading_finish(&r);
        return found;
}

int job_write(const struct job_reading *r, const char *format, struct strbuf *out, struct err *err)
{
        const struct doc_writer *writer = doc_writer_find(format);
        const struct doc_view view = {.columns = r->columns};
        struct document d = {0};
        if (r->folder.kind == FOLDER_RUNS)
                runs_document(&r->runs, r->name, program_version, r->sort, &d);
        else
                job_document(&r->job, program_version, r->all || (writer && writer->complete), &d);
        int code = document_write(&d, format, &view, out, err);
        document_finish(&d);
        return code;
}

int job_list_folder(const struct config *config, const char *path, const char *format,
                    size_t columns, struct strbuf *out, struct strbuf *notices, struct err *err)
{
        struct job_reading r = {.name = path, .columns = columns};
        int code = folder_read(path, &r.folder);
        if (code < 0)
                err_set(err, code, "out of memory");
        else if (r.folder.kind != FOLDER_RUNS || r.folder.n < 2)
                code = 1;
        else
                code = job_read(&r, config, err);
        if (r.notices.len > 0)
                strbuf_put(notices, r.notices.s, r.notices.len);
        if (code == 0)
                code = job_write(&r, format, out, err);
        job_reading_finish(&r);
        return code;
}

void job_reading_finish(struct job_reading *r)
{
        folder_finish(&r->folder);
        job_finish(&r->job);
        free(r->runs.rows);
        strbuf_finish(&r->notices);
}
