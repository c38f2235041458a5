#include "formats/exposition/exposition.h"

#include "base/attr.h"
#include "base/num.h"
#include "formats/batcher.h"
#include "formats/exposition/state.h"
#include "formats/exposition/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What is learnt is forgotten when most of it is of the past: jobs come and go with their labels.
 */
#define FORGET_FACTOR 4
#define FORGET_SLACK 1024
#define DIGEST_FACTOR 0x9e3779b97f4a7c15ULL

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
        uint64_t bits = num_bits(point->v);
        if (UNLIKELY(point->timed))
                bits ^= (uint64_t)point->wall_ns * DIGEST_FACTOR;
        uint64_t h = (x->digest ^ bits) * DIGEST_FACTOR;
        h = (h ^ (h >> 32) ^ b->hash ^ (uint64_t)field << 32) * DIGEST_FACTOR;
        x->digest = h ^ (h >> 29);
}

/*
 * A series that comes again begins a new scrape. So does any value present already, once the metric
 * was announced again: the labels may have changed since. Otherwise it is one GPU under two names
 * (shared by two pods), and the first one counts.
 */
static enum exposition_line exposition_take(struct exposition *x, struct name *name,
                                            struct block *b, const struct exposition_point *point)
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
        uint32_t id = exposition_known_name(x, name.s, name.len);
        if (id != LOOKUP_END && x->names[id].sampled == x->round)
                x->names[id].announced = x->round;
}

/* What follows a name nobody wants is only examined. */
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
        if (len > 1 && s[0] == '{' && s[1] == '"') /* a name in quotes is none of our own */
                return EXPOSITION_SKIPPED;
        at = exposition_find_name(x, s, len, &name);
        if (at == 0)
                return EXPOSITION_BAD;
        if (name == LOOKUP_END || x->names[name].field == NOBODY)
                return seems_sample(s + at, len - at) ? EXPOSITION_SKIPPED : EXPOSITION_BAD;
        enum exposition_line r = EXPOSITION_SKIPPED;
        at = exposition_skip_blanks(s, len, at);
        if (at < len && s[at] == '{') {
                r = exposition_find_block(x, s + at, len - at, &block);
                x->full |= r == EXPOSITION_FULL;
                if (r != EXPOSITION_SAMPLE && r != EXPOSITION_SKIPPED)
                        return r;
                at += x->blocks[block].len;
        }
        if (!exposition_read_point(s + at, len - at, &point))
                return EXPOSITION_BAD;
        return r == EXPOSITION_SAMPLE
                   ? exposition_take(x, &x->names[name], &x->blocks[block], &point)
                   : r;
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

/* Series without a host are of the machine that all others name: a GPU that is silent has no
 * others. */
static void share_host(struct reading *readings, size_t n)
{
        const struct entity_key *named = NULL;
        for (size_t i = 0; i < n; i++) {
                const struct entity_key *k = &readings[i].who;
                if (k->host_len == 0)
                        continue;
                if (named && (named->host_len != k->host_len ||
                              memcmp(named->host, k->host, k->host_len) != 0))
                        return;
                named = k;
        }
        for (size_t i = 0; named && i < n; i++) {
                readings[i].who.host = named->host;
                readings[i].who.host_len = named->host_len;
        }
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
        if (x->hostless > 0)
                share_host(x->readings, n);
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
