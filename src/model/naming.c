#include "model/naming.h"

#include "base/attr.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SEPARATORS ".-_:"
#define ID_LETTERS 8

/* The identities that are examined. */
struct identities {
        size_t n;
        const void *list;
        struct gpu_identity (*at)(const void *list, size_t i);
};

struct gpu_identity gpu_identity_of(const struct entity *e)
{
        const char *uuid = e->text[ENTITY_TEXT_UUID];
        return (struct gpu_identity){.host = e->text[ENTITY_TEXT_HOST],
                                     .label = e->label,
                                     .id = *uuid ? uuid : e->text[ENTITY_TEXT_PCI]};
}

static size_t common_start(const char *a, const char *b, size_t most)
{
        size_t n = 0;
        while (n < most && a[n] && a[n] == b[n])
                n++;
        return n;
}

static size_t common_end(const char *a, const char *b, size_t most)
{
        size_t x = strlen(a), y = strlen(b), n = 0;
        while (n < most && n < x && n < y && a[x - 1 - n] == b[y - 1 - n])
                n++;
        return n;
}

static bool is_separator(char c)
{
        return c != '\0' && strchr(SEPARATORS, c) != NULL;
}

/* Whether every host still has a name of its own without its first bytes: one that begins with a
 * letter, or the port of an address. "1" of gpu-1 would be read as the number of a GPU. */
static bool may_skip(const struct identities *l, size_t skip)
{
        for (size_t i = 0; i < l->n; i++) {
                const char *host = l->at(l->list, i).host, *port = strrchr(host, ':');
                bool is_port = port && port + 1 == host + skip && !strchr(port, ']');
                if (*host && !is_port && !isalpha((unsigned char)host[skip]))
                        return false;
        }
        return true;
}

/* Whole parts that all hosts share, at both ends; what is left of each differs as before. */
static void cut_hosts(const struct identities *l, const char *first, struct naming *ret)
{
        size_t skip = strlen(first), drop = skip, shortest = skip;
        bool differ = false;
        for (size_t i = 0; i < l->n; i++) {
                const char *host = l->at(l->list, i).host;
                if (!*host)
                        continue;
                skip = common_start(first, host, skip);
                drop = common_end(first, host, drop);
                shortest = MIN(shortest, strlen(host));
                differ = differ || strcmp(first, host) != 0;
        }
        if (!differ)
                return;
        while (skip > 0 && (!is_separator(first[skip - 1]) || !may_skip(l, skip)))
                skip--;
        while (drop > 0 && (!is_separator(first[strlen(first) - drop]) || skip + drop >= shortest))
                drop--;
        ret->host_skip = (uint8_t)skip;
        ret->host_drop = (uint8_t)drop;
}

/* Two of one host and label, such as a GPU and the one that replaced it. */
static void note_twins(const struct identities *l, struct naming *ret)
{
        size_t skip = UINT8_MAX;
        for (size_t i = 1; i < l->n; i++) {
                struct gpu_identity a = l->at(l->list, i - 1), b = l->at(l->list, i);
                if (strcmp(a.label, b.label) != 0 || strcmp(a.host, b.host) != 0 ||
                    strcmp(a.id, b.id) == 0)
                        continue;
                ret->with_id = true;
                skip = common_start(a.id, b.id, skip);
        }
        ret->id_skip = ret->with_id ? (uint8_t)skip : 0;
}

void naming_make(struct naming *ret, size_t n, const void *list,
                 struct gpu_identity (*at)(const void *list, size_t i))
{
        const struct identities all = {n, list, at};
        const char *first = "", *any = n > 0 ? at(list, 0).host : "";
        *ret = (struct naming){0};
        for (size_t i = 0; i < n; i++) {
                const char *host = at(list, i).host;
                ret->with_host = ret->with_host || strcmp(host, any) != 0;
                first = *first ? first : host;
        }
        if (ret->with_host)
                cut_hosts(&all, first, ret);
        note_twins(&all, ret);
        for (size_t i = 0; i < n; i++) {
                char name[GPU_NAME_MAX];
                naming_put(ret, at(list, i), name, sizeof(name));
                ret->columns = (uint8_t)MAX((size_t)ret->columns, text_columns(name));
        }
}

void naming_put(const struct naming *n, struct gpu_identity who, char *buf, size_t size)
{
        char host[ENTITY_TEXT_MAX] = "", id[ID_LETTERS + 2] = "", whole[GPU_NAME_MAX];
        size_t len = strlen(who.host), cut = (size_t)n->host_skip + n->host_drop;
        if (size == 0)
                return;
        if (n->with_host && len > 0 && len > cut)
                snprintf(host, sizeof(host), "%.*s:", (int)(len - cut), who.host + n->host_skip);
        if (n->with_id && strlen(who.id) > n->id_skip)
                snprintf(id, sizeof(id), " %.*s", ID_LETTERS, who.id + n->id_skip);
        snprintf(whole, sizeof(whole), "%s%s%s", host, who.label, id);
        len = strlen(whole);
        snprintf(buf, size, "%s", whole + (len < size ? 0 : len - size + 1));
        text_clean(buf); /* it may be cut inside a letter */
}

void naming_put_entity(const struct naming *n, const struct entity *e, char *buf, size_t size)
{
        naming_put(n, gpu_identity_of(e), buf, size);
}

bool naming_matches(const struct naming *n, const struct entity *e, const char *text)
{
        char name[GPU_NAME_MAX];
        const char *host = e->text[ENTITY_TEXT_HOST];
        size_t len = strlen(host);
        naming_put_entity(n, e, name, sizeof(name));
        return strcmp(text, e->label) == 0 || strcmp(text, name) == 0 ||
               (strncmp(text, host, len) == 0 && text[len] == ':' &&
                strcmp(text + len + 1, e->label) == 0);
}
