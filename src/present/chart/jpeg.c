/*
 * ISO 10918-1, the least of it: three components of full size, one table for all, the tables that
 * its Annex K gives as examples.
 */
#include "present/chart/jpeg.h"

#include "base/attr.h"

#include <math.h>
#include <string.h>

#define SIDE 8
#define CELLS (SIDE * SIDE)
#define COMPONENTS 3

static const uint8_t zigzag[CELLS] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* Annex K's steps for brightness over ten: what is called a quality of 95. */
static const uint8_t steps[CELLS] = {2, 1, 1, 2, 2,  4,  5,  6,  1, 1, 1,  2,  3,  6,  6,  6,
                                     1, 1, 2, 2, 4,  6,  7,  6,  1, 2, 2,  3,  5,  9,  8,  6,
                                     2, 2, 4, 6, 7,  11, 10, 8,  2, 4, 6,  6,  8,  10, 11, 9,
                                     5, 6, 8, 9, 10, 12, 12, 10, 7, 9, 10, 10, 11, 10, 10, 10};

/* How many codes have 1, 2, … 16 bits, and what they stand for in that order. */
static const uint8_t dc_counts[16] = {0, 1, 5, 1, 1, 1, 1, 1, 1};
static const uint8_t dc_symbols[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const uint8_t ac_counts[16] = {0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125};
static const uint8_t ac_symbols[162] = {
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61,
    0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52,
    0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25,
    0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45,
    0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64,
    0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
    0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
    0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6,
    0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3,
    0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
    0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa};
#define END_OF_BLOCK 0x00
#define SIXTEEN_ZEROS 0xf0

struct code {
        uint16_t bits;
        uint8_t n;
};

struct encoder {
        struct strbuf *out;
        uint32_t held; /* bits that are no whole byte yet */
        unsigned n_held;
        struct code dc[256], ac[256];
        float wave[SIDE][SIDE]; /* of a frequency at a place */
        int before[COMPONENTS]; /* the mean of the block before */
};

/* ---- bits ---- */

static void make_codes(const uint8_t counts[16], const uint8_t *symbols, struct code *codes)
{
        unsigned next = 0;
        for (unsigned len = 1; len <= 16; len++, next <<= 1) {
                for (unsigned i = 0; i < counts[len - 1]; i++)
                        codes[*symbols++] = (struct code){(uint16_t)next++, (uint8_t)len};
        }
}

static void put_bits(struct encoder *e, unsigned bits, unsigned n)
{
        e->held = e->held << n | bits;
        e->n_held += n;
        while (e->n_held >= 8) {
                uint8_t byte = (uint8_t)(e->held >> (e->n_held - 8));
                strbuf_putc(e->out, (char)byte);
                /* A byte of ones would begin a marker. */
                if (byte == 0xff)
                        strbuf_putc(e->out, '\0');
                e->n_held -= 8;
        }
}

static unsigned bits_of(int v)
{
        unsigned n = 0;
        for (unsigned u = (unsigned)abs(v); u; u >>= 1)
                n++;
        return n;
}

/* How many bits the number takes, after so many zeros, and then the number. */
static void put_number(struct encoder *e, const struct code *codes, unsigned zeros, int v)
{
        unsigned n = bits_of(v);
        struct code c = codes[zeros << 4 | n];
        put_bits(e, c.bits, c.n);
        put_bits(e, (unsigned)(v < 0 ? v - 1 : v) & ((1U << n) - 1), n);
}

/* ---- blocks ---- */

static void make_waves(struct encoder *e)
{
        for (int u = 0; u < SIDE; u++) {
                for (int x = 0; x < SIDE; x++)
                        e->wave[u][x] = (u == 0 ? sqrtf(0.125F) : 0.5F) *
                                        cosf((float)((2 * x + 1) * u) * (float)M_PI / (2 * SIDE));
        }
}

/* Along each row, and turned: twice gives both directions. */
static void transform(const struct encoder *e, const float in[CELLS], float out[CELLS])
{
        for (int y = 0; y < SIDE; y++) {
                for (int u = 0; u < SIDE; u++) {
                        float sum = 0;
                        for (int x = 0; x < SIDE; x++)
                                sum += in[y * SIDE + x] * e->wave[u][x];
                        out[u * SIDE + y] = sum;
                }
        }
}

static void put_block(struct encoder *e, const float block[CELLS], int *before)
{
        float half[CELLS], whole[CELLS];
        unsigned zeros = 0;
        transform(e, block, half);
        transform(e, half, whole);
        int mean = (int)lrintf(whole[0] / (float)steps[0]);
        put_number(e, e->dc, 0, mean - *before);
        *before = mean;
        for (int i = 1; i < CELLS; i++) {
                int v = (int)lrintf(whole[zigzag[i]] / (float)steps[zigzag[i]]);
                if (v == 0) {
                        zeros++;
                        continue;
                }
                for (; zeros > 15; zeros -= 16)
                        put_bits(e, e->ac[SIXTEEN_ZEROS].bits, e->ac[SIXTEEN_ZEROS].n);
                put_number(e, e->ac, zeros, v);
                zeros = 0;
        }
        if (zeros > 0)
                put_bits(e, e->ac[END_OF_BLOCK].bits, e->ac[END_OF_BLOCK].n);
}

/* Brightness and the two colours of a pixel, around 0. */
static void split_pixel(const unsigned char *pixel, float ret[COMPONENTS])
{
        uint32_t rgb;
        memcpy(&rgb, pixel, sizeof(rgb));
        float r = (float)(rgb >> 16 & 0xff), g = (float)(rgb >> 8 & 0xff), b = (float)(rgb & 0xff);
        ret[0] = 0.299F * r + 0.587F * g + 0.114F * b - 128;
        ret[1] = -0.168736F * r - 0.331264F * g + 0.5F * b;
        ret[2] = 0.5F * r - 0.418688F * g - 0.081312F * b;
}

/* ---- the file ---- */

static void put_table(struct strbuf *out, char place, const uint8_t counts[16],
                      const uint8_t *symbols, size_t n)
{
        const char head[] = {'\xff', '\xc4', '\0', (char)(2 + 1 + 16 + n), place};
        strbuf_put(out, head, sizeof(head));
        strbuf_put(out, (const char *)counts, 16);
        strbuf_put(out, (const char *)symbols, n);
}

static void put_head(struct strbuf *out, size_t width, size_t height)
{
        static const char begin[] = "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xdb\0\x43";
        const char frame[] = {'\xff',
                              '\xc0',
                              0,
                              17,
                              8,
                              (char)(height >> 8),
                              (char)height,
                              (char)(width >> 8),
                              (char)width,
                              COMPONENTS,
                              1,
                              0x11,
                              0,
                              2,
                              0x11,
                              0,
                              3,
                              0x11,
                              0};
        static const char scan[] = {'\xff', '\xda', 0, 12, COMPONENTS, 1, 0, 2, 0, 3, 0, 0, 63, 0};
        strbuf_put(out, begin, sizeof(begin));
        for (size_t i = 0; i < CELLS; i++)
                strbuf_putc(out, (char)steps[zigzag[i]]);
        strbuf_put(out, frame, sizeof(frame));
        put_table(out, 0x00, dc_counts, dc_symbols, sizeof(dc_symbols));
        put_table(out, 0x10, ac_counts, ac_symbols, sizeof(ac_symbols));
        strbuf_put(out, scan, sizeof(scan));
}

void jpeg_write(const unsigned char *pixels, size_t stride, size_t width, size_t height,
                struct strbuf *out)
{
        struct encoder e = {.out = out};
        float blocks[COMPONENTS][CELLS], parts[COMPONENTS];
        make_codes(dc_counts, dc_symbols, e.dc);
        make_codes(ac_counts, ac_symbols, e.ac);
        make_waves(&e);
        put_head(out, width, height);
        for (size_t top = 0; top < height; top += SIDE) {
                for (size_t left = 0; left < width; left += SIDE) {
                        /* Beyond the edge the last pixel goes on. */
                        for (size_t i = 0; i < CELLS; i++) {
                                size_t y = MIN(top + i / SIDE, height - 1);
                                size_t x = MIN(left + i % SIDE, width - 1);
                                split_pixel(pixels + y * stride + x * 4, parts);
                                for (int c = 0; c < COMPONENTS; c++)
                                        blocks[c][i] = parts[c];
                        }
                        for (int c = 0; c < COMPONENTS; c++)
                                put_block(&e, blocks[c], &e.before[c]);
                }
        }
        put_bits(&e, 0x7f, 7);
        strbuf_put(out, "\xff\xd9", 2);
}
