/* What a collector writes, and what a command line says of collectors. */
#include "fuzz.h"

#include "read/collect/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct collected value = {0};
        struct collect_list list;
        struct err err;
        if (collect_parse_line((const char *)data, size, &value) &&
            (!isfinite(value.value) || strlen(value.unit) >= COLLECTED_UNIT_MAX ||
             strpbrk(value.unit, "\"\\\n")))
                abort();
        char *text = strndup((const char *)data, size);
        if (!text)
                return 0;
        collect_parse_list(text, &list, &err);
        for (size_t i = 0; i < list.n; i++) {
                if (!list.items[i].name[0] || !list.items[i].from[0])
                        abort();
        }
        collect_list_finish(&list);
        free(text);
        return 0;
}
