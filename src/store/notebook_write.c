#include "base/clock.h"
#include "store/csvtext.h"
#include "store/notebook.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#define GIB 1073741824.0

static const struct {
        const char *name;
        enum metric metric;
        double scale;
} groups[] = {{"util", METRIC_GPU_UTIL, 100},
              {"band", METRIC_MEM_COPY_UTIL, 100},
              {"mem", METRIC_FB_USED, 1 / GIB}};

/* Figures of the host that this file has columns for; sessions without them leave these empty. */
static const struct {
        const char *name;
        enum figure figure; /* FIGURE_NONE: of the machine's cores */
        double scale;
} host_columns[] = {{"memory", FIGURE_MEMORY, 1 / GIB},
                    {"io_read_count", FIGURE_READ_COUNT, 1},
                    {"io_write_count", FIGURE_WRITE_COUNT, 1},
                    {"io_read", FIGURE_READ, 1},
                    {"io_write", FIGURE_WRITE, 1},
                    {"cpu_util_avg", FIGURE_CPU_SHARE, 100},
                    {"cpu_util_min", FIGURE_NONE, 100},
                    {"cpu_util_max", FIGURE_NONE, 100}};

void notebook_writer_init(struct notebook_writer *w, const struct phase *phases, size_t n)
{
        *w = (struct notebook_writer){.phases = phases, .n_phases = n};
}

void notebook_writer_finish(struct notebook_writer *w)
{
        bundle_finish(&w->files);
}

static void put_columns(const struct notebook_writer *w, struct strbuf *out, const char *gap)
{
        static const char *const kinds[] = {"avg", "min", "max"};
        strbuf_puts(out, "time");
        for (size_t i = 0; i < ARRAY_LEN(host_columns); i++)
                strbuf_putf(out, "%s%s", gap, host_columns[i].name);
        for (size_t i = 0; i < w->n_cores; i++)
                strbuf_putf(out, "%scpu_util_%zu", gap, i);
        for (size_t g = 0; w->n_gpus > 0 && g < ARRAY_LEN(groups); g++) {
                for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                        strbuf_putf(out, "%sgpu_%s_%s", gap, groups[g].name, kinds[k]);
        }
        for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
                for (size_t i = 0; i < w->n_gpus; i++)
                        strbuf_putf(out, "%sgpu_%s_%zu", gap, groups[g].name, i);
        }
        strbuf_putf(out, "%scell_index", gap);
}

/* The columns are those of the first tick's GPUs. */
static bool start(struct notebook_writer *w, const struct frame *f)
{
        struct strbuf *out = bundle_add(&w->files, "perf_system.csv");
        if (!out)
                return false;
        w->n_gpus = MIN(f->n, ARRAY_LEN(w->slots));
        for (size_t i = 0; i < w->n_gpus; i++)
                w->slots[i] = f->rows[i].sample.who->slot;
        w->first_ns = f->wall_ns;
        w->levels = LEVEL_BIT((unsigned)LEVEL_SYSTEM);
        w->started = true;
        put_columns(w, out, ",");
        strbuf_putc(out, '\n');
        return true;
}

static const struct row *row_of(const struct notebook_writer *w, const struct frame *f, size_t i)
{
        for (size_t k = 0; k < f->n; k++) {
                if (f->rows[k].sample.who->slot == w->slots[i])
                        return &f->rows[k];
        }
        return NULL;
}

static void put_value(struct strbuf *out, struct value v, double scale)
{
        strbuf_putc(out, ',');
        if (value_there(v))
                strbuf_putf(out, "%.10g", v.v * scale);
}

static struct value metric_of(const struct row *row, enum metric metric)
{
        return row ? row->sample.m[metric] : value_missing(STATE_NONE);
}

static void put_summary(struct strbuf *out, struct spread *s, double scale)
{
        put_value(out, spread_mean(s), scale);
        put_value(out, spread_min(s), scale);
        put_value(out, spread_max(s), scale);
        spread_finish(s);
}

static void put_group(struct strbuf *out, const struct notebook_writer *w, const struct frame *f,
                      size_t g)
{
        struct spread s = {0};
        for (size_t i = 0; i < w->n_gpus; i++) {
                struct value v = metric_of(row_of(w, f, i), groups[g].metric);
                if (value_there(v))
                        spread_add(&s, v.v);
        }
        put_summary(out, &s, groups[g].scale);
}

/* The innermost phase at a moment is the cell; -1 for none. */
static int cell_at(const struct notebook_writer *w, int64_t wall_ns)
{
        int found = -1;
        for (size_t i = 0; i < w->n_phases && w->phases[i].begin_ns <= wall_ns; i++) {
                if (w->phases[i].end_ns >= wall_ns)
                        found = (int)i;
        }
        return found;
}

static void put_cell_index(struct strbuf *out, const struct notebook_writer *w, int64_t wall_ns)
{
        int cell = cell_at(w, wall_ns);
        strbuf_putc(out, ',');
        if (cell >= 0)
                strbuf_putf(out, "%d", cell);
        strbuf_putc(out, '\n');
}

static void name_gpus(struct notebook_writer *w, const struct frame *f)
{
        if (f->n == 0)
                return;
        struct value all = f->rows[0].sample.m[METRIC_FB_TOTAL];
        w->gpu_gib = value_there(all) ? all.v / GIB : w->gpu_gib;
        snprintf(w->gpu_name, sizeof(w->gpu_name), "%s",
                 f->rows[0].sample.who->text[ENTITY_TEXT_MODEL]);
}

int notebook_writer_add(struct notebook_writer *w, const struct frame *f)
{
        name_gpus(w, f);
        if (w->by_host)
                return 0;
        if (!w->started && !start(w, f))
                return -ENOMEM;
        struct strbuf *out = bundle_find(&w->files, "perf_system.csv");
        strbuf_putf(out, "%.6f", clock_to_seconds(f->wall_ns - w->first_ns));
        for (size_t i = 0; i < ARRAY_LEN(host_columns); i++)
                strbuf_putc(out, ',');
        for (size_t g = 0; w->n_gpus > 0 && g < ARRAY_LEN(groups); g++)
                put_group(out, w, f, g);
        for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
                for (size_t i = 0; i < w->n_gpus; i++)
                        put_value(out, metric_of(row_of(w, f, i), groups[g].metric),
                                  groups[g].scale);
        }
        put_cell_index(out, w, f->wall_ns);
        w->last_ns = f->wall_ns;
        return out->failed || out->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

/* ---- the host's rows ---- */

static struct value gpu_value(const struct level_state *l, size_t gpu, size_t g)
{
        const struct value v[] = {l->gpus[gpu].util, l->gpus[gpu].band, l->gpus[gpu].memory};
        return v[g];
}

/* Single cores are known for the whole machine only. */
static void put_host_figures(struct strbuf *out, const struct notebook_writer *w,
                             const struct host *h, enum level level)
{
        const struct value none = value_missing(STATE_NONE);
        const struct value ends[] = {h->system[SYSTEM_CPU_MIN], h->system[SYSTEM_CPU_MAX]};
        bool system = level == LEVEL_SYSTEM;
        size_t end = 0;
        for (size_t i = 0; i < ARRAY_LEN(host_columns); i++) {
                enum figure figure = host_columns[i].figure;
                struct value v = figure != FIGURE_NONE ? h->levels[level].f[figure]
                                 : system              ? ends[end++]
                                                       : none;
                put_value(out, v, host_columns[i].scale);
        }
        for (size_t i = 0; i < w->n_cores; i++)
                put_value(out, system && i < h->n_cores ? h->cores[i].util : none, 100);
}

static void put_host_gpus(struct strbuf *out, const struct notebook_writer *w,
                          const struct level_state *l)
{
        for (size_t g = 0; w->n_gpus > 0 && g < ARRAY_LEN(groups); g++) {
                struct spread s = {0};
                for (size_t i = 0; i < w->n_gpus; i++) {
                        struct value v = gpu_value(l, i, g);
                        if (value_there(v))
                                spread_add(&s, v.v);
                }
                put_summary(out, &s, groups[g].scale);
        }
        for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
                for (size_t i = 0; i < w->n_gpus; i++)
                        put_value(out, gpu_value(l, i, g), groups[g].scale);
        }
}

static int add_level(struct notebook_writer *w, const struct host *h, enum level level)
{
        char name[32];
        const struct level_state *l = &h->levels[level];
        snprintf(name, sizeof(name), "perf_%s.csv", level_name(level));
        struct strbuf *out = bundle_find(&w->files, name);
        if (!out) {
                out = bundle_add(&w->files, name);
                if (!out)
                        return -ENOMEM;
                put_columns(w, out, ",");
                strbuf_putc(out, '\n');
        }
        strbuf_putf(out, "%.6f", clock_to_seconds(h->wall_ns - w->first_ns));
        put_host_figures(out, w, h, level);
        put_host_gpus(out, w, l);
        put_cell_index(out, w, h->wall_ns);
        w->levels |= LEVEL_BIT(level);
        if (value_there(l->f[FIGURE_MEMORY_LIMIT]))
                w->memory_limits[level] = l->f[FIGURE_MEMORY_LIMIT];
        if (level == LEVEL_PROCESS)
                w->cpus = l->f[FIGURE_CPUS];
        return out->failed || out->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

int notebook_writer_add_host(struct notebook_writer *w, const struct host *h)
{
        int r = 0;
        if (!w->started) {
                w->n_cores = h->n_cores;
                w->n_gpus = h->n_gpus;
                w->first_ns = h->wall_ns;
                w->started = true;
        }
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
        for (size_t i = 0; i < w->n_phases; i++) {
                const struct phase *p = &w->phases[i];
                strbuf_putf(out, "%zu,", i);
                csvtext_put(out, p->name);
                strbuf_putf(out, ",%.6f,%.6f,%.6f,%.6f,%.6f\n",
                            clock_to_seconds(p->begin_ns - w->first_ns),
                            clock_to_seconds(p->end_ns - w->first_ns),
                            clock_to_seconds(p->end_ns - p->begin_ns),
                            clock_to_seconds(p->begin_ns), clock_to_seconds(p->end_ns));
        }
}

static json_t *number_or_null(struct value v)
{
        return value_there(v) ? json_real(v.v) : json_null();
}

static json_t *whole_or_null(struct value v)
{
        return value_there(v) ? json_integer((json_int_t)v.v) : json_null();
}

static json_t *text_or_null(const char *s)
{
        return s[0] ? json_string(s) : json_null();
}

static json_t *limits_of(const struct notebook_writer *w)
{
        json_t *limits = json_object();
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (value_there(w->memory_limits[l]))
                        json_object_set_new(limits, level_name(l),
                                            json_real(w->memory_limits[l].v / GIB));
        }
        return limits;
}

static json_t *monitor_of(const struct notebook_writer *w, const struct run_facts *facts)
{
        json_t *m = json_object();
        json_object_set_new(m, "interval",
                            value_there(facts->interval_s) ? json_real(facts->interval_s.v)
                                                           : json_real(1));
        json_object_set_new(m, "start_time", json_real(0));
        json_object_set_new(m, "stop_time", json_real(clock_to_seconds(w->last_ns - w->first_ns)));
        json_object_set_new(m, "wallclock_start_time", json_real(clock_to_seconds(w->first_ns)));
        json_object_set_new(m, "wallclock_stop_time", json_real(clock_to_seconds(w->last_ns)));
        json_object_set_new(m, "num_cpus",
                            number_or_null(value_there(w->cpus) ? w->cpus : facts->cpus));
        json_object_set_new(
            m, "num_system_cpus",
            number_or_null(value_there(facts->system_cpus) ? facts->system_cpus : facts->cpus));
        json_object_set_new(m, "num_gpus", json_integer((json_int_t)w->n_gpus));
        json_object_set_new(m, "gpu_memory", json_real(w->gpu_gib));
        json_object_set_new(m, "gpu_name", json_string(w->gpu_name));
        json_object_set_new(m, "memory_limits", limits_of(w));
        json_t *handles = json_array();
        for (size_t i = 0; i < w->n_cores; i++)
                json_array_append_new(handles, json_integer((json_int_t)i));
        json_object_set_new(m, "cpu_handles", handles);
        json_object_set_new(m, "pid", whole_or_null(facts->pid));
        json_object_set_new(m, "uid", whole_or_null(facts->uid));
        json_object_set_new(m, "slurm_job", text_or_null(facts->slurm_job));
        json_object_set_new(m, "os", text_or_null(facts->os));
        json_object_set_new(m, "python", json_null());
        return m;
}

static json_t *words(const struct notebook_writer *w)
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
                json_object_set_new(schemas, level_name(l), words(w));
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
