/* Model servers as text: a paragraph each. */
#pragma once

#include "base/strbuf.h"
#include "model/serving.h"

/* Each ends in a line of its own; nothing for none. */
void serving_table_write(const struct served *list, size_t n, unsigned width, struct strbuf *out);
