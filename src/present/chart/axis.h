/* Axes: round numbers at even distances, and units that suit them. */
#pragma once

#include "model/unit.h"

#include <stdbool.h>
#include <stddef.h>

/* Ticks at first, first + step, …; labels need so many decimals. */
struct ticks {
        double first, step;
        unsigned n;
        unsigned decimals;
};

#define LIMIT_NEAR 0.1 /* of a limit: from there on a panel draws it */
#define TICKS_MAX 64
#define TICK_LABEL_MAX 32

/* Steps of 1, 2 or 5 times a power of ten, about so many of them from low to high. */
struct ticks ticks_between(double low, double high, unsigned about);
void tick_label(const struct ticks *t, unsigned i, char *buf, size_t n);

/* A unit that suits values of a size, and what SI values are multiplied with. */
struct shown_unit {
        double factor;
        const char *name;
};

struct shown_unit shown_unit_for(enum unit unit, double most);

/* A value axis from low to high, both in the shown unit: its value is SI value × factor. */
struct value_axis {
        double low, high;
        double factor;
        const char *unit; /* "%", "GiB", "GB/s"; "" for plain numbers */
        struct ticks ticks;
};

/*
 * For SI values from min to max. Ratios and scores always span all they can; others start at 0,
 * unless from_zero is false.
 */
struct value_axis value_axis_for(enum unit unit, double min, double max, bool from_zero);

/* A time axis in one unit: its ticks are seconds ÷ unit_s. */
struct time_axis {
        double unit_s;
        const char *unit; /* "s", "min", "h", "d" */
        struct ticks ticks;
};

struct time_axis time_axis_for(double from_s, double to_s, unsigned about);

/* "1.3 s", "4 min 12 s", "2 h 5 min", "3 d 4 h". */
void duration_text(double seconds, char *buf, size_t n);
