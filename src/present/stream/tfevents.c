#include "present/stream/tfevents.h"

#include <string.h>

/* ---- protocol buffers ---- */

enum { PROTO_VARINT = 0, PROTO_64 = 1, PROTO_BYTES = 2, PROTO_32 = 5 };
enum { DT_STRING = 7 };

static void put_uvarint(struct strbuf *out, uint64_t v)
{
        for (; v >= 0x80; v >>= 7)
                strbuf_putc(out, (char)(v | 0x80));
        strbuf_putc(out, (char)v);
}

static void put_key(struct strbuf *out, unsigned field, unsigned wire)
{
        put_uvarint(out, field << 3 | wire);
}

static void put_fixed(struct strbuf *out, uint64_t v, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++)
                strbuf_putc(out, (char)(v >> (8 * i)));
}

static void put_double(struct strbuf *out, unsigned field, double v)
{
        uint64_t bits;
        memcpy(&bits, &v, sizeof(bits));
        put_key(out, field, PROTO_64);
        put_fixed(out, bits, sizeof(bits));
}

static void put_float(struct strbuf *out, unsigned field, float v)
{
        uint32_t bits;
        memcpy(&bits, &v, sizeof(bits));
        put_key(out, field, PROTO_32);
        put_fixed(out, bits, sizeof(bits));
}

static void put_chars(struct strbuf *out, unsigned field, const char *s, size_t n)
{
        put_key(out, field, PROTO_BYTES);
        put_uvarint(out, n);
        strbuf_put(out, s, n);
}

/* Puts a message that was made apart, and frees it. */
static void put_message(struct strbuf *out, unsigned field, struct strbuf *message)
{
        put_chars(out, field, message->s ? message->s : "", message->len);
        out->failed |= message->failed;
        strbuf_finish(message);
}

/* ---- records ---- */

static uint32_t tfevents_crc32c(const char *s, size_t n)
{
        uint32_t crc = ~0u;
        for (size_t i = 0; i < n; i++) {
                crc ^= (unsigned char)s[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        }
        return ~crc;
}

/* A checksum of bytes that hold checksums would be weak: the format turns and moves it. */
static uint32_t masked_crc(const char *s, size_t n)
{
        uint32_t crc = tfevents_crc32c(s, n);
        return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(struct strbuf *out, struct strbuf *event)
{
        struct strbuf length = {0};
        put_fixed(&length, event->len, 8);
        strbuf_put(out, length.s, length.len);
        put_fixed(out, masked_crc(length.s, length.len), 4);
        strbuf_put(out, event->s, event->len);
        put_fixed(out, masked_crc(event->s, event->len), 4);
        out->failed |= event->failed || length.failed;
        strbuf_finish(&length);
        strbuf_finish(event);
}

static struct strbuf begin_record(double wall_s, int64_t step)
{
        struct strbuf event = {0};
        put_double(&event, 1, wall_s);
        if (step != 0) {
                put_key(&event, 2, PROTO_VARINT);
                put_uvarint(&event, (uint64_t)step);
        }
        return event;
}

void tfevents_begin(struct strbuf *out, double wall_s)
{
        static const char version[] = "brain.Event:2";
        struct strbuf event = begin_record(wall_s, 0);
        put_chars(&event, 3, version, sizeof(version) - 1);
        put_record(out, &event);
}

/* An event of one value. */
static void put_value(struct strbuf *out, double wall_s, int64_t step, struct strbuf *value)
{
        struct strbuf event = begin_record(wall_s, step), summary = {0};
        put_message(&summary, 1, value);
        put_message(&event, 5, &summary);
        put_record(out, &event);
}

void tfevents_scalar(struct strbuf *out, double wall_s, int64_t step, const char *tag, double v)
{
        struct strbuf value = {0};
        put_chars(&value, 1, tag, strlen(tag));
        put_float(&value, 2, (float)v);
        put_value(out, wall_s, step, &value);
}

void tfevents_text(struct strbuf *out, double wall_s, int64_t step, const char *tag,
                   const char *text)
{
        struct strbuf value = {0}, tensor = {0}, shape = {0}, dim = {0}, meta = {0}, plugin = {0};
        put_key(&dim, 1, PROTO_VARINT);
        put_uvarint(&dim, 1);
        put_message(&shape, 2, &dim);
        put_key(&tensor, 1, PROTO_VARINT);
        put_uvarint(&tensor, DT_STRING);
        put_message(&tensor, 2, &shape);
        put_chars(&tensor, 8, text, strlen(text));
        put_chars(&plugin, 1, "text", 4);
        put_message(&meta, 1, &plugin);
        put_chars(&value, 1, tag, strlen(tag));
        put_message(&value, 8, &tensor);
        put_message(&value, 9, &meta);
        put_value(out, wall_s, step, &value);
}
