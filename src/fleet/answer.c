#include "fleet/answer.h"

#include "base/jsonin.h"
#include "base/num.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define REASON_MAX 300
#define NUMBER_MAX 1e21 /* sums of that many series stay finite */

static int refuse_answer(const char *subject, const char *why, struct err *err)
{
        err_set(err, ERR_DATA, "'%s' gives an answer that is none of a PromQL API: %s", subject,
                why);
        return err_hint(err, "--engine wants the base address: http://HOST:9090, "
                             "http://HOST:8428, http://HOST/select/0/prometheus");
}

/* [1700000000.5, "12.5"] */
static bool read_point(const json_t *point, struct answer_series *ret)
{
        const json_t *at = json_array_get(point, 0), *v = json_array_get(point, 1);
        double number;
        if (json_array_size(point) != 2 || !json_is_number(at) || !json_is_string(v))
                return false;
        ret->at_s = json_number_value(at);
        bool fine = num_parse_all(json_string_value(v), json_string_length(v), &number) &&
                    fabs(number) <= NUMBER_MAX;
        ret->v = fine ? value_ok(number) : value_missing(STATE_BLANK);
        return true;
}

static int too_many(const char *subject, struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "'%s' answers with more than %d series, which are too many",
                subject, ANSWER_SERIES_MAX);
        return err_hint(err, "ask for less: a smaller --limit or a shorter --window");
}

static int read_vector(json_t *result, const char *subject, struct answer *a, struct err *err)
{
        size_t n = json_array_size(result);
        if (!json_is_array(result))
                return refuse_answer(subject, "there is no list of series", err);
        if (n > ANSWER_SERIES_MAX)
                return too_many(subject, err);
        a->series = calloc(n ? n : 1, sizeof(*a->series));
        if (!a->series)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; i < n; i++) {
                json_t *one = json_array_get(result, i), *labels = json_object_get(one, "metric");
                if (!json_is_object(labels) ||
                    !read_point(json_object_get(one, "value"), &a->series[i]))
                        return refuse_answer(subject, "a series has no labels or no value", err);
                a->series[i].labels = labels;
                a->n++;
        }
        return 0;
}

static int read_data(json_t *data, const char *subject, struct answer *a, struct err *err)
{
        const char *type = json_string_value(json_object_get(data, "resultType"));
        json_t *result = json_object_get(data, "result");
        if (!type)
                return refuse_answer(subject, "it has no result", err);
        if (strcmp(type, "vector") == 0)
                return read_vector(result, subject, a, err);
        if (strcmp(type, "scalar") != 0)
                return refuse_answer(subject, "the result is neither a vector nor a number", err);
        a->series = calloc(1, sizeof(*a->series));
        if (!a->series)
                return err_set(err, -ENOMEM, "out of memory");
        if (!read_point(result, &a->series[0]))
                return refuse_answer(subject, "the result is no number", err);
        a->n = 1;
        return 0;
}

/* VictoriaMetrics repeats the question first, which may be long: the reason is at the end. */
static const char *reason_of(const char *text)
{
        size_t n = strlen(text);
        return n > REASON_MAX ? text + n - REASON_MAX : text;
}

static int read_root(json_t *root, const char *subject, struct answer *a, struct err *err)
{
        const char *status = json_string_value(json_object_get(root, "status"));
        const char *why = json_string_value(json_object_get(root, "error"));
        if (!status)
                return refuse_answer(subject, "it has no status", err);
        if (strcmp(status, "success") != 0) {
                err_set(err, ERR_NO_SOURCE, "'%s' refuses a question: %s%s", subject,
                        why && strlen(why) > REASON_MAX ? "… " : "",
                        why ? reason_of(why) : "without a reason");
                return err_hint(err, "a shorter --window asks for less; 'assay fleet --queries' "
                                     "shows what is asked");
        }
        a->warning = json_string_value(json_array_get(json_object_get(root, "warnings"), 0));
        return read_data(json_object_get(root, "data"), subject, a, err);
}

void answer_finish(struct answer *a)
{
        json_decref(a->root);
        free(a->series);
        *a = (struct answer){0};
}

int answer_parse(const char *text, size_t len, const char *subject, struct answer *ret,
                 struct err *err)
{
        struct answer a = {0};
        json_error_t why;
        if (jsonin_weight(text, len) > JSONIN_LIST_MOST)
                return too_many(subject, err);
        json_t *root = jsonin_load_list(text, len, 0, &why);
        a.root = root;
        if (!root && json_error_code(&why) == json_error_out_of_memory)
                return err_set(err, -ENOMEM, "out of memory");
        if (!json_is_object(root)) {
                answer_finish(&a);
                return refuse_answer(subject, "it is not JSON", err);
        }
        int r = read_root(root, subject, &a, err);
        if (r < 0) {
                answer_finish(&a);
                return r;
        }
        *ret = a;
        return 0;
}

struct answer_series answer_keep(const struct answer_series *s)
{
        struct answer_series kept = *s;
        json_incref((json_t *)kept.labels);
        return kept;
}

void answer_drop(struct answer_series *s)
{
        json_decref(s->labels);
        *s = (struct answer_series){0};
}

const char *answer_label(const struct answer_series *s, const char *name)
{
        const char *text = json_string_value(json_object_get(s->labels, name));
        return text ? text : "";
}

const char *answer_own_label(const struct answer_series *s, const char *name)
{
        char exported[64];
        snprintf(exported, sizeof(exported), "exported_%s", name);
        const char *text = answer_label(s, exported);
        return text[0] ? text : answer_label(s, name);
}
