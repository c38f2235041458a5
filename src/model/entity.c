#include "model/entity.h"

#include "base/attr.h"
#include "base/num.h"
#include "base/text.h"

#include <stdio.h>
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
        /* Sources report the same names again and again, and what is kept is clean. */
        if (n > 0 && e->text[text][n] == '\0' && memcmp(e->text[text], s, n) == 0)
                return;
        if (n > 0)
                memcpy(e->text[text], s, n);
        e->text[text][n] = '\0';
        text_clean(e->text[text]);
}

/* A recording keeps the driver's name. */
static bool is_partition(const struct entity *e)
{
        return e->kind != ENTITY_GPU &&
               (e->vendor == VENDOR_AMD || strncmp(e->text[ENTITY_TEXT_DRIVER], "amdgpu", 6) == 0);
}

const char *entity_noun(const struct entity *e)
{
        return e->kind == ENTITY_GPU ? "GPU" : is_partition(e) ? "part" : "MIG";
}

bool entity_owns(const struct entity *e, enum metric_scope scope)
{
        switch (scope) {
        case METRIC_SCOPE_INSTANCE:
                return true;
        case METRIC_SCOPE_PARTITION:
                return e->kind == ENTITY_GPU || is_partition(e);
        case METRIC_SCOPE_GPU:
        case METRIC_SCOPE_LEVEL:
        case METRIC_SCOPE_LEVEL_GPU:
        case METRIC_SCOPE_SYSTEM:
        case METRIC_SCOPE_CORE:
        case METRIC_SCOPE_EVIDENCE:
        case METRIC_SCOPE_SERVING:
        case METRIC_SCOPE_COUNT:
                break;
        }
        return e->kind == ENTITY_GPU;
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

bool entity_read_flat(const char *s, size_t len, struct entity_key *ret)
{
        static const struct {
                const char *name;
                enum entity_kind kind;
        } kinds[] = {{"GPU-I", ENTITY_GPU_INSTANCE}, {"GPU-CI", ENTITY_COMPUTE_INSTANCE}};
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                size_t n = strlen(kinds[i].name), at = n;
                uint64_t id;
                if (len <= n || strncasecmp(s, kinds[i].name, n) != 0 || s[n] != ' ')
                        continue;
                while (at < len && s[at] == ' ')
                        at++;
                if (!num_parse_u64(s + at, len - at, &id) || id > INT32_MAX)
                        return false;
                ret->kind = kinds[i].kind;
                ret->flat = (int32_t)id;
                return true;
        }
        return false;
}

static int compare_int(int32_t a, int32_t b)
{
        return (a > b) - (a < b);
}

int entity_compare(const struct entity *a, const struct entity *b)
{
        int r = strverscmp(a->text[ENTITY_TEXT_HOST], b->text[ENTITY_TEXT_HOST]);
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
