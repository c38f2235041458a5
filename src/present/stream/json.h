/* JSON: numbers in SI units under canonical names, null when missing. docs/JSON.md is the schema.
 */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

#define JSON_SCHEMA_VERSION 1

/* One object for one entity at one tick, on one line, with a newline. */
void json_write_row(const struct frame *frame, const struct row *row, struct strbuf *out);
/* One object for a whole frame. */
void json_write_frame(const struct frame *frame, const char *version, struct strbuf *out);
void json_put_string(struct strbuf *out, const char *s);
/* The shortest text that reads back as the same double; null when it is infinite or no number. */
void json_put_number(struct strbuf *out, double v);
/* Every ceiling by its name: a number or null. */
void json_put_ceilings(struct strbuf *out, const struct ceilings *c);
