#include "formats/batcher.h"

#include "base/list.h"
#include "base/num.h"

#include <math.h>
#include <string.h>
#include <strings.h>

struct batch_text {
        struct batch_text *next;
        size_t used, size;
        char data[];
};

void batcher_init(struct batcher *b, enum dialect dialect)
{
        memset(b, 0, sizeof(*b));
        b->schema.dialect = dialect;
}

static void free_text(struct batcher *b)
{
        while (b->text) {
                struct batch_text *next = b->text->next;
                free(b->text);
                b->text = next;
        }
}

void batcher_finish(struct batcher *b)
{
        free(b->readings);
        free(b->cells);
        free_text(b);
        b->readings = NULL;
        b->cells = NULL;
        b->n = b->cap = 0;
}

void batcher_clear(struct batcher *b)
{
        b->n = 0;
        /* The first chunk stays, so that a steady stream of text allocates nothing. */
        struct batch_text *keep = b->text;
        if (!keep)
                return;
        b->text = keep->next;
        free_text(b);
        keep->next = NULL;
        keep->used = 0;
        b->text = keep;
}

void batcher_new_schema(struct batcher *b)
{
        batcher_clear(b);
        b->schema.n = 0;
        b->schema.revision++;
}

int batcher_add_field(struct batcher *b, const char *name, size_t len)
{
        if (b->schema.n == SCHEMA_FIELDS_MAX)
                return -1;
        char *to = b->schema.names[b->schema.n];
        size_t n = MIN(len, (size_t)FIELD_NAME_MAX - 1);
        memcpy(to, name, n);
        to[n] = '\0';
        b->schema.revision++;
        return (int)b->schema.n++;
}

bool batcher_same(const struct entity_key *a, const struct entity_key *b)
{
        return a->index == b->index && a->kind == b->kind && a->gi == b->gi && a->ci == b->ci &&
               a->flat == b->flat && a->host_len == b->host_len && a->uuid_len == b->uuid_len &&
               (a->host_len == 0 || memcmp(a->host, b->host, a->host_len) == 0) &&
               (a->uuid_len == 0 || memcmp(a->uuid, b->uuid, a->uuid_len) == 0);
}

/* Sources give GPUs in order nearly always: then nothing is looked through. */
struct raw *batcher_find(const struct batcher *b, const struct entity_key *key)
{
        if (LIKELY(key->index > b->highest))
                return NULL;
        for (size_t i = 0; i < b->n; i++) {
                if (batcher_same(&b->readings[i].who, key))
                        return b->cells + i * b->width;
        }
        return NULL;
}

static bool make_room(struct batcher *b)
{
        if (b->n == 0 && b->width != b->schema.n) {
                b->width = b->schema.n;
                b->cap = 0; /* rows have another width now */
        }
        if (LIKELY(b->n < b->cap))
                return true;
        size_t cap = b->cap ? b->cap * 2 : 16;
        if (cap > BATCH_ROWS_MAX)
                return false;
        if (!LIST_RESIZE(b->readings, cap) ||
            !LIST_RESIZE(b->cells, cap * MAX(b->width, (size_t)1)))
                return false;
        b->cap = cap;
        for (size_t i = 0; i < b->n; i++)
                b->readings[i].values = b->cells + i * b->width;
        return true;
}

struct raw *batcher_add(struct batcher *b, const struct entity_key *key)
{
        if (!make_room(b))
                return NULL;
        struct reading *r = &b->readings[b->n];
        struct raw *cells = b->cells + b->n * b->width;
        *r = (struct reading){.who = *key, .values = cells};
        if (key->host_len > 0 && !(r->who.host = batcher_text(b, key->host, key->host_len)))
                return NULL;
        if (key->uuid_len > 0 && !(r->who.uuid = batcher_text(b, key->uuid, key->uuid_len)))
                return NULL;
        memset(cells, 0, b->width * sizeof(*cells));
        b->highest = b->n == 0 ? key->index : MAX(b->highest, key->index);
        b->n++;
        return cells;
}

void batcher_drop(struct batcher *b)
{
        b->n--;
}

const char *batcher_text(struct batcher *b, const char *s, size_t len)
{
        struct batch_text *t = b->text;
        if (!t || t->size - t->used < len) {
                size_t size = MAX(len, (size_t)BATCH_TEXT_CHUNK);
                t = malloc(sizeof(*t) + size);
                if (!t)
                        return NULL;
                *t = (struct batch_text){.next = b->text, .size = size};
                b->text = t;
        }
        char *to = t->data + t->used;
        memcpy(to, s, len);
        t->used += len;
        return to;
}

void batcher_give(const struct batcher *b, struct batch *ret)
{
        *ret = (struct batch){.schema = &b->schema, .readings = b->readings, .n = b->n};
}

enum state batcher_large_number_state(double v)
{
        /* Each with its three neighbours; the integers next to 2^63 all round to it as doubles. */
        static const double firsts[] = {BATCHER_LEAST_BLANK, 0x1p47};
        static const enum state blanks[] = {STATE_BLANK, STATE_UNSUPPORTED, STATE_UNSUPPORTED,
                                            STATE_DENIED};
        for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
                if (v >= firsts[i] && v <= firsts[i] + 3 && v == floor(v))
                        return blanks[(size_t)(v - firsts[i])];
        }
        return v < 0x1p63 ? STATE_OK : STATE_BLANK; /* NaN is blank too */
}

static bool is_word(const char *s, size_t len, const char *word)
{
        return strlen(word) == len && strncasecmp(s, word, len) == 0;
}

/* The ways tools say that there is no value. STATE_OK: none of them. */
static enum state missing_word(const char *s, size_t len)
{
        static const struct {
                const char *word;
                enum state state;
        } words[] = {
            {"", STATE_BLANK},
            {"-", STATE_BLANK},
            {"N/A", STATE_BLANK},
            {"[N/A]", STATE_BLANK},
            {"NAN", STATE_BLANK},
            {"-NAN", STATE_BLANK},
            {"INF", STATE_BLANK},
            {"-INF", STATE_BLANK},
            {"<<<NULL>>>", STATE_BLANK},
            {"<<<NOT_SUPPORTED>>>", STATE_UNSUPPORTED},
            {"<<<NOT_FOUND>>>", STATE_UNSUPPORTED},
            {"[Not Supported]", STATE_UNSUPPORTED},
            {"[Not Found]", STATE_UNSUPPORTED},
            {"<<<NOT_PERM>>>", STATE_DENIED},
            {"[Insufficient Permissions]", STATE_DENIED},
            {"[Unknown Error]", STATE_ERROR},
            {"[GPU is lost]", STATE_ERROR},
            {"[GPU requires reset]", STATE_ERROR},
        };
        if (LIKELY(len == 3 && memcmp(s, "N/A", 3) == 0)) /* by far the commonest */
                return STATE_BLANK;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                if (is_word(s, len, words[i].word))
                        return words[i].state;
        }
        bool cut = len >= 3 && memcmp(s + len - 3, "...", 3) == 0;
        return cut ? STATE_ERROR : STATE_OK;
}

void batcher_cell(struct batcher *b, const char *s, size_t len, struct raw *ret)
{
        double v;
        *ret = (struct raw){0};
        if (LIKELY(len > 0 && num_parse(s, len, &v) == len)) {
                ret->num = v;
                ret->state = (uint8_t)batcher_number_state(v);
                return;
        }
        ret->state = (uint8_t)missing_word(s, len);
        if (ret->state != STATE_OK)
                return;
        ret->len = (uint16_t)MIN(len, (size_t)ENTITY_TEXT_MAX);
        ret->text = batcher_text(b, s, ret->len);
        if (!ret->text)
                ret->state = STATE_ERROR;
}
