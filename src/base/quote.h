/* Texts inside other formats. */
#pragma once

#include "base/strbuf.h"

/* A CSV field, in quotes when it needs them. */
void quote_csv(struct strbuf *out, const char *s);
/*
 * The same for a name of somebody else's: it does nothing to a terminal, and a spreadsheet takes it
 * for text: one that begins with = + - or @ gets a ' before it, which reading takes off again.
 */
void quote_csv_name(struct strbuf *out, const char *s);
/* Whether a cell has that ' before it. */
static inline bool quote_is_guarded(const char *s, size_t len)
{
        return len > 1 && s[0] == '\'' && memchr("=+-@", s[1], 4);
}
/* HTML and SVG, inside elements and attributes. */
void quote_markup(struct strbuf *out, const char *s);
