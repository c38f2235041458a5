#include "read/dcgm/discovery.h"

#include "base/attr.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

struct span {
        const char *s;
        size_t len;
};

static struct span trim_span(struct span t)
{
        while (t.len > 0 && (t.s[0] == ' ' || t.s[0] == '\t'))
                t = (struct span){t.s + 1, t.len - 1};
        while (t.len > 0 && (t.s[t.len - 1] == ' ' || t.s[t.len - 1] == '\t'))
                t.len--;
        return t;
}

/* Drops the word from the start; false when it does not stand there. */
static bool skip_word(struct span *t, const char *word)
{
        size_t n = strlen(word);
        if (t->len < n || memcmp(t->s, word, n) != 0)
                return false;
        *t = trim_span((struct span){t->s + n, t->len - n});
        return true;
}

static bool span_contains(struct span t, const char *word)
{
        return memmem(t.s, t.len, word, strlen(word)) != NULL;
}

/* "| left | right |" */
static bool split_row(const char *s, size_t len, struct span *ret_left, struct span *ret_right)
{
        struct span line = trim_span((struct span){s, len});
        if (line.len < 3 || line.s[0] != '|' || line.s[line.len - 1] != '|')
                return false;
        line = (struct span){line.s + 1, line.len - 2};
        const char *bar = memchr(line.s, '|', line.len);
        if (!bar)
                return false;
        *ret_left = trim_span((struct span){line.s, (size_t)(bar - line.s)});
        *ret_right = trim_span((struct span){bar + 1, (size_t)(line.s + line.len - bar - 1)});
        return true;
}

static bool read_id(struct span t, int32_t *ret)
{
        uint64_t v;
        if (!num_parse_u64(t.s, t.len, &v) || v > UINT16_MAX)
                return false;
        *ret = (int32_t)v;
        return true;
}

static void copy_span(char *to, struct span from)
{
        snprintf(to, ENTITY_TEXT_MAX, "%.*s", (int)MIN(from.len, (size_t)ENTITY_TEXT_MAX - 1),
                 from.s);
}

static bool take_fact(struct dcgm_gpu *gpu, struct span fact)
{
        if (skip_word(&fact, "Name:"))
                copy_span(gpu->name, fact);
        else if (skip_word(&fact, "PCI Bus ID:"))
                copy_span(gpu->pci, fact);
        else if (skip_word(&fact, "Device UUID:"))
                copy_span(gpu->uuid, fact);
        else
                return false;
        return true;
}

bool dcgm_take_gpu(struct dcgm_inventory *inv, const char *s, size_t len)
{
        struct span id, fact;
        if (!split_row(s, len, &id, &fact)) {
                /* "0 NvSwitches found." comes before a table of something else. */
                if (span_contains((struct span){s, len}, " found"))
                        inv->in_gpus = false;
                return false;
        }
        if (id.len > 0 && span_contains(id, "GPU ID")) {
                inv->in_gpus = true;
                return true;
        }
        if (!inv->in_gpus)
                return false;
        int32_t number;
        if (id.len > 0) {
                if (!read_id(id, &number) || inv->n_gpus == DCGM_GPUS_MAX ||
                    dcgm_find_gpu(inv, number)) {
                        inv->in_gpus = false; /* its facts must not go to the GPU before */
                        return false;
                }
                inv->gpus[inv->n_gpus++] = (struct dcgm_gpu){.id = number, .local = number};
        }
        return inv->n_gpus > 0 && take_fact(&inv->gpus[inv->n_gpus - 1], fact);
}

/* "1/2/0": how many numbers there are, 0 when it is not one. */
static size_t read_path(struct span t, int32_t ret[3])
{
        size_t n = 0;
        while (t.len > 0 && n < 3) {
                const char *slash = memchr(t.s, '/', t.len);
                size_t part = slash ? (size_t)(slash - t.s) : t.len;
                if (!read_id((struct span){t.s, part}, &ret[n]))
                        return 0;
                n++;
                if (!slash)
                        return n;
                t = (struct span){slash + 1, t.len - part - 1};
        }
        return 0;
}

/* "… (EntityID: 7)" */
static bool read_entity_id(struct span t, int32_t *ret)
{
        static const char mark[] = "(EntityID:";
        const char *at = memmem(t.s, t.len, mark, sizeof(mark) - 1);
        if (!at || t.s[t.len - 1] != ')')
                return false;
        const char *from = at + sizeof(mark) - 1;
        return read_id(trim_span((struct span){from, (size_t)(t.s + t.len - 1 - from)}), ret);
}

bool dcgm_take_slice(struct dcgm_inventory *inv, const char *s, size_t len)
{
        struct span left, right;
        struct dcgm_slice slice = {.ci = -1};
        int32_t path[3];
        if (!split_row(s, len, &left, &right) || !read_entity_id(right, &slice.flat))
                return false;
        if (!skip_word(&left, "->"))
                return skip_word(&left, "GPU");
        bool compute = skip_word(&left, "CI ");
        if ((!compute && !skip_word(&left, "I ")) || read_path(left, path) != (compute ? 3 : 2))
                return false;
        slice.kind = compute ? ENTITY_COMPUTE_INSTANCE : ENTITY_GPU_INSTANCE;
        slice.gpu = path[0];
        slice.gi = path[1];
        if (compute)
                slice.ci = path[2];
        if (inv->n_slices == DCGM_SLICES_MAX)
                return false;
        inv->slices[inv->n_slices++] = slice;
        return true;
}

bool dcgm_take_field(struct dcgm_fields *fields, const char *s, size_t len)
{
        struct span line = trim_span((struct span){s, len});
        size_t start = line.len;
        int32_t id;
        while (start > 0 && line.s[start - 1] != ' ')
                start--;
        /* A name precedes the number. */
        if (start == 0 || !read_id((struct span){line.s + start, line.len - start}, &id) ||
            id >= DCGM_FIELDS_MAX || dcgm_has_field(fields, (unsigned)id))
                return false;
        fields->known[id / 8] |= (uint8_t)(1u << (id % 8));
        fields->n++;
        return true;
}

bool dcgm_has_field(const struct dcgm_fields *fields, unsigned id)
{
        return id < DCGM_FIELDS_MAX && (fields->known[id / 8] >> (id % 8) & 1);
}

const struct dcgm_gpu *dcgm_find_gpu(const struct dcgm_inventory *inv, int32_t id)
{
        for (size_t i = 0; i < inv->n_gpus; i++) {
                if (inv->gpus[i].id == id)
                        return &inv->gpus[i];
        }
        return NULL;
}

const struct dcgm_gpu *dcgm_find_local(const struct dcgm_inventory *inv, int32_t local)
{
        for (size_t i = 0; local >= 0 && i < inv->n_gpus; i++) {
                if (inv->gpus[i].local == local)
                        return &inv->gpus[i];
        }
        return NULL;
}

static const struct dcgm_slice *find_slice(const struct dcgm_inventory *inv, enum entity_kind kind,
                                           int32_t flat)
{
        for (size_t i = 0; i < inv->n_slices; i++) {
                if (inv->slices[i].kind == kind && inv->slices[i].flat == flat)
                        return &inv->slices[i];
        }
        return NULL;
}

void dcgm_rename(const void *arg, struct entity_key *key)
{
        const struct dcgm_inventory *inv = arg;
        const struct dcgm_slice *slice = NULL;
        int32_t id = key->index;
        if (key->kind != ENTITY_GPU) {
                slice = find_slice(inv, key->kind, key->flat);
                id = slice ? slice->gpu : -1;
        }
        const struct dcgm_gpu *gpu = dcgm_find_gpu(inv, id);
        if (!gpu || gpu->local < 0) {
                key->kind = ENTITY_OTHER;
                return;
        }
        key->index = gpu->local;
        key->flat = -1;
        if (slice) {
                key->gi = slice->gi;
                key->ci = slice->ci;
        } else {
                key->uuid = gpu->uuid;
                key->uuid_len = strlen(gpu->uuid);
        }
}

size_t dcgm_expected_rows(const struct dcgm_inventory *inv)
{
        size_t n = 0;
        for (size_t i = 0; i < inv->n_gpus; i++)
                n += inv->gpus[i].local >= 0;
        for (size_t i = 0; i < inv->n_slices; i++) {
                const struct dcgm_gpu *gpu = dcgm_find_gpu(inv, inv->slices[i].gpu);
                n += gpu && gpu->local >= 0;
        }
        return n;
}
