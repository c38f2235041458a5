#include "app/serving_samples.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

static const struct {
        enum serving_figure figure;
        const char *name;
} digested[DIGESTED_COUNT] = {
#define DIGESTED(figure, name, explains) {SERVING_##figure, name},
    DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
};

const char *digested_name(enum digested_figure figure)
{
        return digested[figure].name;
}

static bool add_number(struct serving_samples *s, size_t i, double v)
{
        if (!LIST_ROOM(s->v[i], s->n[i], s->cap[i]))
                return false;
        s->v[i][s->n[i]++] = v;
        return true;
}

bool serving_samples_add(struct serving_samples *s, const struct host *host)
{
        double now[DIGESTED_COUNT];
        bool fine = true;
        if (host->n_servings == 0 || !host->servings[0].present)
                return true;
        for (size_t i = 0; i < DIGESTED_COUNT; i++)
                now[i] = value_or(host->servings[0].v[digested[i].figure], -1);
        if (s->begun && memcmp(now, s->last, sizeof(now)) == 0)
                return true;
        s->begun = true;
        memcpy(s->last, now, sizeof(now));
        for (size_t i = 0; fine && i < DIGESTED_COUNT; i++) {
                if (now[i] >= 0)
                        fine = add_number(s, i, now[i]);
        }
        return fine;
}

void serving_samples_finish(struct serving_samples *s)
{
        for (size_t i = 0; i < DIGESTED_COUNT; i++)
                free(s->v[i]);
        *s = (struct serving_samples){0};
}
