/* The structured form of NCCL's status. */
#include "base/attr.h"
#include "base/jsonin.h"
#include "base/text.h"
#include "formats/ras/ras.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMUNICATORS_MAX 65536
#define IN_PROGRESS 7 /* of ncclResult_t: no error */

static void take_text(const json_t *o, const char *name, char *buf, size_t size)
{
        const char *s = json_string_value(json_object_get(o, name));
        snprintf(buf, size, "%s", s ? s : "");
        text_clean(buf);
}

static struct value take_whole(const json_t *o, const char *name)
{
        const json_t *v = json_object_get(o, name);
        json_int_t number = json_integer_value(v);
        return json_is_integer(v) && number >= 0 && number <= INT32_MAX ? value_ok((double)number)
                                                                        : value_missing(STATE_NONE);
}

/* All collectives that a rank has begun. */
static struct value count_collectives(const json_t *rank)
{
        const json_t *counts = json_object_get(rank, "collective_counts");
        void *at = json_object_iter((json_t *)(uintptr_t)counts);
        double sum = 0;
        if (!json_is_object(counts) || !at)
                return value_missing(STATE_NONE);
        for (; at; at = json_object_iter_next((json_t *)(uintptr_t)counts, at)) {
                double n = json_number_value(json_object_iter_value(at));
                if (n < 0)
                        return value_missing(STATE_NONE);
                sum += n;
        }
        return sum <= RAS_COUNT_MAX ? value_ok(sum) : value_missing(STATE_NONE);
}

static struct value most_collectives(const json_t *ranks)
{
        struct value most = value_missing(STATE_NONE);
        for (size_t i = 0; i < json_array_size(ranks); i++) {
                struct value n = count_collectives(json_array_get(ranks, i));
                if (value_is_set(n) && n.v > value_or(most, -1))
                        most = n;
        }
        return most;
}

static struct ras_rank *add_rank(struct ras_report *ret, const json_t *o, uint64_t communicator,
                                 enum ras_trouble trouble)
{
        struct ras_rank *r = ras_report_add(ret);
        if (!r)
                return NULL;
        r->communicator = communicator;
        r->trouble = (uint8_t)trouble;
        r->rank = take_whole(o, "rank");
        r->pid = (int32_t)value_or(take_whole(o, "pid"), 0);
        take_text(o, "host", r->host, sizeof(r->host));
        return r;
}

static bool is_full(const struct ras_report *r)
{
        return r->n >= RAS_RANKS_MAX;
}

static int take_rank(struct ras_report *ret, const json_t *o, uint64_t communicator,
                     struct value most)
{
        const json_t *status = json_object_get(o, "status");
        json_int_t error = json_integer_value(json_object_get(status, "async_error"));
        struct value count = count_collectives(o);
        bool is_behind = value_is_set(count) && value_is_set(most) && count.v < most.v;
        bool failed = error != 0 && error != IN_PROGRESS;
        if ((!is_behind && !failed) || is_full(ret))
                return 0;
        struct ras_rank *r = add_rank(ret, o, communicator, failed ? RAS_ERROR : RAS_BEHIND);
        if (!r)
                return -ENOMEM;
        r->count = count;
        r->most = most;
        if (failed)
                snprintf(r->text, sizeof(r->text), "error %lld", (long long)error);
        return 0;
}

static int take_missing(struct ras_report *ret, const json_t *o, uint64_t communicator)
{
        const json_t *status = json_object_get(o, "status");
        bool dead = json_is_true(json_object_get(status, "considered_dead"));
        if (is_full(ret))
                return 0;
        return add_rank(ret, o, communicator, dead ? RAS_DEAD : RAS_MISSING) ? 0 : -ENOMEM;
}

static int take_communicator(struct ras_report *ret, const json_t *o)
{
        const json_t *ranks = json_object_get(o, "ranks");
        const json_t *missing = json_object_get(o, "missing_ranks");
        const char *hash = json_string_value(json_object_get(o, "hash"));
        uint64_t communicator = hash ? strtoull(hash, NULL, 16) : 0;
        struct value most = most_collectives(ranks);
        int r = 0;
        for (size_t i = 0; r == 0 && i < json_array_size(ranks); i++)
                r = take_rank(ret, json_array_get(ranks, i), communicator, most);
        for (size_t i = 0; r == 0 && i < json_array_size(missing); i++)
                r = take_missing(ret, json_array_get(missing, i), communicator);
        ret->processes += json_array_size(ranks);
        return r;
}

int ras_parse_json(const char *text, size_t n, struct ras_report *ret, struct err *err)
{
        json_t *o = jsonin_load(text, n, 0, NULL);
        const json_t *list = json_object_get(o, "communicators");
        int r = 0;
        if (!json_is_array(list))
                r = err_set(err, ERR_DATA, "its answer is no status of NCCL");
        else
                take_text(o, "nccl_version", ret->version, sizeof(ret->version));
        for (size_t i = 0; r == 0 && i < MIN(json_array_size(list), (size_t)COMMUNICATORS_MAX);
             i++) {
                r = take_communicator(ret, json_array_get(list, i));
                ret->communicators++;
        }
        json_decref(o);
        return r;
}
