#include "read/stacks/lines.h"

#include <stdbool.h>

#define NO_LINE_3_10 (-128)

/* Of an entry of LINES_LOCATIONS. */
#define CODE_BYTES 2 /* of a unit */
#define VARINT_MORE 0x40
#define VARINT_BITS 6
#define VARINT_SHIFT_MAX 30

enum location_kind {
        LOCATION_ONE_LINE_FIRST = 10, /* 10 to 12: this less 10 lines on */
        LOCATION_ONE_LINE_LAST = 12,
        LOCATION_NO_COLUMNS = 13,
        LOCATION_LONG = 14,
        LOCATION_NONE = 15,
};

static uint32_t line_or_none(int64_t line)
{
        return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t find_in_lnotab(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
        int64_t code = 0;
        for (size_t i = 0; i + 1 < n; i += 2) {
                code += t[i];
                if (code > at)
                        break;
                line += (int8_t)t[i + 1];
        }
        return line_or_none(line);
}

static uint32_t find_in_ranges(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
        int64_t end = 0;
        for (size_t i = 0; i + 1 < n; i += 2) {
                int8_t lines = (int8_t)t[i + 1];
                end += t[i];
                line += lines == NO_LINE_3_10 ? 0 : lines;
                if (at < end)
                        return lines == NO_LINE_3_10 ? 0 : line_or_none(line);
        }
        return 0;
}

/* A signed number, six bits a byte, the sign in the lowest. What is too long is cut off. */
static int64_t read_svarint(const uint8_t *t, size_t n, size_t at)
{
        uint64_t v = 0;
        bool more = true;
        for (unsigned shift = 0; more && at < n && shift <= VARINT_SHIFT_MAX;
             shift += VARINT_BITS, at++) {
                v |= (uint64_t)(t[at] & (VARINT_MORE - 1)) << shift;
                more = t[at] & VARINT_MORE;
        }
        int64_t magnitude = (int64_t)(v >> 1);
        return v & 1 ? -magnitude : magnitude;
}

static uint32_t find_in_locations(const uint8_t *t, size_t n, int64_t line, int64_t at)
{
        int64_t end = 0;
        for (size_t i = 0; i < n;) {
                unsigned kind = t[i] >> 3 & 15;
                end += ((t[i] & 7) + 1) * CODE_BYTES;
                if (kind == LOCATION_LONG || kind == LOCATION_NO_COLUMNS)
                        line += read_svarint(t, n, i + 1);
                else if (kind >= LOCATION_ONE_LINE_FIRST && kind <= LOCATION_ONE_LINE_LAST)
                        line += kind - LOCATION_ONE_LINE_FIRST;
                if (at < end)
                        return kind == LOCATION_NONE ? 0 : line_or_none(line);
                do /* the first byte of an entry alone has its highest bit set */
                        i++;
                while (i < n && !(t[i] & 0x80));
        }
        return 0;
}

uint32_t lines_find(enum line_table kind, const uint8_t *table, size_t n, uint32_t first_line,
                    int64_t at)
{
        if (at < 0)
                return line_or_none(first_line);
        switch (kind) {
        case LINES_LNOTAB:
                return find_in_lnotab(table, n, first_line, at);
        case LINES_RANGES:
                return find_in_ranges(table, n, first_line, at);
        case LINES_LOCATIONS:
                return find_in_locations(table, n, first_line, at);
        }
        return 0;
}
