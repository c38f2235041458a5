#include "present/chart/axis.h"

#include "base/attr.h"

#include <math.h>
#include <stdio.h>

#define NEARLY 1e-9 /* of a step: what rounding may have cost */

static struct ticks ticks_with(double low, double high, double step)
{
        double first = ceil(low / step - NEARLY) * step;
        double n = floor((high - first) / step + NEARLY) + 1;
        struct ticks t = {.first = first, .step = step};
        t.n = n < 1 ? 0 : n > TICKS_MAX ? TICKS_MAX : (unsigned)n;
        for (double s = step; t.decimals < 9 && fabs(s - round(s)) > 1e-6 * s; s *= 10)
                t.decimals++;
        return t;
}

/* The nearest of 1, 2, 5 times a power of ten that is at least v. */
static double round_step(double v)
{
        double base = pow(10, floor(log10(v)));
        double m = v / base;
        return base * (m <= 1 + NEARLY ? 1 : m <= 2 + NEARLY ? 2 : m <= 5 + NEARLY ? 5 : 10);
}

struct ticks ticks_between(double low, double high, unsigned about)
{
        double span = high - low;
        if (!(span > 0) || !isfinite(span))
                return (struct ticks){.first = low, .step = 1, .n = 1};
        return ticks_with(low, high, round_step(span / MAX(about, 1U)));
}

void tick_label(const struct ticks *t, unsigned i, char *buf, size_t n)
{
        double v = t->first + i * t->step;
        /* No "-0". */
        v = fabs(v) < t->step * NEARLY ? 0 : v;
        snprintf(buf, n, "%.*f", (int)t->decimals, v);
}

/* ---- values ---- */

static struct shown_unit with_prefix(double most, double base, const char *const names[], size_t n)
{
        double factor = 1;
        size_t i = 0;
        for (; i + 1 < n && fabs(most) * factor >= base; i++)
                factor /= base;
        return (struct shown_unit){factor, names[i]};
}

struct shown_unit shown_unit_for(enum unit unit, double most)
{
        static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
        static const char *const joules[] = {"J", "kJ", "MJ", "GJ"};
        static const char *const counts[] = {"", "thousand", "million", "billion"};
        static const char *const per_s[] = {"/s", "thousand/s", "million/s", "billion/s"};
        switch (unit) {
        case UNIT_RATIO:
                return (struct shown_unit){100, "%"};
        case UNIT_BYTES:
                return with_prefix(most, 1024, bytes, ARRAY_LEN(bytes));
        case UNIT_BYTES_PER_S:
                return with_prefix(most, 1000, rates, ARRAY_LEN(rates));
        case UNIT_JOULES:
                return with_prefix(most / 10, 1000, joules, ARRAY_LEN(joules));
        case UNIT_HERTZ:
                return (struct shown_unit){1e-6, "MHz"};
        case UNIT_COUNT:
                return with_prefix(most / 10, 1000, counts, ARRAY_LEN(counts));
        case UNIT_PER_S:
                return with_prefix(most / 10, 1000, per_s, ARRAY_LEN(per_s));
        case UNIT_WATTS:
                return (struct shown_unit){1, "W"};
        case UNIT_CELSIUS:
                return (struct shown_unit){1, "°C"};
        case UNIT_SECONDS:
                return (struct shown_unit){1, "s"};
        case UNIT_SCORE:
        case UNIT_NUMBER:
        case UNIT_FLAG:
        case UNIT_BITS:
                break;
        }
        return (struct shown_unit){1, ""};
}

#define VALUE_STEPS 4 /* about so many; panels are low */

struct value_axis value_axis_for(enum unit unit, double min, double max, bool from_zero)
{
        struct shown_unit as = shown_unit_for(unit, MAX(fabs(min), fabs(max)));
        struct value_axis a = {.factor = as.factor, .unit = as.name};
        /* A share of several CPUs may exceed one whole. */
        if ((unit == UNIT_RATIO && max <= 1.0001) || (unit == UNIT_SCORE && max <= 100)) {
                a.high = 100;
                a.ticks = ticks_with(0, 100, 50);
                return a;
        }
        double low = from_zero ? MIN(min * as.factor, 0) : min * as.factor;
        double high = max * as.factor;
        /* Curves that never move still need room above and below. */
        if (!(high - low > MAX(1e-9 * fabs(high), 1e-12)))
                high = low + MAX(1, fabs(low) * 1e-3);
        double step = round_step((high - low) / VALUE_STEPS);
        bool whole = unit == UNIT_COUNT || unit == UNIT_FLAG;
        step = whole && as.factor >= 1 ? MAX(ceil(step), 1) : step;
        a.low = floor(low / step + NEARLY) * step;
        a.high = ceil(high / step - NEARLY) * step;
        a.ticks = ticks_with(a.low, a.high, step);
        return a;
}

/* ---- time ---- */

#define MINUTE 60.0
#define HOUR 3600.0
#define DAY 86400.0

struct time_axis time_axis_for(double from_s, double to_s, unsigned about)
{
        static const struct {
                double from_span; /* seconds that are worth the unit */
                double unit_s;
                const char *unit;
                double steps[8]; /* ended by 0; beyond them 1, 2, 5 times a power of ten */
        } units[] = {
            {4 * DAY, DAY, "d", {0.25, 0.5, 1, 2, 5}},
            {3 * HOUR, HOUR, "h", {0.25, 0.5, 1, 2, 3, 6, 12}},
            {3 * MINUTE, MINUTE, "min", {0.25, 0.5, 1, 2, 5, 10, 15}},
            {0, 1, "s", {0}},
        };
        size_t u = 0;
        while (to_s - from_s < units[u].from_span)
                u++;
        struct time_axis a = {.unit_s = units[u].unit_s, .unit = units[u].unit};
        double low = from_s / a.unit_s, high = to_s / a.unit_s;
        double wanted = (high - low) / MAX(about, 1U);
        for (size_t i = 0; i < ARRAY_LEN(units[u].steps) && units[u].steps[i] > 0; i++) {
                if (units[u].steps[i] < wanted)
                        continue;
                a.ticks = ticks_with(low, high, units[u].steps[i]);
                return a;
        }
        a.ticks = ticks_between(low, high, about);
        return a;
}

void duration_text(double seconds, char *buf, size_t n)
{
        long s = lround(seconds);
        if (seconds < 9.95)
                snprintf(buf, n, "%.1f s", seconds);
        else if (s < 60)
                snprintf(buf, n, "%ld s", s);
        else if (s < 3600)
                snprintf(buf, n, s % 60 ? "%ld min %ld s" : "%ld min", s / 60, s % 60);
        else if (s < 86400)
                snprintf(buf, n, s / 60 % 60 ? "%ld h %ld min" : "%ld h", s / 3600, s / 60 % 60);
        else
                snprintf(buf, n, s / 3600 % 24 ? "%ld d %ld h" : "%ld d", s / 86400, s / 3600 % 24);
}
