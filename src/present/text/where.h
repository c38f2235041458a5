/* Lines of programs in words: "81 % of its CPU time in data.py:212 collate (in json/decoder.py:353
 * raw_decode)". */
#pragma once

#include "base/strbuf.h"
#include "model/where.h"

/* "data.py:212 collate", "cell 3, line 4"; a library's file from its package on. */
void where_put_line(struct strbuf *out, const struct code_line *line);
/* "data.py:212 collate (in json/decoder.py:353 raw_decode)". */
void where_put_place(struct strbuf *out, const struct where_place *place);
/* Places with their shares; words stand between the first share and its line. */
void where_put_places(struct strbuf *out, const struct where_place *places, size_t n,
                      const char *words);
/* One part: its places, the largest share first. */
void where_put_part(struct strbuf *out, const struct where_part *part);
/* All parts; nothing for NULL. */
void where_put(struct strbuf *out, const struct where *where);
/* What to do about the first place, where it is a known one; NULL otherwise. */
const char *where_advice(const struct where *where);
