#include "model/entity.h"

#include "base/attr.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const text_names[ENTITY_TEXT_COUNT] = {
#define ENTITY_TEXT(id, name) name,
    ENTITY_TEXTS(ENTITY_TEXT)
#undef ENTITY_TEXT
};

const char *entity_text_name(enum entity_text text)
{
        return text_names[text];
}

enum entity_text entity_text_find(const char *name, size_t len)
{
        for (size_t i = 0; i < ENTITY_TEXT_COUNT; i++) {
                if (strlen(text_names[i]) == len && memcmp(text_names[i], name, len) == 0)
                        return (enum entity_text)i;
        }
        return ENTITY_TEXT_COUNT;
}

void entity_set_text(struct entity *e, enum entity_text text, const char *s, size_t len)
{
        size_t n = MIN(len, (size_t)ENTITY_TEXT_MAX - 1);
        if (n > 0)
                memcpy(e->text[text], s, n);
        e->text[text][n] = '\0';
        text_clean(e->text[text]);
}

const char *entity_noun(const struct entity *e)
{
        if (e->kind == ENTITY_GPU)
                return "GPU";
        /* A recording keeps the driver's name. */
        return strncmp(e->text[ENTITY_TEXT_DRIVER], "amdgpu", 6) == 0 ? "part" : "MIG";
}

bool entity_same_gpu(const struct entity *a, const struct entity *b)
{
        return a->index >= 0 && a->index == b->index &&
               strcmp(a->text[ENTITY_TEXT_HOST], b->text[ENTITY_TEXT_HOST]) == 0;
}

bool entity_same_place(const struct entity *a, const struct entity *b)
{
        char *x, *y;
        unsigned long domain = strtoul(a->text[ENTITY_TEXT_PCI], &x, 16);
        return domain == strtoul(b->text[ENTITY_TEXT_PCI], &y, 16) && *x == ':' &&
               strcasecmp(x, y) == 0 &&
               strcmp(a->text[ENTITY_TEXT_HOST], b->text[ENTITY_TEXT_HOST]) == 0;
}

static int compare_int(int32_t a, int32_t b)
{
        return (a > b) - (a < b);
}

int entity_compare(const struct entity *a, const struct entity *b)
{
        int r = strcmp(a->text[ENTITY_TEXT_HOST], b->text[ENTITY_TEXT_HOST]);
        /* A flat MIG entity has no known parent: it comes after the GPUs. */
        if (r == 0)
                r = compare_int(a->index < 0, b->index < 0);
        if (r == 0)
                r = compare_int(a->index, b->index);
        if (r == 0)
                r = compare_int(a->gi, b->gi);
        if (r == 0)
                r = compare_int(a->ci, b->ci);
        if (r == 0)
                r = compare_int(a->flat, b->flat);
        if (r == 0)
                r = compare_int((int32_t)a->kind, (int32_t)b->kind);
        return r != 0 ? r : strcmp(a->text[ENTITY_TEXT_UUID], b->text[ENTITY_TEXT_UUID]);
}
