/*
 * Snappy by hand, because a request is a few kilobytes four times a minute and the format is three
 * kinds of elements: literals, copies with an offset below 2048, copies with one below 65536. The
 * text is cut into pieces of 64 KiB, within which four equal bytes are found by a small table.
 */
#include "formats/remote/remote.h"

#define PIECE 65536
#define TABLE_BITS 12
#define LEAST 4          /* bytes that are worth a copy */
#define COPY1_LEN_MAX 11 /* of a copy whose offset is below COPY1_OFFSET */
#define COPY1_OFFSET 2048
#define COPY2_LEN_MAX 64

static void put_byte(struct strbuf *out, unsigned v)
{
        strbuf_putc(out, (char)(unsigned char)v);
}

static uint32_t four_at(const char *s)
{
        uint32_t v;
        memcpy(&v, s, sizeof(v));
        return v;
}

static uint32_t slot_of(uint32_t v)
{
        return (v * UINT32_C(2654435761)) >> (32 - TABLE_BITS);
}

static void put_literal(struct strbuf *out, const char *s, size_t n)
{
        if (n == 0)
                return;
        if (n <= 60) {
                put_byte(out, (unsigned)(n - 1) << 2);
        } else if (n <= 256) {
                put_byte(out, 60 << 2);
                put_byte(out, (unsigned)(n - 1));
        } else {
                put_byte(out, 61 << 2);
                put_byte(out, (unsigned)(n - 1) & 0xff);
                put_byte(out, (unsigned)(n - 1) >> 8);
        }
        strbuf_put(out, s, n);
}

/* Both forms hold at least LEAST bytes; a rest that would be shorter is left to the step before. */
static void put_copy(struct strbuf *out, size_t offset, size_t n)
{
        while (n > COPY2_LEN_MAX) {
                size_t part = n - COPY2_LEN_MAX < LEAST ? COPY2_LEN_MAX - LEAST : COPY2_LEN_MAX;
                put_byte(out, 2u | (unsigned)(part - 1) << 2);
                put_byte(out, (unsigned)offset & 0xff);
                put_byte(out, (unsigned)(offset >> 8));
                n -= part;
        }
        if (n <= COPY1_LEN_MAX && offset < COPY1_OFFSET) {
                put_byte(out, 1u | (unsigned)(n - LEAST) << 2 | (unsigned)(offset >> 8) << 5);
                put_byte(out, (unsigned)offset & 0xff);
        } else {
                put_byte(out, 2u | (unsigned)(n - 1) << 2);
                put_byte(out, (unsigned)offset & 0xff);
                put_byte(out, (unsigned)(offset >> 8));
        }
}

static void put_piece(const char *s, size_t n, struct strbuf *out)
{
        uint16_t table[1 << TABLE_BITS] = {0};
        size_t from = 0, at = 1; /* place 0 is what empty slots point at */
        while (at + LEAST <= n) {
                uint32_t now = four_at(s + at);
                uint16_t *slot = &table[slot_of(now)];
                size_t before = *slot;
                *slot = (uint16_t)at;
                if (before >= at || four_at(s + before) != now) {
                        at++;
                        continue;
                }
                size_t len = LEAST;
                while (at + len < n && s[before + len] == s[at + len])
                        len++;
                put_literal(out, s + from, at - from);
                put_copy(out, at - before, len);
                at += len;
                from = at;
        }
        put_literal(out, s + from, n - from);
}

void snappy_put(const char *s, size_t n, struct strbuf *out)
{
        size_t left = n;
        for (; left >= 0x80; left >>= 7)
                put_byte(out, (unsigned)(left & 0x7f) | 0x80);
        put_byte(out, (unsigned)left);
        for (size_t at = 0; at < n; at += PIECE)
                put_piece(s + at, n - at < PIECE ? n - at : PIECE, out);
}
