#include "formats/notebook/columns.h"

#include "base/attr.h"
#include "model/unit.h"

#include <stdio.h>

static const struct {
        const char *name;
        enum metric metric;
        double scale;
} groups[] = {{"util", METRIC_GPU_UTIL, 100},
              {"band", METRIC_MEM_COPY_UTIL, 100},
              {"mem", METRIC_FB_USED, 1 / GIB}};
#define GROUPS ARRAY_LEN(groups)

static const char *const kinds[] = {"avg", "min", "max"};
#define KINDS ARRAY_LEN(kinds)

static const struct {
        const char *name;
        enum figure figure;        /* of the level, or */
        enum system_figure system; /* of the machine's cores */
        double scale;
} figures[] = {{"memory", FIGURE_MEMORY, SYSTEM_NONE, 1 / GIB},
               {"io_read_count", FIGURE_READ_COUNT, SYSTEM_NONE, 1},
               {"io_write_count", FIGURE_WRITE_COUNT, SYSTEM_NONE, 1},
               {"io_read", FIGURE_READ, SYSTEM_NONE, 1},
               {"io_write", FIGURE_WRITE, SYSTEM_NONE, 1},
               {"cpu_util_avg", FIGURE_CPU_SHARE, SYSTEM_NONE, 100},
               {"cpu_util_min", FIGURE_NONE, SYSTEM_CPU_MIN, 100},
               {"cpu_util_max", FIGURE_NONE, SYSTEM_CPU_MAX, 100}};
#define FIGURES ARRAY_LEN(figures)

void notebook_layout_of_host(struct notebook_layout *l, const struct host *h)
{
        l->n_cores = h->n_cores;
        l->n_gpus = h->n_gpus;
}

void notebook_layout_of_frame(struct notebook_layout *l, const struct frame *f)
{
        l->n_cores = 0;
        l->n_gpus = MIN(f->n, (size_t)NOTEBOOK_GPUS_MAX);
        for (size_t i = 0; i < l->n_gpus; i++)
                l->slots[i] = f->rows[i].sample.who->slot;
}

static size_t first_gpu_column(const struct notebook_layout *l)
{
        return FIGURES + l->n_cores;
}

size_t notebook_columns(const struct notebook_layout *l)
{
        return first_gpu_column(l) + (l->n_gpus > 0 ? GROUPS * (KINDS + l->n_gpus) : 0);
}

void notebook_column_name(const struct notebook_layout *l, size_t column,
                          char ret[NOTEBOOK_NAME_MAX])
{
        size_t gpu = column - first_gpu_column(l);
        if (column < FIGURES)
                snprintf(ret, NOTEBOOK_NAME_MAX, "%s", figures[column].name);
        else if (column < first_gpu_column(l))
                snprintf(ret, NOTEBOOK_NAME_MAX, "cpu_util_%zu", column - FIGURES);
        else if (gpu < GROUPS * KINDS)
                snprintf(ret, NOTEBOOK_NAME_MAX, "gpu_%s_%s", groups[gpu / KINDS].name,
                         kinds[gpu % KINDS]);
        else
                snprintf(ret, NOTEBOOK_NAME_MAX, "gpu_%s_%zu",
                         groups[(gpu - GROUPS * KINDS) / l->n_gpus].name,
                         (gpu - GROUPS * KINDS) % l->n_gpus);
}

static struct value scaled_value(struct value v, double scale)
{
        v.v *= scale;
        return v;
}

/* Mean, smallest and largest of the values that are set. */
static void summarise_column(const struct value *v, size_t n, struct value ret[KINDS])
{
        double sum = 0, min = 0, max = 0;
        size_t present = 0;
        for (size_t i = 0; i < n; i++) {
                if (!value_is_set(v[i]))
                        continue;
                min = present == 0 || v[i].v < min ? v[i].v : min;
                max = present == 0 || v[i].v > max ? v[i].v : max;
                sum += v[i].v;
                present++;
        }
        const struct value none = value_missing(STATE_NONE);
        ret[0] = present > 0 ? value_ok(sum / (double)present) : none;
        ret[1] = present > 0 ? value_ok(min) : none;
        ret[2] = present > 0 ? value_ok(max) : none;
}

static void summarise_groups(const struct notebook_layout *l, struct value *row)
{
        struct value *gpus = row + first_gpu_column(l);
        for (size_t g = 0; l->n_gpus > 0 && g < GROUPS; g++)
                summarise_column(gpus + GROUPS * KINDS + g * l->n_gpus, l->n_gpus,
                                 gpus + g * KINDS);
}

/* The place of a GPU's value in a row. */
static struct value *gpu_place(const struct notebook_layout *l, struct value *row, size_t group,
                               size_t gpu)
{
        return row + first_gpu_column(l) + GROUPS * KINDS + group * l->n_gpus + gpu;
}

/* The monitor's column is USS. Where some process has none yet, or it was not asked for, it is what
 * is known, which may be an upper bound; of the machine it is what is used. */
static struct value memory_of(const struct level_state *l, enum level level)
{
        bool uss = level != LEVEL_SYSTEM && value_is_set(l->f[FIGURE_USS]);
        return l->f[uss ? FIGURE_USS : FIGURE_MEMORY];
}

static struct value figure_of(const struct host *h, enum level level, size_t i)
{
        const struct level_state *l = &h->levels[level];
        if (figures[i].figure == FIGURE_MEMORY)
                return memory_of(l, level);
        if (figures[i].figure != FIGURE_NONE)
                return l->f[figures[i].figure];
        return level == LEVEL_SYSTEM ? h->system[figures[i].system] : value_missing(STATE_NONE);
}

/* Single cores are known for the whole machine only. */
void notebook_host_row(const struct notebook_layout *l, const struct host *h, enum level level,
                       struct value *ret)
{
        const struct value none = value_missing(STATE_NONE);
        const struct level_state *state = &h->levels[level];
        bool system = level == LEVEL_SYSTEM;
        for (size_t i = 0; i < FIGURES; i++)
                ret[i] = scaled_value(figure_of(h, level, i), figures[i].scale);
        for (size_t i = 0; i < l->n_cores; i++)
                ret[FIGURES + i] =
                    system && i < h->n_cores ? scaled_value(h->cores[i].util, 100) : none;
        for (size_t i = 0; i < l->n_gpus; i++) {
                struct level_gpu use = {.util = none, .mem_copy_util = none, .memory = none};
                if (i < h->n_gpus)
                        use = state->gpus[i];
                const struct value v[GROUPS] = {use.util, use.mem_copy_util, use.memory};
                for (size_t g = 0; g < GROUPS; g++)
                        *gpu_place(l, ret, g, i) = scaled_value(v[g], groups[g].scale);
        }
        summarise_groups(l, ret);
}

static const struct row *row_of(const struct notebook_layout *l, const struct frame *f, size_t i)
{
        for (size_t k = 0; k < f->n; k++) {
                if (f->rows[k].sample.who->slot == l->slots[i])
                        return &f->rows[k];
        }
        return NULL;
}

void notebook_frame_row(const struct notebook_layout *l, const struct frame *f, struct value *ret)
{
        const struct value none = value_missing(STATE_NONE);
        for (size_t i = 0; i < first_gpu_column(l); i++)
                ret[i] = none;
        for (size_t i = 0; i < l->n_gpus; i++) {
                const struct row *row = row_of(l, f, i);
                for (size_t g = 0; g < GROUPS; g++) {
                        struct value v = row ? row->sample.m[groups[g].metric] : none;
                        *gpu_place(l, ret, g, i) = scaled_value(v, groups[g].scale);
                }
        }
        summarise_groups(l, ret);
}
