/*
 * CSV, written into a text buffer as values are added: commas, quotes and line ends come by
 * themselves. What is not a finite number is an empty field, never "nan".
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

struct csvw {
        struct strbuf *out;
        const char *end; /* of a row; "\n" where it is NULL */
        bool more;       /* something precedes it in this row */
};

/* The comma of a field that the caller writes into the buffer, or leaves empty. */
static inline void csvw_begin(struct csvw *c)
{
        if (c->more)
                strbuf_putc(c->out, ',');
        c->more = true;
}
void csvw_end(struct csvw *c);

/* A text of our own, in quotes when it needs them. */
void csvw_text(struct csvw *c, const char *s);
/*
 * The same for a name of someone else's: it does nothing to a terminal, and a spreadsheet takes it
 * for text: one that begins with = + - or @ gets a ' before it, which reading takes off again.
 */
void csvw_name(struct csvw *c, const char *s);
void csvw_count(struct csvw *c, uint64_t v);
/* With that many decimals. */
void csvw_fixed(struct csvw *c, double v, unsigned decimals);
/* printf's %g with that many digits. */
void csvw_short(struct csvw *c, double v, int digits);
/* The shortest text that reads back as the same double. */
void csvw_number(struct csvw *c, double v);

/* Whether a cell that is read has the ' of csvw_name before it. */
static inline bool csvw_is_guarded(const char *s, size_t len)
{
        return len > 1 && s[0] == '\'' && memchr("=+-@", s[1], 4);
}
