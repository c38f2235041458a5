/* JSON Schemas (draft 2020-12) of the documents that commands write as JSON. */
#pragma once

#include "base/strbuf.h"

/* The definitions of all documents and their parts, one JSON object: schema.json, compiled in. */
extern const char schema_defs[];
extern const char schema_defs_hash[];

/* Appends the schema of what a command writes; false when the command writes no JSON. */
bool schema_write(const char *command, const char *version, struct strbuf *out);
