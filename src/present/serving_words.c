#include "present/serving_words.h"

#include "model/limit.h"
#include "present/format.h"

#include <stdio.h>
#include <string.h>

static void put_separator(struct strbuf *out, size_t from)
{
        if (out->len > from)
                strbuf_puts(out, ", ");
}

void serving_put_many(struct strbuf *out, double v)
{
        double size = v < 0 ? -v : v;
        if (size < 10)
                strbuf_putf(out, "%.2g", v);
        else if (size < 1e5)
                strbuf_putf(out, "%.0f", v);
        else
                strbuf_putf(out, "%.3g million", v / 1e6);
}

static void put_seconds(struct strbuf *out, double seconds)
{
        if (seconds < 0.01)
                strbuf_putf(out, "%.2f ms", 1e3 * seconds);
        else if (seconds < 1)
                strbuf_putf(out, "%.3g ms", 1e3 * seconds);
        else
                strbuf_putf(out, "%.3g s", seconds);
}

void serving_put_name(struct strbuf *out, const struct serving *s)
{
        static const char usual[] = "/metrics";
        size_t len = strlen(s->url), tail = sizeof(usual) - 1;
        if (len > tail && strcmp(s->url + len - tail, usual) == 0)
                len -= tail;
        strbuf_putf(out, "%s at %.*s", engine_title(s->kind), (int)len, s->url);
        if (s->model[0])
                strbuf_putf(out, " (%s)", s->model);
        if (s->gpus[0])
                strbuf_putf(out, ", GPU %s", s->gpus);
}

void serving_put_load(struct strbuf *out, const struct serving *s)
{
        static const struct {
                enum serving_figure figure;
                const char *before, *after;
        } parts[] = {{SERVING_RUNNING, "", " running"},
                     {SERVING_WAITING, "", " waiting"},
                     {SERVING_CACHE_USED, "cache ", ""},
                     {SERVING_OUTPUT, "", " tokens/s"},
                     {SERVING_PROMPT, "prompts ", " tokens/s"}};
        size_t from = out->len;
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                struct value v = s->v[parts[i].figure];
                char text[FORMAT_MAX];
                if (!value_is_set(v))
                        continue;
                put_separator(out, from);
                strbuf_puts(out, parts[i].before);
                if (parts[i].figure == SERVING_CACHE_USED)
                        strbuf_puts(out, format_share(text, v.v));
                else
                        serving_put_many(out, v.v);
                strbuf_puts(out, parts[i].after);
        }
        if (value_or(s->v[SERVING_PREEMPTIONS], 0) > 0) {
                put_separator(out, from);
                serving_put_many(out, s->v[SERVING_PREEMPTIONS].v);
                strbuf_puts(out, " preemptions/s");
        }
}

static void put_latency(struct strbuf *out, size_t from, const char *before, struct value mean,
                        const char *after, struct value high)
{
        if (!value_is_set(mean))
                return;
        put_separator(out, from);
        strbuf_puts(out, before);
        put_seconds(out, mean.v);
        strbuf_puts(out, after);
        if (!value_is_set(high))
                return;
        strbuf_puts(out, " (p95 ");
        put_seconds(out, high.v);
        strbuf_puts(out, ")");
}

void serving_put_latency(struct strbuf *out, const struct serving *s)
{
        size_t from = out->len;
        put_latency(out, from, "first token ", s->v[SERVING_TTFT], "", s->v[SERVING_TTFT_P95]);
        put_latency(out, from, "", s->v[SERVING_ITL], " a token", s->v[SERVING_ITL_P95]);
        put_latency(out, from, "queue ", s->v[SERVING_QUEUE_TIME], "", value_missing(STATE_NONE));
}

void serving_put_limit(struct strbuf *out, const struct served *s)
{
        enum serving_limiter limit = (enum serving_limiter)s->limit;
        if (limit != SERVING_LIMIT_UNKNOWN)
                strbuf_putf(out, "%s %s", limiter_lead((enum basis)s->basis),
                            serving_limit_words(limit));
        else if (!s->s.present)
                strbuf_putf(out, "it does not answer: %s", s->s.why);
        else
                strbuf_puts(out, "limiter unknown");
}

const char *serving_try(const struct served *s)
{
        return serving_advice((enum serving_limiter)s->limit, s->s.kind, s->is_queued);
}

/* "add a GPU", "you could give one back"; "" for neither. */
static const char *serving_size_words(enum serving_size size)
{
        return size == SERVING_SIZE_ADD      ? "add a GPU"
               : size == SERVING_SIZE_RETURN ? "you could give one GPU back"
                                             : "";
}

void serving_put_headroom(struct strbuf *out, const struct served *s)
{
        char text[FORMAT_MAX];
        size_t from = out->len;
        struct value more = s->v[SERVED_HEADROOM], use = s->v[SERVED_HEADROOM_USE];
        if (value_is_set(more) && value_is_set(use)) {
                strbuf_puts(out, "at most ");
                serving_put_many(out, more.v);
                strbuf_putf(out, " tokens/s more at this latency, until %s full (%s now)",
                            served_unit_words((enum served_unit)s->full),
                            format_share(text, use.v));
        }
        const char *size = serving_size_words((enum serving_size)s->size);
        if (size[0]) {
                if (out->len > from)
                        strbuf_puts(out, "; ");
                strbuf_puts(out, size);
        }
}

/* The engine's figure, and the hardware's beside it. */
static void put_both(struct strbuf *out, size_t from, const char *name, struct value engine,
                     const char *unit, struct value hardware)
{
        char text[FORMAT_MAX];
        if (!value_is_set(engine))
                return;
        put_separator(out, from);
        strbuf_putf(out, "%s %s", name, format_share(text, engine.v));
        if (value_is_set(hardware))
                strbuf_putf(out, " (%s %s)", unit, format_share(text, hardware.v));
}

void serving_put_yield(struct strbuf *out, const struct served *s)
{
        size_t from = out->len;
        struct value joule = s->v[SERVED_TOKENS_PER_JOULE], hour = s->v[SERVED_TOKENS_PER_GPU_HOUR];
        if (value_is_set(joule))
                strbuf_putf(out, "%.3g tokens/J", joule.v);
        if (value_is_set(hour)) {
                put_separator(out, from);
                serving_put_many(out, hour.v);
                strbuf_puts(out, " tokens a GPU-hour");
        }
        put_both(out, from, "MFU", s->v[SERVED_MFU], "tensor cores", s->v[SERVED_TENSOR]);
        put_both(out, from, "MBU", s->v[SERVED_MBU], "device memory", s->v[SERVED_DRAM]);
}
