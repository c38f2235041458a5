#include "present/stream/serving_json.h"

#include "base/clock.h"
#include "model/limit.h"
#include "present/stream/json.h"

#include <string.h>

static void put_labels(struct jsonw *j, const char *list)
{
        if (!list[0]) {
                jsonw_null(j, "gpus");
                return;
        }
        jsonw_array(j, "gpus");
        for (const char *at = list; *at;) {
                char label[SERVING_TEXT_MAX];
                size_t n = strcspn(at, ",");
                memcpy(label, at, n);
                label[n] = '\0';
                jsonw_text(j, NULL, label);
                at += n + (at[n] == ',');
        }
        jsonw_end(j);
}

static void put_serving(struct jsonw *j, const struct serving *s)
{
        jsonw_text(j, "engine", engine_name(s->kind));
        jsonw_text(j, "url", s->url);
        jsonw_text_or_null(j, "model", s->model);
        jsonw_bool(j, "answers", s->present);
        jsonw_text_or_null(j, "why", s->why);
        if (s->pid > 0)
                jsonw_whole(j, "pid", s->pid);
        else
                jsonw_null(j, "pid");
        put_labels(j, s->gpus);
        jsonw_short(j, "interval", clock_to_seconds(s->interval_ns), 9);
        jsonw_values(j, "metrics", s->v, SERVING_COUNT, serving_info(0));
}

static void put_served(struct jsonw *j, const struct served *s)
{
        enum serving_limiter limit = (enum serving_limiter)s->limit;
        jsonw_object(j, "limit");
        jsonw_text(j, "limiter", serving_limit_name(limit));
        jsonw_text(j, "words", serving_limit_words(limit));
        jsonw_text(j, "brief", serving_limit_brief(limit));
        jsonw_text(j, "basis", basis_name((enum basis)s->basis));
        jsonw_text_or_null(j, "try", serving_advice(limit, s->s.kind, s->is_queued));
        jsonw_text(j, "full_next", served_unit_name((enum served_unit)s->full));
        jsonw_text(j, "size", serving_size_name((enum serving_size)s->size));
        jsonw_end(j);
        jsonw_object(j, "hardware");
        for (enum served_figure i = 0; i < SERVED_COUNT; i++)
                jsonw_value(j, served_info(i)->name, s->v[i]);
        jsonw_end(j);
}

void jsonw_served_members(struct jsonw *j, const struct served *s)
{
        put_serving(j, &s->s);
        put_served(j, s);
}

void jsonw_servings(struct jsonw *j, const struct serving *list, size_t n)
{
        if (n == 0)
                return;
        jsonw_array(j, "engines");
        for (size_t i = 0; i < n; i++) {
                jsonw_line(j);
                jsonw_object(j, NULL);
                put_serving(j, &list[i]);
                jsonw_end(j);
        }
        jsonw_line(j);
        jsonw_end(j);
}

void jsonw_served(struct jsonw *j, const struct served *list, size_t n)
{
        if (n == 0)
                return;
        jsonw_array(j, "engines");
        for (size_t i = 0; i < n; i++) {
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_served_members(j, &list[i]);
                jsonw_end(j);
        }
        jsonw_line(j);
        jsonw_end(j);
}
