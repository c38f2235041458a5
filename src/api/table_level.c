/* A level as JSON has it: the figures' own names, SI units, seconds since 1970. */
#include "api/table.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct level_table {
        struct assay_table *t;
        struct table_job *job;
        enum level level;
        size_t machine, cores, gpus; /* the first column of each part */
        size_t n_cores, n_gpus;
        int64_t zero_ns;
        bool started;
};

enum { LEVEL_TIME, LEVEL_ELAPSED, LEVEL_TICK, LEVEL_WHOSE, LEVEL_FIGURES };

/* "gpus.0.util", as a path in JSON. */
static void add_gpu_columns(struct level_table *l, const struct host *h)
{
        static const char *const uses[] = {"util", "band", "memory"};
        for (size_t i = 0; i < l->n_gpus; i++) {
                for (size_t k = 0; k < ARRAY_LEN(uses); k++) {
                        char name[TABLE_NAME_MAX];
                        snprintf(name, sizeof(name), "gpus.%.*s.%s", 40, h->gpus[i], uses[k]);
                        table_add_column(l->t, name, false);
                }
        }
}

/* Names that the level has already are the level's. */
static const char *machine_column(enum system_figure i, char name[TABLE_NAME_MAX])
{
        const char *own = system_figure_info(i)->name;
        for (enum figure f = 0; f < FIGURE_COUNT; f++) {
                if (strcmp(figure_info(f)->name, own) == 0) {
                        snprintf(name, TABLE_NAME_MAX, "system.%s", own);
                        return name;
                }
        }
        return own;
}

static void table_level_start(struct level_table *l, const struct host *h)
{
        struct assay_table *t = l->t;
        l->started = true;
        l->zero_ns = l->job->in.facts.start_ns ? l->job->in.facts.start_ns : h->wall_ns;
        bool system = l->level == LEVEL_SYSTEM;
        l->n_cores = system ? h->n_cores : 0;
        l->n_gpus = h->n_gpus;
        table_add_column(t, "time", false);
        table_add_column(t, "elapsed", false);
        table_add_column(t, "tick", false);
        table_add_column(t, "name", true);
        for (enum figure f = 0; f < FIGURE_COUNT; f++)
                table_add_column(t, figure_info(f)->name, false);
        l->machine = t->n;
        for (enum system_figure i = 0; system && i < SYSTEM_COUNT; i++) {
                char name[TABLE_NAME_MAX];
                table_add_column(t, machine_column(i, name), false);
        }
        l->cores = t->n;
        for (size_t i = 0; i < l->n_cores; i++) {
                char name[TABLE_NAME_MAX];
                snprintf(name, sizeof(name), "cores.%zu", i);
                table_add_column(t, name, false);
        }
        l->gpus = t->n;
        add_gpu_columns(l, h);
}

static void level_table_put_row(struct level_table *l, const struct host *h)
{
        struct assay_table *t = l->t;
        const struct level_state *state = &h->levels[l->level];
        table_add_row(t);
        table_put(t, LEVEL_TIME, clock_to_seconds(h->wall_ns));
        table_put(t, LEVEL_ELAPSED, clock_to_seconds(h->wall_ns - l->zero_ns));
        table_put(t, LEVEL_TICK, (double)h->tick);
        table_put_text(t, LEVEL_WHOSE, state->name);
        for (size_t f = 0; f < FIGURE_COUNT; f++)
                table_put_value(t, LEVEL_FIGURES + f, state->f[f]);
        for (size_t i = 0; l->machine + i < l->cores; i++)
                table_put_value(t, l->machine + i, h->system[i]);
        for (size_t i = 0; i < MIN(l->n_cores, h->n_cores); i++)
                table_put_value(t, l->cores + i, h->cores[i].util);
        for (size_t i = 0; i < MIN(l->n_gpus, h->n_gpus); i++) {
                const struct level_gpu *g = &state->gpus[i];
                table_put_value(t, l->gpus + 3 * i, g->util);
                table_put_value(t, l->gpus + 3 * i + 1, g->mem_copy_util);
                table_put_value(t, l->gpus + 3 * i + 2, g->memory);
        }
}

int table_fill_figures(struct assay_table *t, struct table_job *job, enum level level,
                       struct err *err)
{
        struct level_table l = {.t = t, .job = job, .level = level};
        static const struct host none;
        const struct host *h;
        unsigned present = input_levels(&job->in);
        int got = 0;
        if (!(present & LEVEL_BIT(level)))
                return table_level_missing(level, present, err);
        while (!t->failed && (got = input_next_host(&job->in, &h, err)) > 0) {
                if (!l.started)
                        table_level_start(&l, h);
                if (h->levels[level].present &&
                    table_wants(job, h->wall_ns, phase_moment_of_host(h)))
                        level_table_put_row(&l, h);
        }
        if (got == 0 && !l.started)
                table_level_start(&l, &none);
        return t->failed ? err_set(err, -ENOMEM, "out of memory") : got;
}
