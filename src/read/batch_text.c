#include "read/batch_text.h"

#include <string.h>

size_t batch_text_size(const struct batch *b)
{
        size_t size = 0;
        for (size_t i = 0; i < b->n; i++) {
                const struct reading *r = &b->readings[i];
                size += r->who.host_len + r->who.uuid_len;
                for (size_t k = 0; k < b->schema->n; k++)
                        size += r->values[k].text ? r->values[k].len : 0;
        }
        return size;
}

const char *batch_text_keep(char **at, const char *text, size_t len)
{
        char *to = *at;
        if (len == 0)
                return "";
        memcpy(to, text, len);
        *at += len;
        return to;
}

struct entity_key batch_text_keep_key(char **at, const struct entity_key *who)
{
        struct entity_key key = *who;
        key.host = batch_text_keep(at, who->host, who->host_len);
        key.uuid = batch_text_keep(at, who->uuid, who->uuid_len);
        return key;
}
