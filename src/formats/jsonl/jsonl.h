/* One object of our JSON lines as a row; and what a node says besides when it is asked by another
 * assay: who it is, what time it has, where a sample ends. */
#pragma once

#include "formats/batcher.h"

/* The fields of every row: all metrics, then all facts about an entity. */
void jsonl_fields(struct batcher *b);

enum jsonl_result {
        JSONL_TAKEN,
        JSONL_BAD, /* it is not an object of that kind */
        JSONL_NO_MEMORY,
};

/* Adds the row of one line. Ages are taken, and "stale" makes the values stale. */
enum jsonl_result jsonl_add_row(struct batcher *b, const char *s, size_t len);

/* What a line of a node is, by how it begins. */
enum jsonl_kind {
        JSONL_ROW,   /* or anything else */
        JSONL_HELLO, /* {"assay":"0.2.0","protocol":1,"host":"node7"} */
        JSONL_CLOCK, /* {"clock":4,"time":1763290000.123456}: the answer to "4" */
        JSONL_END,   /* {"end":17,"time":1763290000.123}: the rows before it are one sample */
};
enum jsonl_kind jsonl_kind(const char *s, size_t len);

struct jsonl_hello {
        char version[32];
        int protocol;
};
/* False when the line is not what it looks like; then ret is untouched. */
bool jsonl_read_hello(const char *s, size_t len, struct jsonl_hello *ret);
/* The number and the time of a JSONL_CLOCK or JSONL_END. */
bool jsonl_read_time(const char *s, size_t len, uint64_t *ret_number, int64_t *ret_wall_ns);
