/* Numbers from text and back, bounded, independent of the locale, and exact. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads a decimal number ("-1.5e3") at the start of s and returns how many bytes it took, 0 when
 * there is none. The result is the correctly rounded double. Does not accept hex, inf or nan.
 */
size_t num_parse(const char *s, size_t n, double *ret);

/* The whole of s must be one number, and finite. */
bool num_parse_all(const char *s, size_t n, double *ret);

/* The whole of s must be an unsigned decimal number that fits. */
bool num_parse_u64(const char *s, size_t n, uint64_t *ret);

/* The most bytes num_format writes: sign, 309 digits, point, 9 decimals. */
#define NUM_FORMAT_MAX 336

/*
 * Writes v with the given number of decimals (0 to 9), rounded half to even on the exact binary
 * value as printf does. Returns the length; nothing is terminated. v must be finite.
 */
size_t num_format(char buf[NUM_FORMAT_MAX], double v, unsigned decimals);

/* The bits of v. Of numbers from 0 on they are in the order of the numbers; those of -0, of numbers
 * below it and of what is not a number are larger. */
static inline uint64_t num_bits(double v)
{
        uint64_t bits;
        memcpy(&bits, &v, sizeof(bits));
        return bits;
}

/* The whole number in v: 0 below 0 and for no number, the largest above what fits. */
static inline uint64_t num_whole(double v)
{
        return !(v > 0) ? 0 : v < 0x1p64 ? (uint64_t)v : UINT64_MAX;
}

size_t num_format_u64(char buf[20], uint64_t v);
