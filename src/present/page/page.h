/* The page's parts, compiled in. Matched by their whole path; there are no other files. */
#pragma once

#include <stddef.h>

struct page_part {
        const char *path; /* "/", "/page.js"; NULL ends the table */
        const char *type;
        const char *data;
        size_t size;
};

extern const struct page_part page_parts[];
