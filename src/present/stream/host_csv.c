#include "present/stream/host_csv.h"

#include "base/clock.h"
#include "base/csvw.h"
#include "model/unit.h"

#include <stdio.h>

/* Columns that are one figure each. The per-core ones stand between the two lists. */
struct host_column {
        const char *name;
        enum figure figure;
        unsigned decimals;
        double scale;
};

static const struct host_column columns[] = {
    {"memory_gib", FIGURE_MEMORY, 6, 1 / GIB},
    {"io_read_bytes_s", FIGURE_READ, 0, 1},
    {"io_write_bytes_s", FIGURE_WRITE, 0, 1},
    {"io_read_ops_s", FIGURE_READ_COUNT, 2, 1},
    {"io_write_ops_s", FIGURE_WRITE_COUNT, 2, 1},
    {"processes", FIGURE_PROCESSES, 0, 1},
    {"threads", FIGURE_THREADS, 0, 1},
    {"cpu_cores_busy", FIGURE_CPU, 3, 1},
    {"cpus", FIGURE_CPUS, 2, 1},
    {"cpu_time_s", FIGURE_CPU_TIME, 3, 1},
    {"memory_limit_gib", FIGURE_MEMORY_LIMIT, 6, 1 / GIB},
    {"memory_peak_gib", FIGURE_MEMORY_PEAK, 6, 1 / GIB},
    {"rss_gib", FIGURE_RSS, 6, 1 / GIB},
    {"pss_gib", FIGURE_PSS, 6, 1 / GIB},
    {"uss_gib", FIGURE_USS, 6, 1 / GIB},
    {"io_read_total_bytes", FIGURE_READ_TOTAL, 0, 1},
    {"io_write_total_bytes", FIGURE_WRITE_TOTAL, 0, 1},
    {"io_read_total_ops", FIGURE_READ_COUNT_TOTAL, 0, 1},
    {"io_write_total_ops", FIGURE_WRITE_COUNT_TOTAL, 0, 1},
    {"io_read_chars_total_bytes", FIGURE_READ_CHARS_TOTAL, 0, 1},
    {"io_write_chars_total_bytes", FIGURE_WRITE_CHARS_TOTAL, 0, 1},
};

/* "gpu_util_0_pct" */
static const char *const gpu_columns[][2] = {
    {"gpu_util", "pct"}, {"gpu_band", "pct"}, {"gpu_mem", "gib"}};

static void put_field(struct csvw *c, struct value v, double scale, unsigned decimals)
{
        csvw_fixed(c, value_or_nan(v) * scale, decimals);
}

/* "cpu_util_3_pct", "gpu_util_0_pct". */
static void put_name(struct csvw *c, const char *what, const char *of, const char *unit)
{
        char name[64];
        snprintf(name, sizeof(name), "%s_%s_%s", what, of, unit);
        csvw_text(c, name);
}

void host_csv_header(const struct host *h, const char *end, struct strbuf *out)
{
        static const char *const first[] = {"timestamp", "level", "cpu_util_avg_pct",
                                            "cpu_util_min_pct", "cpu_util_max_pct"};
        struct csvw c = {.out = out, .end = end};
        for (size_t i = 0; i < ARRAY_LEN(first); i++)
                csvw_text(&c, first[i]);
        for (size_t i = 0; i < h->n_cores; i++) {
                char core[24];
                snprintf(core, sizeof(core), "%zu", i);
                put_name(&c, "cpu_util", core, "pct");
        }
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                csvw_text(&c, columns[i].name);
        csvw_text(&c, "ticks_late");
        csvw_text(&c, "ticks_missed");
        for (size_t k = 0; k < ARRAY_LEN(gpu_columns); k++) {
                for (size_t i = 0; i < h->n_gpus; i++)
                        put_name(&c, gpu_columns[k][0], h->gpus[i], gpu_columns[k][1]);
        }
        csvw_end(&c);
}

/* Single cores are known for the whole machine only. */
static void put_cores(const struct host *h, bool system, size_t n, struct csvw *c)
{
        struct value none = value_missing(STATE_NONE);
        put_field(c, system ? h->system[SYSTEM_CPU_MIN] : none, 100, 2);
        put_field(c, system ? h->system[SYSTEM_CPU_MAX] : none, 100, 2);
        for (size_t i = 0; i < n; i++)
                put_field(c, system && i < h->n_cores ? h->cores[i].util : none, 100, 2);
}

static void host_csv_put_row(const struct host *h, enum level level, size_t n_cores, size_t n_gpus,
                             struct csvw *c)
{
        const struct level_state *l = &h->levels[level];
        csvw_fixed(c, clock_to_seconds(h->wall_ns), 3);
        csvw_text(c, level_name(level));
        put_field(c, l->f[FIGURE_CPU_SHARE], 100, 2);
        put_cores(h, level == LEVEL_SYSTEM, n_cores, c);
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                put_field(c, l->f[columns[i].figure], columns[i].scale, columns[i].decimals);
        csvw_count(c, h->late);
        csvw_count(c, h->missed);
        for (size_t i = 0; i < n_gpus; i++)
                put_field(c, l->gpus[i].util, 100, 2);
        for (size_t i = 0; i < n_gpus; i++)
                put_field(c, l->gpus[i].mem_copy_util, 100, 2);
        for (size_t i = 0; i < n_gpus; i++)
                put_field(c, l->gpus[i].memory, 1 / GIB, 6);
}

void host_csv_rows(const struct host *h, size_t n_cores, size_t n_gpus, const char *end,
                   struct strbuf *out)
{
        struct csvw c = {.out = out, .end = end};
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!h->levels[l].present)
                        continue;
                host_csv_put_row(h, l, n_cores, n_gpus, &c);
                csvw_end(&c);
        }
}
