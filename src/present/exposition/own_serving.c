/* Model servers: what their engines count, in the names of our table, and what follows from their
 * GPUs. Rates are left to who reads the counters. */
#include "model/limit.h"
#include "present/exposition/own_put.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 96

static void make_serving_labels(const struct serving *s, struct strbuf *out)
{
        strbuf_clear(out);
        text_put_label(out, "engine", engine_name(s->kind));
        text_put_label(out, "url", s->url);
        text_put_label_if(out, "model", s->model);
        text_put_label_if(out, "gpus", s->gpus);
}

/* "prompt_tokens_total" of a counter is without _total, which the writer adds; the unit comes
 * last. */
static void name_family(const struct metric_info *info, char name[NAME_MAX_BYTES])
{
        static const char total[] = "_total";
        size_t len = strlen(info->name), tail = sizeof(total) - 1;
        if (len > tail && strcmp(info->name + len - tail, total) == 0)
                len -= tail;
        const char *unit = info->unit == UNIT_SECONDS ? "_seconds"
                           : info->unit == UNIT_BYTES ? "_bytes"
                           : info->unit == UNIT_WATTS ? "_watts"
                           : info->unit == UNIT_RATIO ? "_ratio"
                                                      : "";
        snprintf(name, NAME_MAX_BYTES, "assay_engine_%.*s%s", (int)len, info->name, unit);
}

static void put_values(struct text *t, const struct metric_info *info,
                       struct value (*value)(const struct served *s, size_t figure), size_t figure)
{
        bool counts = info->kind == METRIC_KIND_COUNTER, begun = false;
        struct strbuf labels = {0};
        char name[NAME_MAX_BYTES];
        name_family(info, name);
        for (size_t i = 0; i < t->in->n_served; i++) {
                const struct served *s = &t->in->served[i];
                struct value v = value(s, figure);
                if (!s->s.present || !value_is_set(v))
                        continue;
                if (!begun)
                        own_put_head(t, name, counts ? FAMILY_COUNTER : FAMILY_GAUGE, info->help);
                begun = true;
                make_serving_labels(&s->s, &labels);
                if (counts)
                        own_put_counter(t, name, &labels, NULL, NULL, v.v, 6, 0);
                else
                        own_put_sample(t, name, "", &labels, NULL, NULL, v.v, 6);
        }
        strbuf_finish(&labels);
}

static struct value engine_value(const struct served *s, size_t figure)
{
        return s->s.v[figure];
}

static struct value joined_value(const struct served *s, size_t figure)
{
        return s->v[figure];
}

static void put_up(struct text *t)
{
        struct strbuf labels = {0};
        own_put_head(t, "assay_engine_up", FAMILY_GAUGE, "Whether the model server answers.");
        for (size_t i = 0; i < t->in->n_served; i++) {
                make_serving_labels(&t->in->served[i].s, &labels);
                own_put_sample(t, "assay_engine_up", "", &labels, NULL, NULL,
                               t->in->served[i].s.present, 0);
        }
        own_put_head(t, "assay_engine_limiter", FAMILY_GAUGE,
                     "What limits the model server now: 1 for the limiter that holds.");
        for (size_t i = 0; i < t->in->n_served; i++) {
                const struct served *s = &t->in->served[i];
                make_serving_labels(&s->s, &labels);
                text_put_label(&labels, "basis", basis_name((enum basis)s->basis));
                own_put_sample(t, "assay_engine_limiter", "", &labels, "limiter",
                               serving_limit_name((enum serving_limiter)s->limit), 1, 0);
        }
        strbuf_finish(&labels);
}

void own_put_servings(struct text *t)
{
        if (t->in->n_served == 0)
                return;
        put_up(t);
        for (enum serving_figure i = 0; i < SERVING_COUNT; i++) {
                if (serving_info(i)->kind != METRIC_KIND_RATE)
                        put_values(t, serving_info(i), engine_value, i);
        }
        for (enum served_figure i = 0; i < SERVED_COUNT; i++)
                put_values(t, served_info(i), joined_value, i);
}
