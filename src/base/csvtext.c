#include "base/csvtext.h"

#include "base/attr.h"
#include "base/list.h"

void csvtext_init(struct csvtext *c, char *text, size_t len)
{
        *c = (struct csvtext){.at = text, .end = text + len};
}

void csvtext_finish(struct csvtext *c)
{
        free(c->fields);
        *c = (struct csvtext){0};
}

static bool csvtext_add(struct csvtext *c, char *field)
{
        if (c->n == CSVTEXT_FIELDS_MAX)
                return true; /* wider than anything known: the rest of the row is passed over */
        if (!LIST_ROOM(c->fields, c->n, c->cap))
                return false;
        c->fields[c->n++] = field;
        return true;
}

/* Reads one field and terminates it. Returns what ended it: ',', '\n', or 0 at the end. */
static char take_field(struct csvtext *c, char **ret)
{
        char *to = c->at;
        bool quoted = c->at < c->end && *c->at == '"';
        *ret = to;
        c->at += quoted;
        while (c->at < c->end) {
                char ch = *c->at++;
                if (quoted && ch == '"') {
                        if (c->at < c->end && *c->at == '"')
                                *to++ = *c->at++;
                        else
                                quoted = false;
                } else if (!quoted && (ch == ',' || ch == '\n')) {
                        if (to > *ret && ch == '\n' && to[-1] == '\r')
                                to--;
                        *to = '\0';
                        return ch;
                } else {
                        *to++ = ch;
                }
        }
        *to = '\0';
        return 0;
}

bool csvtext_next(struct csvtext *c)
{
        while (c->at < c->end) {
                char ended = ',';
                c->n = 0;
                while (ended == ',') {
                        char *field;
                        ended = take_field(c, &field);
                        if (!csvtext_add(c, field))
                                return false;
                }
                if (c->n > 1 || c->fields[0][0] != '\0')
                        return true;
        }
        return false;
}

int csvtext_find(const struct csvtext *c, const char *name)
{
        for (size_t i = 0; i < c->n; i++) {
                if (strcmp(c->fields[i], name) == 0)
                        return (int)i;
        }
        return -1;
}
