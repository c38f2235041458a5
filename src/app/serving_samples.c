#include "app/serving_samples.h"

#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum join { JOIN_SUM, JOIN_MEAN, JOIN_OUTPUT, JOIN_REQUESTS };

static const struct {
        enum serving_figure figure;
        const char *name;
        enum join join;
} digested[DIGESTED_COUNT] = {
#define DIGESTED(figure, name, explains, join) {SERVING_##figure, name, JOIN_##join},
    DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
};

const char *digested_name(enum digested_figure figure)
{
        return digested[figure].name;
}

static bool add_number(struct serving_numbers *s, double v)
{
        if (!LIST_ROOM(s->v, s->n, s->cap))
                return false;
        s->v[s->n++] = v;
        return true;
}

static double weight_of(const struct serving *s, enum join join)
{
        switch (join) {
        case JOIN_OUTPUT:
                return value_or(s->v[SERVING_OUTPUT], 0);
        case JOIN_REQUESTS:
                return value_or(s->v[SERVING_REQUESTS], 0);
        case JOIN_SUM:
        case JOIN_MEAN:
                break;
        }
        return 1;
}

/* A figure of all servers that say it; negative where none does. Of one server it is its own. */
static double join_servers(const struct host *host, size_t figure)
{
        double sum = 0, weights = 0;
        size_t n = 0, last = 0;
        for (size_t i = 0; i < host->n_servings; i++) {
                const struct serving *s = &host->servings[i];
                struct value v = s->v[digested[figure].figure];
                if (!s->present || !value_is_set(v))
                        continue;
                double weight = weight_of(s, digested[figure].join);
                sum += v.v * weight;
                weights += weight;
                last = i;
                n++;
        }
        if (n == 1)
                return host->servings[last].v[digested[figure].figure].v;
        if (digested[figure].join == JOIN_SUM)
                return n > 0 ? sum : -1;
        return weights > 0 ? sum / weights : -1;
}

static bool add_all(struct serving_samples *s, const struct host *host)
{
        double now[DIGESTED_COUNT];
        bool fine = true;
        for (size_t i = 0; i < DIGESTED_COUNT; i++)
                now[i] = join_servers(host, i);
        if (s->begun && memcmp(now, s->last, sizeof(now)) == 0)
                return true;
        s->begun = true;
        memcpy(s->last, now, sizeof(now));
        for (size_t i = 0; fine && i < DIGESTED_COUNT; i++) {
                if (now[i] >= 0)
                        fine = add_number(&s->all[i], now[i]);
        }
        return fine;
}

static struct serving_tokens *tokens_of(struct serving_samples *s, const char *url)
{
        for (size_t i = 0; i < s->n; i++) {
                if (strcmp(s->each[i].url, url) == 0)
                        return &s->each[i];
        }
        if (s->n == SERVINGS_MAX)
                return NULL;
        struct serving_tokens *t = &s->each[s->n++];
        snprintf(t->url, sizeof(t->url), "%s", url);
        t->last = -1;
        return t;
}

/* The first interval of a server has no rates yet: a sum without it would be too small. */
static bool is_complete(const struct host *host)
{
        bool any = false;
        for (size_t i = 0; i < host->n_servings; i++) {
                const struct serving *s = &host->servings[i];
                any |= s->present;
                if (s->present && s->interval_ns == 0 && host->n_servings > 1)
                        return false;
        }
        return any;
}

bool serving_samples_add(struct serving_samples *s, const struct host *host)
{
        bool fine = is_complete(host) ? add_all(s, host) : true;
        for (size_t i = 0; fine && i < host->n_servings; i++) {
                const struct serving *from = &host->servings[i];
                struct serving_tokens *t = tokens_of(s, from->url);
                double now = from->present ? value_or(from->v[SERVING_OUTPUT], -1) : -1;
                if (t && now >= 0 && now != t->last)
                        fine = add_number(&t->rates, now);
                if (t)
                        t->last = now;
        }
        return fine;
}

void serving_samples_finish(struct serving_samples *s)
{
        for (size_t i = 0; i < DIGESTED_COUNT; i++)
                free(s->all[i].v);
        for (size_t i = 0; i < s->n; i++)
                free(s->each[i].rates.v);
        *s = (struct serving_samples){0};
}
