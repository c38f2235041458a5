/* Model servers as text: a paragraph each. */
#pragma once

#include "base/strbuf.h"
#include "model/serving.h"
#include "model/where.h"

/* Breaks at blanks; what follows the first line is indented by two more. Nothing of an empty text.
 */
void serving_put_wrapped(struct strbuf *out, const char *text, unsigned indent, unsigned width);
/* "its process 4711: 93 % of its CPU time in detokenizer.py:88 decode": what the front end of a
 * server that the host limits does; nothing where that is unknown. */
void serving_put_front(struct strbuf *out, int32_t front, const struct where *where);
/* Each ends in a line of its own; nothing for none. */
void serving_table_write(const struct served *list, size_t n, unsigned width, struct strbuf *out);
