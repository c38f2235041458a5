#include "read/nodes/stream.h"

#include "base/list.h"

#include <string.h>

#define ROOM_LEAST 4096
#define ROOM_FIRST 16384
#define ROOM_MOST 65536 /* so that one node does not keep the others waiting */

void stream_restart(struct stream *s)
{
        *s = (struct stream){.buf = s->buf, .cap = s->cap, .all_bad = s->all_bad};
}

void stream_finish(struct stream *s)
{
        free(s->buf);
        *s = (struct stream){0};
}

static void move_to_front(struct stream *s)
{
        memmove(s->buf, s->buf + s->start, s->end - s->start);
        s->line -= s->start;
        s->end -= s->start;
        s->start = 0;
}

char *stream_room(struct stream *s, size_t *ret_size)
{
        if (s->start > 0)
                move_to_front(s);
        if (s->end - s->line > STREAM_LINE_MAX || s->end > STREAM_SAMPLE_MAX)
                return NULL;
        if (s->cap - s->end < ROOM_LEAST) {
                if (!LIST_RESERVE(s->buf, s->cap ? s->cap * 2 : ROOM_FIRST, s->cap))
                        return NULL;
        }
        *ret_size = MIN(s->cap - s->end, (size_t)ROOM_MOST);
        return s->buf + s->end;
}

void stream_filled(struct stream *s, size_t n)
{
        s->end += n;
}

static void count_bad(struct stream *s)
{
        s->bad++;
        s->all_bad++;
}

/* The lines from the sample's first byte to the one that ends it. False when memory is short. */
static bool read_rows(struct stream *s, size_t end, struct batcher *b)
{
        batcher_clear(b);
        for (size_t at = s->start; at < end;) {
                const char *line = s->buf + at;
                const char *nl = memchr(line, '\n', end - at);
                size_t len = nl ? (size_t)(nl - line) : end - at;
                at += len + 1;
                if (len == 0)
                        continue;
                enum jsonl_result r =
                    b->n < STREAM_ROWS_MAX ? jsonl_add_row(b, line, len) : JSONL_BAD;
                if (r == JSONL_NO_MEMORY)
                        return false;
                if (r == JSONL_BAD)
                        count_bad(s);
                else
                        s->bad = 0;
        }
        return true;
}

/* Takes the line out of the sample that it stands in the middle of. */
static void cut_out(struct stream *s, size_t at, size_t next)
{
        memmove(s->buf + at, s->buf + next, s->end - next);
        s->end -= next - at;
        s->line = at;
}

/* Before the greeting: a shell's, or somebody's who is not assay. */
static enum stream_event before_greeting(struct stream *s, const char *line, size_t len,
                                         size_t next)
{
        s->before += next - s->line;
        s->start = s->line = next;
        if (jsonl_kind(line, len) == JSONL_HELLO && jsonl_read_hello(line, len, &s->hello)) {
                s->greeted = true;
                return STREAM_HELLO;
        }
        return s->before > STREAM_BEFORE_MAX ? STREAM_BROKEN : STREAM_NOTHING;
}

static enum stream_event take_line(struct stream *s, size_t len, size_t next, struct batcher *b)
{
        const char *line = s->buf + s->line;
        size_t at = s->line;
        if (!s->greeted)
                return before_greeting(s, line, len, next);
        switch (jsonl_kind(line, len)) {
        case JSONL_HELLO:
                cut_out(s, at, next);
                return STREAM_NOTHING;
        case JSONL_CLOCK: {
                bool fine = jsonl_read_time(line, len, &s->number, &s->wall_ns);
                cut_out(s, at, next);
                if (!fine)
                        count_bad(s);
                return fine ? STREAM_CLOCK : STREAM_NOTHING;
        }
        case JSONL_END: {
                bool fine = jsonl_read_time(line, len, &s->number, &s->wall_ns);
                if (!fine)
                        count_bad(s);
                bool room = !fine || read_rows(s, at, b);
                s->start = s->line = next;
                return !room ? STREAM_BROKEN : fine ? STREAM_SAMPLE : STREAM_NOTHING;
        }
        case JSONL_ROW:
                s->line = next;
                return STREAM_NOTHING;
        }
        return STREAM_NOTHING;
}

enum stream_event stream_next(struct stream *s, struct batcher *b)
{
        while (s->line < s->end) {
                const char *line = s->buf + s->line;
                const char *nl = memchr(line, '\n', s->end - s->line);
                if (!nl)
                        return STREAM_NOTHING;
                size_t len = (size_t)(nl - line), next = s->line + len + 1;
                enum stream_event e = take_line(s, len, next, b);
                if (s->bad > STREAM_BAD_MAX)
                        return STREAM_BROKEN;
                if (e != STREAM_NOTHING)
                        return e;
        }
        return STREAM_NOTHING;
}
