/* Reads back what formats/remote writes: a snappy block, and the series of a WriteRequest. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t decode_varint(const unsigned char **at, const unsigned char *end, bool *ok)
{
        uint64_t v = 0;
        for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
                unsigned char c = *(*at)++;
                v |= (uint64_t)(c & 0x7f) << shift;
                if (!(c & 0x80))
                        return v;
        }
        *ok = false;
        return 0;
}

static inline bool decode_copy(struct strbuf *out, size_t offset, size_t n)
{
        if (offset == 0 || offset > out->len)
                return false;
        for (; n > 0; n--)
                strbuf_putc(out, out->s[out->len - offset]);
        return true;
}

/* One element of the block; false when it is not one. */
static inline bool decode_element(const unsigned char **at, const unsigned char *end,
                                  struct strbuf *out)
{
        unsigned tag = *(*at)++, kind = tag & 3;
        size_t n = (tag >> 2) + 1, more = kind == 0 ? (n > 60 ? n - 60 : 0) : kind == 3 ? 4 : kind;
        uint32_t v = 0;
        if ((size_t)(end - *at) < more)
                return false;
        for (size_t i = 0; i < more; i++)
                v |= (uint32_t) * (*at)++ << (8 * i);
        if (kind == 1)
                return decode_copy(out, v | (tag >> 5) << 8, ((tag >> 2) & 7) + 4);
        if (kind != 0)
                return decode_copy(out, v, n);
        n = more > 0 ? (size_t)v + 1 : n;
        if ((size_t)(end - *at) < n)
                return false;
        strbuf_put(out, (const char *)*at, n);
        *at += n;
        return true;
}

static inline bool decode_snappy(const char *s, size_t n, struct strbuf *out)
{
        const unsigned char *at = (const unsigned char *)s, *end = at + n;
        bool ok = true;
        uint64_t want = decode_varint(&at, end, &ok);
        while (ok && at < end)
                ok = decode_element(&at, end, out);
        return ok && out->len == want;
}

struct decoded {
        char labels[4096]; /* "a=1,b=2," in the order sent */
        double v;
        uint64_t bits;
        int64_t time_ms;
};

struct decode_member {
        unsigned field;
        uint64_t v;
        const unsigned char *s; /* of v bytes */
};

static inline bool decode_next(const unsigned char **at, const unsigned char *end,
                               struct decode_member *ret)
{
        bool ok = *at < end;
        uint64_t tag = ok ? decode_varint(at, end, &ok) : 0;
        *ret = (struct decode_member){.field = (unsigned)(tag >> 3)};
        if (ok && (tag & 7) == 1 && end - *at >= 8) {
                for (unsigned i = 0; i < 8; i++)
                        ret->v |= (uint64_t) * (*at)++ << (8 * i);
                return true;
        }
        if (!ok || ((tag & 7) != 0 && (tag & 7) != 2))
                return false;
        ret->v = decode_varint(at, end, &ok);
        if (ok && (tag & 7) == 2) {
                ok = ret->v <= (uint64_t)(end - *at);
                ret->s = *at;
                *at += ok ? ret->v : 0;
        }
        return ok;
}

static inline bool decode_label(const struct decode_member *m, struct decoded *ret)
{
        const unsigned char *at = m->s, *end = m->s + m->v;
        struct decode_member part;
        size_t n = strlen(ret->labels);
        while (at < end && decode_next(&at, end, &part)) {
                for (uint64_t i = 0; i < part.v && n + 2 < sizeof(ret->labels); i++)
                        ret->labels[n++] = (char)part.s[i];
                ret->labels[n++] = part.field == 1 ? '=' : ',';
                ret->labels[n] = '\0';
        }
        return at == end;
}

/* The next series of a request; false at its end. Sets *bad when it is not one. */
static inline bool decode_series(const unsigned char **at, const unsigned char *end,
                                 struct decoded *ret, bool *bad)
{
        struct decode_member series, part, value;
        *ret = (struct decoded){0};
        if (*at == end)
                return false;
        *bad = !decode_next(at, end, &series) || series.field != 1;
        const unsigned char *in = series.s, *stop = *bad ? in : in + series.v;
        while (!*bad && in < stop) {
                *bad = !decode_next(&in, stop, &part);
                if (!*bad && part.field == 1)
                        *bad = !decode_label(&part, ret);
                const unsigned char *sample = part.s;
                while (!*bad && part.field == 2 && sample < part.s + part.v) {
                        *bad = !decode_next(&sample, part.s + part.v, &value);
                        if (value.field == 1)
                                ret->bits = value.v;
                        else
                                ret->time_ms = (int64_t)value.v;
                }
        }
        memcpy(&ret->v, &ret->bits, sizeof(ret->v));
        return !*bad;
}
