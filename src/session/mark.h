/* What people and programs say about a run while it runs: phases, events, numbers of their own. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

/* MARK(id, name): name as in the file. */
#define MARKS(MARK)                                                                                \
        MARK(PHASE, "phase") /* a phase that is over and took seconds */                           \
        MARK(BEGIN, "begin") /* a phase begins */                                                  \
        MARK(END, "end")     /* the last phase of that name that is open ends */                   \
        MARK(EVENT, "event")                                                                       \
        MARK(METRIC, "metric")                                                                     \
        MARK(STEP, "step") /* a step of the program ends */

enum mark_type {
#define MARK(id, name) MARK_##id,
        MARKS(MARK)
#undef MARK
            MARK_COUNT
};

#define MARK_NAME_MAX 128
#define MARK_HOST_MAX 64
#define MARK_DATA_MAX 32768
#define MARK_SECONDS_MAX 1e9 /* 31 years: a phase that took longer is a mistake */

struct mark {
        int64_t wall_ns, mono_ns;
        int64_t pid;
        enum mark_type type;
        char host[MARK_HOST_MAX];
        char name[MARK_NAME_MAX];
        bool has_seconds;
        bool has_value;
        double seconds; /* MARK_PHASE, MARK_STEP: how long it took */
        double value;   /* MARK_METRIC; MARK_STEP: how long of that it waited for data */
        char *data;     /* a JSON object with a phase's keys, or an event's JSON; owned, or NULL */
};

const char *mark_type_name(enum mark_type type);
/* MARK_COUNT when there is none of that name. */
enum mark_type mark_type_find(const char *name);
/* The text that an object of JSON has under a key; false when there is none, or it does not fit.
 * data may be NULL. */
bool mark_text(const char *data, const char *key, char *buf, size_t size);
/* Fills times, host and process. */
void mark_init(struct mark *m, enum mark_type type);
void mark_finish(struct mark *m);

/* One line of JSON, for the spool. */
int mark_write(const struct mark *m, struct strbuf *out);
/* 0, or ERR_DATA when it is not one. */
int mark_parse(const char *s, size_t len, struct mark *ret);
