/* Marks as the spool holds them, and lines of the run log, written and read. */
#include "fuzz.h"

#include "session/runlog.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct mark m, again;
        struct strbuf out = {0};
        if (runlog_parse((const char *)data, size, &m) &&
            (m.wall_ns <= 0 || !m.name[0] || m.type >= MARK_COUNT))
                abort();
        if (mark_parse((const char *)data, size, &m) < 0)
                return 0;
        runlog_line(&m, 1, &out);
        strbuf_clear(&out);
        /* What is written is read as the same mark. */
        if (mark_write(&m, &out) == 0) {
                if (mark_parse(out.s, out.len, &again) < 0 || again.wall_ns != m.wall_ns ||
                    strcmp(again.name, m.name) != 0)
                        abort();
                mark_finish(&again);
        }
        strbuf_finish(&out);
        mark_finish(&m);
        return 0;
}
