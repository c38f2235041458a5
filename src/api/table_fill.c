/* Tables of a recorded run. */
#include "api/table.h"
#include "app/setup.h"
#include "base/clock.h"
#include "formats/notebook/columns.h"
#include "session/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a level, as a notebook's monitor has it ---- */

struct level_rows {
        struct assay_table *t;
        struct table_job *job;
        struct notebook_layout layout;
        struct cells cells;
        struct value *row;
        int64_t zero_ns;
        bool started;
};

/* Columns stay, also those nobody measures: files of this kind always have them. */
static bool table_fill_start(struct level_rows *l, int64_t wall_ns)
{
        size_t n = notebook_columns(&l->layout);
        l->started = true;
        l->zero_ns = l->job->in.facts.start_ns ? l->job->in.facts.start_ns : wall_ns;
        l->row = calloc(n + 1, sizeof(*l->row));
        table_add_column(l->t, "time", false);
        for (size_t i = 0; i < n; i++) {
                char name[NOTEBOOK_NAME_MAX];
                notebook_column_name(&l->layout, i, name);
                table_add_column(l->t, name, false);
        }
        table_add_column(l->t, "cell_index", false);
        return l->row && !l->t->failed;
}

static void fill_put_row(struct level_rows *l, int64_t wall_ns, int64_t moment_ns)
{
        size_t n = notebook_columns(&l->layout);
        long cell = cells_at(&l->cells, moment_ns);
        table_add_row(l->t);
        table_put(l->t, 0, clock_to_seconds(wall_ns - l->zero_ns));
        for (size_t i = 0; i < n; i++)
                table_put_value(l->t, i + 1, l->row[i]);
        table_put(l->t, n + 1, cell >= 0 ? (double)cell : NAN);
}

static int add_hosts(struct level_rows *l, enum level level, struct err *err)
{
        const struct host *h;
        int got = 0;
        while (!l->t->failed && (got = input_next_host(&l->job->in, &h, err)) > 0) {
                if (!l->started) {
                        notebook_layout_of_host(&l->layout, h);
                        if (!table_fill_start(l, h->wall_ns))
                                return err_set(err, -ENOMEM, "out of memory");
                }
                int64_t moment = phase_moment_of_host(h);
                if (!h->levels[level].present || !table_wants(l->job, h->wall_ns, moment))
                        continue;
                notebook_host_row(&l->layout, h, level, l->row);
                fill_put_row(l, h->wall_ns, moment);
        }
        return got;
}

/* ---- frames ---- */

typedef int take_frame(void *arg, const struct frame *f, struct err *err);

static int each_frame(struct table_job *job, take_frame *take, void *arg, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        char notice[SETUP_NOTICE_MAX];
        bool session = job->in.session && setup_as_recorded(job->config);
        int got = 0, r = 0;
        if (!session)
                r = setup_open(job->config, job->in.gpus, false, 0, &p, notice, err);
        if (p)
                pipeline_want_limits(p, false);
        while (r == 0) {
                got = session ? session_next(job->in.session, &f, err) : pipeline_next(p, &f, err);
                if (got <= 0)
                        break;
                r = take(arg, f, err);
        }
        pipeline_close(p);
        return r < 0 ? r : got;
}

static int take_level(void *arg, const struct frame *f, struct err *err)
{
        struct level_rows *l = arg;
        int64_t moment = phase_moment(&l->job->clock, f);
        if (!l->started) {
                notebook_layout_of_frame(&l->layout, f);
                if (!table_fill_start(l, f->wall_ns))
                        return err_set(err, -ENOMEM, "out of memory");
        }
        if (table_wants(l->job, f->wall_ns, moment)) {
                notebook_frame_row(&l->layout, f, l->row);
                fill_put_row(l, f->wall_ns, moment);
        }
        return 0;
}

int table_level_missing(enum level level, unsigned present, struct err *err)
{
        char names[64] = "";
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                size_t len = strlen(names);
                if (present & LEVEL_BIT(l))
                        snprintf(names + len, sizeof(names) - len, " %s", level_name(l));
        }
        err_set(err, ERR_USAGE, "the level '%s' was not recorded", level_name(level));
        return err_hint(err, "recorded:%s", present ? names : " the GPUs only");
}

/* Memory that is short is found at the end; columns that stay empty are filled there. */
static int whole_columns(struct assay_table *t)
{
        for (size_t i = 0; i < t->n && t->rows > 0; i++) {
                struct table_column *c = &t->columns[i];
                if (c->is_text || c->numbers)
                        continue;
                c->numbers = malloc(t->rows * sizeof(*c->numbers));
                if (!c->numbers)
                        return -ENOMEM;
                for (size_t k = 0; k < t->rows; k++)
                        c->numbers[k] = NAN;
        }
        return 0;
}

int table_fill_level(struct assay_table *t, struct table_job *job, enum level level,
                     struct err *err)
{
        unsigned present = input_levels(&job->in);
        struct level_rows l = {.t = t, .job = job};
        if (present ? !(present & LEVEL_BIT(level)) : level != LEVEL_SYSTEM)
                return table_level_missing(level, present, err);
        int r = cells_init(&l.cells, job->in.phases, job->in.n_phases);
        if (r == 0)
                r = present ? add_hosts(&l, level, err) : each_frame(job, take_level, &l, err);
        if (r == 0 && !l.started && !table_fill_start(&l, 0))
                r = -ENOMEM;
        if (r == 0)
                r = whole_columns(t);
        cells_finish(&l.cells);
        free(l.row);
        return r;
}

/* ---- GPUs ---- */

enum gpu_column { GPU_TICK, GPU_TIME, GPU_ELAPSED, GPU_STALE, GPU_METRICS };
/* Then the metrics, then texts. */
#define GPU_TEXTS (GPU_METRICS + (size_t)METRIC_COUNT)

struct gpu_rows {
        struct assay_table *t;
        struct table_job *job;
        int64_t zero_ns;
        bool started;
};

static int take_gpus(void *arg, const struct frame *f, struct err *err)
{
        struct gpu_rows *g = arg;
        struct assay_table *t = g->t;
        if (!g->started)
                g->zero_ns = g->job->in.facts.start_ns ? g->job->in.facts.start_ns : f->wall_ns;
        g->started = true;
        bool wanted = table_wants(g->job, f->wall_ns, phase_moment(&g->job->clock, f));
        for (size_t i = 0; wanted && i < f->n; i++) {
                const struct row *row = &f->rows[i];
                const struct entity *e = row->sample.who;
                table_add_row(t);
                table_put(t, GPU_TICK, (double)f->tick);
                table_put(t, GPU_TIME, clock_to_seconds(f->wall_ns));
                table_put(t, GPU_ELAPSED, clock_to_seconds(f->wall_ns - g->zero_ns));
                table_put(t, GPU_STALE, f->stale);
                for (size_t m = 0; m < METRIC_COUNT; m++)
                        table_put_value(t, GPU_METRICS + m, row->sample.m[m]);
                table_put_text(t, GPU_TEXTS, e->label);
                table_put_text(t, GPU_TEXTS + 1, e->text[ENTITY_TEXT_MODEL]);
                table_put_text(t, GPU_TEXTS + 2, e->text[ENTITY_TEXT_UUID]);
                table_put_text(t, GPU_TEXTS + 3, workload_status(row->verdict.workload));
                table_put_text(t, GPU_TEXTS + 4,
                               bottleneck_name(workload_bottleneck(row->verdict.workload)));
                table_put_text(t, GPU_TEXTS + 5, health_name(row->health.state));
        }
        return t->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int table_fill_gpus(struct assay_table *t, struct table_job *job, struct err *err)
{
        static const char *const first[] = {"tick", "time", "elapsed", "stale"};
        static const char *const texts[] = {"gpu",   "model",      "uuid",
                                            "class", "bottleneck", "health"};
        struct gpu_rows g = {.t = t, .job = job};
        for (size_t i = 0; i < ARRAY_LEN(first); i++)
                table_add_column(t, first[i], false);
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                table_add_column(t, metric_info(m)->name, false);
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                table_add_column(t, texts[i], true);
        return t->failed ? -ENOMEM : each_frame(job, take_gpus, &g, err);
}

/* ---- what was marked ---- */

int table_fill_phases(struct assay_table *t, struct table_job *job)
{
        size_t name = table_add_column(t, "name", true);
        size_t start_time = table_add_column(t, "start_time", false);
        size_t end_time = table_add_column(t, "end_time", false);
        size_t seconds = table_add_column(t, "seconds", false);
        size_t open = table_add_column(t, "open", false);
        size_t data = table_add_column(t, "data", true);
        for (size_t i = 0; i < job->in.n_phases; i++) {
                const struct phase *p = &job->in.phases[i];
                table_add_row(t);
                table_put_text(t, name, p->name);
                table_put(t, start_time, clock_to_seconds(p->begin_ns));
                table_put(t, open, p->open);
                if (p->data)
                        table_put_text(t, data, p->data);
                if (!phase_has_end(p))
                        continue;
                table_put(t, end_time, clock_to_seconds(p->end_ns));
                table_put(t, seconds, clock_to_seconds(p->end_ns - p->begin_ns));
        }
        return whole_columns(t);
}

int table_fill_events(struct assay_table *t, struct table_job *job)
{
        size_t time = table_add_column(t, "time", false);
        size_t event = table_add_column(t, "event", true);
        size_t data = table_add_column(t, "data", true);
        for (size_t i = 0; i < job->in.n_marks; i++) {
                const struct mark *m = &job->in.marks[i];
                if (m->type != MARK_EVENT || !table_wants(job, m->wall_ns, m->wall_ns))
                        continue;
                table_add_row(t);
                table_put(t, time, clock_to_seconds(m->wall_ns));
                table_put_text(t, event, m->name);
                if (m->data)
                        table_put_text(t, data, m->data);
        }
        return whole_columns(t);
}

int table_fill_steps(struct assay_table *t, struct table_job *job)
{
        struct step_walk walk = {0};
        size_t time = table_add_column(t, "time", false);
        size_t name = table_add_column(t, "name", true);
        size_t seconds = table_add_column(t, "seconds", false);
        size_t waited = table_add_column(t, "waited", false);
        size_t pid = table_add_column(t, "pid", false);
        for (size_t i = 0; i < job->in.n_marks; i++) {
                const struct mark *m = &job->in.marks[i];
                double length;
                bool known = step_walk_length(&walk, m, &length);
                if (m->type != MARK_STEP || !table_wants(job, m->wall_ns, m->wall_ns))
                        continue;
                table_add_row(t);
                table_put(t, time, clock_to_seconds(m->wall_ns));
                table_put_text(t, name, m->name);
                table_put(t, pid, (double)m->pid);
                if (known)
                        table_put(t, seconds, length);
                if (m->has_value)
                        table_put(t, waited, m->value);
        }
        return whole_columns(t);
}

int table_fill_metrics(struct assay_table *t, struct table_job *job)
{
        size_t time = table_add_column(t, "time", false);
        size_t name = table_add_column(t, "name", true);
        size_t value = table_add_column(t, "value", false);
        for (size_t i = 0; i < job->in.n_marks; i++) {
                const struct mark *m = &job->in.marks[i];
                if (m->type != MARK_METRIC || !table_wants(job, m->wall_ns, m->wall_ns))
                        continue;
                table_add_row(t);
                table_put(t, time, clock_to_seconds(m->wall_ns));
                table_put_text(t, name, m->name);
                table_put(t, value, m->value);
        }
        return whole_columns(t);
}
