#include "model/frame.h"

#include "base/attr.h"

#include <string.h>

bool row_is_stalled(const struct row *row)
{
        return value_or(row->sample.m[METRIC_STALLED], 0) > 0;
}

bool row_is_stale(const struct row *row)
{
        bool old = false;
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                enum state state = row->sample.m[m].state;
                if (metric_info(m)->kind == METRIC_KIND_DERIVED)
                        continue;
                if (state == STATE_OK)
                        return false;
                old = old || state == STATE_STALE;
        }
        return old;
}

/*
 * By the class; where the counters for one are missing, by the limiter, which knows from what the
 * driver gives that nothing runs. A program may wait or start beside some work: then utilization
 * must show that there was none.
 */
enum row_use row_use(const struct row *row)
{
        struct value util = row->sample.m[METRIC_GPU_UTIL];
        enum limiter limiter = (enum limiter)MIN(row->limit.limiter, LIMITER_COUNT);
        if (row->verdict.workload != WORKLOAD_UNKNOWN)
                return row->verdict.workload == WORKLOAD_IDLE ? ROW_USE_IDLE : ROW_USE_WORKING;
        if (limiter == LIMITER_IDLE || limiter == LIMITER_IDLE_ALLOCATED)
                return ROW_USE_IDLE;
        if (util.state == STATE_OK && util.v >= LIMIT_ENGINE_NONE_DRIVER)
                return ROW_USE_WORKING;
        if (limiter == LIMITER_COUNT || limiter == LIMITER_UNKNOWN)
                return ROW_USE_UNKNOWN;
        if (limiter_side(limiter) != LIMITER_SIDE_HOST)
                return ROW_USE_WORKING;
        return util.state == STATE_OK ? ROW_USE_IDLE : ROW_USE_UNKNOWN;
}

const char *row_use_name(enum row_use use)
{
        static const char *const names[] = {
            [ROW_USE_UNKNOWN] = "unknown", [ROW_USE_IDLE] = "idle", [ROW_USE_WORKING] = "working"};
        return names[use];
}

struct value row_held(const struct row *row, bool owned)
{
        struct value used = row->sample.m[METRIC_FB_USED];
        if (owned || row->limit.limiter == LIMITER_IDLE_ALLOCATED)
                return value_ok(1);
        /* Its rule knows whose the memory is: some is the driver's own. */
        if (row->limit.limiter == LIMITER_IDLE)
                return value_ok(0);
        return value_is_set(used) ? value_ok(used.v >= LIMIT_HELD_BYTES)
                                  : value_missing(STATE_NONE);
}

static struct gpu_identity identity_of_row(const void *list, size_t i)
{
        const struct row *rows = list;
        return gpu_identity_of(rows[i].sample.who);
}

void frame_name_rows(struct frame *f)
{
        naming_make(&f->naming, f->n, f->rows, identity_of_row);
}

void frame_label(const struct frame *f, const struct entity *e, char *buf, size_t size)
{
        naming_put_entity(&f->naming, e, buf, size);
}

bool frame_label_matches(const struct frame *f, const struct entity *e, const char *text)
{
        return naming_matches(&f->naming, e, text);
}

size_t frame_group_end(const struct frame *f, size_t begin)
{
        size_t end = begin + 1;
        while (end < f->n && entity_same_gpu(f->rows[begin].sample.who, f->rows[end].sample.who))
                end++;
        return end;
}

size_t frame_gpus(const struct frame *f)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i = frame_group_end(f, i))
                n += f->rows[i].sample.who->index >= 0 || f->rows[i].sample.who->kind == ENTITY_GPU;
        /* Slices alone, of a GPU that nobody knows. */
        return n == 0 && f->n > 0 ? 1 : n;
}

/* Whether a is the GPU or the instance that e is a part of, or may be. */
static bool is_above(const struct entity *a, const struct entity *e)
{
        if (a->kind >= e->kind)
                return false;
        if (e->index < 0) /* dcgmi's flat number: its GPU is one of those present */
                return a->kind == ENTITY_GPU || a->index < 0;
        return entity_same_gpu(a, e) && (a->kind == ENTITY_GPU || a->gi == e->gi);
}

bool frame_counts(const struct frame *f, size_t at, enum metric metric)
{
        const struct entity *e = f->rows[at].sample.who;
        if (!value_is_set(f->rows[at].sample.m[metric]))
                return false;
        if (e->kind == ENTITY_GPU)
                return true;
        for (size_t i = at; i-- > 0;) {
                const struct sample *s = &f->rows[i].sample;
                if (e->index >= 0 && !entity_same_gpu(s->who, e))
                        break;
                if (is_above(s->who, e) && value_is_set(s->m[metric]))
                        return false;
        }
        return true;
}
