/* The host as JSON: SI units, ratios from 0 to 1, null when missing and the reason beside it. */
#pragma once

#include "base/jsonw.h"
#include "model/host.h"

/* One object a level present, each on a line: what `export --host --format jsonl` writes. */
void host_json_rows(const struct host *h, struct strbuf *out);
/* A whole document around the host alone, for a machine without a GPU source. */
void host_json_document(const struct host *h, const char *version, struct strbuf *out);
/* The member "host" of an object. */
void host_json_member(struct jsonw *j, const struct host *h);
/* Adds the member "host" to the object that out ends with ("…}\n"). */
void host_json_append(const struct host *h, struct strbuf *out);
