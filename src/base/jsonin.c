#include "base/jsonin.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What jansson takes on a machine of 64 bits, with its tables half full. */
#define OBJECT_BYTES 256
#define LIST_BYTES 160
#define MEMBER_BYTES 128

size_t jsonin_weight(const char *s, size_t len)
{
        size_t weight = len;
        bool quoted = false;
        for (size_t i = 0; i < len; i++) {
                if (s[i] == '"')
                        quoted = !quoted;
                else if (quoted)
                        i += s[i] == '\\';
                else if (s[i] == '{')
                        weight += OBJECT_BYTES;
                else if (s[i] == '[')
                        weight += LIST_BYTES;
                else if (s[i] == ',')
                        weight += MEMBER_BYTES;
        }
        return weight;
}

static json_t *load_at_most(const char *s, size_t len, size_t flags, size_t most,
                            json_error_t *ret_why)
{
        if (jsonin_weight(s, len) <= most)
                return json_loadb(s, len, flags, ret_why);
        if (ret_why) {
                *ret_why = (json_error_t){.line = -1, .column = -1};
                snprintf(ret_why->text, sizeof(ret_why->text), "too many values");
        }
        return NULL;
}

json_t *jsonin_load(const char *s, size_t len, size_t flags, json_error_t *ret_why)
{
        return load_at_most(s, len, flags, JSONIN_MOST, ret_why);
}

json_t *jsonin_text(const char *s, size_t flags, json_error_t *ret_why)
{
        return load_at_most(s, strlen(s), flags, JSONIN_MOST, ret_why);
}

json_t *jsonin_load_list(const char *s, size_t len, size_t flags, json_error_t *ret_why)
{
        return load_at_most(s, len, flags, JSONIN_LIST_MOST, ret_why);
}
