#include "session/mark.h"

#include "base/clock.h"
#include "base/jsonin.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const names[MARK_COUNT] = {
#define MARK(id, name) name,
    MARKS(MARK)
#undef MARK
};

const char *mark_type_name(enum mark_type type)
{
        return names[type];
}

enum mark_type mark_type_find(const char *name)
{
        size_t i = 0;
        while (i < MARK_COUNT && strcmp(names[i], name) != 0)
                i++;
        return (enum mark_type)i;
}

void mark_init(struct mark *m, enum mark_type type)
{
        *m = (struct mark){
            .wall_ns = clock_wall_ns(), .mono_ns = clock_mono_ns(), .pid = getpid(), .type = type};
        if (gethostname(m->host, sizeof(m->host) - 1) < 0)
                m->host[0] = '\0';
}

void mark_finish(struct mark *m)
{
        free(m->data);
        *m = (struct mark){0};
}

int mark_write(const struct mark *m, struct strbuf *out)
{
        json_t *o = json_pack("{s:I, s:I, s:I, s:s, s:s, s:s}", "wall_ns", (json_int_t)m->wall_ns,
                              "mono_ns", (json_int_t)m->mono_ns, "pid", (json_int_t)m->pid, "type",
                              names[m->type], "host", m->host, "name", m->name);
        if (!o)
                return -EINVAL; /* jansson takes only UTF-8 */
        if (m->has_seconds)
                json_object_set_new(o, "seconds", json_real(m->seconds));
        if (m->type == MARK_METRIC || m->has_value)
                json_object_set_new(o, "value", json_real(m->value));
        if (m->data)
                json_object_set_new(o, "data", json_string(m->data));
        char *s = json_dumps(o, JSON_COMPACT);
        json_decref(o);
        if (!s)
                return -ENOMEM;
        strbuf_puts(out, s);
        strbuf_putc(out, '\n');
        free(s);
        return 0;
}

static bool take_text(const json_t *o, const char *key, char *buf, size_t size)
{
        const char *s = json_string_value(json_object_get(o, key));
        return s && (size_t)snprintf(buf, size, "%s", s) < size;
}

static bool take_fields(const json_t *o, struct mark *m)
{
        char type[16];
        if (!take_text(o, "type", type, sizeof(type)) ||
            !take_text(o, "name", m->name, sizeof(m->name)) ||
            !take_text(o, "host", m->host, sizeof(m->host)))
                return false;
        m->type = mark_type_find(type);
        m->wall_ns = clock_bounded(json_integer_value(json_object_get(o, "wall_ns")));
        m->mono_ns = clock_bounded(json_integer_value(json_object_get(o, "mono_ns")));
        m->pid = json_integer_value(json_object_get(o, "pid"));
        m->has_seconds = json_is_number(json_object_get(o, "seconds"));
        m->seconds = json_number_value(json_object_get(o, "seconds"));
        m->has_value = json_is_number(json_object_get(o, "value"));
        m->value = json_number_value(json_object_get(o, "value"));
        const char *data = json_string_value(json_object_get(o, "data"));
        m->data = data ? strdup(data) : NULL;
        return m->type != MARK_COUNT && m->wall_ns > 0 && (!data || m->data);
}

int mark_parse(const char *s, size_t len, struct mark *ret)
{
        struct mark m = {0};
        json_t *o = jsonin_load(s, len, JSON_REJECT_DUPLICATES, NULL);
        bool fine = json_is_object(o) && take_fields(o, &m);
        json_decref(o);
        if (!fine) {
                mark_finish(&m);
                return ERR_DATA;
        }
        *ret = m;
        return 0;
}

bool mark_text(const char *data, const char *key, char *buf, size_t size)
{
        if (!data || !strstr(data, key))
                return false;
        json_t *object = jsonin_text(data, 0, NULL);
        const char *text = json_string_value(json_object_get(object, key));
        bool fits = text && strlen(text) < size;
        if (fits)
                memcpy(buf, text, strlen(text) + 1);
        json_decref(object);
        return fits;
}
