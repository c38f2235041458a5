/* A session that is being read: what the files that read its parts share. */
#pragma once

#include "base/strbuf.h"
#include "session/block.h"
#include "session/db.h"
#include "session/series.h"
#include "session/session.h"

#define SERIES_IDS_MAX 1024 /* a later program may know more series */

/* Which of the entities an id in the file means. */
struct entity_id {
        int64_t id;
        size_t place;
};

/* One series of one entity in the block that is loaded, whose values differ. */
struct coded_column {
        uint32_t entity; /* its place */
        uint16_t series;
        struct series_scale scale;
        struct coded coded;
        size_t at; /* of its bytes */
};

struct session_reader {
        struct db db;
        int64_t start_ns, start_mono_ns; /* the latter 0 when not known */
        char *fact;
        struct entity *entities; /* sorted as entity_compare says */
        struct entity_id *ids;   /* by id */
        size_t n;
        uint16_t place[SERIES_IDS_MAX]; /* id in the file → our series, or SERIES_COUNT */
        struct series_scale scale[SERIES_IDS_MAX];

        /* The block that is loaded: what is the same in all its ticks, and what is not. */
        int64_t loaded; /* -1 for none */
        bool *used;     /* n: the block has something of it */
        struct coded_column *columns;
        size_t n_columns;
        struct strbuf bytes;
        struct statement ticks;
        bool reading;
        struct row *given;  /* n, each at its entity's place; what is the same in a block stays */
        struct row *packed; /* n: those that were present, when some were not */
        bool *present;      /* n */
        struct frame frame;
        char provenance[80];

        struct host_cursor *host; /* NULL before the first host is asked for */
        struct process_cursor *processes;
        struct stack_cursor *stacks; /* NULL before stacks are asked for, and without any */
};

/* Whether the file has such a table: older ones do not have them all. */
bool session_has_table(struct session_reader *r, const char *name);
/* A row of block or host_block, whose columns from width on start at first. False: makes no sense.
 */
bool session_take_coded(sqlite3_stmt *h, int first, struct coded *ret, const uint8_t **ret_blob);
/*
 * The moment that wall and skew of a tick's row report: the time at the start and what the
 * monotonic clock counted since. A wall clock that is set while a run is recorded moves nothing.
 */
void session_moment(const struct session_reader *r, sqlite3_stmt *h, int first,
                    int64_t *ret_wall_ns, int64_t *ret_mono_ns);

/*
 * The same for a moment that was reported by both clocks, of a mark or the end. Where they differ
 * by more than 2 s the wall clock was set, and the other one reports; unless that leads out of the
 * run.
 */
int64_t session_steady(struct session_reader *r, int64_t wall_ns, int64_t mono_ns);

/* Which model servers there are, tick by tick. */
struct serving_cursor;
int serving_cursor_open(struct session_reader *r, struct serving_cursor **ret);
void serving_cursor_close(struct serving_cursor *c); /* NULL is allowed */
/* Identifies the host's servers at that tick; its times are known. */
void serving_cursor_fill(struct serving_cursor *c, uint64_t tick, struct host *h);

void host_cursor_close(struct host_cursor *c);
/* Gives the frame the processes of its tick. 0 or a negative code. */
int process_cursor_fill(struct session_reader *r, int64_t tick, struct frame *f);
/* The last tick was given: a question that is not asked to its end would keep a recorder's log
 * growing. NULL is allowed. */
void process_cursor_rest(struct process_cursor *c);
void process_cursor_close(struct process_cursor *c);
void stack_cursor_close(struct stack_cursor *c);
