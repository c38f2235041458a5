#include "present/chart/label.h"

#include "base/attr.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OTHER_WIDTH 65 /* a letter beyond ASCII */
#define WIDE_WIDTH 100 /* Chinese, Japanese, Korean, symbols */
#define WIDE_FROM 0x1100
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_WIDTH 1.0 /* em */

/* Hundredths of an em, from the space on. */
static const uint8_t widths[] = {
    32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
};

/* The letter at s and its length in bytes; 0 with length 1 for what is not UTF-8 or not allowed in
 * XML. */
static uint32_t letter_at(const char *s, size_t *ret_len)
{
        uint32_t c;
        size_t len = text_decode(s, &c);
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        bool allowed = !control && c != 0xfffe && c != 0xffff;
        *ret_len = allowed ? len : 1;
        return allowed ? c : 0;
}

static double letter_width(uint32_t c)
{
        if (c < 0x7f)
                return (c >= ' ' ? widths[c - ' '] : OTHER_WIDTH) / 100.0;
        return (c >= WIDE_FROM ? WIDE_WIDTH : OTHER_WIDTH) / 100.0;
}

double label_width(const char *s, double size)
{
        double sum = 0;
        size_t len;
        for (; *s; s += len)
                sum += letter_width(letter_at(s, &len));
        return sum * size;
}

void label_clean(const char *s, char *buf, size_t n)
{
        size_t at = 0, len;
        for (; *s; s += len) {
                uint32_t c = letter_at(s, &len);
                if (at + len >= n)
                        break;
                if (c == 0)
                        buf[at] = (uint8_t)*s < 0x80 ? ' ' : '?';
                else
                        memcpy(buf + at, s, len);
                at += len;
        }
        buf[at] = '\0';
}

void label_fit(const char *s, double size, double room, char *buf, size_t n)
{
        char clean[LABEL_MAX];
        size_t at = 0, letters = 0, len;
        label_clean(s, clean, sizeof(clean));
        if (label_width(clean, size) <= room) {
                snprintf(buf, n, "%s", clean);
                return;
        }
        double left = room / size - ELLIPSIS_WIDTH;
        for (; clean[at]; at += len, letters++) {
                left -= letter_width(letter_at(clean + at, &len));
                if (left < 0)
                        break;
        }
        while (at > 0 && clean[at - 1] == ' ')
                at--;
        if (letters < 3)
                buf[0] = '\0';
        else
                snprintf(buf, n, "%.*s" ELLIPSIS, (int)at, clean);
}
