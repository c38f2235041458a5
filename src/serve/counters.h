/* Counters as lines of text, "name=number": what the state file and the job records hold. */
#pragma once

#include "base/strbuf.h"
#include "model/integral.h"

/* One line each, of those that are not 0 or had something to add up. */
void counters_put(const struct integrals *in, struct strbuf *out);
/* One of them by its name; one that is not known belongs to another version and is passed over. */
void counters_set(struct integrals *in, const char *name, const char *text);
/* All lines of a text. */
void counters_parse(const char *text, struct integrals *ret);
