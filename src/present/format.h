/* Numbers and times for people: percent, SI and binary prefixes, fixed widths. Missing is "--". */
#pragma once

#include "model/unit.h"
#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

#define FORMAT_MAX 32

enum format_style {
        FORMAT_FULL,  /* where a number stands alone: "87.3 %", "56.7 GB/s", "61 °C" */
        FORMAT_WORDS, /* the same in a sentence: "87 %" */
        FORMAT_SHORT, /* in narrow cells, without the unit: "87%", "56.7G", "61" */
        FORMAT_FINE,  /* with the digits that distinguishes two: "4.567 s", "139.81 GiB" */
};

/* A value as its unit asks for. */
void format_value(char *buf, size_t size, enum format_style style, enum unit unit, struct value v);

static inline void format_with_unit(char *buf, size_t size, enum unit unit, struct value v)
{
        format_value(buf, size, FORMAT_FULL, unit, v);
}

static inline void format_short(char *buf, size_t size, enum unit unit, struct value v)
{
        format_value(buf, size, FORMAT_SHORT, unit, v);
}

/* "16 %": a share in a sentence. Returns buf. */
const char *format_share(char buf[FORMAT_MAX], double ratio);
/* "505 J", "34.7 kJ", "61.2 Wh", "2.18 kWh", "1234 kWh". Returns buf. */
const char *format_energy(char buf[FORMAT_MAX], double joules);
/* How long something took: "16.1 s", "12 min 3 s", "5 h 40 min". Returns buf. */
const char *format_length(char *buf, size_t size, double seconds);
/* Whether times of a recording are dates: those of a capture without times count from 0. */
bool format_is_date(int64_t wall_ns);
/* "2026-11-17 03:42:28 UTC". */
void format_utc(char *buf, size_t size, int64_t wall_ns);
/* The local time: "2026-11-17 03:42", "2026-11-17 03:42:28". */
void format_minute(char *buf, size_t size, int64_t wall_ns);
void format_second(char *buf, size_t size, int64_t wall_ns);
/* "612 to 680 TFLOP/s"; "52.1 GFLOP/s" where both are the same. */
void format_flops(char *buf, size_t size, double lo, double hi);
