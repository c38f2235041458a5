/* Short numbers, all of their digits in one register. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NUM_EIGHT_AT_ONCE true
#else
#define NUM_EIGHT_AT_ONCE false
#endif

#define NUM_ZEROS 0x3030303030303030ULL /* "00000000" */

/* The number that eight digits make, one a byte with the first in the lowest: pairs, fours, all. */
static inline uint32_t num_join_digits(uint64_t v)
{
        v = v * 10 + (v >> 8);
        v = ((v & 0x000000FF000000FFULL) * 0x000F424000000064ULL +
             ((v >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL) >>
            32;
        return (uint32_t)v;
}

/* Whether a word may be taken as a brief one. */
static inline bool num_is_brief(size_t len)
{
        return NUM_EIGHT_AT_ONCE && len - 1 < 8;
}

/* A brief word that ends before end, of whose eight bytes all must be readable: its characters,
 * digits as 0 to 9, stand at the high end, zeros before them. */
static inline uint64_t num_brief_word(const char *end, size_t len)
{
        uint64_t v;
        memcpy(&v, end - 8, sizeof(v));
        return (v ^ NUM_ZEROS) >> (64 - len * 8) << (64 - len * 8);
}

/*
 * The number that such a word of digits is, a point among them or not. False when it is anything
 * else, which may be a number too. The point is taken out; no branch depends on how many digits
 * there are.
 */
static inline bool num_brief_value(uint64_t v, size_t len, double *ret)
{
        static const double over[8] = {1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1};
        uint64_t unlike = v ^ 0x1E1E1E1E1E1E1E1EULL; /* '.' ^ '0' */
        uint64_t point = (unlike - 0x0101010101010101ULL) & ~unlike & 0x8080808080808080ULL;
        unsigned at = (unsigned)__builtin_ctzll(point | 1ULL << 63) / 8;
        uint64_t before = (1ULL << at * 8) - 1;
        uint64_t closed = (v & before) << 8 | (v & ~(before << 8 | 0xFF));
        v = point ? closed : v;
        bool others = ((v + 0x7676767676767676ULL) | v) & 0x8080808080808080ULL;
        double whole = num_join_digits(v);
        *ret = point ? whole / over[at] : whole; /* to divide is slow */
        return !others && len > (point != 0);
}
