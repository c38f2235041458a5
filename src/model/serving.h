/*
 * A model server beside the GPUs that it uses: what its engine says of requests, tokens and
 * latency, in one vocabulary. read/engines fills counters, gauges and histograms; compute/serving
 * what follows from two readings.
 */
#pragma once

#include "model/metric.h"
#include "model/value.h"

#include <stddef.h>

enum engine_kind {
#define ENGINE(id, name, title, waits) ENGINE_##id,
#include "model/serving.def"
#undef ENGINE
        ENGINE_COUNT,
        ENGINE_UNKNOWN = ENGINE_COUNT
};

/* What a request of its queue waits for. */
enum engine_waits { WAITS_ANY, WAITS_SLOT };

enum serving_figure {
#define SERVING(id, name, kind, unit, of, help) SERVING_##id,
#include "model/serving.def"
#undef SERVING
        SERVING_COUNT,
        SERVING_NONE = SERVING_COUNT
};

enum serving_time {
#define SERVING_TIME(id, mean, median, high) SERVING_TIME_##id,
#include "model/serving.def"
#undef SERVING_TIME
        SERVING_TIME_COUNT
};

#define SERVING_BUCKETS_MAX 64

/* Of all requests so far. Buckets as the engine gives them: how many took up to `most`. */
struct serving_histogram {
        struct value sum, count;
        size_t n;
        struct serving_bucket {
                double most, count;
        } buckets[SERVING_BUCKETS_MAX]; /* in ascending order */
};

#define SERVINGS_MAX 16
#define SERVING_TEXT_MAX 160

/* What one reading of an engine returned. */
struct serving_reading {
        int64_t mono_ns;       /* when it answered */
        enum engine_kind kind; /* ENGINE_UNKNOWN when it did not, or was none that is known */
        char model[SERVING_TEXT_MAX];
        struct value v[SERVING_COUNT]; /* counters and gauges */
        struct serving_histogram times[SERVING_TIME_COUNT];
};

/* A server over its last interval. */
struct serving {
        bool present;               /* it answers */
        enum engine_kind kind;      /* ENGINE_UNKNOWN until it answered once */
        char url[SERVING_TEXT_MAX]; /* without user, password and query */
        char model[SERVING_TEXT_MAX];
        char why[SERVING_TEXT_MAX];  /* when not present: the reason */
        char gpus[SERVING_TEXT_MAX]; /* labels of its GPUs, "0,1"; "" when that is unknown */
        int32_t pid;                 /* the process that listens; 0 when that is unknown */
        int32_t front; /* of its processes without a GPU, the one that was last busy; 0 likewise */
        int64_t mono_ns;     /* when it answered last */
        int64_t interval_ns; /* rates and means are over this long; 0 at the first reading */
        struct value v[SERVING_COUNT];
};

/* "vllm"; "unknown". */
const char *engine_name(enum engine_kind kind);
/* "vLLM"; "model server". */
const char *engine_title(enum engine_kind kind);
enum engine_waits engine_waits(enum engine_kind kind);
/* ENGINE_UNKNOWN when there is none of that name. */
enum engine_kind engine_find(const char *name);
const struct metric_info *serving_info(enum serving_figure figure);
/* The figures that a histogram becomes; SERVING_NONE for a percentile that it has not. */
struct serving_time_figures {
        enum serving_figure mean, median, high;
};
struct serving_time_figures serving_time_figures(enum serving_time time);
/* Whether a GPU of that label is among the server's. */
bool serving_has_gpu(const struct serving *s, const char *label);

/* --- what limits a server ----------------------------------------------------------------------
 */

enum served_figure {
#define SERVED(id, name, unit, help) SERVED_##id,
#include "model/serving.def"
#undef SERVED
        SERVED_COUNT
};

enum served_unit {
#define SERVED_UNIT(id, name, words) SERVED_UNIT_##id,
#include "model/serving.def"
#undef SERVED_UNIT
        SERVED_UNIT_COUNT
};

enum serving_limiter {
#define SERVING_LIMIT(id, name, rule, brief, words) SERVING_LIMIT_##id,
#include "model/serving.def"
#undef SERVING_LIMIT
        SERVING_LIMIT_COUNT
};

/* More hardware, less, or neither. */
enum serving_size { SERVING_SIZE_KEEP, SERVING_SIZE_ADD, SERVING_SIZE_RETURN };

/* A server, and what it and its GPUs say together over the last seconds. */
struct served {
        struct serving s;
        uint8_t limit;  /* enum serving_limiter */
        uint8_t basis;  /* enum basis: what the verdict on its GPUs rests on */
        uint8_t full;   /* enum served_unit: what is full first when more requests come */
        uint8_t size;   /* enum serving_size */
        bool is_queued; /* requests wait */
        struct value v[SERVED_COUNT];
};

const struct metric_info *served_info(enum served_figure figure);
/* "cache", "tensor". */
const char *served_unit_name(enum served_unit unit);
/* "the tensor cores are", before "full". */
const char *served_unit_words(enum served_unit unit);
/* "prefill", "decode.memory". */
const char *serving_limit_name(enum serving_limiter limit);
/* At most a few words. */
const char *serving_limit_brief(enum serving_limiter limit);
/* After "limited by". */
const char *serving_limit_words(enum serving_limiter limit);
/* What to change, by the engine's own options; "" where nothing is known. */
const char *serving_advice(enum serving_limiter limit, enum engine_kind kind, bool is_queued);
/* "add", "return", "keep". */
const char *serving_size_name(enum serving_size size);
