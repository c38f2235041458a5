/* Texts inside other formats. */
#pragma once

#include "base/strbuf.h"

/* A CSV field, in quotes when it needs them. */
void quote_csv(struct strbuf *out, const char *s);
/* HTML and SVG, inside elements and attributes. */
void quote_markup(struct strbuf *out, const char *s);
