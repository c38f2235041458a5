/* Any bytes as the exceptions of 'fleet idle': a list that can be asked, or an error that says
 * which line. What is asked may be hostile, too: labels of an engine. */
#include "fuzz.h"

#include "cmd/idle_except.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char first[128];
        struct idle_except *e = NULL;
        struct err err = {0};
        int r = idle_except_parse("exceptions", (const char *)data, size, &e, &err);
        if (r < 0) {
                if (e || err.code != r || !strstr(err.msg, "line") || strlen(err.msg) > 256)
                        abort();
                return 0;
        }
        snprintf(first, sizeof(first), "%.*s", (int)(size < 100 ? size : 100), (const char *)data);
        const struct fleet_holder holders[] = {
            {"ada", "physics", "gpu", "4711", "a", "n1 n2"},
            {"", "", "", "", "", ""},
            {first, first, first, first, first, first},
        };
        for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++)
                idle_except_names(e, &holders[i]);
        if (idle_except_names(NULL, &holders[0]))
                abort();
        idle_except_free(e);
        return 0;
}
