#include "base/clock.h"
#include "base/jsonin.h"
#include "base/list.h"
#include "base/num.h"
#include "formats/notebook/state.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

bool notebook_wants(const char *name)
{
        return strcmp(name, "manifest.json") == 0 || strcmp(name, "cell_history.csv") == 0 ||
               (strncmp(name, "perf_", 5) == 0 && strlen(name) > 9 &&
                strcmp(name + strlen(name) - 4, ".csv") == 0);
}

/* The columns that every one of its files has. */
#define PERF_HEADER "time,memory,io_read_count,io_write_count,io_read,io_write,cpu_util_avg,"

/* One perf file alone, as its users export it. */
static bool is_alone(const char *path)
{
        return bundle_begins(path, PERF_HEADER);
}

bool notebook_is_one(const char *path)
{
        return bundle_is_zip(path) || bundle_has(path, "manifest.json") || is_alone(path);
}

void notebook_close(struct notebook *nb)
{
        if (!nb)
                return;
        bundle_finish(&nb->files);
        csvtext_finish(&nb->perf);
        free(nb->text);
        free(nb->entities);
        free(nb->rows);
        notebook_hosts_close(nb->hosts);
        free(nb);
}

struct bundle *notebook_files(struct notebook *nb)
{
        return bundle_find(&nb->files, "manifest.json") ? &nb->files : NULL;
}

size_t notebook_gpus(const struct notebook *nb)
{
        return nb->n_gpus;
}

static int not_one(struct err *err, const char *why)
{
        err_set(err, ERR_DATA, "this is not a notebook monitor's session: %s", why);
        return err_hint(err, "it has manifest.json and perf_<level>.csv");
}

static void take_manifest(struct notebook *nb, const json_t *o, char *name, size_t size)
{
        const json_t *m = json_object_get(o, "monitor");
        const char *app = json_string_value(json_object_get(json_object_get(o, "app"), "name"));
        nb->io_counters = !app || strcmp(app, "assay") != 0;
        const char *gpu = json_string_value(json_object_get(m, "gpu_name"));
        nb->start_time = json_number_value(json_object_get(m, "start_time"));
        nb->wall_start = json_number_value(json_object_get(m, "wallclock_start_time"));
        nb->gpu_gib = json_number_value(json_object_get(m, "gpu_memory"));
        if (!isfinite(nb->wall_start) || nb->wall_start < 0 ||
            nb->wall_start > NOTEBOOK_SECONDS_MAX)
                nb->wall_start = 0;
        snprintf(name, size, "%s", gpu ? gpu : "");
        const json_t *limits = json_object_get(m, "memory_limits");
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                nb->memory_limits[l] = json_number_value(json_object_get(limits, level_name(l)));
        nb->cpus = json_number_value(json_object_get(m, "num_cpus"));
        nb->system_cpus = json_number_value(json_object_get(m, "num_system_cpus"));
        notebook_take_run(&nb->run, m);
}

static struct value value_at(const struct notebook *nb, int at, double scale)
{
        double v;
        if (at < 0)
                return value_missing(STATE_NONE);
        const char *s = (size_t)at < nb->perf.n ? nb->perf.fields[at] : "";
        if (!num_parse_all(s, strlen(s), &v))
                return value_missing(STATE_BLANK);
        return value_ok(v * scale);
}

/* "gpu_util_3" → its place, or -1. */
static int column_of(const struct notebook *nb, const char *what, size_t i)
{
        char name[40];
        snprintf(name, sizeof(name), "gpu_%s_%zu", what, i);
        return csvtext_find(&nb->perf, name);
}

static bool open_level(struct notebook *nb, const struct strbuf *file)
{
        csvtext_finish(&nb->perf);
        free(nb->text);
        nb->text = malloc(file->len + 1);
        if (!nb->text)
                return false;
        if (file->len > 0)
                memcpy(nb->text, file->s, file->len);
        csvtext_init(&nb->perf, nb->text, file->len);
        nb->n_gpus = 0;
        if (!csvtext_next(&nb->perf))
                return false;
        nb->time = csvtext_find(&nb->perf, "time");
        for (size_t i = 0; i < NOTEBOOK_GPUS_MAX; i++) {
                nb->util[i] = column_of(nb, "util", i);
                nb->band[i] = column_of(nb, "band", i);
                nb->mem[i] = column_of(nb, "mem", i);
                if (nb->util[i] < 0 && nb->mem[i] < 0)
                        break;
                nb->n_gpus = i + 1;
        }
        return nb->time >= 0;
}

/* The system's GPUs are all GPUs; a level's may be fewer. */
static bool choose_level(struct notebook *nb)
{
        static const char *const levels[] = {"perf_system.csv", "perf_process.csv", "perf_user.csv",
                                             "perf_slurm.csv"};
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
                struct strbuf *file = bundle_find(&nb->files, levels[i]);
                if (!file || !open_level(nb, file))
                        continue;
                found = true;
                if (nb->n_gpus > 0)
                        return true;
        }
        return found;
}

static int make_entities(struct notebook *nb, const char *model)
{
        nb->entities = calloc(nb->n_gpus + 1, sizeof(*nb->entities));
        nb->rows = calloc(nb->n_gpus + 1, sizeof(*nb->rows));
        if (!nb->entities || !nb->rows)
                return -ENOMEM;
        for (size_t i = 0; i < nb->n_gpus; i++) {
                struct entity *e = &nb->entities[i];
                *e = (struct entity){
                    .slot = (uint32_t)i, .index = (int32_t)i, .gi = -1, .ci = -1, .flat = -1};
                snprintf(e->label, sizeof(e->label), "%zu", i);
                entity_set_text(e, ENTITY_TEXT_MODEL, model, strlen(model));
        }
        return 0;
}

/* Without a manifest, times count from the first row. */
static void start_at_first(struct notebook *nb)
{
        struct value time = {0};
        while (!value_is_set(time) && csvtext_next(&nb->perf))
                time = value_at(nb, nb->time, 1);
        if (value_is_set(time) && fabs(time.v) < NOTEBOOK_SECONDS_MAX)
                nb->start_time = time.v;
        choose_level(nb);
}

static int parse_bundle(struct bundle *files, bool alone, struct notebook **ret, struct err *err)
{
        struct notebook *nb = calloc(1, sizeof(*nb));
        char model[ENTITY_TEXT_MAX] = "";
        if (!nb) {
                bundle_finish(files);
                return err_set(err, -ENOMEM, "out of memory");
        }
        nb->files = *files;
        nb->alone = alone;
        *files = (struct bundle){0};
        struct strbuf *text = bundle_find(&nb->files, "manifest.json");
        json_t *manifest = text && text->len > 0 ? jsonin_load(text->s, text->len, 0, NULL) : NULL;
        int r = 0;
        if (!json_is_object(manifest) && !alone)
                r = not_one(err, "its manifest is missing or no JSON");
        else
                take_manifest(nb, manifest, model, sizeof(model));
        json_decref(manifest);
        if (r == 0 && !choose_level(nb))
                r = not_one(err, "no perf_<level>.csv has a column 'time'");
        if (r == 0 && alone)
                start_at_first(nb);
        if (r == 0 && make_entities(nb, model) < 0)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r < 0) {
                notebook_close(nb);
                return r;
        }
        *ret = nb;
        return 0;
}

int notebook_parse(struct bundle *files, struct notebook **ret, struct err *err)
{
        return parse_bundle(files, false, ret, err);
}

int notebook_parse_alone(struct bundle *files, struct notebook **ret, struct err *err)
{
        return parse_bundle(files, true, ret, err);
}

/* Its name says which level it is, or it is the one that is exported unasked. */
static const char *level_file(const char *path)
{
        static const char *const names[] = {"perf_user.csv", "perf_system.csv", "perf_slurm.csv"};
        const char *slash = strrchr(path, '/');
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(slash ? slash + 1 : path, names[i]) == 0)
                        return names[i];
        }
        return "perf_process.csv";
}

int notebook_open(const char *path, struct notebook **ret, struct err *err)
{
        struct bundle *files = calloc(1, sizeof(*files));
        if (!files)
                return err_set(err, -ENOMEM, "out of memory");
        bool alone = is_alone(path);
        int r = alone ? bundle_read_file(path, level_file(path), files, err)
                      : bundle_read(path, notebook_wants, files, err);
        if (r == 0)
                r = parse_bundle(files, alone, ret, err);
        free(files);
        return r;
}

int notebook_next(struct notebook *nb, const struct frame **ret)
{
        struct value time = {0};
        while (!value_is_set(time) || !notebook_is_time(nb, time.v)) {
                if (!csvtext_next(&nb->perf))
                        return 0;
                time = value_at(nb, nb->time, 1);
        }
        for (size_t i = 0; i < nb->n_gpus; i++) {
                struct row *row = &nb->rows[i];
                memset(row, 0, sizeof(*row));
                row->sample.who = &nb->entities[i];
                row->sample.m[METRIC_GPU_UTIL] = value_at(nb, nb->util[i], 0.01);
                row->sample.m[METRIC_MEM_COPY_UTIL] = value_at(nb, nb->band[i], 0.01);
                row->sample.m[METRIC_FB_USED] = value_at(nb, nb->mem[i], GIB);
                if (nb->gpu_gib > 0)
                        row->sample.m[METRIC_FB_TOTAL] = value_ok(nb->gpu_gib * GIB);
        }
        int64_t wall = clock_from_seconds(nb->wall_start + (time.v - nb->start_time));
        nb->frame = (struct frame){.tick = nb->ticks++,
                                   .wall_ns = wall,
                                   .mono_ns = wall,
                                   .provenance = "notebook session",
                                   .n = nb->n_gpus,
                                   .rows = nb->rows};
        *ret = &nb->frame;
        return 1;
}

/* ---- cells ---- */

static double notebook_number_of(const struct csvtext *c, int at, double fallback)
{
        double v;
        const char *s = at >= 0 && (size_t)at < c->n ? c->fields[at] : "";
        return num_parse_all(s, strlen(s), &v) ? v : fallback;
}

/* One line that is short enough is the phase's name; other cells are named by number. */
static void name_cell(struct mark *m, const char *raw, double index)
{
        if (raw[0] && strlen(raw) < sizeof(m->name) && !strchr(raw, '\n'))
                snprintf(m->name, sizeof(m->name), "%s", raw);
        else
                snprintf(m->name, sizeof(m->name), "cell %.0f", index);
}

static bool take_cell(const struct notebook *nb, const struct csvtext *c, const int at[5],
                      struct mark *m)
{
        double start = notebook_number_of(c, at[2], NAN), end = notebook_number_of(c, at[3], NAN);
        double index = notebook_number_of(c, at[0], 0);
        if (!(fabs(index) < 1e9))
                index = 0;
        const char *raw = at[1] >= 0 && (size_t)at[1] < c->n ? c->fields[at[1]] : "";
        if (!isfinite(start) || !isfinite(end))
                return false;
        *m = (struct mark){.type = MARK_PHASE, .has_seconds = true, .seconds = end - start};
        m->wall_ns = clock_from_seconds(nb->wall_start + (end - nb->start_time));
        m->mono_ns = clock_from_seconds(end);
        name_cell(m, raw, index);
        json_t *keys = json_pack("{s:i, s:s}", "cell_index", (int)index, "raw_cell", raw);
        m->data = keys ? json_dumps(keys, JSON_COMPACT) : NULL;
        json_decref(keys);
        return true;
}

#define CELLS_MAX 100000

int notebook_marks(struct notebook *nb, struct mark **ret, size_t *ret_n, struct err *err)
{
        struct strbuf *file = bundle_find(&nb->files, "cell_history.csv");
        struct csvtext c;
        struct mark *list = NULL;
        size_t n = 0;
        *ret = NULL;
        *ret_n = 0;
        if (!file || file->len == 0)
                return 0;
        CLEANUP(freep) char *text = malloc(file->len + 1);
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        memcpy(text, file->s, file->len);
        csvtext_init(&c, text, file->len);
        int at[5] = {-1, -1, -1, -1, -1};
        static const char *const names[] = {"cell_index", "raw_cell", "start_time", "end_time",
                                            "duration"};
        bool fine = csvtext_next(&c);
        for (size_t i = 0; fine && i < ARRAY_LEN(names); i++)
                at[i] = csvtext_find(&c, names[i]);
        while (fine && n < CELLS_MAX && csvtext_next(&c)) {
                if (!LIST_ONE_MORE(list, n))
                        break;
                n += take_cell(nb, &c, at, &list[n]);
        }
        csvtext_finish(&c);
        *ret = list;
        *ret_n = n;
        return 0;
}
