/* Numbers for people: percent, SI and binary prefixes, fixed widths. Missing is "--". */
#pragma once

#include "model/unit.h"
#include "model/value.h"

#include <stddef.h>

#define FORMAT_MAX 32

/* "87%", "--". */
void format_percent(char *buf, size_t size, struct value ratio);
/* "691", "12.3k", "56.7G", three significant digits at most; "--". */
void format_si(char *buf, size_t size, struct value v);
/* "1011M", "139.8G", powers of 1024; "--". */
void format_binary(char *buf, size_t size, struct value v);
/* "612 to 680 TFLOP/s"; "52.1 GFLOP/s" where both are the same. */
void format_flops(char *buf, size_t size, double lo, double hi);
/* As plain a number as its unit asks for, with the unit: "87 %", "56.7 GB/s", "61 °C". */
void format_with_unit(char *buf, size_t size, enum unit unit, struct value v);
