#include "formats/remote/remote.h"

#include "base/list.h"
#include "base/lookup.h"
#include "base/num.h"
#include "base/text.h"
#include "formats/remote/line.h"

#include <stdlib.h>

/* The bits of the NaN that means: this series has ended (Prometheus' value.StaleNaN). */
#define STALE_BITS UINT64_C(0x7ff0000000000002)

/* --- the labels that are added -----------------------------------------------------------------
 */

static bool is_label_name(const char *s)
{
        size_t n = strlen(s);
        return n > 0 && n < REMOTE_LABEL_TEXT_MAX && !strchr(s, ':') &&
               exposition_name_len(s, n) == n && strncmp(s, "__", 2) != 0;
}

bool remote_label_set(struct remote_labels *l, const char *name, const char *value)
{
        size_t at = 0;
        if (!is_label_name(name) || strlen(value) >= REMOTE_LABEL_TEXT_MAX || !text_is_utf8(value))
                return false;
        while (at < l->n && strcmp(l->list[at].name, name) != 0)
                at++;
        if (at == REMOTE_ADDED_MAX)
                return false;
        l->n += at == l->n;
        memcpy(l->list[at].name, name, strlen(name) + 1);
        memcpy(l->list[at].value, value, strlen(value) + 1);
        return true;
}

bool remote_labels_parse(struct remote_labels *l, const char *text, const char **ret_bad)
{
        while (*text) {
                struct remote_label one = {0};
                size_t n = strcspn(text, ","), name = strcspn(text, "=,");
                *ret_bad = text;
                if (name == n || name >= sizeof(one.name) || n - name - 1 >= sizeof(one.value))
                        return false;
                memcpy(one.name, text, name);
                memcpy(one.value, text + name + 1, n - name - 1);
                if (!remote_label_set(l, one.name, one.value))
                        return false;
                text += n + (text[n] == ',');
        }
        return true;
}

static const struct remote_label *find_added(const struct remote_labels *l, struct word name)
{
        for (size_t i = 0; i < l->n; i++) {
                if (strlen(l->list[i].name) == name.len &&
                    memcmp(l->list[i].name, name.s, name.len) == 0)
                        return &l->list[i];
        }
        return NULL;
}

/* --- a line of the text ------------------------------------------------------------------------
 */

bool remote_split_line(const char *s, size_t len, struct line_parts *ret)
{
        size_t at = exposition_name_len(s, len);
        *ret = (struct line_parts){.name = {s, at}};
        if (at == 0)
                return false;
        at = exposition_skip_blanks(s, len, at);
        if (at < len && s[at] == '{') {
                ret->block = (struct word){s + at, exposition_block_len(s + at, len - at)};
                if (ret->block.len == 0)
                        return false;
                at += ret->block.len;
        }
        at = exposition_skip_blanks(s, len, at);
        ret->point_text = s + at;
        ret->point_len = len - at;
        return exposition_read_point(s + at, len - at, &ret->point);
}

bool remote_next_line(const char **at, const char *end, struct word *ret)
{
        if (*at >= end)
                return false;
        const char *nl = memchr(*at, '\n', (size_t)(end - *at));
        *ret = (struct word){*at, (size_t)((nl ? nl : end) - *at)};
        *at = nl ? nl + 1 : end;
        return true;
}

/* --- protocol buffers --------------------------------------------------------------------------
 */

enum { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2 };

static void put_varint(struct strbuf *out, uint64_t v)
{
        for (; v >= 0x80; v >>= 7)
                strbuf_putc(out, (char)(unsigned char)((v & 0x7f) | 0x80));
        strbuf_putc(out, (char)(unsigned char)v);
}

static size_t varint_len(uint64_t v)
{
        size_t n = 1;
        for (; v >= 0x80; v >>= 7)
                n++;
        return n;
}

static void put_tag(struct strbuf *out, unsigned field, unsigned wire)
{
        put_varint(out, field << 3 | wire);
}

static void put_bytes(struct strbuf *out, unsigned field, const char *s, size_t n)
{
        put_tag(out, field, WIRE_BYTES);
        put_varint(out, n);
        strbuf_put(out, s, n);
}

struct pair {
        struct word name, value;
};

/* Label{name = 1, value = 2} as the member 1 of TimeSeries. */
static void put_pair(struct strbuf *out, const struct pair *p)
{
        size_t n =
            1 + varint_len(p->name.len) + p->name.len + 1 + varint_len(p->value.len) + p->value.len;
        put_tag(out, 1, WIRE_BYTES);
        put_varint(out, n);
        put_bytes(out, 1, p->name.s, p->name.len);
        put_bytes(out, 2, p->value.s, p->value.len);
}

/* Sample{value = 1, timestamp = 2} as the member 2 of TimeSeries. */
static void put_sample(struct strbuf *out, uint64_t bits, int64_t time_ms)
{
        put_tag(out, 2, WIRE_BYTES);
        put_varint(out, 1 + sizeof(bits) + 1 + varint_len((uint64_t)time_ms));
        put_tag(out, 1, WIRE_DOUBLE);
        for (unsigned i = 0; i < sizeof(bits); i++)
                strbuf_putc(out, (char)(unsigned char)(bits >> (8 * i)));
        put_tag(out, 2, WIRE_VARINT);
        put_varint(out, (uint64_t)time_ms);
}

/* --- series ------------------------------------------------------------------------------------
 */

/* A series that was in a text: its labels as they are sent, in the bytes of its generation. */
struct key {
        uint64_t hash;
        size_t at, len;
};

struct generation {
        struct strbuf bytes;
        struct key *keys;
        size_t n, cap;
};

struct remote_writer {
        struct remote_labels added;
        struct generation now, before;
        struct strbuf request, scratch;
};

struct remote_writer *remote_open(const struct remote_labels *labels)
{
        struct remote_writer *w = calloc(1, sizeof(*w));
        if (w)
                w->added = *labels;
        return w;
}

static void finish_generation(struct generation *g)
{
        strbuf_finish(&g->bytes);
        free(g->keys);
}

void remote_close(struct remote_writer *w)
{
        if (!w)
                return;
        finish_generation(&w->now);
        finish_generation(&w->before);
        strbuf_finish(&w->request);
        strbuf_finish(&w->scratch);
        free(w);
}

static int compare_pairs(const void *a, const void *b)
{
        const struct word *x = &((const struct pair *)a)->name,
                          *y = &((const struct pair *)b)->name;
        int order = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);
        return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int compare_keys(const void *a, const void *b)
{
        uint64_t x = ((const struct key *)a)->hash, y = ((const struct key *)b)->hash;
        return (x > y) - (x < y);
}

/* The scratch text has room for all of a line, so what points into it stays. */
static bool reserve_line(struct strbuf *scratch, size_t len)
{
        strbuf_clear(scratch);
        return strbuf_reserve(scratch, len + REMOTE_LABELS_MAX * sizeof(REMOTE_PREFIX) * 2);
}

/* A label's own value, as it was meant. What is not UTF-8 would spoil the whole request. */
static struct word own_value(struct strbuf *scratch, const struct exposition_label *label)
{
        char *to = scratch->s + scratch->len;
        size_t n = exposition_unescape(label->value.s, label->value.len, to);
        to[n] = '\0';
        if (strlen(to) != n || !text_is_utf8(to)) {
                text_clean(to);
                n = strlen(to);
        }
        scratch->len += n + 1;
        return (struct word){to, n};
}

/* A name of our own that is also one of those added gets a prefix, as at a scrape. */
static struct word own_name(struct strbuf *scratch, const struct remote_labels *added,
                            struct word name)
{
        char *to = scratch->s + scratch->len;
        size_t prefix = sizeof(REMOTE_PREFIX) - 1;
        if (!find_added(added, name))
                return name;
        memcpy(to, REMOTE_PREFIX, prefix);
        memcpy(to + prefix, name.s, name.len);
        scratch->len += prefix + name.len;
        return (struct word){to, prefix + name.len};
}

/* The labels of a line, sorted by name as the protocol wants them. 0 when the line is not one. */
static size_t collect_pairs(struct remote_writer *w, const struct line_parts *line,
                            struct pair pairs[REMOTE_LABELS_MAX])
{
        static const char name_label[] = "__name__";
        struct exposition_label label;
        size_t n = 0, at = 1;
        int r = line->block.len > 0 ? 1 : 0;
        pairs[n++] = (struct pair){{name_label, sizeof(name_label) - 1}, line->name};
        for (size_t i = 0; i < w->added.n; i++) {
                const struct remote_label *l = &w->added.list[i];
                if (l->value[0])
                        pairs[n++] =
                            (struct pair){{l->name, strlen(l->name)}, {l->value, strlen(l->value)}};
        }
        while (r > 0 &&
               (r = exposition_next_label(line->block.s, line->block.len, &at, &label)) > 0) {
                struct pair p = {.value = own_value(&w->scratch, &label)};
                if (p.value.len == 0)
                        continue; /* an empty label is none */
                if (n == REMOTE_LABELS_MAX ||
                    exposition_name_len(label.name.s, label.name.len) != label.name.len)
                        return 0;
                p.name = own_name(&w->scratch, &w->added, label.name);
                pairs[n++] = p;
        }
        qsort(pairs, n, sizeof(*pairs), compare_pairs);
        for (size_t i = 1; i < n; i++) {
                if (compare_pairs(&pairs[i - 1], &pairs[i]) == 0)
                        return 0;
        }
        return r < 0 ? 0 : n;
}

static bool remember_key(struct generation *g, const char *s, size_t len)
{
        if (!LIST_ROOM(g->keys, g->n, g->cap))
                return false;
        g->keys[g->n++] = (struct key){hash_stable(s, len), (size_t)(s - g->bytes.s), len};
        return true;
}

static void put_series(struct strbuf *request, const char *labels, size_t len, uint64_t bits,
                       int64_t time_ms)
{
        size_t sample = 1 + sizeof(bits) + 1 + varint_len((uint64_t)time_ms);
        put_tag(request, 1, WIRE_BYTES);
        put_varint(request, len + 1 + varint_len(sample) + sample);
        strbuf_put(request, labels, len);
        put_sample(request, bits, time_ms);
}

static bool add_line(struct remote_writer *w, struct word line, int64_t time_ms)
{
        struct pair pairs[REMOTE_LABELS_MAX];
        struct line_parts parts;
        if (!remote_split_line(line.s, line.len, &parts) || w->now.n == REMOTE_SERIES_MAX)
                return true;
        if (!reserve_line(&w->scratch, line.len))
                return false;
        size_t n = collect_pairs(w, &parts, pairs), from = w->now.bytes.len;
        for (size_t i = 0; i < n; i++)
                put_pair(&w->now.bytes, &pairs[i]);
        if (n == 0 || w->now.bytes.failed)
                return n == 0;
        put_series(&w->request, w->now.bytes.s + from, w->now.bytes.len - from,
                   num_bits(parts.point.v), time_ms);
        return remember_key(&w->now, w->now.bytes.s + from, w->now.bytes.len - from);
}

static bool is_present(const struct generation *g, const struct key *k, const char *bytes)
{
        const struct key *found = bsearch(k, g->keys, g->n, sizeof(*k), compare_keys);
        if (!found)
                return false;
        while (found > g->keys && found[-1].hash == k->hash)
                found--;
        for (; found < g->keys + g->n && found->hash == k->hash; found++) {
                if (found->len == k->len && memcmp(g->bytes.s + found->at, bytes, k->len) == 0)
                        return true;
        }
        return false;
}

static void put_ends(struct remote_writer *w, int64_t time_ms)
{
        if (w->now.n > 0)
                qsort(w->now.keys, w->now.n, sizeof(*w->now.keys), compare_keys);
        for (size_t i = 0; i < w->before.n; i++) {
                const struct key *k = &w->before.keys[i];
                const char *bytes = w->before.bytes.s + k->at;
                if (w->now.n == 0 || !is_present(&w->now, k, bytes))
                        put_series(&w->request, bytes, k->len, STALE_BITS, time_ms);
        }
}

static void forget_generation(struct generation *g)
{
        strbuf_finish(&g->bytes);
        g->n = 0;
}

bool remote_encode(struct remote_writer *w, const char *text, size_t len, int64_t time_ms,
                   struct strbuf *out)
{
        const char *end = text + len;
        struct word line;
        bool done = true;
        struct generation old = w->before;
        w->before = w->now;
        w->now = (struct generation){.bytes = old.bytes, .keys = old.keys, .cap = old.cap};
        strbuf_clear(&w->now.bytes);
        strbuf_clear(&w->request);
        while (done && remote_next_line(&text, end, &line))
                done = line.len == 0 || line.s[0] == '#' || add_line(w, line, time_ms);
        if (done)
                put_ends(w, time_ms);
        if (done && !w->request.failed)
                snappy_put(w->request.s, w->request.len, out);
        if (done && !w->request.failed && !out->failed)
                return true;
        forget_generation(&w->now);
        strbuf_finish(&w->request);
        return false;
}

size_t remote_series(const struct remote_writer *w)
{
        return w->now.n;
}

/* --- as text -----------------------------------------------------------------------------------
 */

static void put_quoted(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '\\' || *s == '"')
                        strbuf_putc(out, '\\');
                strbuf_puts(out, *s == '\n' ? "\\n" : (char[]){*s, 0});
        }
}

static void relabel_line(const struct remote_labels *added, const struct line_parts *line,
                         struct strbuf *out)
{
        struct exposition_label label;
        size_t at = 1, begun = out->len;
        int r = line->block.len > 0 ? 1 : 0;
        const char *comma = added->n > 0 ? "," : "";
        strbuf_put(out, line->name.s, line->name.len);
        strbuf_putc(out, '{');
        for (size_t i = 0; i < added->n; i++) {
                strbuf_puts(out, i > 0 ? "," : "");
                strbuf_puts(out, added->list[i].name);
                strbuf_puts(out, "=\"");
                put_quoted(out, added->list[i].value);
                strbuf_putc(out, '"');
        }
        while (r > 0 &&
               (r = exposition_next_label(line->block.s, line->block.len, &at, &label)) > 0) {
                strbuf_puts(out, comma);
                comma = ",";
                strbuf_puts(out, find_added(added, label.name) ? REMOTE_PREFIX : "");
                strbuf_put(out, label.name.s, label.name.len);
                strbuf_puts(out, "=\"");
                strbuf_put(out, label.value.s, label.value.len);
                strbuf_putc(out, '"');
        }
        strbuf_puts(out, "} ");
        strbuf_put(out, line->point_text, line->point_len);
        strbuf_putc(out, '\n');
        if (r < 0)
                out->len = begun;
}

void remote_relabel(const struct remote_labels *labels, const char *text, size_t len,
                    struct strbuf *out)
{
        const char *end = text + len;
        struct line_parts parts;
        struct word line;
        while (!out->failed && remote_next_line(&text, end, &line)) {
                if (line.len > 0 && line.s[0] != '#' && remote_split_line(line.s, line.len, &parts))
                        relabel_line(labels, &parts, out);
        }
}
