#include "compute/serving_limit.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DECAY_S 5.0

static void decayed_add(struct decayed *d, struct value v, double keep)
{
        d->sum *= keep;
        d->weight *= keep;
        if (!value_is_set(v))
                return;
        d->sum += v.v * (1 - keep);
        d->weight += 1 - keep;
}

static struct value decayed_value(const struct decayed *d)
{
        return d->weight > 1e-3 ? value_ok(d->sum / d->weight) : value_missing(STATE_BLANK);
}

void serving_window_add(struct serving_window *w, const struct serving *s,
                        const struct serving_moment *now)
{
        if (strcmp(w->url, s->url) != 0) {
                *w = (struct serving_window){.mono_ns = now->mono_ns};
                snprintf(w->url, sizeof(w->url), "%s", s->url);
        }
        /* The first tick counts as much as a second does. */
        double seconds = clock_to_seconds(now->mono_ns - w->mono_ns);
        double keep = exp(-(seconds > 0 ? seconds : 1) / DECAY_S);
        w->mono_ns = now->mono_ns;
        for (size_t i = 0; i < SERVING_COUNT; i++)
                decayed_add(&w->engine[i], s->present ? s->v[i] : value_missing(STATE_BLANK), keep);
        for (size_t i = 0; i < SERVING_IN_COUNT; i++)
                decayed_add(&w->input[i], now->input[i], keep);
        for (size_t i = 0; i < LIMITER_COUNT && now->gpus > 0; i++)
                decayed_add(&w->limiter[i], value_ok(now->limiter[i]), keep);
        w->has_served |= value_or(s->v[SERVING_OUTPUT_TOTAL], 0) > 0 ||
                         value_or(s->v[SERVING_PROMPT_TOTAL], 0) > 0 ||
                         value_or(s->v[SERVING_OUTPUT], 0) > 0;
        w->gpus = now->gpus;
        w->flops = now->flops;
        w->memory = now->memory;
}

/* --- rules ----------------------------------------------------------------------------------- */

/* What the rules look at. A value that is absent fulfils no rule. */
struct serving_facts {
        const struct serving_window *w;
        const struct serving *s;
        bool is_current;
        struct value running, waiting, cache, prompt, output, preemptions, batch;
        struct value busy, cpu_main, apart;
};

static struct value engine_mean(const struct serving_window *w, enum serving_figure figure)
{
        return decayed_value(&w->engine[figure]);
}

static bool is_least(struct value v, double least)
{
        return value_is_set(v) && v.v >= least;
}

static bool is_below(struct value v, double most)
{
        return value_is_set(v) && v.v < most;
}

static double limiter_share(const struct serving_window *w, enum limiter limiter)
{
        return value_or(decayed_value(&w->limiter[limiter]), 0);
}

/* Of the time in which the GPUs were limited by anything that is known. */
static double group_share(const struct serving_window *w, unsigned groups)
{
        double share = 0;
        for (enum limiter i = 0; i < LIMITER_COUNT; i++) {
                if (groups & 1u << limiter_group(i))
                        share += limiter_share(w, i);
        }
        return share;
}

static bool has_queue(const struct serving_facts *f)
{
        return is_least(f->waiting, SERVING_QUEUE);
}

static bool is_never(const struct serving_facts *f)
{
        (void)f;
        return false;
}

static bool is_fetching(const struct serving_facts *f, enum serving_input from)
{
        return (!f->is_current || !f->w->has_served) &&
               is_least(decayed_value(&f->w->input[from]), SERVING_LOADING);
}

/* What comes over the network about as fast as it is read lies on another host. */
static bool is_read_from_storage(const struct serving_facts *f)
{
        double read = value_or(decayed_value(&f->w->input[SERVING_IN_READ]), 0);
        return is_fetching(f, SERVING_IN_READ) &&
               !is_least(decayed_value(&f->w->input[SERVING_IN_RECEIVED]), SERVING_REMOTE * read);
}

static bool is_read_from_network(const struct serving_facts *f)
{
        return is_fetching(f, SERVING_IN_RECEIVED);
}

static bool is_out_of_cache(const struct serving_facts *f)
{
        return f->is_current && is_least(f->cache, SERVING_CACHE_FULL) &&
               (has_queue(f) || is_least(f->preemptions, SERVING_PREEMPTIONS));
}

/* Hardly ever one is under way, and the GPU rests: the gauge is of a moment, the batch of the whole
 * time, and so is the GPU's work. */
static bool is_without_requests(const struct serving_facts *f)
{
        if (!f->is_current || !is_below(f->running, 1) || has_queue(f) ||
            is_least(engine_mean(f->w, SERVING_BATCH), SERVING_IDLE))
                return false;
        bool works = is_least(f->output, 1) || is_least(f->prompt, 1);
        if (!value_is_set(f->busy))
                return is_below(f->running, SERVING_IDLE) && !works;
        /* A lull of a second or two is not yet a lack of requests. */
        return f->busy.v < SERVING_GPU_RESTS ||
               (f->busy.v < SERVING_GPU_FULL &&
                f->w->input[SERVING_IN_BUSY].weight >= SERVING_KNOWN);
}

/* A front end that never rests beside GPUs that do. Where it is the process that launches, too,
 * its launches explain it as well. */
static bool is_held_by_host(const struct serving_facts *f)
{
        if (!f->is_current || !is_below(f->busy, SERVING_GPU_FULL) ||
            (is_below(f->running, SERVING_IDLE) && !has_queue(f)))
                return false;
        double launches =
            limiter_share(f->w, LIMITER_LAUNCH) + limiter_share(f->w, LIMITER_PARALLELISM);
        bool busy_front = is_least(f->cpu_main, SERVING_CORE) &&
                          (is_least(f->apart, SERVING_MOSTLY) || launches < SERVING_MOSTLY);
        return busy_front || limiter_share(f->w, LIMITER_HOST_CODE) >= SERVING_MOSTLY;
}

static bool is_launching_kernels(const struct serving_facts *f)
{
        return f->is_current && is_least(f->running, SERVING_IDLE) &&
               limiter_share(f->w, LIMITER_LAUNCH) + limiter_share(f->w, LIMITER_PARALLELISM) >=
                   SERVING_MOSTLY;
}

static bool fills_units(const struct serving_facts *f)
{
        return f->is_current &&
               group_share(f->w, 1u << LIMITER_GROUP_TENSOR | 1u << LIMITER_GROUP_COMPUTE) >=
                   SERVING_MOSTLY;
}

static bool reads_memory(const struct serving_facts *f)
{
        return f->is_current && group_share(f->w, 1u << LIMITER_GROUP_MEMORY) >= SERVING_MOSTLY;
}

/* Each token costs as many operations, be it of a prompt or generated. */
static bool is_prefilling(const struct serving_facts *f)
{
        return fills_units(f) && value_is_set(f->prompt) && value_is_set(f->output) &&
               f->prompt.v >= f->output.v && f->prompt.v > 0;
}

static bool is_at_cap(const struct serving_facts *f)
{
        struct value most = engine_mean(f->w, SERVING_RUNNING_MAX);
        return has_queue(f) && is_below(f->cache, SERVING_CACHE_FULL) && value_is_set(f->running) &&
               value_is_set(most) && f->running.v >= SERVING_AT_CAP * most.v;
}

/* Requests may wait for memory of which the engine says nothing: then nobody knows whether more of
 * them would fit. */
static bool may_wait_for_cache(const struct serving_facts *f)
{
        return has_queue(f) && !value_is_set(f->cache) && engine_waits(f->s->kind) != WAITS_SLOT;
}

static bool is_batch_small(const struct serving_facts *f)
{
        return is_below(f->batch, SERVING_SMALL_BATCH);
}

static bool has_small_batch(const struct serving_facts *f)
{
        bool has_room = is_batch_small(f) && !may_wait_for_cache(f);
        return reads_memory(f) && is_least(f->running, SERVING_IDLE) && (has_room || is_at_cap(f));
}

static bool is_decoding(const struct serving_facts *f)
{
        return reads_memory(f) && is_least(f->running, SERVING_IDLE) && !is_batch_small(f);
}

static bool is_computing(const struct serving_facts *f)
{
        return fills_units(f) && value_is_set(f->output) && f->output.v > 0 &&
               is_below(f->prompt, f->output.v);
}

static bool (*const rules[SERVING_LIMIT_COUNT])(const struct serving_facts *f) = {
#define SERVING_LIMIT(id, name, rule, brief, words) [SERVING_LIMIT_##id] = rule,
#include "model/serving.def"
#undef SERVING_LIMIT
};

static struct serving_facts take_facts(const struct serving_window *w, const struct serving *s)
{
        struct serving_facts f = {
            .w = w,
            .s = s,
            .is_current = s->present && w->mono_ns - s->mono_ns < SERVING_OLD_NS,
            .running = engine_mean(w, SERVING_RUNNING),
            .waiting = engine_mean(w, SERVING_WAITING),
            .cache = engine_mean(w, SERVING_CACHE_USED),
            .prompt = engine_mean(w, SERVING_PROMPT),
            .output = engine_mean(w, SERVING_OUTPUT),
            .preemptions = engine_mean(w, SERVING_PREEMPTIONS),
            .batch = engine_mean(w, SERVING_BATCH),
            .busy = decayed_value(&w->input[SERVING_IN_BUSY]),
            .cpu_main = engine_mean(w, SERVING_CPU_MAIN),
            .apart = engine_mean(w, SERVING_APART),
        };
        struct value cached = engine_mean(w, SERVING_CACHED);
        if (value_is_set(f.prompt) && value_is_set(cached))
                f.prompt.v = f.prompt.v > cached.v ? f.prompt.v - cached.v : 0;
        if (!value_is_set(f.batch))
                f.batch = f.running;
        return f;
}

/* --- what is left ---------------------------------------------------------------------------- */

/* How full each unit is; more requests at the same latency need more of it in the same measure. */
static struct value unit_use(const struct serving_facts *f, enum served_unit unit,
                             enum serving_limiter limit)
{
        struct value most = engine_mean(f->w, SERVING_RUNNING_MAX);
        bool reads_once = limit != SERVING_LIMIT_DECODE && limit != SERVING_LIMIT_COMPUTE &&
                          limit != SERVING_LIMIT_PREFILL;
        switch (unit) {
        case SERVED_UNIT_CACHE:
                return f->cache;
        case SERVED_UNIT_SLOTS:
                return value_is_set(f->running) && value_is_set(most) && most.v > 0
                           ? value_ok(f->running.v / most.v)
                           : value_missing(STATE_NONE);
        case SERVED_UNIT_TENSOR:
                return decayed_value(&f->w->input[SERVING_IN_TENSOR]);
        case SERVED_UNIT_DRAM:
                /* Weights are read once for all requests of a batch. */
                return reads_once ? value_missing(STATE_NONE)
                                  : decayed_value(&f->w->input[SERVING_IN_DRAM]);
        case SERVED_UNIT_NONE:
        case SERVED_UNIT_COUNT:
                break;
        }
        return value_missing(STATE_NONE);
}

static void find_headroom(const struct serving_facts *f, struct served *ret)
{
        double most = 0;
        for (enum served_unit u = SERVED_UNIT_NONE + 1; u < SERVED_UNIT_COUNT; u++) {
                struct value use = unit_use(f, u, (enum serving_limiter)ret->limit);
                if (!is_least(use, most))
                        continue;
                most = use.v;
                ret->full = (uint8_t)u;
        }
        if (ret->full == SERVED_UNIT_NONE || !(most > 0) || !is_least(f->output, 1e-9))
                return;
        most = MIN(most, 1.0);
        ret->v[SERVED_HEADROOM_USE] = value_ok(most);
        ret->v[SERVED_HEADROOM] = value_ok(f->output.v * (1 / most - 1));
}

/* Whether what is left after one GPU is given back would carry the same load. */
static bool has_spare_gpu(const struct serving_facts *f)
{
        double n = f->w->gpus, most = 0;
        struct value used[] = {f->busy, f->cache, decayed_value(&f->w->input[SERVING_IN_TENSOR]),
                               decayed_value(&f->w->input[SERVING_IN_DRAM])};
        for (size_t i = 0; i < ARRAY_LEN(used); i++)
                most = MAX(most, value_or(used[i], 0));
        return n > 1 && value_is_set(f->busy) && value_is_set(f->cache) && !has_queue(f) &&
               most * n / (n - 1) < SERVING_SPARE;
}

static enum serving_size choose_size(const struct serving_facts *f, enum serving_limiter limit)
{
        bool needs_hardware = limit == SERVING_LIMIT_CACHE || limit == SERVING_LIMIT_PREFILL ||
                              limit == SERVING_LIMIT_DECODE || limit == SERVING_LIMIT_COMPUTE;
        if (f->is_current && needs_hardware && has_queue(f))
                return SERVING_SIZE_ADD;
        return f->is_current && has_spare_gpu(f) ? SERVING_SIZE_RETURN : SERVING_SIZE_KEEP;
}

static struct value ratio_of(struct value part, double whole)
{
        if (!value_is_set(part))
                return part;
        return whole > 0 ? value_ok(part.v / whole) : value_missing(STATE_NONE);
}

static void join_figures(const struct serving_facts *f, struct served *ret)
{
        static const struct {
                enum served_figure to;
                enum serving_input from;
        } taken[] = {{SERVED_BUSY, SERVING_IN_BUSY},
                     {SERVED_SM, SERVING_IN_SM},
                     {SERVED_TENSOR, SERVING_IN_TENSOR},
                     {SERVED_DRAM, SERVING_IN_DRAM},
                     {SERVED_POWER, SERVING_IN_POWER}};
        const struct serving_window *w = f->w;
        for (size_t i = 0; i < ARRAY_LEN(taken); i++)
                ret->v[taken[i].to] = decayed_value(&w->input[taken[i].from]);
        ret->v[SERVED_GPUS] = w->gpus > 0 ? value_ok(w->gpus) : value_missing(STATE_NONE);
        struct value bytes = engine_mean(w, SERVING_READ),
                     written = engine_mean(w, SERVING_WRITTEN);
        if (value_is_set(bytes))
                bytes.v += value_or(written, 0);
        ret->v[SERVED_MFU] = ratio_of(engine_mean(w, SERVING_FLOPS), w->flops);
        ret->v[SERVED_MBU] = ratio_of(bytes, w->memory);
        ret->v[SERVED_TOKENS_PER_JOULE] = ratio_of(f->output, value_or(ret->v[SERVED_POWER], 0));
        ret->v[SERVED_TOKENS_PER_GPU_HOUR] = ratio_of(f->output, w->gpus / 3600);
}

void serving_window_decide(const struct serving_window *w, const struct serving *s,
                           struct served *ret)
{
        struct serving_facts f = take_facts(w, s);
        ret->limit = SERVING_LIMIT_UNKNOWN;
        ret->full = SERVED_UNIT_NONE;
        for (size_t i = 0; i < SERVED_COUNT; i++)
                ret->v[i] = value_missing(STATE_BLANK);
        for (enum serving_limiter i = 0; i < SERVING_LIMIT_COUNT; i++) {
                if (rules[i](&f)) {
                        ret->limit = (uint8_t)i;
                        break;
                }
        }
        ret->basis = is_least(decayed_value(&w->input[SERVING_IN_DRIVER]), SERVING_MOSTLY)
                         ? BASIS_DRIVER
                         : BASIS_COUNTERS;
        ret->is_queued = has_queue(&f);
        join_figures(&f, ret);
        if (f.is_current)
                find_headroom(&f, ret);
        ret->size = (uint8_t)choose_size(&f, (enum serving_limiter)ret->limit);
}
