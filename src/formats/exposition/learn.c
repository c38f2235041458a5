/* Names, label blocks and entities of an exposition: learnt once, then known by their bytes. */
#include "base/attr.h"
#include "base/list.h"
#include "base/num.h"
#include "formats/batcher.h"
#include "formats/exposition/state.h"
#include "formats/exposition/text.h"

#include <string.h>

#define NAMES_MAX 8192 /* of metrics nobody wants; more are looked up each time */
#define NAME_LEN_MAX 255

static void forget_text(struct exposition *x)
{
        x->n_blocks = x->n_slots = x->hostless = 0;
        x->last_block = 0;
        lookup_clear(&x->block_lookup);
        lookup_clear(&x->slot_lookup);
        pool_clear(&x->text);
        x->must_forget = false;
}

/* Rows get wider: the last one moves first. */
static bool widen_schema(struct exposition *x)
{
        size_t stride = x->stride ? x->stride * 2 : 64;
        if (x->slots_cap > 0) {
                if (!LIST_RESIZE(x->cells, x->slots_cap * stride))
                        return false;
                struct raw *cells = x->cells;
                for (size_t i = x->n_slots; i-- > 0;) {
                        memmove(cells + i * stride, cells + i * x->stride,
                                x->stride * sizeof(*cells));
                        memset(cells + i * stride + x->stride, 0,
                               (stride - x->stride) * sizeof(*cells));
                }
        }
        x->stride = stride;
        return true;
}

/* The place of a new field, or NOBODY when there is no room. */
static int add_field(struct exposition *x, const char *name, size_t len, bool is_label)
{
        struct schema *schema = &x->schema;
        if (schema->n == EXPOSITION_FIELDS_MAX || len >= FIELD_NAME_MAX)
                return NOBODY;
        if (schema->n == x->stride && !widen_schema(x))
                return NOBODY;
        memcpy(schema->names[schema->n], name, len);
        schema->names[schema->n][len] = '\0';
        schema->revision++;
        x->is_label[schema->n] = is_label;
        return (int)schema->n++;
}

static bool is_wanted(const struct exposition *x, const char *name, size_t len)
{
        return !x->wanted || x->wanted(DIALECT_DCGM, name, len);
}

static int label_field(struct exposition *x, const struct word *name)
{
        for (size_t i = 0; i < x->schema.n; i++) {
                if (x->is_label[i] && strlen(x->schema.names[i]) == name->len &&
                    memcmp(x->schema.names[i], name->s, name->len) == 0)
                        return (int)i;
        }
        return is_wanted(x, name->s, name->len) ? add_field(x, name->s, name->len, true) : NOBODY;
}

static bool name_is(const struct name *name, const char *s, size_t len)
{
        return name->len == len && memcmp(name->s, s, len) == 0;
}

/* The index of a name that is known; LOOKUP_END when it is not. */
uint32_t exposition_known_name(const struct exposition *x, const char *s, size_t len)
{
        uint32_t hash = hash_text(s, len), id;
        for (size_t step = 0; (id = lookup_next(&x->name_lookup, hash, &step)) != LOOKUP_END;) {
                if (name_is(&x->names[id], s, len))
                        break;
        }
        return id;
}

/* LOOKUP_END for a name that is not worth keeping. */
static uint32_t learn_name(struct exposition *x, const char *s, size_t len)
{
        if (len > NAME_LEN_MAX)
                return LOOKUP_END;
        int field = is_wanted(x, s, len) ? add_field(x, s, len, false) : NOBODY;
        if (field == NOBODY && x->n_names >= NAMES_MAX)
                return LOOKUP_END;
        struct name name = {.s = pool_copy(&x->name_text, s, len), .len = len, .field = field};
        if (!name.s || !LIST_ROOM(x->names, x->n_names, x->names_cap) ||
            !lookup_put(&x->name_lookup, hash_text(s, len), (uint32_t)x->n_names))
                return LOOKUP_END;
        x->names[x->n_names] = name;
        return (uint32_t)x->n_names++;
}

/* Lines of one metric follow one another. Returns the length of the name, 0 when there is none. */
size_t exposition_find_name(struct exposition *x, const char *s, size_t len, uint32_t *ret)
{
        if (LIKELY(x->n_names > 0)) {
                const struct name *last = &x->names[x->last_name];
                bool ends = len > last->len && (s[last->len] == '{' || s[last->len] == ' ');
                if (LIKELY(ends && memcmp(s, last->s, last->len) == 0)) {
                        *ret = x->last_name;
                        return last->len;
                }
        }
        size_t n = exposition_name_len(s, len);
        if (n == 0)
                return 0;
        *ret = exposition_known_name(x, s, n);
        if (*ret == LOOKUP_END)
                *ret = learn_name(x, s, n);
        if (*ret != LOOKUP_END)
                x->last_name = *ret;
        return n;
}

static bool add_slot(struct exposition *x, const struct entity_key *key, uint32_t hash)
{
        if (x->n_slots == EXPOSITION_ENTITIES_MAX)
                return false;
        if (x->n_slots == x->slots_cap || !x->cells) {
                size_t cap = x->slots_cap;
                if (!LIST_ROOM(x->slots, x->n_slots, cap))
                        return false;
                if (!LIST_RESIZE(x->cells, cap * x->stride) || !LIST_RESIZE(x->readings, cap))
                        return false;
                x->slots_cap = cap;
        }
        if (!lookup_put(&x->slot_lookup, hash, (uint32_t)x->n_slots))
                return false;
        x->slots[x->n_slots++] = (struct slot){.key = *key};
        return true;
}

static uint32_t key_hash(const struct entity_key *k)
{
        int32_t ids[] = {(int32_t)k->kind, k->index, k->gi};
        return hash_text((const char *)ids, sizeof(ids)) ^ hash_text(k->uuid, k->uuid_len) ^
               hash_text(k->host, k->host_len);
}

/* Whether two keys, one of which lacks the host, mean one entity: by UUID, else by number. */
static bool same_but_for_host(const struct entity_key *a, const struct entity_key *b)
{
        bool one_lacks = (a->host_len == 0) != (b->host_len == 0);
        struct entity_key x = *a;
        x.host = b->host;
        x.host_len = b->host_len;
        return one_lacks && batcher_same(&x, b);
}

/*
 * An exporter may leave the host out of some series. The one entity that is the same except for it
 * is meant, and learns its host; where several are, on several hosts, nobody can report.
 */
static int find_without_host(struct exposition *x, const struct entity_key *key)
{
        int found = NOBODY;
        for (size_t i = 0; i < x->n_slots; i++) {
                if (!same_but_for_host(&x->slots[i].key, key))
                        continue;
                if (found != NOBODY)
                        return NOBODY;
                found = (int)i;
        }
        if (found == NOBODY || key->host_len == 0)
                return found;
        if (!lookup_put(&x->slot_lookup, key_hash(key), (uint32_t)found))
                return NOBODY;
        x->slots[found].key.host = key->host;
        x->slots[found].key.host_len = key->host_len;
        x->hostless--;
        return found;
}

/* The key's text must be in the pool already. NOBODY when there is no room. */
static int find_slot(struct exposition *x, const struct entity_key *key)
{
        uint32_t hash = key_hash(key), id;
        for (size_t step = 0; (id = lookup_next(&x->slot_lookup, hash, &step)) != LOOKUP_END;) {
                if (batcher_same(&x->slots[id].key, key))
                        return (int)id;
        }
        /* Only where hosts are missing at all is it worth examining every entity. */
        int known = key->host_len == 0 || x->hostless > 0 ? find_without_host(x, key) : NOBODY;
        if (known != NOBODY)
                return known;
        if (!add_slot(x, key, hash))
                return NOBODY;
        x->hostless += key->host_len == 0;
        return (int)x->n_slots - 1;
}

static bool word_is(const struct word *w, const char *s)
{
        return strlen(s) == w->len && memcmp(s, w->s, w->len) == 0;
}

static int32_t read_id(const struct word *w)
{
        uint64_t id;
        return num_parse_u64(w->s, w->len, &id) && id <= UINT16_MAX ? (int32_t)id : -1;
}

/* Takes what a label reports who is meant. */
static void read_identity(const struct word *name, const struct word *value, struct word *gpu,
                          struct entity_key *key)
{
        if (word_is(name, "gpu")) {
                *gpu = *value;
                key->index = read_id(value);
        } else if (word_is(name, "UUID") || word_is(name, "uuid")) {
                key->uuid = value->s;
                key->uuid_len = value->len;
        } else if (word_is(name, "Hostname") || word_is(name, "hostname")) {
                key->host = value->s;
                key->host_len = value->len;
        } else if (word_is(name, "GPU_I_ID")) {
                key->gi = read_id(value);
        }
}

/* The value of a label in the pool: the block's own bytes, or a copy without escapes. */
static bool pooled_value(struct exposition *x, const struct exposition_label *label,
                         struct word *ret)
{
        *ret = label->value;
        if (LIKELY(!label->escaped))
                return true;
        char *to = pool_take(&x->text, label->value.len);
        if (!to)
                return false;
        *ret = (struct word){to, exposition_unescape(label->value.s, label->value.len, to)};
        return true;
}

/* Reads the labels of a new block, whose text is in the pool. */
static enum exposition_line read_labels(struct exposition *x, struct block *b)
{
        struct block_text texts[EXPOSITION_FIELDS_MAX];
        struct entity_key key = {.kind = ENTITY_GPU,
                                 .index = -1,
                                 .gi = -1,
                                 .ci = -1,
                                 .flat = -1,
                                 .host = "",
                                 .uuid = ""};
        struct word gpu = {"", 0}, value;
        struct exposition_label label;
        size_t at = 1, n = 0;
        int r;
        while ((r = exposition_next_label(b->text, b->len, &at, &label)) > 0) {
                if (!pooled_value(x, &label, &value))
                        return EXPOSITION_FULL;
                read_identity(&label.name, &value, &gpu, &key);
                int field = label_field(x, &label.name);
                if (field != NOBODY && value.len > 0 && n < ARRAY_LEN(texts))
                        texts[n++] = (struct block_text){
                            (uint16_t)field, (uint16_t)MIN(value.len, (size_t)UINT16_MAX), value.s};
        }
        if (r < 0)
                return EXPOSITION_BAD;
        /* Some exporters put a name where others put the number. */
        if (key.index < 0 && key.uuid_len == 0) {
                key.uuid = gpu.s;
                key.uuid_len = gpu.len;
        }
        if (key.index < 0 && key.uuid_len == 0)
                return EXPOSITION_SKIPPED;
        if (key.gi >= 0)
                key.kind = ENTITY_GPU_INSTANCE;
        struct block_text *kept = pool_take(&x->text, n * sizeof(*kept));
        b->entity = kept ? find_slot(x, &key) : NOBODY;
        if (b->entity == NOBODY)
                return EXPOSITION_FULL;
        memcpy(kept, texts, n * sizeof(*kept));
        b->texts = kept;
        b->n_texts = (uint32_t)n;
        return EXPOSITION_SAMPLE;
}

static enum exposition_line learn_block(struct exposition *x, const char *s, size_t len,
                                        uint32_t hash, uint32_t *ret)
{
        if (x->n_blocks == EXPOSITION_BLOCKS_MAX ||
            !LIST_ROOM(x->blocks, x->n_blocks, x->blocks_cap))
                return EXPOSITION_FULL;
        struct pool_mark mark = pool_mark(&x->text);
        struct block b = {.text = pool_copy(&x->text, s, len),
                          .len = (uint32_t)len,
                          .hash = hash,
                          .entity = NOBODY};
        enum exposition_line r = b.text ? read_labels(x, &b) : EXPOSITION_FULL;
        if (r != EXPOSITION_BAD && r != EXPOSITION_FULL &&
            !lookup_put(&x->block_lookup, hash, (uint32_t)x->n_blocks))
                return EXPOSITION_FULL;
        if (r == EXPOSITION_BAD || r == EXPOSITION_FULL) {
                pool_release(&x->text, mark);
                return r;
        }
        x->blocks[x->n_blocks] = b;
        *ret = (uint32_t)x->n_blocks++;
        return r;
}

static bool block_is(const struct block *b, const char *s, size_t len)
{
        return len >= b->len && memcmp(b->text, s, b->len) == 0;
}

static enum exposition_line search_block(struct exposition *x, const char *s, size_t len,
                                         uint32_t *ret)
{
        size_t n = exposition_block_len(s, len);
        if (n == 0)
                return EXPOSITION_BAD;
        uint32_t hash = hash_text(s, n), id;
        for (size_t step = 0; (id = lookup_next(&x->block_lookup, hash, &step)) != LOOKUP_END;) {
                if (x->blocks[id].len == n && block_is(&x->blocks[id], s, n))
                        break;
        }
        if (id == LOOKUP_END) {
                enum exposition_line r = learn_block(x, s, n, hash, &id);
                if (r == EXPOSITION_BAD || r == EXPOSITION_FULL)
                        return r;
        }
        /* Forgetting waits for a line about a GPU, so that a scrape of nothing loses nothing. */
        if (x->must_forget && x->blocks[id].entity != NOBODY) {
                forget_text(x);
                return search_block(x, s, len, ret);
        }
        *ret = id;
        return x->blocks[id].entity == NOBODY ? EXPOSITION_SKIPPED : EXPOSITION_SAMPLE;
}

/* The block that came after the last one will mostly do so again. */
enum exposition_line exposition_find_block(struct exposition *x, const char *s, size_t len,
                                           uint32_t *ret)
{
        if (LIKELY(x->last_block < x->n_blocks && !x->must_forget)) {
                uint32_t next = x->blocks[x->last_block].next;
                const struct block *b = &x->blocks[next];
                if (LIKELY(next < x->n_blocks && block_is(b, s, len))) {
                        *ret = x->last_block = next;
                        return b->entity == NOBODY ? EXPOSITION_SKIPPED : EXPOSITION_SAMPLE;
                }
        }
        enum exposition_line r = search_block(x, s, len, ret);
        if (r == EXPOSITION_SAMPLE || r == EXPOSITION_SKIPPED) {
                if (x->last_block < x->n_blocks)
                        x->blocks[x->last_block].next = *ret;
                x->last_block = *ret;
        }
        return r;
}
