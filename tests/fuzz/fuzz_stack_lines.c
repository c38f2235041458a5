/* Line tables of CPython. The input: kind, first line, place in the code, and the table. */
#include "fuzz.h"

#include "read/stacks/lines.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint32_t first;
        int32_t at;
        if (size < HEAD)
                return 0;
        memcpy(&first, data + 1, sizeof(first));
        memcpy(&at, data + 5, sizeof(at));
        enum line_table kind = (enum line_table)(data[0] % 3);
        uint32_t line = lines_find(kind, data + HEAD, size - HEAD, first, at);
        if (line > INT32_MAX)
                abort();
        /* Bytes behind the table's end do not matter. */
        uint8_t *copy = malloc(size);
        if (!copy)
                return 0;
        memcpy(copy, data, size);
        if (lines_find(kind, copy + HEAD, size - HEAD, first, at) != line)
                abort();
        free(copy);
        return 0;
}
