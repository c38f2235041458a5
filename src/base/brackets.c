#include "base/brackets.h"

#include "base/num.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DIGITS_MAX 9
#define DEPTH_MAX 4
#define RANGE_MAX 100000

size_t brackets_word(const char *s, size_t n)
{
        bool inside = false;
        size_t i = 0;
        for (; i < n && s[i] != '\n'; i++) {
                if (!inside && (isspace((unsigned char)s[i]) || s[i] == ','))
                        break;
                inside = s[i] == '[' || (inside && s[i] != ']');
        }
        return i;
}

static int set_syntax_error(struct brackets *b, const char *why)
{
        b->why = why;
        return BRACKETS_BAD;
}

/* A word that is being put together; what is left of it is s to end. */
struct part {
        char done[BRACKETS_WORD_MAX];
        size_t n;
        const char *s, *end;
        unsigned depth;
};

static bool append_text(struct part *p, const char *s, size_t n)
{
        if (n >= sizeof(p->done) - p->n)
                return false;
        memcpy(p->done + p->n, s, n);
        p->n += n;
        return true;
}

static int expand_part(struct brackets *b, struct part *p);

/* "01-16" or "7": every number, each followed by what stands after the bracket. */
static int expand_range(struct brackets *b, const struct part *before, const char *s, size_t n)
{
        const char *dash = memchr(s, '-', n);
        size_t digits = dash ? (size_t)(dash - s) : n;
        uint64_t first, last;
        if (digits > DIGITS_MAX || n > 2 * DIGITS_MAX + 1 || !num_parse_u64(s, digits, &first) ||
            !num_parse_u64(dash ? dash + 1 : s, dash ? n - digits - 1 : n, &last) || last < first)
                return set_syntax_error(b, "in [] stand numbers and ranges, 01-16,20");
        if (last - first >= RANGE_MAX)
                return set_syntax_error(b, "the range is too long");
        for (uint64_t i = first; i <= last; i++) {
                struct part p = *before;
                char number[32];
                int len =
                    snprintf(number, sizeof(number), "%0*llu", (int)digits, (unsigned long long)i);
                int r = append_text(&p, number, (size_t)len)
                            ? expand_part(b, &p)
                            : set_syntax_error(b, "the name is too long");
                if (r != 0)
                        return r;
        }
        return 0;
}

/* The bracket that is to be expanded next, or the end. */
static const char *next_bracket(const struct part *p, const char **ret_close)
{
        for (const char *s = p->s; s < p->end; s++) {
                *ret_close = *s == '[' ? memchr(s, ']', (size_t)(p->end - s)) : NULL;
                if (*s == '[' && !(*ret_close && memchr(s, ':', (size_t)(*ret_close - s))))
                        return s;
                s = *ret_close ? *ret_close : s;
        }
        return p->end;
}

static int expand_part(struct brackets *b, struct part *p)
{
        const char *close = NULL, *open = next_bracket(p, &close);
        if (!append_text(p, p->s, (size_t)(open - p->s)))
                return set_syntax_error(b, "the name is too long");
        if (open == p->end) {
                p->done[p->n] = '\0';
                return b->each(b->arg, p->done);
        }
        if (!close || p->depth++ == DEPTH_MAX)
                return set_syntax_error(b, close ? "too many brackets" : "a bracket is not closed");
        p->s = close + 1;
        for (const char *s = open + 1; s <= close;) {
                const char *comma = memchr(s, ',', (size_t)(close - s)),
                           *end = comma ? comma : close;
                int r = expand_range(b, p, s, (size_t)(end - s));
                if (r != 0)
                        return r;
                s = end + 1;
        }
        return 0;
}

int brackets_expand(struct brackets *b, const char *s, size_t n)
{
        struct part p = {.s = s, .end = s + n};
        return expand_part(b, &p);
}
