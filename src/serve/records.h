/*
 * One record a stay: an owner, the GPUs it held, and what they did meanwhile. SQLite in the state
 * folder, readable while it is written, bounded by age and number.
 */
#pragma once

#include "base/err.h"
#include "base/jsonw.h"
#include "model/integral.h"
#include "model/owner.h"

#define RECORD_GPUS_MAX 256
#define RECORDS_FILE "jobs.db"

#define RECORD_EACH_MAX 64

/* One GPU of a stay. */
struct record_gpu {
        struct value util; /* of the time that the GPU was seen */
        struct value memory_peak, memory_total;
};

/* What the job's control group used on this node, and what it was given. */
struct record_use {
        struct value cpu_s, cpus, memory_peak, memory_limit;
};

struct record {
        int64_t id; /* 0 until it was written */
        struct owner who;
        char gpus[RECORD_GPUS_MAX]; /* "0,1,2/7" */
        uint32_t n_gpus;
        int64_t start_ns, end_ns; /* wall clock */
        bool final;           /* the owner let go; else it continues, or the program was killed */
        double gpu_s;         /* GPU-seconds that it held them */
        double wasted_s;      /* of those, judged idle on a sliding window */
        uint32_t findings;    /* of health, all that were seen */
        struct integrals sum; /* of all its GPUs */
        struct record_use use;
        struct record_gpu each[RECORD_EACH_MAX]; /* in the order of gpus */
        size_t n_each;
        uint32_t n_stays; /* joined into this one; 0 and 1: no others */
        double paused_s;  /* between them */
};

struct records;

/* Opens or makes the file, ends the records that a killed program left. 0 or a code with err. */
int records_open(const char *path, int64_t keep_ns, struct records **ret, struct err *err);
void records_close(struct records *r);
/* Writes a record, or writes it again; sets its id. */
int records_put(struct records *r, struct record *record, struct err *err);
/* Removes what is older than it is kept, and what is too many. */
void records_trim(struct records *r, int64_t now_ns);

/* Which of them; what is 0 or NULL does not matter. */
struct records_query {
        int64_t id, since_ns;
        const char *user;
        const char *job; /* the number of a job, or a pod's name */
        bool wasted;     /* only those that wasted more than a tenth of their time */
        size_t limit;
        size_t *senseless; /* counts records whose numbers cannot be; NULL: not wanted */
};

/* Calls each() with the newest first; the record is valid during the call. 0 or a code with err. */
int records_each(const char *path, const struct records_query *query,
                 void (*each)(void *arg, const struct record *record), void *arg, struct err *err);
/* One JSON object, without a line end. */
void record_json(const struct record *record, struct jsonw *j);
/* The member "jobs", an array of those that a query finds. */
int records_json(const char *path, const struct records_query *query, struct jsonw *j,
                 struct err *err);

/* What is kept of a record's use and of each GPU, as lines NAME=NUMBER beside its counters. */
void record_put_use(const struct record *r, struct strbuf *out);
/* Fills use, each and n_each from such lines; what is not known stays missing. */
void record_parse_use(const char *text, struct record *r);
/* The name of the i-th GPU: "0", "2/7". False when there is none. */
bool record_gpu_name(const struct record *r, size_t i, char *ret, size_t size);

/* Whether the older one is an earlier stay of the same job; only numbers of jobs say so. */
bool record_continues(const struct record *newer, const struct record *older);
/* Adds an earlier stay: sums, the larger of peaks, means by time held. */
void record_join(struct record *newer, const struct record *older);

/* Shares of the time that was observed, 0 to 1; missing when nothing was. */
struct value record_share(const struct record *r, enum integral i);
/* How much of the GPU-seconds was seen at all. */
struct value record_coverage(const struct record *r);
