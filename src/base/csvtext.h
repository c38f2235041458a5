/* CSV in memory, quotes and line ends inside them included. */
#pragma once

#include "base/strbuf.h"

#define CSVTEXT_FIELDS_MAX 4096

struct csvtext {
        char *at, *end; /* what is left; fields are unquoted in place */
        char **fields;  /* of the row given last, terminated */
        size_t n, cap;
};

/* Text must have one writable byte after its end. */
void csvtext_init(struct csvtext *c, char *text, size_t len);
void csvtext_finish(struct csvtext *c);
/* The next row that is not empty. False at the end or when memory is short. */
bool csvtext_next(struct csvtext *c);
/* The place of a name in the row given last, or -1. */
int csvtext_find(const struct csvtext *c, const char *name);
