#include "session/facts.h"

#include "base/clock.h"
#include "base/jsonin.h"
#include "base/list.h"
#include "base/strbuf.h"
#include "session/reader.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

void facts_init(struct run_facts *f, const char *input)
{
        *f = (struct run_facts){0};
        snprintf(f->input, sizeof(f->input), "%s", input);
}

void facts_finish(struct run_facts *f)
{
        free(f->metrics);
        spread_finish(&f->cpu_usr);
        spread_finish(&f->cpu_idle);
        spread_finish(&f->mem_copy_util);
        *f = (struct run_facts){0};
}

static void take_text(struct session_reader *r, const char *key, char *buf, size_t size)
{
        const char *s = session_text(r, key);
        snprintf(buf, size, "%s", s ? s : "");
}

static struct value take_number(struct session_reader *r, const char *key)
{
        double v = session_number(r, key, NAN);
        return isnan(v) ? value_missing(STATE_NONE) : value_ok(v);
}

/* A word as a shell would want it. */
static void put_word(struct strbuf *out, const char *s)
{
        if (s[0] && strcspn(s, " \t\n\"'$`\\&|;<>*?()[]{}#~") == strlen(s)) {
                strbuf_puts(out, s);
                return;
        }
        strbuf_putc(out, '\'');
        for (; *s; s++) {
                if (*s == '\'')
                        strbuf_puts(out, "'\\''");
                else
                        strbuf_putc(out, *s);
        }
        strbuf_putc(out, '\'');
}

static void take_command(struct session_reader *r, char *buf, size_t size)
{
        const char *s = session_text(r, "command");
        json_t *words = s ? jsonin_text(s, 0, NULL) : NULL;
        struct strbuf out = {0};
        for (size_t i = 0; i < json_array_size(words); i++) {
                const char *word = json_string_value(json_array_get(words, i));
                strbuf_puts(&out, i ? " " : "");
                put_word(&out, word ? word : "");
        }
        snprintf(buf, size, "%s", strbuf_str(&out));
        strbuf_finish(&out);
        json_decref(words);
}

void facts_from_session(struct run_facts *f, struct session_reader *r)
{
        struct session_counts counts;
        bool begun = db_begin_reading(&r->db);
        take_command(r, f->command, sizeof(f->command));
        take_text(r, "host", f->host, sizeof(f->host));
        take_text(r, "user", f->user, sizeof(f->user));
        take_text(r, "provenance", f->source, sizeof(f->source));
        f->start_ns = session_start_ns(r);
        const char *stop = session_text(r, "stop_ns");
        f->stop_ns = stop ? clock_bounded(strtoll(stop, NULL, 10)) : 0;
        const char *mono = session_text(r, "stop_mono_ns");
        if (f->stop_ns && mono)
                f->stop_ns = session_steady(r, f->stop_ns, strtoll(mono, NULL, 10));
        f->interval_s = take_number(r, "interval_s");
        f->exit_status = take_number(r, "exit_status");
        f->exit_signal = take_number(r, "exit_signal");
        f->command_s = take_number(r, "command_seconds");
        f->cpu_user_s = take_number(r, "cpu_user_s");
        f->cpu_system_s = take_number(r, "cpu_system_s");
        f->max_rss = take_number(r, "max_rss_bytes");
        f->cpus = take_number(r, "cpus_usable");
        f->system_cpus = take_number(r, "cpus_online");
        f->pid = take_number(r, "command_pid");
        if (!value_is_set(f->pid))
                f->pid = take_number(r, "target_pid");
        f->uid = take_number(r, "uid");
        take_text(r, "os", f->os, sizeof(f->os));
        take_text(r, "slurm_job", f->slurm_job, sizeof(f->slurm_job));
        f->rank = take_number(r, "rank");
        if (!value_is_set(f->rank))
                f->rank = take_number(r, "mpi_rank");
        f->local_rank = take_number(r, "local_rank");
        f->node_rank = take_number(r, "node_rank");
        f->world = take_number(r, "world_size");
        take_text(r, "launcher", f->launcher, sizeof(f->launcher));
        take_text(r, "job_id", f->job, sizeof(f->job));
        f->memory_limit = take_number(r, "memory_limit_bytes");
        f->flops_per_step = take_number(r, "flops_per_step");
        session_counts(r, &counts);
        f->asked = counts.asked;
        f->taken = counts.taken;
        f->late = counts.late;
        f->missed = counts.missed;
        f->dropped = counts.dropped;
        db_end_reading(&r->db, begun);
}

#define USER_METRICS_MAX 256

static struct user_metric *metric_for(struct run_facts *f, const char *name)
{
        for (size_t i = 0; i < f->n_metrics; i++) {
                if (strcmp(f->metrics[i].name, name) == 0)
                        return &f->metrics[i];
        }
        if (f->n_metrics == USER_METRICS_MAX)
                return NULL;
        if (!LIST_ONE_MORE(f->metrics, f->n_metrics))
                return NULL;
        struct user_metric *m = &f->metrics[f->n_metrics++];
        *m = (struct user_metric){0};
        snprintf(m->name, sizeof(m->name), "%s", name);
        return m;
}

int facts_from_marks(struct run_facts *f, const struct mark *marks, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                double v = marks[i].value;
                if (marks[i].type != MARK_METRIC)
                        continue;
                /* What an imported hardware-monitor folder said of the host. */
                if (strcmp(marks[i].name, "cpu_usr_pct") == 0)
                        spread_add(&f->cpu_usr, v / 100);
                else if (strcmp(marks[i].name, "cpu_idle_pct") == 0)
                        spread_add(&f->cpu_idle, v / 100);
                struct user_metric *m = metric_for(f, marks[i].name);
                if (!m)
                        continue;
                m->min = m->n == 0 || v < m->min ? v : m->min;
                m->max = m->n == 0 || v > m->max ? v : m->max;
                m->sum += v;
                m->last = v;
                m->n++;
        }
        return 0;
}
