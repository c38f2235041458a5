/*
 * The folder of a hardware monitor: hw_metrics.csv (nvidia-smi's query, read by read/), hw_dmon.csv
 * (nvidia-smi dmon) and cpu_metrics.csv (timestamp,usr_pct,idle_pct).
 */
#include "formats/hwmon/hwmon.h"

#include "base/clock.h"
#include "base/lines.h"
#include "base/list.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELDS_MAX 64
#define SECONDS_MAX 4e9 /* of a time that makes sense: the year 2096 */

struct fields {
        size_t n;
        const char *s[FIELDS_MAX];
        size_t len[FIELDS_MAX];
};

static bool file_exists(const char *folder, const char *name, char *path, size_t size)
{
        return snprintf(path, size, "%s/%s", folder, name) < (int)size && access(path, R_OK) == 0;
}

bool hwmon_is_one(const char *folder, char *path, size_t size)
{
        return file_exists(folder, "hw_metrics.csv", path, size) || hwmon_dmon(folder, path, size);
}

bool hwmon_dmon(const char *folder, char *path, size_t size)
{
        return file_exists(folder, "hw_dmon.csv", path, size);
}

/* Splits at blanks, or at a comma when there is one given; blanks around fields are dropped. */
static void split_fields(const struct line *line, char comma, struct fields *ret)
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

static int hwmon_find(const struct fields *f, const char *name)
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

/* The zone after a time, "Z" or "+01:30": its offset in seconds. */
static bool parse_zone(const char *s, int *ret_offset)
{
        char sign[2];
        int hours, minutes = 0;
        if (strcmp(s, "Z") == 0)
                return *ret_offset = 0, true;
        if (sscanf(s, "%1[+-]%2d:%2d", sign, &hours, &minutes) < 2)
                return false;
        *ret_offset = (hours * 60 + minutes) * (sign[0] == '-' ? -60 : 60);
        return true;
}

/* "2026-01-02 03:04:05.678" with any separators, local time unless it ends in a zone, or seconds
 * since 1970. */
static bool parse_time(const char *s, size_t len, int64_t *ret_ns)
{
        double seconds;
        char text[48];
        struct tm tm = {.tm_isdst = -1};
        double rest = 0;
        int offset, end = 0;
        if (num_parse_all(s, len, &seconds))
                return *ret_ns = clock_from_seconds(seconds), fabs(seconds) < SECONDS_MAX;
        snprintf(text, sizeof(text), "%.*s", (int)MIN(len, sizeof(text) - 1), s);
        if (sscanf(text, "%4d%*1[-/]%2d%*1[-/]%2d%*1[T ]%2d:%2d:%lf%n", &tm.tm_year, &tm.tm_mon,
                   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &rest, &end) != 6 ||
            !(rest >= 0 && rest < 61))
                return false;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        bool zoned = parse_zone(text + end, &offset);
        seconds = (zoned ? (double)timegm(&tm) - offset : (double)mktime(&tm)) + rest;
        *ret_ns = clock_from_seconds(seconds);
        return fabs(seconds) < SECONDS_MAX;
}

struct hwmon_cpu {
        int usr, idle; /* places of the columns; -1 for none */
        bool named;    /* by a header */
        struct {
                int64_t wall_ns;
                struct value usr, idle;
        } * list;
        size_t n, cap, next;
        struct host host;
};

/* Without a header its three columns stand in their order; with one, their names decide. */
#define CPU_COLUMNS 3

static void take_cpu_header(struct hwmon_cpu *c, const struct fields *f)
{
        if (f->n < 2 || c->n > 0)
                return;
        c->usr = hwmon_find(f, "usr_pct");
        c->idle = hwmon_find(f, "idle_pct");
        c->named = true;
}

static void take_cpu(void *arg, const struct line *line)
{
        struct hwmon_cpu *c = arg;
        struct fields f;
        int64_t ns;
        double usr, idle;
        split_fields(line, ',', &f);
        if (f.n == 0 || !parse_time(f.s[0], f.len[0], &ns)) {
                take_cpu_header(c, &f);
                return;
        }
        if (!c->named && f.n != CPU_COLUMNS)
                return; /* another file's columns */
        if (!LIST_ROOM(c->list, c->n, c->cap))
                return;
        const struct value blank = value_missing(STATE_BLANK);
        c->list[c->n].wall_ns = ns;
        c->list[c->n].usr = number_at(&f, c->usr, &usr) ? value_ok(usr / 100) : blank;
        c->list[c->n].idle = number_at(&f, c->idle, &idle) ? value_ok(idle / 100) : blank;
        c->n++;
}

int hwmon_cpu_open(const char *folder, struct hwmon_cpu **ret, struct err *err)
{
        char path[4096];
        bool present = file_exists(folder, "cpu_metrics.csv", path, sizeof(path));
        return hwmon_cpu_open_file(present ? path : NULL, ret, err);
}

int hwmon_cpu_open_file(const char *path, struct hwmon_cpu **ret, struct err *err)
{
        struct hwmon_cpu *c = calloc(1, sizeof(*c));
        if (!c)
                return err_set(err, -ENOMEM, "out of memory");
        c->usr = 1;
        c->idle = 2;
        int r = path ? each_line(path, take_cpu, c, err) : 0;
        if (r < 0) {
                hwmon_cpu_close(c);
                return r;
        }
        *ret = c;
        return 0;
}

void hwmon_cpu_close(struct hwmon_cpu *c)
{
        if (!c)
                return;
        free(c->list);
        free(c);
}

size_t hwmon_cpu_samples(const struct hwmon_cpu *c)
{
        return c->n;
}

int hwmon_cpu_next(struct hwmon_cpu *c, const struct host **ret)
{
        if (c->next == c->n)
                return 0;
        size_t i = c->next++;
        int64_t wall = c->list[i].wall_ns, passed = i > 0 ? wall - c->list[i - 1].wall_ns : 0;
        c->host = (struct host){.tick = i,
                                .wall_ns = wall,
                                .mono_ns = wall,
                                .interval_ns = MIN(MAX(passed, 0), 86400 * NS_PER_S)};
        c->host.levels[LEVEL_SYSTEM].asked = c->host.levels[LEVEL_SYSTEM].present = true;
        /* Its usr_pct has the nice ones in it already. */
        c->host.system[SYSTEM_USER] = c->list[i].usr;
        c->host.system[SYSTEM_IDLE] = c->list[i].idle;
        *ret = &c->host;
        return 1;
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
        split_fields(line, 0, &f);
        if (f.n > 0 && f.s[0][0] == '#') {
                /* The header has the "#" as a word of its own, or stuck to the first name. */
                int at = hwmon_find(&f, "mem");
                if (at >= 0)
                        d->mem = f.len[0] == 1 ? at - 1 : at;
                return;
        }
        if (number_at(&f, d->mem, &v))
                spread_add(&d->f->mem_copy_util, v / 100);
}

int hwmon_facts(struct run_facts *f, const char *folder, struct err *err)
{
        char path[4096];
        return file_exists(folder, "hw_dmon.csv", path, sizeof(path))
                   ? hwmon_dmon_facts(f, path, err)
                   : 0;
}

int hwmon_dmon_facts(struct run_facts *f, const char *path, struct err *err)
{
        struct dmon_state dmon = {.f = f, .mem = -1};
        return each_line(path, take_dmon, &dmon, err);
}
