/* Rows of `dcgmi dmon`: one parser for saved captures and for the live stream. */
#pragma once

#include "base/lines.h"
#include "formats/batcher.h"

struct dmon {
        size_t n;                           /* columns of the header seen last */
        uint16_t at[SCHEMA_FIELDS_MAX + 1]; /* where each column starts */
        size_t width;                       /* of a whole row, padding included */
        char *header;                       /* the line itself, to know it again */
        size_t header_len;
        bool headless; /* rows of the dashboard's columns are taken without a header */
        bool words;    /* there was none: rows are read by words */
        bool tabs;     /* columns are divided by one tab each */
        size_t indent; /* blanks before the header, and before every row */
        char *plain;   /* the line that is read, without tabs; NULL while there was none */
        /* Gives an entity its own name before it is looked up; ENTITY_OTHER has the row passed
         * over. NULL keeps the names of the stream. */
        void (*rename)(const void *arg, struct entity_key *key);
        const void *arg;
};

/* What a line was. */
enum dmon_line {
        DMON_ROW,     /* a row of this round */
        DMON_CUT_ROW, /* the same, and it ends in the middle */
        DMON_HEADER,  /* a new layout: the batcher's schema was rebuilt */
        DMON_QUIET,   /* nothing to keep: a repeated header, another kind of entity, a blank line */
        DMON_NEXT_ROUND, /* it belongs to the next round and was not taken: give it again then */
        DMON_UNKNOWN,    /* none of the above */
        DMON_NO_MEMORY,
};

void dmon_finish(struct dmon *d);
/* Takes one line into the round that b gathers. */
enum dmon_line dmon_take(struct dmon *d, struct batcher *b, const struct line *line);
