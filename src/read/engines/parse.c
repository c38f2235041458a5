#include "read/engines/parse.h"

#include "base/attr.h"
#include "base/num.h"
#include "base/text.h"
#include "formats/exposition/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum family_role {
        ROLE_SUM,
        ROLE_MEAN,
        ROLE_TIME, /* stands for the next three */
        ROLE_TIME_SUM,
        ROLE_TIME_COUNT,
        ROLE_TIME_BUCKET,
};

/* A row of families.def. */
struct family {
        enum engine_kind kind;
        const char *name, *label, *value;
        enum family_role role;
        int what; /* enum serving_figure, of times enum serving_time */
        double scale;
};

#define FIGURE_OF_SUM(what) SERVING_##what
#define FIGURE_OF_MEAN(what) SERVING_##what
#define FIGURE_OF_TIME(what) SERVING_TIME_##what
#define FIGURE_OF_TIME_SUM(what) SERVING_TIME_##what
#define FIGURE_OF_TIME_COUNT(what) SERVING_TIME_##what

static const struct family families[] = {
#define FAMILY(engine, name, label, value, role, what, scale)                                      \
        {ENGINE_##engine, name, label, value, ROLE_##role, (int)FIGURE_OF_##role(what), scale},
#include "read/engines/families.def"
#undef FAMILY
};

#define NAME_MAX_BYTES 96
#define PARTS 3 /* of a histogram */
/* FLOPs of a thousand years at 30 PFLOP/s: more is no figure. Sums and rates of less are finite. */
#define FIGURE_MOST 1e27
#define SHARE_MOST 1.01 /* of a full cache, and what is rounded */

/* A name as it stands in the text. */
struct series_name {
        char name[NAME_MAX_BYTES];
        size_t len;
        enum family_role role;
        const struct family *family;
};

/* What is added up for one kind of engine. */
struct tally {
        struct serving_reading reading;
        unsigned series; /* that were understood */
        unsigned n[SERVING_COUNT];
        bool full[SERVING_TIME_COUNT]; /* more buckets than are kept */
};

struct engine_parser {
        struct series_name names[ARRAY_LEN(families) * PARTS]; /* sorted */
        size_t n;
        struct tally tallies[ENGINE_COUNT];
        /* The name of the line before: lines of a family follow each other. */
        const char *last;
        size_t last_len;
        size_t first, end; /* its rows among names */
};

static void add_name(struct engine_parser *p, const struct family *f, const char *suffix,
                     enum family_role role)
{
        struct series_name *to = &p->names[p->n++];
        *to = (struct series_name){.role = role, .family = f};
        to->len = (size_t)snprintf(to->name, sizeof(to->name), "%s%s", f->name, suffix);
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
        int r = memcmp(a, b, MIN(a_len, b_len));
        return r != 0 ? r : (a_len > b_len) - (a_len < b_len);
}

static int compare_names(const void *a, const void *b)
{
        const struct series_name *x = a, *y = b;
        return compare_bytes(x->name, x->len, y->name, y->len);
}

int engine_parser_open(struct engine_parser **ret)
{
        struct engine_parser *p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_LEN(families); i++) {
                const struct family *f = &families[i];
                if (f->role != ROLE_TIME) {
                        add_name(p, f, "", f->role);
                        continue;
                }
                add_name(p, f, "_sum", ROLE_TIME_SUM);
                add_name(p, f, "_count", ROLE_TIME_COUNT);
                add_name(p, f, "_bucket", ROLE_TIME_BUCKET);
        }
        qsort(p->names, p->n, sizeof(p->names[0]), compare_names);
        *ret = p;
        return 0;
}

void engine_parser_close(struct engine_parser *p)
{
        free(p);
}

/* Sets first and end to the rows of a name; none when nobody wants it. */
static void find_name(struct engine_parser *p, const char *name, size_t len)
{
        size_t lo = 0, hi = p->n;
        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;
                if (compare_bytes(p->names[mid].name, p->names[mid].len, name, len) < 0)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        p->first = p->end = lo;
        while (p->end < p->n &&
               compare_bytes(p->names[p->end].name, p->names[p->end].len, name, len) == 0)
                p->end++;
        p->last = name;
        p->last_len = len;
}

static bool is_text(struct word w, const char *text)
{
        return w.len == strlen(text) && memcmp(w.s, text, w.len) == 0;
}

/* The value of a label; false when the block has none of that name, or is malformed before it. */
static bool find_label(const char *block, size_t len, const char *name, struct word *ret)
{
        struct exposition_label label;
        size_t at = 1;
        while (len > 0 && exposition_next_label(block, len, &at, &label) > 0) {
                if (is_text(label.name, name)) {
                        *ret = label.value;
                        return true;
                }
        }
        return false;
}

static bool has_label(const struct family *f, const char *block, size_t len)
{
        struct word value;
        return f->label[0] == '\0' ||
               (find_label(block, len, f->label, &value) && is_text(value, f->value));
}

static void add_to(struct value *to, double v)
{
        *to = value_ok(value_is_set(*to) ? to->v + v : v);
}

/* The place of a bucket; NULL when there are too many. */
static struct serving_bucket *find_bucket(struct tally *t, int time, double most)
{
        struct serving_histogram *h = &t->reading.times[time];
        size_t i = h->n;
        while (i > 0 && h->buckets[i - 1].most > most)
                i--;
        if (i > 0 && h->buckets[i - 1].most == most)
                return &h->buckets[i - 1];
        t->full[time] = t->full[time] || h->n == SERVING_BUCKETS_MAX;
        if (t->full[time])
                return NULL;
        memmove(&h->buckets[i + 1], &h->buckets[i], (h->n - i) * sizeof(h->buckets[0]));
        h->n++;
        h->buckets[i] = (struct serving_bucket){.most = most};
        return &h->buckets[i];
}

static void add_bucket(struct tally *t, const struct family *f, const char *block, size_t len,
                       double v)
{
        struct word le;
        double most;
        if (!find_label(block, len, "le", &le))
                return;
        if (is_text(le, "+Inf"))
                most = INFINITY;
        else if (num_parse_all(le.s, le.len, &most))
                most *= f->scale;
        else
                return;
        struct serving_bucket *bucket = find_bucket(t, f->what, most);
        if (bucket)
                bucket->count += v;
}

static void add_value(struct tally *t, const struct series_name *name, const char *block,
                      size_t len, double v)
{
        const struct family *f = name->family;
        struct serving_reading *r = &t->reading;
        switch (name->role) {
        case ROLE_SUM:
        case ROLE_MEAN:
                if (serving_info((enum serving_figure)f->what)->unit == UNIT_RATIO &&
                    v * f->scale > SHARE_MOST)
                        return;
                add_to(&r->v[f->what], v * f->scale);
                t->n[f->what]++;
                return;
        case ROLE_TIME_SUM:
                add_to(&r->times[f->what].sum, v * f->scale);
                return;
        case ROLE_TIME_COUNT:
                add_to(&r->times[f->what].count, v);
                return;
        case ROLE_TIME_BUCKET:
                add_bucket(t, f, block, len, v);
                return;
        case ROLE_TIME:
                return;
        }
}

/* The first model that is named: "model_name", with Triton "model". */
static void take_model(struct tally *t, const char *block, size_t len)
{
        struct word name;
        char *to = t->reading.model;
        if (to[0] || (!find_label(block, len, "model_name", &name) &&
                      !find_label(block, len, "model", &name)))
                return;
        size_t n = exposition_unescape(name.s, MIN(name.len, (size_t)SERVING_TEXT_MAX - 1), to);
        to[n] = '\0';
        text_clean(to);
}

static void add_line(struct engine_parser *p, const char *s, size_t len)
{
        size_t name_len = exposition_name_len(s, len), block_len = 0;
        struct exposition_point point;
        if (name_len == 0)
                return;
        if (name_len != p->last_len || memcmp(s, p->last, name_len) != 0)
                find_name(p, s, name_len);
        if (p->first == p->end)
                return;
        size_t at = exposition_skip_blanks(s, len, name_len);
        const char *block = s + at;
        if (at < len && s[at] == '{') {
                block_len = exposition_block_len(block, len - at);
                if (block_len == 0)
                        return;
        }
        at += block_len;
        if (!exposition_read_point(s + at, len - at, &point) ||
            !(point.v >= 0 && point.v <= FIGURE_MOST))
                return;
        for (size_t i = p->first; i < p->end; i++) {
                const struct family *f = p->names[i].family;
                if (!has_label(f, block, block_len))
                        continue;
                struct tally *t = &p->tallies[f->kind];
                t->series++;
                add_value(t, &p->names[i], block, block_len, point.v);
                take_model(t, block, block_len);
        }
}

static void finish_tally(struct tally *t)
{
        for (size_t i = 0; i < ARRAY_LEN(families); i++) {
                const struct family *f = &families[i];
                if (f->role == ROLE_MEAN && t->n[f->what] > 1) {
                        t->reading.v[f->what].v /= t->n[f->what];
                        t->n[f->what] = 1;
                }
        }
        for (size_t i = 0; i < SERVING_TIME_COUNT; i++) {
                if (t->full[i])
                        t->reading.times[i].n = 0;
        }
}

void engine_parse(struct engine_parser *p, const char *text, size_t len,
                  struct serving_reading *ret)
{
        memset(p->tallies, 0, sizeof(p->tallies));
        p->last = NULL;
        p->last_len = 0;
        for (size_t at = 0; at < len;) {
                const char *end = memchr(text + at, '\n', len - at);
                size_t n = end ? (size_t)(end - text) - at : len - at;
                if (n > 0 && text[at] != '#')
                        add_line(p, text + at, n - (text[at + n - 1] == '\r'));
                at += n + 1;
        }
        enum engine_kind kind = 0;
        while (kind < ENGINE_COUNT && p->tallies[kind].series == 0)
                kind++;
        if (kind == ENGINE_COUNT) {
                *ret = (struct serving_reading){.kind = ENGINE_UNKNOWN};
                return;
        }
        finish_tally(&p->tallies[kind]);
        *ret = p->tallies[kind].reading;
        ret->kind = kind;
}
