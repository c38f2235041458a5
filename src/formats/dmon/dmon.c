/*
 * `dcgmi dmon` text. Cells are read by the header's offsets, because texts hold blanks and a field
 * an entity lacks is an empty cell. DCGM 3.3 does not pad missing values, and editors and shells
 * squeeze blanks: a row that does not fit the offsets but has as many words as there are columns is
 * read by words. A row that fits neither is a bad line.
 */
#include "formats/dmon/dmon.h"

#include "base/num.h"
#include "base/num_brief.h"
#include "formats/dmon/plain.h"
#include "formats/format.h"
#include "formats/rows.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static bool is_header(const char *s, size_t len)
{
        while (len > 0 && (*s == ' ' || *s == '\t')) {
                s++;
                len--;
        }
        return (len >= 7 && memcmp(s, "#Entity", 7) == 0) ||
               (len >= 8 && memcmp(s, "# Entity", 8) == 0);
}

static bool dmon_probe(const char *s, size_t len)
{
        bool headless = false;
        for (const char *end = s + len; s < end;) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                struct line line = {.s = s, .len = (size_t)((nl ? nl : end) - s)};
                if (is_header(line.s, line.len))
                        return true;
                headless |= nl && plain_headless(&line) > 0;
                s += line.len + 1;
        }
        return headless;
}

void dmon_finish(struct dmon *d)
{
        free(d->header);
        free(d->plain);
        *d = (struct dmon){0};
}

/* Names between tabs. */
static void tab_columns(struct dmon *d, struct batcher *b, const struct line *line)
{
        struct words words;
        plain_split_tabs(line, &words);
        for (size_t i = 1; i < words.n && d->n < SCHEMA_FIELDS_MAX; i++) {
                if (batcher_add_field(b, words.w[i].s, words.w[i].len) < 0)
                        break;
                d->n++;
        }
}

static bool read_header(struct dmon *d, struct batcher *b, const struct line *line)
{
        char *copy = malloc(line->len);
        if (!copy)
                return false;
        memcpy(copy, line->s, line->len);
        free(d->header);
        d->header = copy;
        d->header_len = d->width = line->len;
        d->n = 0;
        d->words = false;
        batcher_new_schema(b);
        if (d->tabs) {
                tab_columns(d, b, line);
                return true;
        }
        size_t i = line->s[1] == ' ' ? 8 : 7;
        while (i < line->len) {
                while (i < line->len && line->s[i] == ' ')
                        i++;
                size_t start = i;
                while (i < line->len && line->s[i] != ' ')
                        i++;
                if (i == start)
                        break;
                if (start > UINT16_MAX || batcher_add_field(b, line->s + start, i - start) < 0)
                        break;
                d->at[d->n++] = (uint16_t)start;
        }
        d->at[d->n] = UINT16_MAX; /* the last column continues to the end of the row */
        return true;
}

/* "vGPU 3" is one, "Error setting watches" and "dmon was stopped" are not. */
static bool is_entity_name(const char *s, size_t len)
{
        bool error = len >= 5 && memcmp(s, "Error", 5) == 0;
        return (isupper((unsigned char)s[0]) && !error) || (len == 4 && memcmp(s, "vGPU", 4) == 0);
}

static bool is_value(const char *s, size_t len)
{
        double v;
        return num_parse(s, len, &v) == len || (len == 3 && memcmp(s, "N/A", 3) == 0);
}

/* "CPU Core 71", "GPU 5 LINK 17": names, each with a number. "GPU 0 0" is not one: its last word is
 * a cell of a row whose blanks were squeezed. */
static bool is_other_entity(const char *s, size_t len)
{
        bool number = true;
        for (size_t i = 0; i < len;) {
                size_t start = i;
                uint64_t id;
                while (i < len && s[i] != ' ')
                        i++;
                bool was_number = number;
                number = num_parse_u64(s + start, i - start, &id);
                if (number ? was_number : is_value(s + start, i - start))
                        return false;
                while (i < len && s[i] == ' ')
                        i++;
        }
        return number;
}

/* "GPU 0", "GPU-I 7", "GPU-CI 9". Other entities (CPUs, links, switches) are ENTITY_OTHER. */
static bool read_entity(const char *s, size_t len, struct entity_key *ret)
{
        *ret = (struct entity_key){.index = -1, .gi = -1, .ci = -1, .flat = -1};
        while (len > 0 && s[len - 1] == ' ')
                len--;
        const char *blank = memchr(s, ' ', len);
        if (!blank || !is_entity_name(s, (size_t)(blank - s)))
                return false;
        size_t name = (size_t)(blank - s), at = name;
        while (at < len && s[at] == ' ')
                at++;
        uint64_t id;
        ret->kind = ENTITY_OTHER;
        if (!num_parse_u64(s + at, len - at, &id) || id > INT32_MAX)
                return is_other_entity(s, len);
        if (name == 3 && memcmp(s, "GPU", 3) == 0) {
                ret->kind = ENTITY_GPU;
                ret->index = (int32_t)id;
        } else {
                entity_read_flat(s, len, ret);
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

/* Two cells of a row whose blanks were squeezed: words of one text are one blank apart, and no text
 * is a row of numbers. */
static bool is_two_cells(const char *s, size_t len)
{
        const char *blank = memchr(s, ' ', len);
        if (!blank)
                return false;
        const char *next = blank + 1, *end = memchr(next, ' ', (size_t)(s + len - next));
        return memmem(s, len, "  ", 2) || (is_value(s, (size_t)(blank - s)) &&
                                           is_value(next, (size_t)((end ? end : s + len) - next)));
}

/* One cell: a number with nothing but blanks after it, or what the slow way makes of it. */
static bool read_cell(struct batcher *b, const char *s, size_t len, struct raw *ret)
{
        double v;
        size_t k = num_parse(s, len, &v);
        if (LIKELY(k > 0 && all_blank(s + k, len - k))) {
                ret->num = v;
                ret->state = (uint8_t)batcher_number_state(v);
                return true;
        }
        while (len > 0 && s[len - 1] == ' ')
                len--;
        if (UNLIKELY(is_two_cells(s, len)))
                return false;
        batcher_cell(b, s, len, ret);
        return true;
}

/* Where a row that was cut off can be trusted: its last word may be half a number. */
static size_t trusted_len(const struct line *line)
{
        size_t len = line->len;
        while (len > 0 && line->s[len - 1] != ' ')
                len--;
        return len;
}

enum fit { FITS, FITS_CUT, DOES_NOT_FIT };

/*
 * Fills the cells, which are all missing before. A row fits when every column starts with a word
 * after a blank, or is blank altogether; where it does not, some cells are filled all the same.
 */
static enum fit by_offsets(const struct dmon *d, struct batcher *b, const struct line *line,
                           struct raw *cells)
{
        bool cut = line->cut && line->len < d->width;
        size_t trusted = cut ? trusted_len(line) : line->len;
        for (size_t i = 0; i < d->n; i++) {
                size_t at = d->at[i], end = MIN((size_t)d->at[i + 1], trusted);
                const char *cell = line->s + at;
                if (UNLIKELY(at >= end))
                        cells[i].state = cut ? STATE_ERROR : STATE_BLANK;
                else if (UNLIKELY(cell[-1] != ' '))
                        return DOES_NOT_FIT;
                else if (LIKELY(cell[0] != ' ')) {
                        if (UNLIKELY(!read_cell(b, cell, end - at, &cells[i])))
                                return DOES_NOT_FIT;
                } else if (all_blank(cell, end - at))
                        cells[i].state = STATE_BLANK;
                else
                        return DOES_NOT_FIT;
        }
        return cut ? FITS_CUT : FITS;
}

/* Splits a row at blanks. False when there are more or fewer words than columns. */
static bool by_words(const struct dmon *d, const struct line *line, struct entity_key *key,
                     struct words *words)
{
        rows_split_blanks(line, words);
        if (words->n != d->n + 2)
                return false;
        size_t name_len = (size_t)(words->w[1].s + words->w[1].len - words->w[0].s);
        return read_entity(words->w[0].s, name_len, key) && key->kind != ENTITY_OTHER;
}

static enum dmon_line dmon_add_row(const struct dmon *d, struct batcher *b, struct entity_key *key,
                                   struct raw **ret)
{
        if (d->rename && key->kind != ENTITY_OTHER)
                d->rename(d->arg, key);
        if (key->kind == ENTITY_OTHER)
                return DMON_QUIET;
        if (batcher_find(b, key))
                return DMON_NEXT_ROUND;
        *ret = batcher_add(b, key);
        return *ret ? DMON_ROW : DMON_NO_MEMORY;
}

/* "N/A" as num_brief_word() gives it. */
#define BRIEF_NA                                                                                   \
        ((uint64_t)('N' ^ '0') << 40 | (uint64_t)('/' ^ '0') << 48 | (uint64_t)('A' ^ '0') << 56)

/* Cells from words. Short numbers and "N/A" are nearly all there is, and which of the two comes is
 * not to be guessed. */
static void read_words(struct batcher *b, const struct line *line, const struct word *words,
                       size_t n, struct raw *cells)
{
        for (size_t i = 0; i < n; i++) {
                const struct word *w = &words[i];
                const char *end = w->s + w->len;
                if (UNLIKELY(!num_is_brief(w->len) || end - line->s < 8)) {
                        batcher_cell(b, w->s, w->len, &cells[i]);
                        continue;
                }
                uint64_t word = num_brief_word(end, w->len);
                double v = 0;
                bool number = num_brief_value(word, w->len, &v);
                cells[i].num = number ? v : 0;
                cells[i].state = number ? STATE_OK : STATE_BLANK;
                if (UNLIKELY(!(number | (word == BRIEF_NA))))
                        batcher_cell(b, w->s, w->len, &cells[i]);
        }
}

static enum dmon_line row_by_words(const struct dmon *d, struct batcher *b, const struct line *line)
{
        struct entity_key key;
        struct raw *cells;
        struct words words;
        if (!by_words(d, line, &key, &words))
                return DMON_UNKNOWN;
        enum dmon_line row = dmon_add_row(d, b, &key, &cells);
        if (row == DMON_ROW)
                read_words(b, line, words.w + 2, d->n, cells);
        return row;
}

static enum dmon_line row_by_tabs(const struct dmon *d, struct batcher *b, const struct line *line)
{
        struct entity_key key;
        struct raw *cells;
        struct words words;
        plain_split_tabs(line, &words);
        /* A tab after the last cell divides nothing. */
        if (words.n == d->n + 2 && words.w[words.n - 1].len == 0)
                words.n--;
        if (words.n != d->n + 1 || !read_entity(words.w[0].s, words.w[0].len, &key))
                return DMON_UNKNOWN;
        enum dmon_line row = dmon_add_row(d, b, &key, &cells);
        for (size_t i = 0; row == DMON_ROW && i < d->n; i++)
                batcher_cell(b, words.w[i + 1].s, words.w[i + 1].len, &cells[i]);
        return row;
}

static enum dmon_line read_row(const struct dmon *d, struct batcher *b, const struct line *line)
{
        struct entity_key key;
        struct raw *cells;
        if (d->n == 0)
                return DMON_UNKNOWN;
        if (d->words)
                return row_by_words(d, b, line);
        if (d->tabs)
                return row_by_tabs(d, b, line);
        if (line->len <= d->at[0] || line->s[d->at[0] - 1] != ' ' ||
            !read_entity(line->s, d->at[0], &key))
                return row_by_words(d, b, line);
        enum dmon_line row = dmon_add_row(d, b, &key, &cells);
        if (row != DMON_ROW)
                return row;
        switch (by_offsets(d, b, line, cells)) {
        case FITS:
                return DMON_ROW;
        case FITS_CUT:
                return DMON_CUT_ROW;
        case DOES_NOT_FIT:
                break;
        }
        batcher_drop(b);
        return row_by_words(d, b, line);
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

static bool same_header(const struct dmon *d, const struct line *line)
{
        return line->len == d->header_len && memcmp(line->s, d->header, line->len) == 0;
}

enum dmon_line dmon_take(struct dmon *d, struct batcher *b, const struct line *line)
{
        struct line plain;
        if (UNLIKELY(is_header(line->s, line->len))) {
                struct dmon before = *d;
                plain = plain_header(d, line);
                if (same_header(d, &plain))
                        return DMON_QUIET;
                if (b->n > 0)
                        return d->tabs = before.tabs, d->indent = before.indent, DMON_NEXT_ROUND;
                return read_header(d, b, &plain) ? DMON_HEADER : DMON_NO_MEMORY;
        }
        plain = plain_row(d, line);
        if (UNLIKELY(d->n == 0 && d->headless && plain_headless(&plain) > 0))
                plain_dashboard_columns(d, b, plain_headless(&plain));
        enum dmon_line row = read_row(d, b, &plain);
        return row == DMON_UNKNOWN && is_chatter(&plain) ? DMON_QUIET : row;
}

static int capture_begin(struct capture *c)
{
        struct dmon *d = c->state = calloc(1, sizeof(*d));
        if (!d)
                return -ENOMEM;
        d->headless = true;
        return 0;
}

static void capture_end(struct capture *c)
{
        if (c->state)
                dmon_finish(c->state);
        free(c->state);
}

static int capture_round(struct capture *c)
{
        struct line line;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                switch (dmon_take(c->state, &c->batcher, &line)) {
                case DMON_ROW:
                case DMON_HEADER:
                case DMON_QUIET:
                        break;
                case DMON_CUT_ROW:
                        capture_cut_row(c);
                        break;
                case DMON_NEXT_ROUND:
                        capture_hold(c, &line);
                        return 1;
                case DMON_UNKNOWN:
                        capture_bad_line(c, &line);
                        break;
                case DMON_NO_MEMORY:
                        return -ENOMEM;
                }
        }
        return r < 0 ? r : c->batcher.n > 0;
}

const struct format_ops format_dmon = {
    .name = "dcgmi dmon capture",
    .dialect = DIALECT_DMON,
    .probe = dmon_probe,
    .begin = capture_begin,
    .end = capture_end,
    .round = capture_round,
};
