/* Model servers as text: a paragraph each. */
#pragma once

#include "base/strbuf.h"
#include "model/serving.h"

/* Breaks at blanks; what follows the first line is indented by two more. Nothing of an empty text.
 */
void serving_put_wrapped(struct strbuf *out, const char *text, unsigned indent, unsigned width);
/* Each ends in a line of its own; nothing for none. */
void serving_table_write(const struct served *list, size_t n, unsigned width, struct strbuf *out);
