#include "model/frame.h"

#include <stdio.h>
#include <string.h>

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

bool frame_has_hosts(const struct frame *f)
{
        /* They are sorted by it. */
        return f->n > 1 && strcmp(f->rows[0].sample.who->text[ENTITY_TEXT_HOST],
                                  f->rows[f->n - 1].sample.who->text[ENTITY_TEXT_HOST]) != 0;
}

void frame_label(const struct frame *f, const struct entity *e, char *buf, size_t size)
{
        const char *host = frame_has_hosts(f) ? e->text[ENTITY_TEXT_HOST] : "";
        snprintf(buf, size, "%s%s%s", host, host[0] ? ":" : "", e->label);
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
        if (e->index < 0) /* dcgmi's flat number: its GPU is one of those that are there */
                return a->kind == ENTITY_GPU || a->index < 0;
        return entity_same_gpu(a, e) && (a->kind == ENTITY_GPU || a->gi == e->gi);
}

bool frame_counts(const struct frame *f, size_t at, enum metric metric)
{
        const struct entity *e = f->rows[at].sample.who;
        if (!value_there(f->rows[at].sample.m[metric]))
                return false;
        if (e->kind == ENTITY_GPU)
                return true;
        for (size_t i = at; i-- > 0;) {
                const struct sample *s = &f->rows[i].sample;
                if (e->index >= 0 && !entity_same_gpu(s->who, e))
                        break;
                if (is_above(s->who, e) && value_there(s->m[metric]))
                        return false;
        }
        return true;
}
