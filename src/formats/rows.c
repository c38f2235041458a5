#include "formats/rows.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

void rows_split_blanks(const struct line *line, struct words *ret)
{
        ret->n = 0;
        for (size_t i = 0; i < line->len && ret->n < ARRAY_LEN(ret->w);) {
                while (i < line->len && is_blank(line->s[i]))
                        i++;
                size_t start = i;
                while (i < line->len && !is_blank(line->s[i]))
                        i++;
                if (i > start)
                        ret->w[ret->n++] = (struct word){line->s + start, i - start};
        }
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
