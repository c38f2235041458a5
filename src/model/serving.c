#include "model/serving.h"

#include <string.h>

static const struct {
        const char *name, *title;
        enum engine_waits waits;
} engines[ENGINE_COUNT + 1] = {
#define ENGINE(id, name, title, waits) [ENGINE_##id] = {name, title, WAITS_##waits},
#include "model/serving.def"
#undef ENGINE
    [ENGINE_UNKNOWN] = {"unknown", "model server", WAITS_ANY},
};

static const struct metric_info serving_figures[SERVING_COUNT] = {
#define SERVING(id, name_, kind_, unit_, of_, help_)                                               \
        [SERVING_##id] = {.name = name_,                                                           \
                          .kind = METRIC_KIND_##kind_,                                             \
                          .unit = UNIT_##unit_,                                                    \
                          .scope = METRIC_SCOPE_SERVING,                                           \
                          .of = SERVING_##of_,                                                     \
                          .help = help_},
#include "model/serving.def"
#undef SERVING
};

static const struct serving_time_figures times[SERVING_TIME_COUNT] = {
#define SERVING_TIME(id, mean, median, high)                                                       \
        [SERVING_TIME_##id] = {SERVING_##mean, SERVING_##median, SERVING_##high},
#include "model/serving.def"
#undef SERVING_TIME
};

const char *engine_name(enum engine_kind kind)
{
        return engines[kind].name;
}

const char *engine_title(enum engine_kind kind)
{
        return engines[kind].title;
}

enum engine_waits engine_waits(enum engine_kind kind)
{
        return engines[kind].waits;
}

enum engine_kind engine_find(const char *name)
{
        enum engine_kind i = 0;
        while (i < ENGINE_COUNT && strcmp(engines[i].name, name) != 0)
                i++;
        return i;
}

const struct metric_info *serving_info(enum serving_figure figure)
{
        return &serving_figures[figure];
}

struct serving_time_figures serving_time_figures(enum serving_time time)
{
        return times[time];
}

bool serving_has_gpu(const struct serving *s, const char *label)
{
        size_t len = strlen(label);
        for (const char *at = s->gpus; *at;
             at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
                size_t n = strcspn(at, ",");
                if (n == len && memcmp(at, label, len) == 0)
                        return true;
        }
        return false;
}

static const struct metric_info served_figures[SERVED_COUNT] = {
#define SERVED(id, name_, unit_, help_)                                                            \
        [SERVED_##id] = {.name = name_,                                                            \
                         .kind = METRIC_KIND_DERIVED,                                              \
                         .unit = UNIT_##unit_,                                                     \
                         .scope = METRIC_SCOPE_SERVING,                                            \
                         .of = SERVED_COUNT,                                                       \
                         .help = help_},
#include "model/serving.def"
#undef SERVED
};

static const struct {
        const char *name, *words;
} units[SERVED_UNIT_COUNT] = {
#define SERVED_UNIT(id, name, words) [SERVED_UNIT_##id] = {name, words},
#include "model/serving.def"
#undef SERVED_UNIT
};

static const struct {
        const char *name, *brief, *words;
} limits[SERVING_LIMIT_COUNT] = {
#define SERVING_LIMIT(id, name, rule, brief, words) [SERVING_LIMIT_##id] = {name, brief, words},
#include "model/serving.def"
#undef SERVING_LIMIT
};

/* ANY of the columns of advice. */
#define ENGINE_ANY (-1)
enum queued { QUEUED_NO, QUEUED_YES, QUEUED_ANY };

static const struct {
        enum serving_limiter limit;
        int engine;
        enum queued queued;
        const char *words;
} advice[] = {
#define SERVING_ADVICE(limit, engine, queued, words)                                               \
        {SERVING_LIMIT_##limit, ENGINE_##engine, QUEUED_##queued, words},
#include "model/serving.def"
#undef SERVING_ADVICE
};

const struct metric_info *served_info(enum served_figure figure)
{
        return &served_figures[figure];
}

const char *served_unit_name(enum served_unit unit)
{
        return units[unit].name;
}

const char *served_unit_words(enum served_unit unit)
{
        return units[unit].words;
}

const char *serving_limit_name(enum serving_limiter limit)
{
        return limits[limit].name;
}

const char *serving_limit_brief(enum serving_limiter limit)
{
        return limits[limit].brief;
}

const char *serving_limit_words(enum serving_limiter limit)
{
        return limits[limit].words;
}

const char *serving_advice(enum serving_limiter limit, enum engine_kind kind, bool is_queued)
{
        enum queued queued = is_queued ? QUEUED_YES : QUEUED_NO;
        for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
                if (advice[i].limit == limit &&
                    (advice[i].engine == ENGINE_ANY || advice[i].engine == (int)kind) &&
                    (advice[i].queued == QUEUED_ANY || advice[i].queued == queued))
                        return advice[i].words;
        }
        return "";
}

const char *serving_size_name(enum serving_size size)
{
        return size == SERVING_SIZE_ADD ? "add" : size == SERVING_SIZE_RETURN ? "return" : "keep";
}
