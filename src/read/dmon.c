/*
 * `dcgmi dmon` text. Cells are read by the header's offsets, because texts hold blanks and a field
 * an entity lacks is an empty cell. DCGM 3.3 does not pad missing values: a row that does not fit
 * the offsets but has as many words as there are columns is read by words.
 */
#include "base/num.h"
#include "read/format.h"
#include "read/rows.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct layout {
        size_t n;
        uint16_t at[SCHEMA_FIELDS_MAX]; /* where each column starts */
        size_t width;                   /* of a whole row, padding included */
        char *header;                   /* the line itself, to know it again */
        size_t header_len;
};

static bool is_header(const char *s, size_t len)
{
        return (len >= 7 && memcmp(s, "#Entity", 7) == 0) ||
               (len >= 8 && memcmp(s, "# Entity", 8) == 0);
}

static bool dmon_probe(const char *s, size_t len)
{
        for (const char *end = s + len; s < end;) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                size_t n = nl ? (size_t)(nl - s) : (size_t)(end - s);
                if (is_header(s, n))
                        return true;
                s += n + 1;
        }
        return false;
}

static int dmon_begin(struct capture *c)
{
        c->state = calloc(1, sizeof(struct layout));
        return c->state ? 0 : -ENOMEM;
}

static void dmon_end(struct capture *c)
{
        struct layout *l = c->state;
        if (l)
                free(l->header);
        free(l);
}

static int read_header(struct capture *c, const struct line *line)
{
        struct layout *l = c->state;
        char *copy = malloc(line->len);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, line->s, line->len);
        free(l->header);
        l->header = copy;
        l->header_len = l->width = line->len;
        l->n = 0;
        batcher_new_schema(&c->batcher);
        size_t i = line->s[1] == ' ' ? 8 : 7;
        while (i < line->len) {
                while (i < line->len && line->s[i] == ' ')
                        i++;
                size_t start = i;
                while (i < line->len && line->s[i] != ' ')
                        i++;
                if (i == start)
                        break;
                if (start > UINT16_MAX ||
                    batcher_add_field(&c->batcher, line->s + start, i - start) < 0)
                        break;
                l->at[l->n++] = (uint16_t)start;
        }
        return 0;
}

/* "GPU 0", "GPU-I 7", "GPU-CI 9". Other entities (CPUs, links, switches) are ENTITY_OTHER. */
static bool read_entity(const char *s, size_t len, struct entity_key *ret)
{
        *ret = (struct entity_key){.index = -1, .gi = -1, .ci = -1, .flat = -1};
        while (len > 0 && s[len - 1] == ' ')
                len--;
        const char *blank = memchr(s, ' ', len);
        if (!blank || !isupper((unsigned char)s[0]))
                return false;
        size_t name = (size_t)(blank - s), at = name;
        while (at < len && s[at] == ' ')
                at++;
        uint64_t id;
        ret->kind = ENTITY_OTHER;
        if (!num_parse_u64(s + at, len - at, &id) || id > INT32_MAX)
                return true; /* "CPU Core 71", "GPU 5 LINK 17" */
        if (name == 3 && memcmp(s, "GPU", 3) == 0) {
                ret->kind = ENTITY_GPU;
                ret->index = (int32_t)id;
        } else if (name == 5 && memcmp(s, "GPU-I", 5) == 0) {
                ret->kind = ENTITY_GPU_INSTANCE;
                ret->flat = (int32_t)id;
        } else if (name == 6 && memcmp(s, "GPU-CI", 6) == 0) {
                ret->kind = ENTITY_COMPUTE_INSTANCE;
                ret->flat = (int32_t)id;
        }
        return true;
}

static bool all_blank(const char *s, size_t len)
{
        static const char blanks[] =
            "                                                                ";
        for (; len > sizeof(blanks) - 1; s += sizeof(blanks) - 1, len -= sizeof(blanks) - 1) {
                if (memcmp(s, blanks, sizeof(blanks) - 1) != 0)
                        return false;
        }
        return memcmp(s, blanks, len) == 0;
}

/* A row fits when every column starts at a word after a blank, or is blank altogether. */
static bool fits(const struct layout *l, const struct line *line)
{
        for (size_t i = 0; i < l->n && l->at[i] < line->len; i++) {
                const char *cell = line->s + l->at[i];
                if (cell[-1] != ' ')
                        return false;
                size_t end = i + 1 < l->n ? MIN((size_t)l->at[i + 1], line->len) : line->len;
                if (cell[0] == ' ' && !all_blank(cell, end - l->at[i]))
                        return false;
        }
        return true;
}

static void read_cell(struct capture *c, const char *s, size_t len, struct raw *ret)
{
        double v;
        size_t k = num_parse(s, len, &v);
        if (LIKELY(k > 0 && all_blank(s + k, len - k))) {
                *ret = (struct raw){.num = v, .state = (uint8_t)batcher_number_state(v)};
                return;
        }
        while (len > 0 && s[len - 1] == ' ')
                len--;
        batcher_cell(&c->batcher, s, len, ret);
}

/* Where a row that was cut off can be trusted: its last word may be half a number. */
static size_t trusted_len(const struct line *line)
{
        size_t len = line->len;
        while (len > 0 && line->s[len - 1] != ' ')
                len--;
        return len;
}

static void by_offsets(struct capture *c, const struct line *line, struct raw *cells)
{
        const struct layout *l = c->state;
        bool cut = line->cut && line->len < l->width;
        size_t trusted = cut ? trusted_len(line) : line->len;
        for (size_t i = 0; i < l->n; i++) {
                size_t end = i + 1 < l->n ? MIN((size_t)l->at[i + 1], trusted) : trusted;
                if (l->at[i] < end)
                        read_cell(c, line->s + l->at[i], end - l->at[i], &cells[i]);
                else
                        cells[i].state = cut ? STATE_ERROR : STATE_BLANK;
        }
        if (cut)
                capture_cut_row(c);
}

/* Fills the cells from words. False when there are more or fewer than columns. */
static bool by_words(struct capture *c, const struct line *line, struct entity_key *key,
                     struct words *words)
{
        const struct layout *l = c->state;
        rows_split_blanks(line, words);
        if (words->n != l->n + 2)
                return false;
        size_t name_len = (size_t)(words->w[1].s + words->w[1].len - words->w[0].s);
        return read_entity(words->w[0].s, name_len, key) && key->kind != ENTITY_OTHER;
}

enum row { ROW_TAKEN, ROW_NEXT_ROUND, ROW_BAD, ROW_NO_MEMORY };

static enum row add_row(struct capture *c, const struct entity_key *key, struct raw **ret)
{
        if (batcher_find(&c->batcher, key))
                return ROW_NEXT_ROUND;
        *ret = batcher_add(&c->batcher, key);
        return *ret ? ROW_TAKEN : ROW_NO_MEMORY;
}

static enum row read_row(struct capture *c, const struct line *line)
{
        const struct layout *l = c->state;
        struct entity_key key;
        struct raw *cells;
        if (l->n == 0)
                return ROW_BAD;
        size_t entity_len = MIN((size_t)l->at[0], line->len);
        if (LIKELY(fits(l, line) && line->len > l->at[0] &&
                   read_entity(line->s, entity_len, &key))) {
                if (key.kind == ENTITY_OTHER)
                        return ROW_TAKEN;
                enum row row = add_row(c, &key, &cells);
                if (row == ROW_TAKEN)
                        by_offsets(c, line, cells);
                return row;
        }
        struct words words;
        if (!by_words(c, line, &key, &words))
                return ROW_BAD;
        enum row row = add_row(c, &key, &cells);
        for (size_t i = 0; row == ROW_TAKEN && i < l->n; i++)
                batcher_cell(&c->batcher, words.w[i + 2].s, words.w[i + 2].len, &cells[i]);
        return row;
}

static bool starts_with(const struct line *line, const char *prefix)
{
        size_t n = strlen(prefix);
        return line->len >= n && memcmp(line->s, prefix, n) == 0;
}

/* The second header line, blank lines, and what dmon says when it is stopped. */
static bool is_chatter(const struct line *line)
{
        return all_blank(line->s, line->len) || starts_with(line, "ID") ||
               starts_with(line, "Id") || starts_with(line, "dmon was stopped");
}

static bool same_header(const struct layout *l, const struct line *line)
{
        return line->len == l->header_len && memcmp(line->s, l->header, line->len) == 0;
}

/* Takes one line into the round. 1: go on, 0: the round is complete, or a negative errno. */
static int take_line(struct capture *c, const struct line *line)
{
        struct layout *l = c->state;
        if (UNLIKELY(is_header(line->s, line->len))) {
                if (same_header(l, line))
                        return 1;
                if (c->batcher.n > 0)
                        return capture_hold(c, line), 0;
                int r = read_header(c, line);
                return r < 0 ? r : 1;
        }
        switch (read_row(c, line)) {
        case ROW_TAKEN:
                return 1;
        case ROW_NEXT_ROUND:
                return capture_hold(c, line), 0;
        case ROW_NO_MEMORY:
                return -ENOMEM;
        case ROW_BAD:
                break;
        }
        if (!is_chatter(line))
                capture_bad_line(c, line);
        return 1;
}

static int dmon_round(struct capture *c)
{
        struct line line;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                r = take_line(c, &line);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

const struct format_ops format_dmon = {
    .name = "dcgmi dmon capture",
    .dialect = DIALECT_DMON,
    .probe = dmon_probe,
    .begin = dmon_begin,
    .end = dmon_end,
    .round = dmon_round,
};
