/* The tables and views of a session. What users may rely on are the views: docs/SESSION.md. */
#pragma once

#include "base/strbuf.h"

#define SESSION_APPLICATION_ID 0x61737379 /* "assy" */

/* The SQL that makes them, filled with the names this program knows. */
void session_schema(struct strbuf *out);
/* What files with model servers have beside: once more does no harm. */
void session_schema_servings(struct strbuf *out);
