/* JSON: numbers in SI units under canonical names, null when missing. docs/JSON.md is the schema.
 */
#pragma once

#include "base/jsonw.h"
#include "model/frame.h"

#define JSON_SCHEMA_VERSION 1

/* null when it is missing. */
void jsonw_value(struct jsonw *j, const char *name, struct value v);
/*
 * Values of n rows of a table: an object of them under name, then why those are null whose source
 * has the field ("missing"), and the age of old ones ("age").
 */
void jsonw_values(struct jsonw *j, const char *name, const struct value *v, size_t n,
                  const struct metric_info *rows);
/* Who an entity is: members of an object. */
void jsonw_identity(struct jsonw *j, const struct entity *e);
/* Every ceiling by its name: a number or null. */
/* What a limiter rests on; without counters also the candidates of an unknown one and more. */
void jsonw_basis(struct jsonw *j, const struct limit *l);
void jsonw_ceilings(struct jsonw *j, const char *name, const struct ceilings *c);
/* The names of a set, in an array. */
void jsonw_ceiling_names(struct jsonw *j, const char *name, uint64_t set);

/* "flops": an object of type, lo and hi, or null. */
void jsonw_flops(struct jsonw *j, const struct flops_rated *f);

/* The members of an object for one entity at one tick. */
void jsonw_row(struct jsonw *j, const struct frame *frame, const struct row *row);
/* The object, on one line, with a newline. */
void json_write_row(const struct frame *frame, const struct row *row, struct strbuf *out);
/* One object for a whole frame, with a newline. */
void json_write_frame(const struct frame *frame, const char *version, struct strbuf *out);
