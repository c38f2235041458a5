#include "fleet/rows.h"

#include "base/attr.h"
#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 1024

void sums_finish(struct fleet_sums *s)
{
        for (size_t i = 0; i < s->n; i++) {
                free(s->list[i].key);
                answer_drop(&s->list[i].labels);
        }
        free(s->list);
        lookup_finish(&s->places);
        *s = (struct fleet_sums){0};
}

const char *owner_name_of(const struct answer_series *s)
{
        const char *user = answer_label(s, "user");
        return user[0] ? user : answer_own_label(s, "namespace");
}

void job_name_of(const struct answer_series *s, char *ret, size_t size)
{
        const char *kind = answer_label(s, "kind");
        if (strcmp(kind, "kubernetes") == 0)
                snprintf(ret, size, "%s/%s", answer_own_label(s, "namespace"),
                         answer_own_label(s, "pod"));
        else if (strcmp(kind, "process") == 0)
                snprintf(ret, size, "processes");
        else
                snprintf(ret, size, "%s", answer_own_label(s, "job"));
}

static void make_key(const struct answer_series *s, enum sum_by by, char ret[KEY_MAX])
{
        char job[KEY_MAX / 2] = "";
        switch (by) {
        case SUM_BY_NODE:
                snprintf(ret, KEY_MAX, "%s\n%s", answer_label(s, "cluster"),
                         answer_label(s, "instance"));
                return;
        case SUM_BY_GPU:
                snprintf(ret, KEY_MAX, "%s\n%s\n%s\n%s", answer_label(s, "cluster"),
                         answer_label(s, "instance"), answer_label(s, "gpu"),
                         answer_label(s, "gi"));
                return;
        case SUM_BY_UUID:
                snprintf(ret, KEY_MAX, "%s\n%s", answer_label(s, "uuid"), answer_label(s, "gi"));
                return;
        case SUM_BY_LIMITER:
                snprintf(ret, KEY_MAX, "%s", answer_label(s, "limiter"));
                return;
        case SUM_BY_JOB:
                job_name_of(s, job, sizeof(job));
                break;
        case SUM_BY_OWNER:
                break;
        }
        snprintf(ret, KEY_MAX, "%s\n%s\n%s\n%s\n%s", answer_label(s, "cluster"),
                 answer_label(s, "kind"), owner_name_of(s), answer_label(s, "account"), job);
}

static struct fleet_sum *find_sum(const struct fleet_sums *s, const char *key, uint32_t hash)
{
        uint32_t at;
        for (size_t step = 0; (at = lookup_next(&s->places, hash, &step)) != LOOKUP_END;) {
                if (strcmp(s->list[at].key, key) == 0)
                        return &s->list[at];
        }
        return NULL;
}

/* The sum of a series, a new one where there is none yet; NULL when memory is short. */
static struct fleet_sum *sum_for(struct fleet_sums *s, const struct answer_series *series,
                                 enum sum_by by)
{
        char key[KEY_MAX];
        make_key(series, by, key);
        uint32_t hash = hash_text(key, strlen(key));
        struct fleet_sum *sum = find_sum(s, key, hash);
        if (sum)
                return sum;
        CLEANUP(freep) char *kept = strdup(key);
        if (!kept || !LIST_ROOM(s->list, s->n, s->cap) ||
            !lookup_put(&s->places, hash, (uint32_t)s->n))
                return NULL;
        sum = &s->list[s->n++];
        *sum = (struct fleet_sum){.key = TAKE(kept), .labels = answer_keep(series)};
        return sum;
}

bool sums_is_job(const struct fleet_sum *job, const struct answer_series *s)
{
        char key[KEY_MAX];
        make_key(s, SUM_BY_JOB, key);
        return strcmp(job->key, key) == 0;
}

void value_add(struct value *a, struct value b)
{
        if (value_is_set(b))
                *a = value_ok((value_is_set(*a) ? a->v : 0) + b.v);
}

void sums_add(struct fleet_sums *s, const struct answer *a, enum sum_by by, size_t field)
{
        for (size_t i = 0; i < a->n; i++) {
                struct fleet_sum *sum = sum_for(s, &a->series[i], by);
                if (sum)
                        value_add((struct value *)(void *)((char *)sum + field), a->series[i].v);
        }
}

void sums_add_wasted(struct fleet_sums *s, const struct answer *a, enum sum_by by)
{
        for (size_t i = 0; i < a->n; i++) {
                const struct answer_series *one = &a->series[i];
                enum idle_reason reason = idle_reason_find(answer_label(one, "reason"));
                struct fleet_sum *sum = sum_for(s, one, by);
                if (!sum || !value_is_set(one->v))
                        continue;
                sum->wasted[reason < IDLE_REASON_COUNT ? reason : IDLE_UNKNOWN] += one->v.v;
                sum->has_wasted = true;
        }
}

void sums_bound_wasted(struct fleet_sums *s)
{
        for (size_t i = 0; i < s->n; i++) {
                struct fleet_sum *sum = &s->list[i];
                double wasted = sum_wasted(sum);
                if (!value_is_set(sum->held) || !(wasted > sum->held.v))
                        continue;
                for (enum idle_reason r = 0; r < IDLE_REASON_COUNT; r++)
                        sum->wasted[r] *= MAX(sum->held.v, 0.0) / wasted;
        }
}

struct value sum_seen(const struct fleet_sum *s)
{
        struct value seen = s->observed;
        value_add(&seen, s->idle_unobserved);
        return seen;
}

double sum_wasted(const struct fleet_sum *s)
{
        double all = 0;
        for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++)
                all += s->wasted[i];
        return all;
}

struct value sum_wasted_value(const struct fleet_sum *s)
{
        return s->has_wasted || value_is_set(s->held) ? value_ok(sum_wasted(s))
                                                      : value_missing(STATE_NONE);
}

struct value sum_worked(const struct fleet_sum *s)
{
        if (!value_is_set(s->held))
                return value_missing(STATE_NONE);
        double seen = MIN(value_or(sum_seen(s), 0), s->held.v);
        return value_ok(MAX(seen - sum_wasted(s), 0.0));
}

struct value sum_unseen(const struct fleet_sum *s)
{
        if (!value_is_set(s->held))
                return value_missing(STATE_NONE);
        return value_ok(MAX(s->held.v - sum_worked(s).v - sum_wasted(s), 0.0));
}

const char *sum_reason(const struct fleet_sum *s)
{
        enum idle_reason most = 0;
        for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++) {
                if (s->wasted[i] > s->wasted[most])
                        most = i;
        }
        return s->wasted[most] > 0 ? idle_reason_name(most) : "";
}

struct value ratio_of(struct value a, struct value b)
{
        if (!value_is_set(a) || !value_is_set(b) || !(b.v > 0))
                return value_missing(STATE_NONE);
        return value_ok(MIN(MAX(a.v / b.v, 0.0), 1.0));
}
