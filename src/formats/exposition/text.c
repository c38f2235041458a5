#include "formats/exposition/text.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/num.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* OpenMetrics writes seconds, the older format milliseconds; both write whole numbers at times.
 * 1e11 seconds are the year 5138, 1e11 milliseconds 1973. */
#define SECONDS_BELOW 1e11
#define BLANK_INT 9223372036854775792ULL /* and the three after it */
#define BLANK_DOUBLE 0x1p47
#define TIME_MAX_S 9e9 /* nanoseconds still fit */

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static bool starts_name(char c)
{
        unsigned char letter = (unsigned char)((c | 0x20) - 'a');
        return letter < 26 || c == '_' || c == ':';
}

static bool continues_name(char c)
{
        return starts_name(c) || (unsigned char)(c - '0') < 10;
}

size_t exposition_skip_blanks(const char *s, size_t len, size_t at)
{
        while (at < len && is_blank(s[at]))
                at++;
        return at;
}

size_t exposition_name_len(const char *s, size_t len)
{
        size_t n = 0;
        if (len == 0 || !starts_name(s[0]))
                return 0;
        while (n < len && continues_name(s[n]))
                n++;
        return n;
}

/* Where the quoted text that begins at `at` ends: the place after its closing quote, 0 when none.
 */
static size_t quoted_end(const char *s, size_t len, size_t at, bool *ret_escaped)
{
        bool escaped = false;
        for (size_t i = at + 1; i < len; i++) {
                if (s[i] == '"') {
                        *ret_escaped = escaped;
                        return i + 1;
                }
                if (s[i] == '\\') {
                        escaped = true;
                        i++;
                }
        }
        return 0;
}

size_t exposition_block_len(const char *s, size_t len)
{
        bool escaped;
        for (size_t i = 1; i < len; i++) {
                if (s[i] == '}')
                        return i + 1;
                if (s[i] != '"')
                        continue;
                size_t end = quoted_end(s, len, i, &escaped);
                if (end == 0)
                        return 0;
                i = end - 1;
        }
        return 0;
}

/* Newer Prometheus quotes label names that hold more than letters. */
static size_t label_name(const char *s, size_t len, size_t at, struct word *ret)
{
        bool escaped;
        if (at < len && s[at] == '"') {
                size_t end = quoted_end(s, len, at, &escaped);
                if (end > 0)
                        *ret = (struct word){s + at + 1, end - at - 2};
                return end;
        }
        size_t n = exposition_name_len(s + at, len - at);
        *ret = (struct word){s + at, n};
        return n > 0 ? at + n : 0;
}

int exposition_next_label(const char *block, size_t len, size_t *at, struct exposition_label *ret)
{
        size_t i = exposition_skip_blanks(block, len, *at);
        if (i + 1 == len)
                return 0;
        i = label_name(block, len, i, &ret->name);
        if (i == 0)
                return -1;
        i = exposition_skip_blanks(block, len, i);
        if (i >= len || block[i] != '=')
                return -1;
        i = exposition_skip_blanks(block, len, i + 1);
        if (i >= len || block[i] != '"')
                return -1;
        size_t end = quoted_end(block, len, i, &ret->escaped);
        if (end == 0)
                return -1;
        ret->value = (struct word){block + i + 1, end - i - 2};
        i = exposition_skip_blanks(block, len, end);
        if (i < len && block[i] == ',')
                i++;
        else if (i + 1 != len)
                return -1;
        *at = i;
        return 1;
}

size_t exposition_unescape(const char *s, size_t len, char *to)
{
        size_t n = 0;
        for (size_t i = 0; i < len; i++) {
                char c = s[i];
                if (c == '\\' && i + 1 < len) {
                        char next = s[++i];
                        bool known = next == '\\' || next == '"' || next == 'n';
                        if (!known)
                                to[n++] = c; /* no such escape: it stays as it is written */
                        c = next == 'n' ? '\n' : next;
                }
                to[n++] = c;
        }
        return n;
}

static size_t word_end(const char *s, size_t len, size_t at)
{
        while (at < len && !is_blank(s[at]))
                at++;
        return at;
}

static bool is_word(const char *s, size_t len, const char *word)
{
        return strlen(word) == len && strncasecmp(s, word, len) == 0;
}

/* The words beside numbers. */
static bool special_number(const char *s, size_t len, double *ret)
{
        double sign = len > 0 && s[0] == '-' ? -1 : 1;
        if (len > 0 && (s[0] == '-' || s[0] == '+')) {
                s++;
                len--;
        }
        if (is_word(s, len, "nan"))
                *ret = NAN;
        else if (is_word(s, len, "inf") || is_word(s, len, "infinity"))
                *ret = sign * INFINITY;
        else
                return false;
        return true;
}

/* DCGM's blanks say why there is no value in their last digit, which a double cannot hold; those
 * it has for doubles say the same. */
static double blank_as_double(const char *s, size_t len, double v)
{
        uint64_t whole;
        if (num_parse_u64(s, len, &whole) && whole >= BLANK_INT && whole <= BLANK_INT + 3)
                return BLANK_DOUBLE + (double)(whole - BLANK_INT);
        return v;
}

/* Returns the place after the number, 0 when there is none. */
static size_t read_number(const char *s, size_t len, size_t at, double *ret)
{
        size_t n = num_parse(s + at, len - at, ret);
        if (LIKELY(n > 0 && (at + n == len || is_blank(s[at + n]))))
                return at + n;
        size_t end = word_end(s, len, at);
        return special_number(s + at, end - at, ret) ? end : 0;
}

static bool read_time(double t, struct exposition_point *ret)
{
        double seconds = fabs(t) < SECONDS_BELOW ? t : t / 1000;
        if (!(fabs(seconds) < TIME_MAX_S))
                return false;
        ret->wall_ns = clock_from_seconds(seconds);
        ret->timed = true;
        return true;
}

/* "# {trace_id="abc"} 0.67 1520879607.789" */
static bool is_exemplar(const char *s, size_t len)
{
        struct exposition_label label;
        size_t at = exposition_skip_blanks(s, len, 1), in = 1;
        double v;
        size_t n = at < len && s[at] == '{' ? exposition_block_len(s + at, len - at) : 0;
        if (n == 0)
                return false;
        int r;
        while ((r = exposition_next_label(s + at, n, &in, &label)) > 0)
                ;
        if (r < 0)
                return false;
        at = read_number(s, len, exposition_skip_blanks(s, len, at + n), &v);
        if (at == 0)
                return false;
        at = exposition_skip_blanks(s, len, at);
        if (at == len)
                return true;
        at = read_number(s, len, at, &v);
        return at > 0 && exposition_skip_blanks(s, len, at) == len;
}

static bool read_tail(const char *s, size_t len, size_t at, struct exposition_point *ret)
{
        at = exposition_skip_blanks(s, len, at);
        if (at == len)
                return true;
        if (s[at] != '#') {
                double t;
                at = read_number(s, len, at, &t);
                if (at == 0 || !read_time(t, ret))
                        return false;
                at = exposition_skip_blanks(s, len, at);
        }
        return at == len || (s[at] == '#' && is_exemplar(s + at, len - at));
}

bool exposition_read_point(const char *s, size_t len, struct exposition_point *ret)
{
        ret->timed = false;
        size_t start = exposition_skip_blanks(s, len, 0);
        size_t at = read_number(s, len, start, &ret->v);
        if (at == 0)
                return false;
        if (UNLIKELY(ret->v >= 0x1p63))
                ret->v = blank_as_double(s + start, at - start, ret->v);
        return LIKELY(at == len) || read_tail(s, len, at, ret);
}

bool exposition_announces(const char *s, size_t len, struct word *ret)
{
        size_t at = exposition_skip_blanks(s, len, 1);
        if (len - at < 5 || !is_blank(s[at + 4]) ||
            (memcmp(s + at, "HELP", 4) != 0 && memcmp(s + at, "TYPE", 4) != 0))
                return false;
        at = exposition_skip_blanks(s, len, at + 4);
        *ret = (struct word){s + at, exposition_name_len(s + at, len - at)};
        return ret->len > 0;
}

static bool is_sample(const char *s, size_t len)
{
        struct exposition_label label;
        struct exposition_point point;
        size_t at = exposition_name_len(s, len), in = 1;
        if (at == 0)
                return false;
        at = exposition_skip_blanks(s, len, at);
        if (at < len && s[at] == '{') {
                size_t n = exposition_block_len(s + at, len - at);
                int r = n == 0 ? -1 : 1;
                while (r > 0)
                        r = exposition_next_label(s + at, n, &in, &label);
                if (r < 0)
                        return false;
                at += n;
        }
        return exposition_read_point(s + at, len - at, &point);
}

/* Comments say nothing, unless they announce a metric; the first line with words decides. */
bool exposition_probe(const char *s, size_t len)
{
        for (const char *end = s + len; s < end;) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                size_t n = nl ? (size_t)(nl - s) : (size_t)(end - s);
                const char *line = s;
                s = nl ? nl + 1 : end;
                if (n > 0 && line[n - 1] == '\r')
                        n--;
                size_t at = exposition_skip_blanks(line, n, 0);
                struct word name;
                if (at == n)
                        continue;
                if (line[at] != '#')
                        return is_sample(line + at, n - at);
                if (exposition_announces(line + at, n - at, &name))
                        return true;
        }
        return false;
}
