#include "compute/serving_sum.h"

#include "base/clock.h"

/* A pause between ticks is not a time in which the last one continued. */
#define TICK_MAX_S 10.0

static void mean_add(struct serving_mean *m, struct value v, double seconds)
{
        if (!value_is_set(v))
                return;
        m->sum += v.v * seconds;
        m->seconds += seconds;
}

static struct value mean_value(const struct serving_mean *m)
{
        return m->seconds > 0 ? value_ok(m->sum / m->seconds) : value_missing(STATE_NONE);
}

static void serving_sum_add(struct serving_sum *sum, const struct served *now, int64_t mono_ns,
                            double seconds)
{
        sum->last = *now;
        if (now->limit == SERVING_LIMIT_HOST && now->s.front > 0) {
                sum->front = now->s.front;
                sum->host_to_ns = mono_ns;
                if (sum->host_from_ns == 0)
                        sum->host_from_ns = mono_ns;
        }
        sum->seconds += seconds;
        sum->limit_s[now->limit] += seconds;
        sum->full_s[now->full] += seconds;
        sum->size_s[now->size] += seconds;
        sum->queued_s += now->is_queued ? seconds : 0;
        sum->driver_s += now->basis == BASIS_DRIVER ? seconds : 0;
        sum->joules += value_or(now->v[SERVED_POWER], 0) * seconds;
        for (size_t i = 0; i < SERVING_COUNT; i++)
                mean_add(&sum->engine[i], now->s.v[i], seconds);
        for (size_t i = 0; i < SERVED_COUNT; i++)
                mean_add(&sum->joined[i], now->v[i], seconds);
}

void serving_sums_add(struct serving_sums *s, const struct frame *frame)
{
        double seconds = s->mono_ns > 0 ? clock_to_seconds(frame->mono_ns - s->mono_ns) : 0;
        s->mono_ns = frame->mono_ns;
        if (frame->n_servings > s->n)
                s->n = frame->n_servings;
        for (size_t i = 0; i < frame->n_servings; i++)
                serving_sum_add(&s->list[i], &frame->servings[i], frame->mono_ns,
                                seconds > 0 && seconds < TICK_MAX_S ? seconds : 0);
}

/* Where the longest time went. */
static uint8_t longest_index(const double *seconds, size_t n)
{
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
                best = seconds[i] > seconds[best] ? i : best;
        return (uint8_t)best;
}

/* A rate times the time in which it was known. */
static double amount_of(const struct serving_sum *s, enum serving_figure rate)
{
        return s->engine[rate].sum;
}

static void serving_sum_total(const struct serving_sum *s, struct serving_total *ret)
{
        *ret = (struct serving_total){.mean = s->last, .seconds = s->seconds, .joules = s->joules};
        for (size_t i = 0; i < SERVING_LIMIT_COUNT; i++)
                ret->limit_s[i] = s->limit_s[i];
        struct served *m = &ret->mean;
        m->limit = longest_index(s->limit_s, SERVING_LIMIT_COUNT);
        m->full = longest_index(s->full_s, SERVED_UNIT_COUNT);
        m->size = longest_index(s->size_s, 3);
        m->is_queued = s->queued_s > s->seconds / 2;
        m->basis = s->driver_s > s->seconds / 2 ? BASIS_DRIVER : BASIS_COUNTERS;
        for (size_t i = 0; i < SERVING_COUNT; i++)
                m->s.v[i] = mean_value(&s->engine[i]);
        for (size_t i = 0; i < SERVED_COUNT; i++)
                m->v[i] = mean_value(&s->joined[i]);
        ret->tokens = amount_of(s, SERVING_OUTPUT);
        ret->prompt_tokens = amount_of(s, SERVING_PROMPT);
        ret->requests = amount_of(s, SERVING_REQUESTS);
        ret->preemptions = amount_of(s, SERVING_PREEMPTIONS);
        ret->front = m->limit == SERVING_LIMIT_HOST ? s->front : 0;
        ret->host_from_ns = s->host_from_ns;
        ret->host_to_ns = s->host_to_ns;
        /* Of all energy, also of the time in which nothing was generated. */
        if (ret->joules > 0)
                m->v[SERVED_TOKENS_PER_JOULE] = value_ok(ret->tokens / ret->joules);
}

void serving_sums_total(const struct serving_sums *s, struct serving_totals *ret)
{
        ret->n = s->n;
        for (size_t i = 0; i < s->n; i++)
                serving_sum_total(&s->list[i], &ret->list[i]);
}
