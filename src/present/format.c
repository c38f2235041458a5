#include "present/format.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* How the numbers of a unit are written: in full, and short. base is that of prefixes, 0: none. */
struct manner {
        double scale;
        double base;
        int decimals;
        const char *after;
        double short_base;
        int short_decimals; /* below 99.95 */
        const char *short_after;
};

static const struct manner manners[] = {
    [UNIT_RATIO] = {100, 0, 1, " %", 0, 0, "%"},
    [UNIT_SCORE] = {1, 0, 1, "", 0, 0, ""},
    [UNIT_BYTES] = {1, 1024, 0, "B", 1024, 0, ""},
    [UNIT_BYTES_PER_S] = {1, 1000, 0, "B/s", 1000, 0, ""},
    [UNIT_WATTS] = {1, 0, 0, " W", 0, 0, ""},
    [UNIT_JOULES] = {1, 1000, 0, "J", 1000, 0, ""},
    [UNIT_CELSIUS] = {1, 0, 0, " °C", 0, 0, ""},
    [UNIT_HERTZ] = {1e-6, 0, 0, " MHz", 0, 0, ""},
    [UNIT_COUNT] = {1, 0, 0, "", 1000, 0, ""},
    [UNIT_PER_S] = {1, 0, 2, " /s", 0, 1, ""},
    [UNIT_NUMBER] = {1, 0, 0, "", 0, 0, ""},
    [UNIT_FLAG] = {1, 0, 0, "", 0, 0, ""},
    [UNIT_BITS] = {1, 0, 0, "", 0, 0, ""},
    [UNIT_SECONDS] = {1, 0, 2, " s", 0, 1, ""},
};

/* Divides v until it is below that; how often. */
static size_t divide_by_base(double *v, double base, double below)
{
        size_t i = 0;
        while (fabs(*v) >= below && i < 6) {
                *v /= base;
                i++;
        }
        return i;
}

static const char *full_prefix(size_t i, double base)
{
        static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
        static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
        return base > 1000 ? binary[i] : decimal[i];
}

static void put_full(char *buf, size_t size, const struct manner *m, int decimals, double v)
{
        if (m->base > 0) {
                size_t i = divide_by_base(&v, m->base, m->base * 0.9995);
                snprintf(buf, size, "%.*f %s%s", i == 0 || fabs(v) >= 99.95 ? 0 : 1, v,
                         full_prefix(i, m->base), m->after);
        } else {
                snprintf(buf, size, "%.*f%s", decimals, v * m->scale, m->after);
        }
}

static void put_short(char *buf, size_t size, const struct manner *m, double v)
{
        static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
        size_t i =
            m->short_base > 0 ? divide_by_base(&v, m->short_base, m->short_base * 0.9995) : 0;
        int decimals = i > 0 ? 1 : m->short_decimals;
        v *= m->scale;
        snprintf(buf, size, "%.*f%s%s", fabs(v) >= 99.95 ? 0 : decimals, v, prefixes[i],
                 m->short_after);
}

static void put_fine_bytes(char *buf, size_t size, double v)
{
        size_t i = divide_by_base(&v, 1024, 1024);
        snprintf(buf, size, "%.*f %sB",
                 i == 0          ? 0
                 : fabs(v) < 100 ? 2
                                 : 1,
                 v, full_prefix(i, 1024));
}

/* Three digits or more, and no exponent where people read it. */
static void put_plain(char *buf, size_t size, double v, const char *after)
{
        double a = fabs(v);
        int decimals = a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4;
        if (a != 0 && (a < 1e-3 || a >= 1e9))
                snprintf(buf, size, "%.4g%s", v, after);
        else
                snprintf(buf, size, "%.*f%s", decimals, v, after);
}

static void put_fine(char *buf, size_t size, enum unit unit, double v)
{
        if (unit == UNIT_BYTES)
                put_fine_bytes(buf, size, v);
        else if (unit == UNIT_RATIO || unit == UNIT_WATTS)
                put_full(buf, size, &manners[unit], 1, v);
        else if (unit == UNIT_SECONDS && v != 0 && fabs(v) < 1)
                put_plain(buf, size, v * 1e3, " ms");
        else
                put_plain(buf, size, v,
                          unit == UNIT_SECONDS  ? " s"
                          : unit == UNIT_JOULES ? " J"
                                                : "");
}

void format_value(char *buf, size_t size, enum format_style style, enum unit unit, struct value v)
{
        const struct manner *m = &manners[unit];
        if (!value_is_set(v))
                snprintf(buf, size, "--");
        else if (style == FORMAT_FINE)
                put_fine(buf, size, unit, v.v);
        else if (unit == UNIT_BITS)
                snprintf(buf, size, style == FORMAT_SHORT ? "%llx" : "0x%llx",
                         (unsigned long long)v.v);
        else if (style == FORMAT_SHORT)
                put_short(buf, size, m, v.v);
        else
                put_full(buf, size, m,
                         style == FORMAT_WORDS && unit == UNIT_RATIO ? 0 : m->decimals, v.v);
}

const char *format_share(char buf[FORMAT_MAX], double ratio)
{
        format_value(buf, FORMAT_MAX, FORMAT_WORDS, UNIT_RATIO, value_ok(ratio));
        return buf;
}

#define JOULES_PER_WH 3600.0
#define KILOJOULES_MAX 100e3 /* beyond, people think in watt-hours */

/* Three digits; more where there are more before the point. */
static void put_three(char buf[FORMAT_MAX], double v, const char *unit)
{
        int decimals = fabs(v) >= 99.95 ? 0 : fabs(v) >= 9.995 ? 1 : 2;
        snprintf(buf, FORMAT_MAX, "%.*f %s", decimals, v, unit);
}

const char *format_energy(char buf[FORMAT_MAX], double joules)
{
        double size = fabs(joules);
        if (size == 0)
                snprintf(buf, FORMAT_MAX, "0 J");
        else if (size < 999.5)
                put_three(buf, joules, "J");
        else if (size < KILOJOULES_MAX)
                put_three(buf, joules / 1e3, "kJ");
        else if (size < JOULES_PER_KWH)
                put_three(buf, joules / JOULES_PER_WH, "Wh");
        else
                put_three(buf, joules / JOULES_PER_KWH, "kWh");
        return buf;
}

const char *format_length(char *buf, size_t size, double s)
{
        long seconds = lround(s), minutes = lround(s / 60);
        if (s < 99.95)
                snprintf(buf, size, "%.1f s", s);
        else if (seconds < 5400)
                snprintf(buf, size, "%ld min %ld s", seconds / 60, seconds % 60);
        else
                snprintf(buf, size, "%ld h %ld min", minutes / 60, minutes % 60);
        return buf;
}

bool format_is_date(int64_t wall_ns)
{
        return wall_ns >= 365 * 86400 * NS_PER_S;
}

static void put_time(char *buf, size_t size, const char *format, const struct tm *tm)
{
        if (!tm || strftime(buf, size, format, tm) == 0)
                snprintf(buf, size, "--");
}

void format_utc(char *buf, size_t size, int64_t wall_ns)
{
        time_t t = (time_t)(wall_ns / NS_PER_S);
        struct tm tm;
        put_time(buf, size, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&t, &tm));
}

static void put_local(char *buf, size_t size, const char *format, int64_t wall_ns)
{
        time_t t = (time_t)(wall_ns / NS_PER_S);
        struct tm tm;
        put_time(buf, size, format, localtime_r(&t, &tm));
}

void format_minute(char *buf, size_t size, int64_t wall_ns)
{
        put_local(buf, size, "%Y-%m-%d %H:%M", wall_ns);
}

void format_second(char *buf, size_t size, int64_t wall_ns)
{
        put_local(buf, size, "%Y-%m-%d %H:%M:%S", wall_ns);
}

void format_flops(char *buf, size_t size, double lo, double hi)
{
        bool tera = hi >= 1e11;
        double unit = tera ? 1e12 : 1e9;
        int decimals = hi / unit >= 99.95 ? 0 : hi / unit >= 9.995 ? 1 : 2;
        int n = 0;
        if (lo < hi)
                n = snprintf(buf, size, "%.*f to ", decimals, lo / unit);
        snprintf(buf + n, size - (size_t)n, "%.*f %cFLOP/s", decimals, hi / unit, tera ? 'T' : 'G');
}
