/* The levels of a notebook monitor's session as ticks of the host. */
#include "base/clock.h"
#include "base/num.h"
#include "formats/notebook/state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Rows of two files belong to one tick when their times are this close, in seconds. */
#define SAME_TICK_S 1e-3

static const struct {
        const char *name;
        enum figure figure;
        double scale; /* from the file's unit */
} columns[] = {
    {"memory", FIGURE_MEMORY, GIB},
    {"io_read_count", FIGURE_READ_COUNT, 1},
    {"io_write_count", FIGURE_WRITE_COUNT, 1},
    {"io_read", FIGURE_READ, 1},
    {"io_write", FIGURE_WRITE, 1},
    {"cpu_util_avg", FIGURE_CPU_SHARE, 0.01},
};

/* A counter comes back from a division with this much error at most. */
#define IO_ROUNDING 1e-6

/* The columns of I/O among them. */
#define IO_FIRST 1
#define IO_COUNT 4

/* What the monitor's I/O columns hide: it divides the counters, not what they grew by, through the
 * time since the row before (since 0 for the first). */
struct io_state {
        double time;             /* of the row before */
        double totals[IO_COUNT]; /* counters at that row; NaN when not known */
};

/* One level's file. */
struct level_file {
        bool present, more;
        char *text;
        struct csvtext csv;
        int time, at[ARRAY_LEN(columns)], cpu_min, cpu_max;
        size_t n_cores, n_gpus;
        int cores[HOST_CORES_MAX];
        int util[HOST_GPUS_MAX], band[HOST_GPUS_MAX], mem[HOST_GPUS_MAX];
        double now; /* time of the row that is next */
        bool io_counters;
        struct io_state io;
};

struct notebook_hosts {
        struct level_file files[LEVEL_COUNT];
        struct host host;
        double before; /* time of the tick given last */
        bool started;
};

void notebook_hosts_close(struct notebook_hosts *h)
{
        if (!h)
                return;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->files[l].present)
                        csvtext_finish(&h->files[l].csv);
                free(h->files[l].text);
        }
        free(h);
}

static void file_name(enum level level, char *buf, size_t size)
{
        snprintf(buf, size, "perf_%s.csv", level_name(level));
}

unsigned notebook_levels(const struct notebook *nb)
{
        unsigned levels = 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                char name[32];
                file_name(l, name, sizeof(name));
                /* bundle_find gives a file to write to, and changes nothing itself. */
                if (bundle_find((struct bundle *)&nb->files, name))
                        levels |= LEVEL_BIT(l);
        }
        return levels & NOTEBOOK_LEVELS;
}

static struct value value_at(const struct level_file *f, int at, double scale)
{
        double v;
        if (at < 0)
                return value_missing(STATE_NONE);
        const char *s = (size_t)at < f->csv.n ? f->csv.fields[at] : "";
        return num_parse_all(s, strlen(s), &v) ? value_ok(v * scale) : value_missing(STATE_BLANK);
}

/* Goes to the next row that has a time. */
static void advance_file(const struct notebook *nb, struct level_file *f)
{
        struct value time = {0};
        while ((!value_is_set(time) || !notebook_is_time(nb, time.v)) &&
               (f->more = csvtext_next(&f->csv)))
                time = value_at(f, f->time, 1);
        f->now = time.v;
}

static int numbered_column(const struct level_file *f, const char *what, size_t i)
{
        char name[40];
        snprintf(name, sizeof(name), "%s_%zu", what, i);
        return csvtext_find(&f->csv, name);
}

static void find_columns(struct level_file *f)
{
        f->time = csvtext_find(&f->csv, "time");
        f->cpu_min = csvtext_find(&f->csv, "cpu_util_min");
        f->cpu_max = csvtext_find(&f->csv, "cpu_util_max");
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                f->at[i] = csvtext_find(&f->csv, columns[i].name);
        for (size_t i = 0; i < HOST_CORES_MAX; i++) {
                f->cores[i] = numbered_column(f, "cpu_util", i);
                if (f->cores[i] < 0)
                        break;
                f->n_cores = i + 1;
        }
        for (size_t i = 0; i < HOST_GPUS_MAX; i++) {
                f->util[i] = numbered_column(f, "gpu_util", i);
                f->band[i] = numbered_column(f, "gpu_band", i);
                f->mem[i] = numbered_column(f, "gpu_mem", i);
                if (f->util[i] < 0 && f->mem[i] < 0)
                        break;
                f->n_gpus = i + 1;
        }
}

/* Counters never fall; rates do. So they are distinguished where no manifest says who wrote them.
 */
static bool never_falls(const struct strbuf *from)
{
        CLEANUP(freep) char *text = malloc(from->len + 1);
        struct csvtext csv;
        struct level_file f = {.time = -1};
        double before = 0, totals[IO_COUNT] = {0};
        bool falls = !text, grows = false;
        if (!text)
                return false;
        memcpy(text, from->s, from->len);
        csvtext_init(&csv, text, from->len);
        f.csv = csv;
        if (csvtext_next(&f.csv))
                find_columns(&f);
        while (!falls && f.time >= 0 && csvtext_next(&f.csv)) {
                struct value time = value_at(&f, f.time, 1);
                for (size_t i = 0; value_is_set(time) && i < IO_COUNT; i++) {
                        struct value v = value_at(&f, f.at[IO_FIRST + i], time.v - before);
                        falls |= value_is_set(v) && v.v < totals[i] * (1 - IO_ROUNDING);
                        grows |= value_is_set(v) && v.v > 0;
                        totals[i] = value_or(v, totals[i]);
                }
                before = value_or(time, before);
        }
        csvtext_finish(&f.csv);
        return grows && !falls;
}

static int open_file(const struct notebook *nb, const struct strbuf *from, struct level_file *f)
{
        f->text = malloc(from->len + 1);
        if (!f->text)
                return -ENOMEM;
        if (from->len > 0)
                memcpy(f->text, from->s, from->len);
        csvtext_init(&f->csv, f->text, from->len);
        f->present = true;
        f->io_counters = nb->io_counters || (nb->alone && from->len > 0 && never_falls(from));
        for (size_t i = 0; i < IO_COUNT; i++)
                f->io.totals[i] = NAN;
        if (!csvtext_next(&f->csv))
                return 0;
        find_columns(f);
        if (f->time >= 0)
                advance_file(nb, f);
        return 0;
}

static int open_hosts(struct notebook *nb)
{
        struct notebook_hosts *h = nb->hosts = calloc(1, sizeof(*h));
        int r = h ? 0 : -ENOMEM;
        unsigned levels = notebook_levels(nb);
        for (enum level l = 0; r == 0 && l < LEVEL_COUNT; l++) {
                char name[32];
                file_name(l, name, sizeof(name));
                if (levels & LEVEL_BIT(l))
                        r = open_file(nb, bundle_find(&nb->files, name), &h->files[l]);
        }
        return r;
}

static void take_gpus(const struct level_file *f, struct host *h, struct level_state *l)
{
        for (size_t i = 0; i < f->n_gpus; i++) {
                snprintf(h->gpus[i], sizeof(h->gpus[i]), "%zu", i);
                l->gpus[i] = (struct level_gpu){.util = value_at(f, f->util[i], 0.01),
                                                .mem_copy_util = value_at(f, f->band[i], 0.01),
                                                .memory = value_at(f, f->mem[i], GIB)};
        }
        h->n_gpus = MAX(h->n_gpus, f->n_gpus);
}

/* Our single cores are the machine's. */
static void take_machine(const struct level_file *f, struct host *h)
{
        h->n_cores = f->n_cores;
        for (size_t i = 0; i < f->n_cores; i++)
                h->cores[i].util = value_at(f, f->cores[i], 0.01);
        h->system[SYSTEM_CPU_MIN] = value_at(f, f->cpu_min, 0.01);
        h->system[SYSTEM_CPU_MAX] = value_at(f, f->cpu_max, 0.01);
}

/* Rates and totals from counters divided by the time of a sample. */
static void take_counters(struct level_file *f, struct level_state *l)
{
        static const enum figure totals[IO_COUNT] = {FIGURE_READ_COUNT_TOTAL,
                                                     FIGURE_WRITE_COUNT_TOTAL, FIGURE_READ_TOTAL,
                                                     FIGURE_WRITE_TOTAL};
        double passed = f->now - f->io.time;
        for (size_t i = 0; i < IO_COUNT; i++) {
                struct value *rate = &l->f[columns[IO_FIRST + i].figure];
                double before = f->io.totals[i];
                bool present = value_is_set(*rate) && passed > 0;
                double total = present ? nearbyint(rate->v * passed) : NAN;
                f->io.totals[i] = total;
                l->f[totals[i]] = present ? value_ok(total) : value_missing(STATE_BLANK);
                /* A sum that fell lost the counters of a process that ended. */
                bool rounded = total < before && total >= before * (1 - IO_ROUNDING);
                *rate = value_rate(
                    present ? value_ok(rounded ? before : total) : value_missing(STATE_BLANK),
                    isnan(before) ? value_missing(STATE_BLANK) : value_ok(before), passed);
        }
        f->io.time = f->now;
}

static void take_level(const struct notebook *nb, struct level_file *f, struct host *h,
                       enum level level)
{
        struct level_state *l = &h->levels[level];
        double cpus = level == LEVEL_SYSTEM && nb->system_cpus > 0 ? nb->system_cpus : nb->cpus;
        l->asked = l->present = true;
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                l->f[columns[i].figure] = value_at(f, f->at[i], columns[i].scale);
        if (f->io_counters)
                take_counters(f, l);
        l->f[FIGURE_CPUS] = notebook_known(cpus > 0 ? cpus : (double)f->n_cores);
        l->f[FIGURE_MEMORY_LIMIT] = notebook_known(nb->memory_limits[level] * GIB);
        l->f[FIGURE_CPU] = l->f[FIGURE_CPU_SHARE];
        l->f[FIGURE_CPU].v *= l->f[FIGURE_CPUS].v;
        if (!value_is_set(l->f[FIGURE_CPUS]))
                l->f[FIGURE_CPU] = value_missing(STATE_NONE);
        l->f[FIGURE_MEMORY_SHARE] = value_missing(STATE_NONE);
        if (value_is_set(l->f[FIGURE_MEMORY]) && value_is_set(l->f[FIGURE_MEMORY_LIMIT]))
                l->f[FIGURE_MEMORY_SHARE] =
                    value_ok(l->f[FIGURE_MEMORY].v / l->f[FIGURE_MEMORY_LIMIT].v);
        take_gpus(f, h, l);
        if (level == LEVEL_SYSTEM)
                take_machine(f, h);
}

static double earliest_time(const struct notebook_hosts *h)
{
        double first = INFINITY;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->files[l].more && h->files[l].now < first)
                        first = h->files[l].now;
        }
        return first;
}

int notebook_next_host(struct notebook *nb, const struct host **ret)
{
        int r = nb->hosts ? 0 : open_hosts(nb);
        if (r < 0)
                return r;
        struct notebook_hosts *h = nb->hosts;
        double now = earliest_time(h);
        if (!isfinite(now))
                return 0;
        int64_t wall = clock_from_seconds(nb->wall_start + (now - nb->start_time));
        uint64_t tick = h->host.tick + h->started;
        double passed = tick > 0 ? now - h->before : 0;
        h->host = (struct host){.tick = tick,
                                .wall_ns = wall,
                                .mono_ns = wall,
                                .interval_ns =
                                    passed > 0 && passed < 86400 ? clock_from_seconds(passed) : 0};
        h->before = now;
        h->started = true;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct level_file *f = &h->files[l];
                if (!f->more || f->now > now + SAME_TICK_S)
                        continue;
                take_level(nb, f, &h->host, l);
                advance_file(nb, f);
        }
        *ret = &h->host;
        return 1;
}
