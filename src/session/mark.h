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
        MARK(METRIC, "metric")

enum mark_type {
#define MARK(id, name) MARK_##id,
        MARKS(MARK)
#undef MARK
            MARK_COUNT
};

#define MARK_NAME_MAX 128
#define MARK_HOST_MAX 64
#define MARK_DATA_MAX 32768

struct mark {
        int64_t wall_ns, mono_ns;
        int64_t pid;
        enum mark_type type;
        char host[MARK_HOST_MAX];
        char name[MARK_NAME_MAX];
        bool has_seconds;
        double seconds; /* MARK_PHASE: how long it took */
        double value;   /* MARK_METRIC */
        char *data;     /* a JSON object with a phase's keys, or an event's JSON; owned, or NULL */
};

const char *mark_type_name(enum mark_type type);
/* MARK_COUNT when there is none of that name. */
enum mark_type mark_type_find(const char *name);
/* Fills times, host and process. */
void mark_init(struct mark *m, enum mark_type type);
void mark_finish(struct mark *m);

/* One line of JSON, for the spool. */
int mark_write(const struct mark *m, struct strbuf *out);
/* 0, or ERR_DATA when it is not one. */
int mark_parse(const char *s, size_t len, struct mark *ret);

/*
 * The spool: a folder beside the session in which each mark is a file. Marks of many processes and
 * nodes never wait for each other or for the recorder, on any file system; the recorder takes them
 * into the session every second and removes the folder at the end.
 */
#define SPOOL_SUFFIX "-marks"
#define SPOOL_NAME_MAX 160
/* The data may be quotes and backslashes, which take two bytes each. */
#define SPOOL_FILE_MAX (2 * MARK_DATA_MAX + 2048)

/* Puts the mark into the spool. -ENOENT when the session has none: nobody records it any more. */
int spool_put(const char *session, const struct mark *m, struct err *err);

struct spool_list {
        char (*names)[SPOOL_NAME_MAX];
        size_t n;
};

/* The marks that wait, oldest first, at most SPOOL_BATCH of them. */
#define SPOOL_BATCH 20000
int spool_list(int dir, struct spool_list *ret);
int spool_read(int dir, const char *name, struct mark *ret);
