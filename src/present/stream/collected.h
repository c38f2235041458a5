/* Numbers that were collected beside the GPUs, as text and as JSON. */
#pragma once

#include "base/jsonw.h"
#include "model/collected.h"

/* "collected": {NAME: {value, unit, time}}; nothing for none. */
void collected_json_member(struct jsonw *j, const struct collected *list, size_t n);
/* The same at the end of an object that is written already. */
void collected_json_append(const struct collected *list, size_t n, struct strbuf *out);
/* "collected: queue 42, inlet 23 degC", a line; nothing for none. */
void collected_put_text(const struct collected *list, size_t n, struct strbuf *out);
