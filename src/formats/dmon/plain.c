/* Captures that went through an editor, a spreadsheet or grep: indented, with tabs, without a
 * header. */
#include "formats/dmon/plain.h"

#include <stdlib.h>
#include <string.h>

#define TAB 8
#define PLAIN_MAX ((size_t)1 << 16) /* more is not a row of dcgmi's */

static size_t blanks_before(const struct line *line)
{
        size_t n = 0;
        while (n < line->len && (line->s[n] == ' ' || line->s[n] == '\t'))
                n++;
        return n;
}

static size_t count_tabs(const struct line *line)
{
        size_t n = 0;
        for (size_t i = 0; i < line->len; i++)
                n += line->s[i] == '\t';
        return n;
}

/* Tabs become blanks up to the next stop, as on a terminal, so that columns stand below their names
 * again. The line itself when it would become too long or memory is short. */
static struct line expand_tabs(struct dmon *d, const struct line *line)
{
        if (line->len > PLAIN_MAX / TAB)
                return *line;
        if (!d->plain && !(d->plain = malloc(PLAIN_MAX)))
                return *line;
        size_t n = 0;
        for (size_t i = 0; i < line->len; i++) {
                size_t many = line->s[i] == '\t' ? TAB - n % TAB : 1;
                memset(d->plain + n, line->s[i] == '\t' ? ' ' : line->s[i], many);
                n += many;
        }
        struct line plain = *line;
        plain.s = d->plain;
        plain.len = n;
        return plain;
}

static struct line drop_blanks(const struct line *line, size_t blanks)
{
        struct line rest = *line;
        rest.s += blanks;
        rest.len -= blanks;
        return rest;
}

struct line plain_header(struct dmon *d, const struct line *line)
{
        struct line plain = drop_blanks(line, blanks_before(line));
        struct words words;
        rows_split_blanks(&plain, &words);
        size_t names = words.n > 1 && words.w[0].len == 1 ? words.n - 1 : words.n; /* "# Entity" */
        d->tabs = count_tabs(&plain) > 0 && count_tabs(&plain) == names - 1;
        if (d->tabs || count_tabs(line) == 0) {
                d->indent = d->tabs ? 0 : blanks_before(line);
                return plain;
        }
        plain = expand_tabs(d, line);
        d->indent = blanks_before(&plain);
        return drop_blanks(&plain, d->indent);
}

struct line plain_row(struct dmon *d, const struct line *line)
{
        if (LIKELY(d->indent == 0 && !memchr(line->s, '\t', line->len)))
                return *line;
        if (d->tabs)
                return drop_blanks(line, blanks_before(line));
        struct line plain = count_tabs(line) > 0 ? expand_tabs(d, line) : *line;
        size_t blanks = blanks_before(&plain);
        return drop_blanks(&plain, MIN(blanks, d->indent));
}

void plain_split_tabs(const struct line *line, struct words *ret)
{
        ret->n = 0;
        for (size_t at = 0; at <= line->len && ret->n < ARRAY_LEN(ret->w);) {
                const char *tab = memchr(line->s + at, '\t', line->len - at);
                size_t end = tab ? (size_t)(tab - line->s) : line->len;
                size_t start = at, stop = end;
                while (start < stop && line->s[start] == ' ')
                        start++;
                while (stop > start && line->s[stop - 1] == ' ')
                        stop--;
                ret->w[ret->n++] = (struct word){line->s + start, stop - start};
                at = end + 1;
        }
}

/* What the dashboard before us asked dcgmi for, in its order; the last two came later. */
static const char *const dashboard_columns[] = {
    "SMCLK", "MMCLK", "MMTMP", "TMPTR", "POWER", "TOTEC", "RPCTR", "GPUTL", "MCUTL",
    "FBFRE", "FBUSD", "FBRSV", "NBWLT", "GRACT", "SMACT", "SMOCC", "TENSO", "DRAMA",
    "FP64A", "FP32A", "FP16A", "PCITX", "PCIRX", "NVLTX", "NVLRX"};
#define DASHBOARD_OLDER 23

size_t plain_headless(const struct line *line)
{
        struct words words;
        rows_split_blanks(line, &words);
        bool gpu = words.n > 2 && words.w[0].len == 3 && memcmp(words.w[0].s, "GPU", 3) == 0;
        size_t n = words.n - 2;
        return gpu && (n == DASHBOARD_OLDER || n == ARRAY_LEN(dashboard_columns)) ? n : 0;
}

void plain_dashboard_columns(struct dmon *d, struct batcher *b, size_t n)
{
        batcher_new_schema(b);
        d->words = true;
        d->n = n;
        for (size_t i = 0; i < n; i++)
                batcher_add_field(b, dashboard_columns[i], strlen(dashboard_columns[i]));
}
