#include "present/format.h"

#include "base/attr.h"

#include <math.h>
#include <stdio.h>

void format_percent(char *buf, size_t size, struct value ratio)
{
        if (value_there(ratio))
                snprintf(buf, size, "%.0f%%", ratio.v * 100);
        else
                snprintf(buf, size, "--");
}

static void with_prefix(char *buf, size_t size, double v, double base, const char *gap)
{
        static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
        size_t i = 0;
        while (fabs(v) >= base * 0.9995 && i + 1 < ARRAY_LEN(prefixes)) {
                v /= base;
                i++;
        }
        int decimals = i == 0 || fabs(v) >= 99.95 ? 0 : 1;
        snprintf(buf, size, "%.*f%s%s", decimals, v, gap, prefixes[i]);
}

void format_si(char *buf, size_t size, struct value v)
{
        if (value_there(v))
                with_prefix(buf, size, v.v, 1000, "");
        else
                snprintf(buf, size, "--");
}

void format_binary(char *buf, size_t size, struct value v)
{
        if (value_there(v))
                with_prefix(buf, size, v.v, 1024, "");
        else
                snprintf(buf, size, "--");
}

void format_with_unit(char *buf, size_t size, enum unit unit, struct value v)
{
        char number[FORMAT_MAX];
        if (!value_there(v)) {
                snprintf(buf, size, "--");
                return;
        }
        switch (unit) {
        case UNIT_RATIO:
                snprintf(buf, size, "%.1f %%", v.v * 100);
                return;
        case UNIT_SCORE:
                snprintf(buf, size, "%.1f", v.v);
                return;
        case UNIT_BYTES:
                with_prefix(number, sizeof(number), v.v, 1024, " ");
                snprintf(buf, size, "%s%sB", number, v.v >= 1023.5 ? "i" : "");
                return;
        case UNIT_BYTES_PER_S:
                with_prefix(number, sizeof(number), v.v, 1000, " ");
                snprintf(buf, size, "%sB/s", number);
                return;
        case UNIT_WATTS:
                snprintf(buf, size, "%.0f W", v.v);
                return;
        case UNIT_JOULES:
                with_prefix(number, sizeof(number), v.v, 1000, " ");
                snprintf(buf, size, "%sJ", number);
                return;
        case UNIT_CELSIUS:
                snprintf(buf, size, "%.0f °C", v.v);
                return;
        case UNIT_HERTZ:
                snprintf(buf, size, "%.0f MHz", v.v / 1e6);
                return;
        case UNIT_PER_S:
                snprintf(buf, size, "%.2f /s", v.v);
                return;
        case UNIT_BITS:
                snprintf(buf, size, "0x%llx", (unsigned long long)v.v);
                return;
        case UNIT_SECONDS:
                snprintf(buf, size, "%.2f s", v.v);
                return;
        case UNIT_COUNT:
        case UNIT_NUMBER:
        case UNIT_FLAG:
                snprintf(buf, size, "%.0f", v.v);
                return;
        }
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
