/* Whatever dcgmi's listings hold, the parsers stay within their tables. */
#include "fuzz.h"

#include "read/dcgm/discovery.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct dcgm_inventory *inv)
{
        if (inv->n_gpus > DCGM_GPUS_MAX || inv->n_slices > DCGM_SLICES_MAX)
                abort();
        for (size_t i = 0; i < inv->n_slices; i++) {
                struct entity_key key = {.kind = inv->slices[i].kind,
                                         .index = -1,
                                         .gi = -1,
                                         .ci = -1,
                                         .flat = inv->slices[i].flat};
                dcgm_rename(inv, &key);
                if (key.kind != ENTITY_OTHER && (key.index < 0 || key.gi < 0))
                        abort();
        }
        if (dcgm_expected_rows(inv) > inv->n_gpus + inv->n_slices)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct dcgm_inventory inv;
        static struct dcgm_fields fields;
        memset(&inv, 0, sizeof(inv));
        memset(&fields, 0, sizeof(fields));
        const char *s = (const char *)data;
        for (size_t i = 0; i < size;) {
                const char *nl = memchr(s + i, '\n', size - i);
                size_t len = nl ? (size_t)(nl - s) - i : size - i;
                /* A copy of its own, so that reading past the line is noticed. */
                char *line = malloc(len + !len);
                if (!line)
                        return 0;
                memcpy(line, s + i, len);
                dcgm_take_gpu(&inv, line, len);
                dcgm_take_slice(&inv, line, len);
                dcgm_take_field(&fields, line, len);
                free(line);
                i += len + 1;
        }
        check(&inv);
        return 0;
}
