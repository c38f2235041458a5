#include "formats/rows.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

#define BLOCK 64

/* A bit for each blank among the 64 characters at s. */
static uint64_t find_blanks(const char *s)
{
        uint64_t found = 0;
#ifdef __SSE2__
        const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t');
        for (int i = 0; i < BLOCK / 16; i++) {
                __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s + i * 16));
                __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(v, space), _mm_cmpeq_epi8(v, tab));
                found |= (uint64_t)(unsigned)_mm_movemask_epi8(blank) << (i * 16);
        }
#else
        for (int i = 0; i < BLOCK; i++)
                found |= (uint64_t)is_blank(s[i]) << i;
#endif
        return found;
}

/* The place of the lowest bit, which is taken out. */
static inline const char *next_edge(const char *block, uint64_t *edges)
{
        const char *edge = block + (unsigned)__builtin_ctzll(*edges);
        *edges &= *edges - 1;
        return edge;
}

/*
 * Edges are the characters that begin a word and the blanks that end one, in turn. A bit for each,
 * 64 characters at a time; the last of them from a copy that continues with blanks.
 */
void rows_split_blanks(const struct line *line, struct words *ret)
{
        char last[BLOCK];
        uint64_t before = 1; /* a blank */
        const char *begun = NULL;
        struct word *w = ret->w, *const most = w + ARRAY_LEN(ret->w);
        for (size_t at = 0; at < line->len; at += BLOCK) {
                const char *block = line->s + at, *from = block;
                if (line->len - at < BLOCK) {
                        memset(last, ' ', sizeof(last));
                        memcpy(last, block, line->len - at);
                        from = last;
                }
                uint64_t blanks = find_blanks(from), edges = blanks ^ (blanks << 1 | before);
                before = blanks >> (BLOCK - 1);
                while (edges != 0 && w < most) {
                        begun = begun ? begun : next_edge(block, &edges);
                        if (edges == 0)
                                break; /* it continues in the next block */
                        *w++ = (struct word){begun, (size_t)(next_edge(block, &edges) - begun)};
                        begun = NULL;
                }
        }
        if (begun)
                *w++ = (struct word){begun, (size_t)(line->s + line->len - begun)};
        ret->n = (size_t)(w - ret->w);
}

static size_t quoted_end(const struct line *line, size_t i)
{
        while (i < line->len) {
                if (line->s[i] != '"')
                        i++;
                else if (i + 1 < line->len && line->s[i + 1] == '"')
                        i += 2;
                else
                        return i;
        }
        return i;
}

void rows_split_commas(const struct line *line, struct words *ret)
{
        ret->n = 0;
        for (size_t i = 0; i <= line->len && ret->n < ARRAY_LEN(ret->w); i++) {
                while (i < line->len && is_blank(line->s[i]))
                        i++;
                bool quoted = i < line->len && line->s[i] == '"';
                size_t start = quoted ? i + 1 : i, end;
                if (quoted) {
                        end = i = quoted_end(line, start);
                        while (i < line->len && line->s[i] != ',')
                                i++;
                } else {
                        const char *comma = memchr(line->s + i, ',', line->len - i);
                        end = i = comma ? (size_t)(comma - line->s) : line->len;
                        while (end > start && is_blank(line->s[end - 1]))
                                end--;
                }
                ret->w[ret->n++] = (struct word){line->s + start, end - start};
        }
}

int rows_find(const struct words *words, const char *name)
{
        size_t len = strlen(name);
        for (size_t i = 0; i < words->n; i++) {
                if (words->w[i].len == len && memcmp(words->w[i].s, name, len) == 0)
                        return (int)i;
        }
        return -1;
}

bool rows_parse_time(const char *s, size_t len, int64_t *ret_wall_ns)
{
        char buf[32];
        struct tm tm = {.tm_isdst = -1};
        double seconds;
        int at = 0;
        if (len < 19 || len >= sizeof(buf))
                return false;
        memcpy(buf, s, len);
        buf[len] = '\0';
        int n = sscanf(buf, "%4d/%2d/%2d %2d:%2d:%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                       &tm.tm_hour, &tm.tm_min, &at);
        if (n != 5 || at == 0 || !num_parse_all(buf + at, len - (size_t)at, &seconds) ||
            seconds < 0 || seconds > 61 || tm.tm_year < 1970 || tm.tm_year > 2200)
                return false;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        time_t t = mktime(&tm);
        if (t == (time_t)-1)
                return false;
        *ret_wall_ns = (int64_t)t * NS_PER_S + clock_from_seconds(seconds);
        return true;
}
