#include "model/stretch.h"

#include "base/attr.h"

#define WORDS (STRETCH_GPUS_MAX / 64)

void stretch_list_finish(struct stretch_list *list)
{
        free(list->list);
        free(list->gpus);
        free(list->wheres);
        *list = (struct stretch_list){0};
}

const struct where *stretch_list_where(const struct stretch_list *list, size_t where)
{
        return where > 0 && where <= list->n_wheres ? &list->wheres[where - 1] : NULL;
}

bool gpu_set_has(const struct gpu_set *s, size_t gpu)
{
        return s->bits[gpu / 64] >> gpu % 64 & 1;
}

void gpu_set_add(struct gpu_set *s, size_t gpu)
{
        s->bits[gpu / 64] |= 1ull << gpu % 64;
}

void gpu_set_join(struct gpu_set *to, const struct gpu_set *from)
{
        for (size_t i = 0; i < WORDS; i++)
                to->bits[i] |= from->bits[i];
}

void gpu_set_intersect(struct gpu_set *to, const struct gpu_set *other)
{
        for (size_t i = 0; i < WORDS; i++)
                to->bits[i] &= other->bits[i];
}

bool gpu_set_meets(const struct gpu_set *a, const struct gpu_set *b)
{
        for (size_t i = 0; i < WORDS; i++) {
                if (a->bits[i] & b->bits[i])
                        return true;
        }
        return false;
}

size_t gpu_set_first(const struct gpu_set *s)
{
        for (size_t i = 0; i < WORDS; i++) {
                if (s->bits[i])
                        return i * 64 + (size_t)__builtin_ctzll(s->bits[i]);
        }
        return STRETCH_GPUS_MAX;
}

size_t gpu_set_count(const struct gpu_set *s)
{
        size_t n = 0;
        for (size_t i = 0; i < WORDS; i++)
                n += (size_t)__builtin_popcountll(s->bits[i]);
        return n;
}

double stretch_list_at_best(const struct stretch_list *list, const struct limit_finding *f)
{
        size_t gpus = gpu_set_count(&f->gpus);
        double won = gpus > 0 ? f->won_s / (double)gpus : 0;
        return won < list->seconds ? list->seconds - won : 0;
}
