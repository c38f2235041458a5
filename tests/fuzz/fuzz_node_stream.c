/* What a node writes, in pieces; the first byte says how long they are. */
#include "fuzz.h"

#include "read/nodes/stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct stream s = {0};
        struct batcher b;
        if (size == 0)
                return 0;
        size_t piece = data[0] + 1u;
        batcher_init(&b, DIALECT_CANON);
        jsonl_fields(&b);
        enum stream_event e = STREAM_NOTHING;
        for (size_t at = 1; at < size && e != STREAM_BROKEN;) {
                size_t room, n = size - at < piece ? size - at : piece;
                char *to = stream_room(&s, &room);
                if (!to)
                        break;
                n = n < room ? n : room;
                memcpy(to, data + at, n);
                stream_filled(&s, n);
                at += n;
                while ((e = stream_next(&s, &b)) != STREAM_NOTHING && e != STREAM_BROKEN) {
                        if (b.n > STREAM_ROWS_MAX)
                                abort();
                }
        }
        stream_finish(&s);
        batcher_finish(&b);
        return 0;
}
