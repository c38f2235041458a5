/* How CPython's structs lie in memory, by version. */
#pragma once

#include "read/stacks/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MINOR_OLDEST 6
#define LAYOUT_MINOR_TABLE 12 /* the last one whose offsets this program brings along */
#define LAYOUT_MINOR_NEWEST 15

#define LAYOUT_WORDS 128 /* of debug offsets that are examined, 8 bytes each */
#define LAYOUT_OWNER_NONE 0xff

struct layout {
#define OFFSET(name, v6, v7, v8, v9, v10, v11, v12) uint32_t name;
#include "read/stacks/layout.def"
#undef OFFSET
        enum line_table lines;
        uint8_t minor;
        uint8_t owner_without_code; /* frames with this owner and above are the interpreter's own */
        bool instruction_is_index;  /* frame_instruction is a number within the code, no address */
};

/* That of 3.minor, up to LAYOUT_MINOR_TABLE. NULL for others. */
const struct layout *layout_of_minor(unsigned minor);

/* What the first words of _PyRuntime say from 3.13 on. */
struct layout_facts {
        uint32_t version; /* as PY_VERSION_HEX; 0 when it has no debug offsets */
        bool free_threaded;
};
struct layout_facts layout_read_facts(const uint64_t words[LAYOUT_WORDS]);
/*
 * The layout that the words describe by their kth way of being read: releases put new members
 * between others, so several orders are tried, and the caller verifies. 0; -EAGAIN when that order
 * contradicts itself; -ENOENT after the last.
 */
int layout_read(const uint64_t words[LAYOUT_WORDS], unsigned k, struct layout *ret);
