/* What was kept of GPUs' power at rest: any bytes give at most so many entries, each one sane. */
#include "fuzz.h"

#include "engine/rest_book.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct rest_entry list[REST_BOOK_GPUS];
        size_t n = rest_book_parse((const char *)data, size, list, REST_BOOK_GPUS);
        if (n > REST_BOOK_GPUS)
                abort();
        for (size_t i = 0; i < n; i++) {
                if (!(list[i].watts > 0 && list[i].watts <= 5000) || !list[i].uuid[0])
                        abort();
                for (size_t k = 0; k < i; k++) {
                        if (strcmp(list[i].uuid, list[k].uuid) == 0)
                                abort();
                }
        }
        return 0;
}
