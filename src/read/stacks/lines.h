/*
 * CPython's line tables: which source line an instruction is of. Pure and bounded: whatever the
 * bytes are, a function examines each once, and answers with a line or 0 for none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum line_table {
        LINES_LNOTAB,    /* to 3.9, co_lnotab: pairs of bytes of code and signed lines */
        LINES_RANGES,    /* 3.10, co_linetable: the same, and ranges without a line */
        LINES_LOCATIONS, /* from 3.11 on, co_linetable: entries of differing length */
};

/*
 * The line of the instruction that begins at a byte of the code; before the first one is the first
 * line. 0 when the table does not say.
 */
uint32_t lines_find(enum line_table kind, const uint8_t *table, size_t n, uint32_t first_line,
                    int64_t at);
