#include "base/num.h"

#include "base/attr.h"
#include "base/num_brief.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Powers of ten that a double holds exactly. */
static const double exact_pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#define EXACT_MANTISSA (1ULL << 53)
#define DIGITS_IN_U64 19
static bool is_digit(char c)
{
        return (unsigned char)(c - '0') < 10;
}

/* What the fast scan of a number found. */
struct scan {
        uint64_t mantissa;
        int exponent; /* of ten */
        int digits;   /* significant ones, leading zeros not counted */
        size_t len;
        bool any;
};

static size_t scan_digits(const char *s, size_t i, size_t n, struct scan *scan)
{
        for (; i < n && is_digit(s[i]); i++) {
                scan->any = true;
                if (scan->digits > 0 || s[i] != '0')
                        scan->digits++;
                if (scan->digits <= DIGITS_IN_U64)
                        scan->mantissa = scan->mantissa * 10 + (uint64_t)(s[i] - '0');
        }
        return i;
}

static size_t scan_exponent(const char *s, size_t i, size_t n, struct scan *scan)
{
        if (i >= n || (s[i] != 'e' && s[i] != 'E'))
                return i;
        size_t j = i + 1;
        bool negative = j < n && s[j] == '-';
        if (j < n && (s[j] == '-' || s[j] == '+'))
                j++;
        if (j >= n || !is_digit(s[j]))
                return i;
        int e = 0;
        for (; j < n && is_digit(s[j]); j++)
                e = MIN(e * 10 + (s[j] - '0'), 9999);
        scan->exponent += negative ? -e : e;
        return j;
}

/* The C library's reading, for numbers the exact shortcut cannot hold. */
static double slow_parse(const char *s, size_t n)
{
        char buf[512];
        size_t len = MIN(n, sizeof(buf) - 1);
        memcpy(buf, s, len);
        buf[len] = '\0';
        return strtod(buf, NULL);
}

/* Any number, however long. */
static size_t parse_any(const char *s, size_t n, double *ret)
{
        struct scan scan = {0};
        size_t i = 0;
        bool negative = n > 0 && s[0] == '-';
        if (n > 0 && (s[0] == '-' || s[0] == '+'))
                i = 1;
        i = scan_digits(s, i, n, &scan);
        if (i < n && s[i] == '.') {
                size_t point = i + 1;
                size_t end = scan_digits(s, point, n, &scan);
                scan.exponent = -(int)MIN(end - point, (size_t)9999);
                i = scan.any ? end : i;
        }
        if (!scan.any)
                return 0;
        i = scan_exponent(s, i, n, &scan);

        double v;
        if (scan.digits <= DIGITS_IN_U64 && scan.mantissa <= EXACT_MANTISSA &&
            scan.exponent >= -22 && scan.exponent <= 22)
                v = scan.exponent < 0 ? (double)scan.mantissa / exact_pow10[-scan.exponent]
                                      : (double)scan.mantissa * exact_pow10[scan.exponent];
        else
                return *ret = slow_parse(s, i), i;
        *ret = negative ? -v : v;
        return i;
}

/* Up to 15 digits the mantissa is exact, so one division rounds correctly. */
static size_t parse_short(const char *s, size_t n, double *ret)
{
        size_t i = n > 0 && s[0] == '-', first = i;
        uint64_t mantissa = 0;
        while (i < n && is_digit(s[i]))
                mantissa = mantissa * 10 + (uint64_t)(s[i++] - '0');
        size_t digits = i - first, decimals = 0;
        if (i < n && s[i] == '.') {
                size_t point = ++i;
                while (i < n && is_digit(s[i]))
                        mantissa = mantissa * 10 + (uint64_t)(s[i++] - '0');
                decimals = i - point;
        }
        bool more = i < n && (s[i] == 'e' || s[i] == 'E' || s[i] == '+');
        if (UNLIKELY(digits == 0 || digits + decimals > 15 || more))
                return parse_any(s, n, ret);
        double v = decimals ? (double)mantissa / exact_pow10[decimals] : (double)mantissa;
        *ret = first ? -v : v;
        return i;
}

/*
 * The value of the digits at s, eight bytes at a time in one register, and how many there are.
 * Eight bytes must be readable.
 */
static size_t eight_digits(const char *s, uint64_t *ret)
{
        uint64_t v;
        memcpy(&v, s, sizeof(v));
        v ^= NUM_ZEROS; /* digits become 0 to 9 */
        uint64_t others = ((v + 0x7676767676767676ULL) | v) & 0x8080808080808080ULL;
        size_t run = others ? (size_t)__builtin_ctzll(others) / 8 : 8;
        if (run == 0)
                return 0;
        v <<= 64 - run * 8; /* the digits at the end, zeros before them */
        *ret = num_join_digits(v);
        return run;
}

/* Digits, a point and digits, as counters are written: fewer than eight of each. */
size_t num_parse(const char *s, size_t n, double *ret)
{
        uint64_t whole, fraction;
        if (!NUM_EIGHT_AT_ONCE || n < 9)
                return parse_short(s, n, ret);
        size_t i = eight_digits(s, &whole);
        if (i == 0 || i == 8)
                return parse_short(s, n, ret);
        double v = (double)whole;
        if (s[i] == '.') {
                size_t decimals = n - i > 8 ? eight_digits(s + i + 1, &fraction) : 0;
                if (decimals == 0 || decimals == 8)
                        return parse_short(s, n, ret);
                double scale = exact_pow10[decimals];
                v = (double)(whole * (uint64_t)scale + fraction) / scale;
                i += 1 + decimals;
        }
        if (UNLIKELY((s[i] | 0x20) == 'e'))
                return parse_short(s, n, ret);
        *ret = v;
        return i;
}

bool num_parse_all(const char *s, size_t n, double *ret)
{
        double v;
        if (n == 0 || num_parse(s, n, &v) != n || !isfinite(v))
                return false;
        *ret = v;
        return true;
}

bool num_parse_u64(const char *s, size_t n, uint64_t *ret)
{
        uint64_t v = 0;
        if (n == 0 || n > 20)
                return false;
        for (size_t i = 0; i < n; i++) {
                if (!is_digit(s[i]) || __builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
                        return false;
        }
        *ret = v;
        return true;
}

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

static size_t count_digits(uint64_t v)
{
        size_t n = 1;
        for (; UNLIKELY(v >= 100000); v /= 100000)
                n += 5;
        return v < 100 ? n + (v >= 10) : v < 1000 ? n + 2 : n + 3 + (v >= 10000);
}

size_t num_format_u64(char buf[20], uint64_t v)
{
        size_t len = count_digits(v), at = len;
        for (; v >= 100; v /= 100) {
                at -= 2;
                memcpy(buf + at, digit_pairs + (v % 100) * 2, 2);
        }
        if (v >= 10)
                memcpy(buf, digit_pairs + v * 2, 2);
        else
                buf[0] = (char)('0' + v);
        return len;
}

/* As far from a half the error of a product below 2^40, which is below 2^-13, decides nothing. */
#define FAR_FROM_HALF 0x1p-12

/*
 * v × 10^decimals rounded half to even. The product's rounding error comes from one fused
 * multiply-add, so the decision is made on the exact value.
 */
static uint64_t scale_exactly(double v, double scale)
{
        double product = v * scale;
        uint64_t whole = (uint64_t)(int64_t)product;
        double above_half = product - (double)(int64_t)whole - 0.5;
        if (LIKELY(product < 0x1p40 && fabs(above_half) > FAR_FROM_HALF))
                return whole + (above_half > 0);
        above_half += fma(v, scale, -product);
        if (above_half > 0 || (above_half == 0 && (whole & 1)))
                whole++;
        return whole;
}

/*
 * The eight decimal digits of v, below 10^8, one a byte with the first in the lowest: halves of
 * four digits, then pairs, then digits, all in one register. x / 100 is x * 10486 >> 20 below 10^4,
 * and x / 10 is x * 103 >> 10 below 100.
 */
static uint64_t spread_digits(uint32_t v)
{
        uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
        uint64_t hundreds = fours * 10486 >> 20 & 0x0000007F0000007FULL;
        uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
        uint64_t tens = pairs * 103 >> 10 & 0x000F000F000F000FULL;
        return tens | (pairs - tens * 10) << 8;
}

#define BRIEF_LIMIT 100000000 /* what eight digits hold is less */

/* A number below BRIEF_LIMIT. Eight bytes are written, however many digits it has. */
static size_t put_brief(char *buf, uint32_t v)
{
        uint64_t digits = spread_digits(v);
        unsigned zeros = (unsigned)__builtin_ctzll(digits | 1ULL << 56) / 8;
        digits = (digits | NUM_ZEROS) >> zeros * 8;
        memcpy(buf, &digits, sizeof(digits));
        return 8 - zeros;
}

/* A whole number below BRIEF_LIMIT with its decimals. */
static size_t put_whole(char *buf, uint32_t v, unsigned decimals)
{
        size_t len = put_brief(buf, v);
        memcpy(buf + len, ".000000000", 10);
        return decimals ? len + 1 + decimals : len;
}

/* Hundredths below 10^4, as percent are. */
static size_t put_hundredths(char *buf, uint32_t scaled)
{
        uint32_t whole = scaled * 10486 >> 20;
        size_t one = whole < 10;
        buf[0] = digit_pairs[whole * 2 + one];
        buf[1] = digit_pairs[whole * 2 + 1];
        buf[2 - one] = '.';
        memcpy(buf + 3 - one, digit_pairs + (scaled - whole * 100) * 2, 2);
        return 5 - one;
}

/* Hundredths, thousandths or so, below BRIEF_LIMIT: up to six decimals. The digits are written,
 * then those behind the point once more where they belong. Seventeen bytes may be written. */
static size_t put_scaled(char *buf, uint32_t scaled, unsigned decimals)
{
        uint64_t digits = spread_digits(scaled);
        unsigned zeros = (unsigned)__builtin_ctzll(digits | 1ULL << (7 - decimals) * 8) / 8;
        unsigned whole = 8 - decimals - zeros;
        digits |= NUM_ZEROS;
        uint64_t front = digits >> zeros * 8, behind = digits >> (8 - decimals) * 8;
        memcpy(buf, &front, sizeof(front));
        buf[whole] = '.';
        memcpy(buf + whole + 1, &behind, sizeof(behind));
        return whole + 1 + decimals;
}

/* The same where whole and fraction need up to eight digits each. */
static size_t put_brief_fraction(char *buf, uint32_t whole, uint32_t fraction, unsigned decimals)
{
        size_t len = put_brief(buf, whole);
        uint64_t digits = (spread_digits(fraction) | NUM_ZEROS) >> (8 - decimals) * 8;
        buf[len] = '.';
        memcpy(buf + len + 1, &digits, sizeof(digits));
        return len + 1 + decimals;
}

/* v, rounded to so many decimals. That the whole number is v's, or one more, spares a division. */
static size_t put_rounded(char *buf, double v, unsigned decimals)
{
        double scale = exact_pow10[decimals];
        uint64_t scaled = scale_exactly(v, scale);
        if (NUM_EIGHT_AT_ONCE && scaled < BRIEF_LIMIT && decimals - 1 < 6)
                return put_scaled(buf, (uint32_t)scaled, decimals);
        uint64_t whole = (uint64_t)(int64_t)v, one = (uint64_t)(int64_t)scale;
        uint64_t fraction = scaled - whole * one;
        if (UNLIKELY(fraction == one)) {
                fraction = 0;
                whole++;
        }
        if (NUM_EIGHT_AT_ONCE && whole < BRIEF_LIMIT && decimals - 1 < 8)
                return put_brief_fraction(buf, (uint32_t)whole, (uint32_t)fraction, decimals);
        size_t len = num_format_u64(buf, whole);
        if (decimals == 0)
                return len;
        buf[len] = '.';
        for (unsigned i = decimals; i > 0; i--) {
                buf[len + i] = (char)('0' + fraction % 10);
                fraction /= 10;
        }
        return len + 1 + decimals;
}

/* Any number with any decimals. */
NOINLINE static size_t format_any(char *buf, double v, unsigned decimals)
{
        double magnitude = fabs(v), scale = exact_pow10[decimals];
        if (!(magnitude * scale < 0x1p52))
                return (size_t)snprintf(buf, NUM_FORMAT_MAX, "%.*f", (int)decimals, v);
        size_t sign = 0;
        if (signbit(v))
                buf[sign++] = '-';
        return sign + put_rounded(buf + sign, magnitude, decimals);
}

/* Percent and whole numbers are most of what is written. */
size_t num_format(char buf[NUM_FORMAT_MAX], double v, unsigned decimals)
{
        bool plain = NUM_EIGHT_AT_ONCE && !signbit(v);
        if (plain && decimals == 2 && v < 99.99) {
                double hundredths = v * 100;
                uint32_t whole = (uint32_t)hundredths;
                double above_half = hundredths - whole - 0.5;
                if (LIKELY(fabs(above_half) > FAR_FROM_HALF))
                        return put_hundredths(buf, whole + (above_half > 0));
        } else if (plain && v < BRIEF_LIMIT && v == (uint32_t)v) {
                return put_whole(buf, (uint32_t)v, MIN(decimals, 9u));
        }
        return format_any(buf, v, MIN(decimals, 9u));
}
