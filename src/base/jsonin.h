/* JSON that comes from elsewhere: read only where it stays small in memory. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define JSONIN_MOST ((size_t)256 << 20)       /* of one file, line or answer */
#define JSONIN_LIST_MOST ((size_t)1024 << 20) /* of a list of a whole fleet: series, pods */

/* About how many bytes a text takes once it is read. An object of two letters takes a hundred times
 * as much. What is not JSON has a weight, too. */
size_t jsonin_weight(const char *s, size_t len);
/* The same as json_loadb, with its flags, but NULL without having read it where its weight is more
 * than JSONIN_MOST. ret_why may be NULL; it is set only on failure. */
json_t *jsonin_load(const char *s, size_t len, size_t flags, json_error_t *ret_why);
/* The same of a text that ends with 0. */
json_t *jsonin_text(const char *s, size_t flags, json_error_t *ret_why);
/* The same of at most JSONIN_LIST_MOST. */
json_t *jsonin_load_list(const char *s, size_t len, size_t flags, json_error_t *ret_why);
