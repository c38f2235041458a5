/* Texts inside other formats. */
#pragma once

#include "base/strbuf.h"

/* HTML and SVG, inside elements and attributes. */
void quote_markup(struct strbuf *out, const char *s);
