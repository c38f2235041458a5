#include "engine/slices.h"

#include "base/attr.h"

#include <string.h>

static bool owns_metric(const struct entity *e, enum metric m)
{
        return entity_owns(e, metric_info(m)->scope);
}

void slices_gather(const struct frame *f, size_t begin, size_t end, struct sample *ret)
{
        memset(ret->m, 0, sizeof(ret->m));
        for (size_t i = begin; i < end; i++) {
                const struct sample *s = &f->rows[i].sample;
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        bool whole = s->who->kind == ENTITY_GPU || !owns_metric(s->who, m);
                        if (whole && !value_is_set(ret->m[m]) && s->m[m].state != STATE_NONE)
                                ret->m[m] = s->m[m];
                }
        }
}

void slices_disown(struct frame *f, size_t begin, size_t end)
{
        for (size_t i = begin; i < end; i++) {
                struct sample *s = &f->rows[i].sample;
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        if (s->m[m].state != STATE_NONE && !owns_metric(s->who, m))
                                s->m[m] = value_missing(STATE_UNSUPPORTED);
                }
        }
}

/* What a slice reports its GPU. */
static void copy_identity(const struct entity *slice, struct entity *whole)
{
        static const enum entity_text shared[] = {
            ENTITY_TEXT_MODEL,  ENTITY_TEXT_PCI,  ENTITY_TEXT_SERIAL, ENTITY_TEXT_DRIVER,
            ENTITY_TEXT_DEVICE, ENTITY_TEXT_NUMA, ENTITY_TEXT_HOST,   ENTITY_TEXT_VBIOS};
        for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
                const char *text = slice->text[shared[i]];
                if (whole->text[shared[i]][0] == '\0')
                        entity_set_text(whole, shared[i], text, strlen(text));
        }
        whole->vendor = slice->vendor;
        whole->ordinal = slice->ordinal;
        whole->ordinals = slice->ordinals;
}

struct entity *slices_find_whole(struct registry *r, struct entity *slice)
{
        if (slice->whole > 0)
                return r->list[slice->whole - 1];
        struct entity *whole = NULL;
        for (size_t i = 0; i < r->n && !whole; i++) {
                if (r->list[i]->kind == ENTITY_GPU && entity_same_gpu(r->list[i], slice))
                        whole = r->list[i];
        }
        if (!whole) {
                const char *host = slice->text[ENTITY_TEXT_HOST];
                const char *uuid = slice->text[ENTITY_TEXT_UUID];
                /* Exporters put the GPU's UUID on its slices. */
                bool of_gpu = strncmp(uuid, "GPU-", 4) == 0;
                struct entity_key key = {.kind = ENTITY_GPU,
                                         .index = slice->index,
                                         .gi = -1,
                                         .ci = -1,
                                         .flat = -1,
                                         .host = host,
                                         .host_len = strlen(host),
                                         .uuid = of_gpu ? uuid : "",
                                         .uuid_len = of_gpu ? strlen(uuid) : 0};
                whole = registry_resolve(r, &key, r->n);
                if (!whole)
                        return NULL;
                copy_identity(slice, whole);
        }
        slice->whole = whole->slot + 1;
        return whole;
}
