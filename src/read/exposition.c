#include "read/exposition.h"

#include "base/attr.h"
#include "base/num.h"
#include "read/batcher.h"
#include "read/exposition_text.h"
#include "read/pool.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NAMES_MAX 8192 /* of metrics nobody wants; more are looked up each time */
#define NAME_LEN_MAX 255
#define NOBODY (-1)
/* What is learnt is forgotten when most of it is of the past: jobs come and go with their labels.
 */
#define FORGET_FACTOR 4
#define FORGET_SLACK 1024
#define DIGEST_FACTOR 0x9e3779b97f4a7c15ULL

struct name {
        const char *s;
        size_t len;
        int field;                   /* NOBODY when it is not wanted */
        uint32_t sampled, announced; /* in which round last */
};

struct block_text {
        uint16_t field, len;
        const char *s;
};

/* A label block, known by its bytes. The exporter repeats it for each metric of a GPU. */
struct block {
        const char *text;
        uint32_t len;
        uint32_t next; /* the block that came after it last time */
        uint32_t hash;
        uint32_t round; /* in which it was seen last */
        int entity;     /* NOBODY when it does not name a GPU */
        uint32_t n_texts;
        const struct block_text *texts;
        uint64_t seen[EXPOSITION_FIELDS_MAX / 64]; /* fields given in that round */
};

struct slot {
        struct entity_key key;
        uint32_t round; /* in which it was seen last */
};

struct exposition {
        bool (*wanted)(enum dialect dialect, const char *field, size_t len);
        struct schema schema;
        bool is_label[EXPOSITION_FIELDS_MAX];

        struct name *names;
        size_t n_names, names_cap;
        struct lookup name_lookup;
        struct pool name_text;
        uint32_t last_name;

        struct block *blocks;
        size_t n_blocks, blocks_cap;
        struct lookup block_lookup;
        uint32_t last_block;
        size_t blocks_used; /* in this round */

        struct slot *slots; /* entities */
        size_t n_slots, slots_cap;
        struct lookup slot_lookup;
        struct pool text; /* of blocks and keys */

        struct raw *cells; /* stride a slot */
        size_t stride;
        struct reading *readings;

        uint32_t round;
        size_t entities; /* in this round */
        uint32_t given;  /* the round handed out last */
        bool full;       /* something did not fit in this round */
        bool must_forget;
        uint64_t digest;
        bool timed;
        int64_t wall_ns;
};

int exposition_open(bool (*wanted)(enum dialect dialect, const char *field, size_t len),
                    struct exposition **ret)
{
        struct exposition *x = calloc(1, sizeof(*x));
        if (!x)
                return -ENOMEM;
        x->wanted = wanted;
        x->schema.dialect = DIALECT_DCGM;
        exposition_begin(x);
        *ret = x;
        return 0;
}

void exposition_close(struct exposition *x)
{
        if (!x)
                return;
        free(x->names);
        free(x->blocks);
        free(x->slots);
        free(x->cells);
        free(x->readings);
        lookup_finish(&x->name_lookup);
        lookup_finish(&x->block_lookup);
        lookup_finish(&x->slot_lookup);
        pool_finish(&x->name_text);
        pool_finish(&x->text);
        free(x);
}

void exposition_begin(struct exposition *x)
{
        if (x->entities > 0)
                x->must_forget =
                    x->full || x->n_blocks > FORGET_FACTOR * x->blocks_used + FORGET_SLACK;
        x->full = false;
        x->round++;
        x->entities = x->blocks_used = 0;
        x->digest = 0;
        x->timed = false;
}

static void forget(struct exposition *x)
{
        x->n_blocks = x->n_slots = 0;
        x->last_block = 0;
        lookup_clear(&x->block_lookup);
        lookup_clear(&x->slot_lookup);
        pool_clear(&x->text);
        x->must_forget = false;
}

/* Makes room for one more element; *cap counts elements. */
static bool reserve(void **array, size_t *cap, size_t n, size_t size)
{
        if (LIKELY(n < *cap))
                return true;
        size_t more = *cap ? *cap * 2 : 64;
        void *bigger = realloc(*array, more * size);
        if (!bigger)
                return false;
        *array = bigger;
        *cap = more;
        return true;
}

/* Rows get wider: the last one moves first. */
static bool widen(struct exposition *x)
{
        size_t stride = x->stride ? x->stride * 2 : 64;
        if (x->slots_cap > 0) {
                struct raw *cells = realloc(x->cells, x->slots_cap * stride * sizeof(*cells));
                if (!cells)
                        return false;
                x->cells = cells;
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
        if (schema->n == x->stride && !widen(x))
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
static uint32_t known_name(const struct exposition *x, const char *s, size_t len)
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
        if (!name.s || !reserve((void **)&x->names, &x->names_cap, x->n_names, sizeof(name)) ||
            !lookup_put(&x->name_lookup, hash_text(s, len), (uint32_t)x->n_names))
                return LOOKUP_END;
        x->names[x->n_names] = name;
        return (uint32_t)x->n_names++;
}

/* Lines of one metric follow one another. Returns the length of the name, 0 when there is none. */
static size_t find_name(struct exposition *x, const char *s, size_t len, uint32_t *ret)
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
        *ret = known_name(x, s, n);
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
                if (!reserve((void **)&x->slots, &cap, x->n_slots, sizeof(*x->slots)))
                        return false;
                struct raw *cells = realloc(x->cells, cap * x->stride * sizeof(*cells));
                if (!cells)
                        return false;
                x->cells = cells;
                struct reading *readings = realloc(x->readings, cap * sizeof(*readings));
                if (!readings)
                        return false;
                x->readings = readings;
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

/* The key's text must be in the pool already. NOBODY when there is no room. */
static int find_slot(struct exposition *x, const struct entity_key *key)
{
        uint32_t hash = key_hash(key), id;
        for (size_t step = 0; (id = lookup_next(&x->slot_lookup, hash, &step)) != LOOKUP_END;) {
                if (batcher_same(&x->slots[id].key, key))
                        return (int)id;
        }
        return add_slot(x, key, hash) ? (int)x->n_slots - 1 : NOBODY;
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

/* Takes what a label tells about who is meant. */
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
            !reserve((void **)&x->blocks, &x->blocks_cap, x->n_blocks, sizeof(*x->blocks)))
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
                forget(x);
                return search_block(x, s, len, ret);
        }
        *ret = id;
        return x->blocks[id].entity == NOBODY ? EXPOSITION_SKIPPED : EXPOSITION_SAMPLE;
}

/* The block that came after the last one will mostly do so again. */
static enum exposition_line find_block(struct exposition *x, const char *s, size_t len,
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

/* The first sample of a block in a round brings the labels; the first of an entity empties its row.
 */
static void enter_round(struct exposition *x, struct block *b)
{
        struct slot *slot = &x->slots[b->entity];
        struct raw *row = x->cells + (size_t)b->entity * x->stride;
        b->round = x->round;
        memset(b->seen, 0, sizeof(b->seen));
        x->blocks_used++;
        if (slot->round != x->round) {
                slot->round = x->round;
                x->entities++;
                memset(row, 0, x->stride * sizeof(*row));
        }
        for (size_t i = 0; i < b->n_texts; i++) {
                struct raw *cell = &row[b->texts[i].field];
                if (cell->state == STATE_NONE)
                        *cell = (struct raw){
                            .text = b->texts[i].s, .len = b->texts[i].len, .state = STATE_OK};
        }
}

static void mix_digest(struct exposition *x, const struct block *b, int field,
                       const struct exposition_point *point)
{
        uint64_t bits;
        memcpy(&bits, &point->v, sizeof(bits));
        if (UNLIKELY(point->timed))
                bits ^= (uint64_t)point->wall_ns * DIGEST_FACTOR;
        uint64_t h = (x->digest ^ bits) * DIGEST_FACTOR;
        h = (h ^ (h >> 32) ^ b->hash ^ (uint64_t)field << 32) * DIGEST_FACTOR;
        x->digest = h ^ (h >> 29);
}

/*
 * A series that comes again begins a new scrape. So does any value that is there already, once the
 * metric was announced again: the labels may have changed since. Otherwise it is one GPU under two
 * names (shared by two pods), and the first one counts.
 */
static enum exposition_line take(struct exposition *x, struct name *name, struct block *b,
                                 const struct exposition_point *point)
{
        struct raw *cell = &x->cells[(size_t)b->entity * x->stride + (size_t)name->field];
        uint64_t bit = 1ULL << (name->field % 64), *seen = &b->seen[name->field / 64];
        bool repeats = b->round == x->round && (*seen & bit);
        bool taken = x->slots[b->entity].round == x->round && cell->state != STATE_NONE;
        if (UNLIKELY(repeats || (taken && name->announced == x->round)))
                return EXPOSITION_REPEATS;
        if (b->round != x->round)
                enter_round(x, b);
        *seen |= bit;
        name->sampled = x->round;
        if (UNLIKELY(taken))
                return EXPOSITION_SAMPLE;
        mix_digest(x, b, name->field, point);
        if (UNLIKELY(point->timed) && (!x->timed || point->wall_ns > x->wall_ns)) {
                x->timed = true;
                x->wall_ns = point->wall_ns;
        }
        enum state state = isfinite(point->v) ? batcher_number_state(point->v) : STATE_BLANK;
        *cell = (struct raw){.num = point->v, .state = (uint8_t)state};
        return EXPOSITION_SAMPLE;
}

static void read_comment(struct exposition *x, const char *s, size_t len)
{
        struct word name;
        if (!exposition_announces(s, len, &name))
                return;
        uint32_t id = known_name(x, name.s, name.len);
        if (id != LOOKUP_END && x->names[id].sampled == x->round)
                x->names[id].announced = x->round;
}

/* What follows a name nobody wants is only looked at. */
static bool seems_sample(const char *s, size_t len)
{
        struct exposition_point point;
        size_t at = exposition_skip_blanks(s, len, 0);
        if (at == len)
                return false;
        if (s[at] != '{')
                return at > 0 && exposition_read_point(s, len, &point);
        while (s[len - 1] == ' ' || s[len - 1] == '\t')
                len--;
        return s[len - 1] != '}' && s[len - 1] != '"';
}

enum exposition_line exposition_line(struct exposition *x, const char *s, size_t len)
{
        struct exposition_point point;
        uint32_t name, block = 0;
        size_t at = exposition_skip_blanks(s, len, 0);
        s += at;
        len -= at;
        if (len == 0)
                return EXPOSITION_SKIPPED;
        if (s[0] == '#')
                return read_comment(x, s, len), EXPOSITION_SKIPPED;
        if (len > 1 && s[0] == '{' && s[1] == '"') /* a name in quotes is none of ours */
                return EXPOSITION_SKIPPED;
        at = find_name(x, s, len, &name);
        if (at == 0)
                return EXPOSITION_BAD;
        if (name == LOOKUP_END || x->names[name].field == NOBODY)
                return seems_sample(s + at, len - at) ? EXPOSITION_SKIPPED : EXPOSITION_BAD;
        enum exposition_line r = EXPOSITION_SKIPPED;
        at = exposition_skip_blanks(s, len, at);
        if (at < len && s[at] == '{') {
                r = find_block(x, s + at, len - at, &block);
                x->full |= r == EXPOSITION_FULL;
                if (r != EXPOSITION_SAMPLE && r != EXPOSITION_SKIPPED)
                        return r;
                at += x->blocks[block].len;
        }
        if (!exposition_read_point(s + at, len - at, &point))
                return EXPOSITION_BAD;
        return r == EXPOSITION_SAMPLE ? take(x, &x->names[name], &x->blocks[block], &point) : r;
}

size_t exposition_entities(const struct exposition *x)
{
        return x->entities;
}

uint64_t exposition_digest(const struct exposition *x)
{
        return x->digest;
}

bool exposition_time(const struct exposition *x, int64_t *ret_wall_ns)
{
        if (x->timed)
                *ret_wall_ns = x->wall_ns;
        return x->timed;
}

/* Rounds count from 1, so an entity that only bad lines named is in none. */
static bool is_given(const struct exposition *x, size_t slot)
{
        return x->given != 0 && x->slots[slot].round == x->given;
}

void exposition_give(struct exposition *x, struct batch *ret)
{
        if (x->entities > 0)
                x->given = x->round;
        size_t n = 0;
        for (size_t i = 0; i < x->n_slots; i++) {
                if (is_given(x, i))
                        x->readings[n++] = (struct reading){.who = x->slots[i].key,
                                                            .values = x->cells + i * x->stride};
        }
        *ret = (struct batch){.schema = &x->schema, .readings = x->readings, .n = n};
}

void exposition_set_age(struct exposition *x, enum state state, uint32_t age_ms)
{
        for (size_t i = 0; i < x->n_slots; i++) {
                struct raw *row = x->cells + i * x->stride;
                for (size_t k = 0; is_given(x, i) && k < x->schema.n; k++) {
                        if (row[k].text ||
                            (row[k].state != STATE_OK && row[k].state != STATE_STALE))
                                continue;
                        row[k].state = (uint8_t)state;
                        row[k].age_ms = age_ms;
                }
        }
}
