/*
 * The folder of a hardware monitor: hw_metrics.csv (nvidia-smi's query, read by read/), hw_dmon.csv
 * (nvidia-smi dmon) and cpu_metrics.csv (timestamp,usr_pct,idle_pct).
 */
#include "base/clock.h"
#include "base/lines.h"
#include "base/num.h"
#include "store/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELDS_MAX 64

struct fields {
        size_t n;
        const char *s[FIELDS_MAX];
        size_t len[FIELDS_MAX];
};

static bool exists(const char *folder, const char *name, char *path, size_t size)
{
        return snprintf(path, size, "%s/%s", folder, name) < (int)size && access(path, R_OK) == 0;
}

bool hwmon_is_one(const char *folder, char *path, size_t size)
{
        return exists(folder, "hw_metrics.csv", path, size) ||
               exists(folder, "hw_dmon.csv", path, size);
}

/* Splits at blanks, or at a comma when there is one given; blanks around fields are dropped. */
static void split(const struct line *line, char comma, struct fields *ret)
{
        const char *s = line->s, *end = line->s + line->len;
        ret->n = 0;
        while (s < end && ret->n < FIELDS_MAX) {
                while (s < end && (*s == ' ' || *s == '\t'))
                        s++;
                const char *start = s;
                while (s < end && (comma ? *s != comma : *s != ' ' && *s != '\t'))
                        s++;
                size_t len = (size_t)(s - start);
                while (len > 0 && start[len - 1] == ' ')
                        len--;
                if (len > 0 || comma) {
                        ret->s[ret->n] = start;
                        ret->len[ret->n++] = len;
                }
                s += comma && s < end;
        }
}

static int find(const struct fields *f, const char *name)
{
        for (size_t i = 0; i < f->n; i++) {
                if (f->len[i] == strlen(name) && memcmp(f->s[i], name, f->len[i]) == 0)
                        return (int)i;
        }
        return -1;
}

static bool number_at(const struct fields *f, int i, double *ret)
{
        return i >= 0 && (size_t)i < f->n && num_parse_all(f->s[i], f->len[i], ret);
}

/* One file's lines, each given to a function that keeps its own state. */
static int each_line(const char *path, void (*take)(void *state, const struct line *line),
                     void *state, struct err *err)
{
        struct lines lines = {0};
        struct line line;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0 && errno == ENOENT)
                return 0;
        int r = fd < 0 ? -errno : lines_init(&lines, fd);
        if (r < 0)
                return err_set(err, r, "cannot read '%s': %s", path, strerror(-r));
        while ((r = lines_next(&lines, &line)) > 0)
                take(state, &line);
        lines_finish(&lines);
        return r < 0 ? err_set(err, r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

struct cpu_state {
        struct run_facts *f;
        int usr, idle;
};

static void take_cpu(void *arg, const struct line *line)
{
        struct cpu_state *c = arg;
        struct fields f;
        double v;
        split(line, ',', &f);
        if (find(&f, "usr_pct") >= 0) {
                c->usr = find(&f, "usr_pct");
                c->idle = find(&f, "idle_pct");
                return;
        }
        if (number_at(&f, c->usr, &v))
                spread_add(&c->f->cpu_usr, v / 100);
        if (number_at(&f, c->idle, &v))
                spread_add(&c->f->cpu_idle, v / 100);
}

/* "2026-01-02 03:04:05.678" with any separators, local time, or seconds since 1970. */
static bool parse_time(const char *s, size_t len, int64_t *ret_ns)
{
        double seconds;
        char text[40];
        struct tm tm = {.tm_isdst = -1};
        double rest = 0;
        if (num_parse_all(s, len, &seconds))
                return *ret_ns = clock_from_seconds(seconds), true;
        snprintf(text, sizeof(text), "%.*s", (int)MIN(len, sizeof(text) - 1), s);
        if (sscanf(text, "%4d%*1[-/]%2d%*1[-/]%2d%*1[T ]%2d:%2d:%lf", &tm.tm_year, &tm.tm_mon,
                   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &rest) != 6 ||
            !(rest >= 0 && rest < 61))
                return false;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        *ret_ns = clock_from_seconds((double)mktime(&tm) + rest);
        return true;
}

struct mark_state {
        struct cpu_state columns;
        struct mark *list;
        size_t n, cap;
};

static void add_mark(struct mark_state *m, const char *name, int64_t wall_ns, double v)
{
        if (m->n == m->cap) {
                size_t cap = m->cap ? m->cap * 2 : 256;
                struct mark *more = realloc(m->list, cap * sizeof(*more));
                if (!more)
                        return;
                m->list = more;
                m->cap = cap;
        }
        struct mark *mark = &m->list[m->n++];
        *mark = (struct mark){.type = MARK_METRIC, .wall_ns = wall_ns, .value = v};
        snprintf(mark->name, sizeof(mark->name), "%s", name);
}

static void take_cpu_mark(void *arg, const struct line *line)
{
        struct mark_state *m = arg;
        struct fields f;
        int64_t ns;
        double v;
        split(line, ',', &f);
        if (find(&f, "usr_pct") >= 0) {
                m->columns.usr = find(&f, "usr_pct");
                m->columns.idle = find(&f, "idle_pct");
                return;
        }
        if (f.n == 0 || !parse_time(f.s[0], f.len[0], &ns))
                return;
        if (number_at(&f, m->columns.usr, &v))
                add_mark(m, "cpu_usr_pct", ns, v);
        if (number_at(&f, m->columns.idle, &v))
                add_mark(m, "cpu_idle_pct", ns, v);
}

int hwmon_marks(const char *folder, struct mark **ret, size_t *ret_n, struct err *err)
{
        char path[4096];
        struct mark_state m = {.columns = {.usr = 1, .idle = 2}};
        int r = 0;
        if (exists(folder, "cpu_metrics.csv", path, sizeof(path)))
                r = each_line(path, take_cpu_mark, &m, err);
        if (r < 0) {
                free(m.list);
                return r;
        }
        *ret = m.list;
        *ret_n = m.n;
        return 0;
}

struct dmon_state {
        struct run_facts *f;
        int mem; /* place of the column in a row; -1 until a header names it */
};

static void take_dmon(void *arg, const struct line *line)
{
        struct dmon_state *d = arg;
        struct fields f;
        double v;
        split(line, 0, &f);
        if (f.n > 0 && f.s[0][0] == '#') {
                /* The header has the "#" as a word of its own, or stuck to the first name. */
                int at = find(&f, "mem");
                if (at >= 0)
                        d->mem = f.len[0] == 1 ? at - 1 : at;
                return;
        }
        if (number_at(&f, d->mem, &v))
                spread_add(&d->f->mem_util, v / 100);
}

int hwmon_facts(struct run_facts *f, const char *folder, struct err *err)
{
        char path[4096];
        struct cpu_state cpu = {.f = f, .usr = 1, .idle = 2};
        struct dmon_state dmon = {.f = f, .mem = -1};
        int r = 0;
        if (exists(folder, "cpu_metrics.csv", path, sizeof(path)))
                r = each_line(path, take_cpu, &cpu, err);
        if (r == 0 && exists(folder, "hw_dmon.csv", path, sizeof(path)))
                r = each_line(path, take_dmon, &dmon, err);
        return r;
}
