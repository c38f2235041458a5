#include "base/clock.h"
#include "base/csvw.h"
#include "formats/notebook/notebook.h"
#include "model/unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

int notebook_writer_init(struct notebook_writer *w, const struct phase *phases, size_t n)
{
        *w = (struct notebook_writer){0};
        return cells_init(&w->cells, phases, n);
}

void notebook_writer_finish(struct notebook_writer *w)
{
        bundle_finish(&w->files);
        cells_finish(&w->cells);
        free(w->row);
}

static void put_columns(const struct notebook_writer *w, struct strbuf *out, const char *gap)
{
        strbuf_puts(out, "time");
        for (size_t i = 0; i < notebook_columns(&w->layout); i++) {
                char name[NOTEBOOK_NAME_MAX];
                notebook_column_name(&w->layout, i, name);
                strbuf_putf(out, "%s%s", gap, name);
        }
        strbuf_putf(out, "%scell_index", gap);
}

/* The columns are those of the first tick. */
static bool notebook_start(struct notebook_writer *w, int64_t wall_ns)
{
        w->row = calloc(notebook_columns(&w->layout) + 1, sizeof(*w->row));
        w->first_ns = wall_ns;
        w->started = w->row != NULL;
        return w->started;
}

/* The file of a level; NULL when memory is short. */
static struct strbuf *file_of(struct notebook_writer *w, enum level level)
{
        char name[32];
        snprintf(name, sizeof(name), "perf_%s.csv", level_name(level));
        struct strbuf *out = bundle_find(&w->files, name);
        if (out)
                return out;
        out = bundle_add(&w->files, name);
        if (!out)
                return NULL;
        put_columns(w, out, ",");
        strbuf_putc(out, '\n');
        w->levels |= LEVEL_BIT(level);
        return out;
}

static int notebook_put_row(struct notebook_writer *w, struct strbuf *out, int64_t wall_ns,
                            int64_t moment_ns)
{
        long cell = cells_at(&w->cells, moment_ns);
        struct csvw c = {.out = out};
        csvw_fixed(&c, clock_to_seconds(wall_ns - w->first_ns), 6);
        for (size_t i = 0; i < notebook_columns(&w->layout); i++)
                csvw_short(&c, value_or_nan(w->row[i]), 10);
        csvw_fixed(&c, cell >= 0 ? (double)cell : NAN, 0);
        csvw_end(&c);
        w->last_ns = wall_ns;
        return out->failed || out->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

static void name_gpus(struct notebook_writer *w, const struct frame *f)
{
        if (f->n == 0)
                return;
        struct value all = f->rows[0].sample.m[METRIC_FB_TOTAL];
        w->gpu_gib = value_is_set(all) ? all.v / GIB : w->gpu_gib;
        snprintf(w->gpu_name, sizeof(w->gpu_name), "%s",
                 f->rows[0].sample.who->text[ENTITY_TEXT_MODEL]);
}

int notebook_writer_add(struct notebook_writer *w, const struct frame *f)
{
        int64_t moment = phase_moment(&w->clock, f);
        name_gpus(w, f);
        if (w->failed)
                return 0;
        if (!w->started) {
                notebook_layout_of_frame(&w->layout, f);
                if (!notebook_start(w, f->wall_ns))
                        return -ENOMEM;
        }
        struct strbuf *out = file_of(w, LEVEL_SYSTEM);
        if (!out)
                return -ENOMEM;
        notebook_frame_row(&w->layout, f, w->row);
        int r = notebook_put_row(w, out, f->wall_ns, moment);
        if (!w->by_host)
                return r;
        w->failed = r;
        return 0;
}

/* The first tick of the host decides: with GPUs, or where frames have none either, all is its own.
 */
static int start_host(struct notebook_writer *w, const struct host *h)
{
        w->host_seen = true;
        w->host_lacks_gpus = w->started && w->layout.n_gpus > 0 && h->n_gpus == 0;
        if (w->host_lacks_gpus)
                return w->failed;
        bundle_finish(&w->files);
        free(w->row);
        w->levels = 0;
        notebook_layout_of_host(&w->layout, h);
        return notebook_start(w, h->wall_ns) ? 0 : -ENOMEM;
}

static int add_level(struct notebook_writer *w, const struct host *h, enum level level)
{
        const struct level_state *l = &h->levels[level];
        struct strbuf *out = file_of(w, level);
        if (!out)
                return -ENOMEM;
        if (value_is_set(l->f[FIGURE_MEMORY_LIMIT]))
                w->memory_limits[level] = l->f[FIGURE_MEMORY_LIMIT];
        if (level == LEVEL_PROCESS)
                w->cpus = l->f[FIGURE_CPUS];
        notebook_host_row(&w->layout, h, level, w->row);
        return notebook_put_row(w, out, h->wall_ns, phase_moment_of_host(h));
}

int notebook_writer_add_host(struct notebook_writer *w, const struct host *h)
{
        int r = w->by_host && !w->host_seen ? start_host(w, h) : 0;
        if (!w->by_host || w->host_lacks_gpus)
                return r;
        for (enum level l = 0; r == 0 && l < LEVEL_COUNT; l++) {
                if (h->levels[l].present && (NOTEBOOK_LEVELS & LEVEL_BIT(l)))
                        r = add_level(w, h, l);
        }
        w->last_ns = h->wall_ns;
        return r;
}

/* ---- the end ---- */

static void put_cells(const struct notebook_writer *w, struct strbuf *out)
{
        strbuf_puts(out, "cell_index,raw_cell,start_time,end_time,duration,wallclock_start_time,"
                         "wallclock_end_time\n");
        for (size_t i = 0; i < w->cells.n; i++) {
                const struct cell_of *cell = &w->cells.list[i];
                const struct phase *p = cell->phase;
                const int64_t times[] = {p->begin_ns - w->first_ns, p->end_ns - w->first_ns,
                                         p->end_ns - p->begin_ns, p->begin_ns, p->end_ns};
                struct csvw c = {.out = out};
                csvw_fixed(&c, (double)cell->index, 0);
                /* The code of a cell is the user's own, and programs run it again: no guard. */
                csvw_text(&c, cell->raw ? cell->raw : p->name);
                for (size_t k = 0; k < ARRAY_LEN(times); k++)
                        csvw_fixed(&c, clock_to_seconds(times[k]), 6);
                csvw_end(&c);
        }
}

/* A share of a CPU is possible; two of them are 2, which readers count with. */
static json_t *count_or_null(struct value v)
{
        if (!value_is_set(v))
                return json_null();
        return v.v == floor(v.v) ? json_integer((json_int_t)v.v) : json_real(v.v);
}

static json_t *whole_or_null(struct value v)
{
        return value_is_set(v) ? json_integer((json_int_t)v.v) : json_null();
}

static json_t *text_or_null(const char *s)
{
        return s[0] ? json_string(s) : json_null();
}

static json_t *limits_of(const struct notebook_writer *w)
{
        json_t *limits = json_object();
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (value_is_set(w->memory_limits[l]))
                        json_object_set_new(limits, level_name(l),
                                            json_real(w->memory_limits[l].v / GIB));
        }
        return limits;
}

static json_t *monitor_of(const struct notebook_writer *w, const struct run_facts *facts)
{
        json_t *m = json_object();
        json_object_set_new(m, "interval",
                            value_is_set(facts->interval_s) ? json_real(facts->interval_s.v)
                                                            : json_real(1));
        json_object_set_new(m, "start_time", json_real(0));
        json_object_set_new(m, "stop_time", json_real(clock_to_seconds(w->last_ns - w->first_ns)));
        json_object_set_new(m, "wallclock_start_time", json_real(clock_to_seconds(w->first_ns)));
        json_object_set_new(m, "wallclock_stop_time", json_real(clock_to_seconds(w->last_ns)));
        json_object_set_new(m, "num_cpus",
                            count_or_null(value_is_set(w->cpus) ? w->cpus : facts->cpus));
        json_object_set_new(
            m, "num_system_cpus",
            count_or_null(value_is_set(facts->system_cpus) ? facts->system_cpus : facts->cpus));
        json_object_set_new(m, "num_gpus", json_integer((json_int_t)w->layout.n_gpus));
        json_object_set_new(m, "gpu_memory", json_real(w->gpu_gib));
        json_object_set_new(m, "gpu_name", json_string(w->gpu_name));
        json_object_set_new(m, "memory_limits", limits_of(w));
        json_t *handles = json_array();
        for (size_t i = 0; i < w->layout.n_cores; i++)
                json_array_append_new(handles, json_integer((json_int_t)i));
        json_object_set_new(m, "cpu_handles", handles);
        json_object_set_new(m, "pid", whole_or_null(facts->pid));
        json_object_set_new(m, "uid", whole_or_null(facts->uid));
        json_object_set_new(m, "slurm_job", text_or_null(facts->slurm_job));
        json_object_set_new(m, "os", text_or_null(facts->os));
        json_object_set_new(m, "python", json_null());
        return m;
}

static json_t *write_descriptions(const struct notebook_writer *w)
{
        struct strbuf text = {0};
        json_t *list = json_array();
        put_columns(w, &text, "\n");
        for (const char *s = strbuf_str(&text); *s;) {
                size_t len = strcspn(s, "\n");
                json_array_append_new(list, json_stringn(s, len));
                s += len + (s[len] == '\n');
        }
        strbuf_finish(&text);
        return list;
}

static json_t *levels_of(const struct notebook_writer *w, json_t *schemas)
{
        json_t *levels = json_array();
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!(w->levels & LEVEL_BIT(l)))
                        continue;
                json_array_append_new(levels, json_string(level_name(l)));
                json_object_set_new(schemas, level_name(l), write_descriptions(w));
        }
        return levels;
}

static json_t *manifest_of(const struct notebook_writer *w, const char *version,
                           const struct run_facts *facts)
{
        json_t *schemas = json_object(), *levels = levels_of(w, schemas);
        bool process = w->levels & LEVEL_BIT((unsigned)LEVEL_PROCESS);
        return json_pack(
            "{s:s, s:{s:s, s:s}, s:o, s:o, s:{s:o, s:[s,s,s,s,s,s,s]}, s:{s:[], s:[i,i], "
            "s:n, s:{}}, s:{s:s, s:s, s:{}}, s:s, s:s}",
            "version", "1.0", "app", "name", "assay", "version", version, "monitor",
            monitor_of(w, facts), "levels", levels, "schemas", "perf", schemas, "cell_history",
            "cell_index", "raw_cell", "start_time", "end_time", "duration", "wallclock_start_time",
            "wallclock_end_time", "visualizer", "default_metric_subsets", "figsize", 5, 3,
            "io_window", "last_state", "reporter", "level", process ? "process" : "system",
            "format", "text", "thresholds", "time_origin", "perf_counter", "timezone", "UTC");
}

int notebook_writer_end(struct notebook_writer *w, const char *path, const char *version,
                        const struct run_facts *facts, struct err *err)
{
        struct strbuf *cells = bundle_add(&w->files, "cell_history.csv");
        struct strbuf *manifest = bundle_add(&w->files, "manifest.json");
        if (!w->started) {
                err_set(err, ERR_DATA, "there is no tick to write");
                return err_hint(err, "give a session or capture that has some");
        }
        if (!cells || !manifest)
                return err_set(err, -ENOMEM, "out of memory");
        put_cells(w, cells);
        json_t *o = manifest_of(w, version, facts);
        char *s = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
        json_decref(o);
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        strbuf_puts(manifest, s);
        strbuf_putc(manifest, '\n');
        free(s);
        return bundle_write(path, &w->files, err);
}
