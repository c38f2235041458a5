/* Files of /proc that say what is mapped and what threads wait in. */
#include "fuzz.h"

#include "read/stacks/maps.h"
#include "read/stacks/task.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *s = (const char *)data;
        char path[MAPS_PATH_MAX];
        struct mapping m;
        bool runs;
        int64_t call;
        if (maps_parse(s, size, path, &m) &&
            (m.end <= m.begin || m.path != path || !memchr(path, 0, sizeof(path))))
                abort();
        if (task_parse_call(s, size, &runs, &call) && call < -1)
                abort();
        uint64_t argument[2];
        struct task_runs ran = {0};
        double last_ms;
        if (task_parse_arguments(s, size, &call, argument) && call < 0)
                abort();
        if (task_parse_runs(s, size, &ran) != ran.has_times)
                abort();
        if (task_parse_last_run(s, size, &last_ms) && !(last_ms >= 0))
                abort();
        if (task_parse_inner(s, size) < 0)
                abort();
        return 0;
}
