/* What a notebook monitor's session reports the run: its manifest, and the times of its rows. */
#include "base/clock.h"
#include "base/num.h"
#include "formats/notebook/state.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

/* Of an interval: rows that come so little early have not come late before. */
#define EARLY 0.01

static struct value facts_number_of(const json_t *m, const char *key)
{
        const json_t *v = json_object_get(m, key);
        return json_is_number(v) && isfinite(json_number_value(v)) ? value_ok(json_number_value(v))
                                                                   : value_missing(STATE_NONE);
}

static void take_handles(struct notebook_run *run, const json_t *list)
{
        CPU_ZERO(&run->handles);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *v = json_array_get(list, i);
                json_int_t cpu = json_is_integer(v) ? json_integer_value(v) : -1;
                if (cpu >= 0 && cpu < CPU_SETSIZE)
                        CPU_SET((size_t)cpu, &run->handles);
        }
}

void notebook_take_run(struct notebook_run *run, const json_t *monitor)
{
        const json_t *job = json_object_get(monitor, "slurm_job");
        run->interval = notebook_known(json_number_value(json_object_get(monitor, "interval")));
        run->stop_time = facts_number_of(monitor, "stop_time");
        run->wall_stop =
            notebook_known(json_number_value(json_object_get(monitor, "wallclock_stop_time")));
        run->pid = facts_number_of(monitor, "pid");
        run->uid = facts_number_of(monitor, "uid");
        if (json_is_string(job))
                snprintf(run->slurm_job, sizeof(run->slurm_job), "%s", json_string_value(job));
        else if (json_is_integer(job))
                snprintf(run->slurm_job, sizeof(run->slurm_job), "%lld",
                         (long long)json_integer_value(job));
        take_handles(run, json_object_get(monitor, "cpu_handles"));
}

/* The moment of a row, since 1970. */
static int64_t wall_of(const struct notebook *nb, double time)
{
        return clock_from_seconds(nb->wall_start + (time - nb->start_time));
}

/* Ticks by the gaps between rows, by the rule of our own recorder. */
static void count_gap(struct run_facts *f, double gap, double interval)
{
        int64_t behind = clock_from_seconds(gap - interval * (1 - EARLY));
        int64_t every = clock_from_seconds(interval);
        bool late = false;
        if (every <= 0 || behind >= CLOCK_FILE_MAX_NS)
                return;
        f->missed += clock_skipped(behind, every, &late);
        f->late += late;
}

static int count_rows(const struct notebook *nb, const struct strbuf *file, struct run_facts *f,
                      double *ret_last)
{
        CLEANUP(freep) char *text = malloc(file->len + 1);
        struct csvtext c;
        double time, before = NAN;
        if (!text)
                return -ENOMEM;
        if (file->len > 0)
                memcpy(text, file->s, file->len);
        csvtext_init(&c, text, file->len);
        int at = csvtext_next(&c) ? csvtext_find(&c, "time") : -1;
        while (at >= 0 && csvtext_next(&c)) {
                const char *s = (size_t)at < c.n ? c.fields[at] : "";
                if (!num_parse_all(s, strlen(s), &time) || !notebook_is_time(nb, time))
                        continue;
                f->taken++;
                if (isfinite(before) && value_is_set(nb->run.interval))
                        count_gap(f, time - before, nb->run.interval.v);
                *ret_last = before = time;
        }
        csvtext_finish(&c);
        return 0;
}

int notebook_facts(struct notebook *nb, struct run_facts *f, struct err *err)
{
        const struct notebook_run *run = &nb->run;
        double last = NAN;
        int r = 0;
        for (enum level l = 0; r == 0 && l < LEVEL_COUNT && f->taken == 0; l++) {
                char name[32];
                snprintf(name, sizeof(name), "perf_%s.csv", level_name(l));
                struct strbuf *file = bundle_find(&nb->files, name);
                if (file)
                        r = count_rows(nb, file, f, &last);
        }
        if (r < 0)
                return err_set(err, r, "out of memory");
        f->asked = f->taken + f->missed;
        f->interval_s = run->interval;
        f->cpus = notebook_known(nb->cpus);
        f->system_cpus = notebook_known(nb->system_cpus);
        f->pid = run->pid;
        f->uid = run->uid;
        snprintf(f->slurm_job, sizeof(f->slurm_job), "%s", run->slurm_job);
        f->start_ns = wall_of(nb, nb->start_time);
        if (value_is_set(run->wall_stop) && run->wall_stop.v < NOTEBOOK_SECONDS_MAX)
                f->stop_ns = clock_from_seconds(run->wall_stop.v);
        else if (value_is_set(run->stop_time) && notebook_is_time(nb, run->stop_time.v))
                f->stop_ns = wall_of(nb, run->stop_time.v);
        else if (isfinite(last))
                f->stop_ns = wall_of(nb, last);
        return 0;
}

const cpu_set_t *notebook_handles(const struct notebook *nb)
{
        return CPU_COUNT(&nb->run.handles) > 0 ? &nb->run.handles : NULL;
}
