#include "present/exposition/text.h"

#include "base/num.h"

#include <stdio.h>

/* A label's value: hostile text stays inside its quotes. */
void text_put_escaped(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '\\' || *s == '"')
                        strbuf_putc(out, '\\');
                if (*s == '\n')
                        strbuf_puts(out, "\\n");
                else
                        strbuf_putc(out, *s);
        }
}

void text_put_label(struct strbuf *out, const char *name, const char *value)
{
        if (out->len > 0)
                strbuf_putc(out, ',');
        strbuf_puts(out, name);
        strbuf_puts(out, "=\"");
        text_put_escaped(out, value);
        strbuf_putc(out, '"');
}

void text_put_label_if(struct strbuf *out, const char *name, const char *value)
{
        if (value[0])
                text_put_label(out, name, value);
}

void text_put_label_number(struct strbuf *out, const char *name, int32_t n)
{
        char buf[16];
        snprintf(buf, sizeof(buf), "%d", n);
        text_put_label(out, name, buf);
}

void text_put_decimal(struct strbuf *out, double v, unsigned decimals)
{
        char buf[NUM_FORMAT_MAX];
        strbuf_put(out, buf, num_format(buf, v, decimals));
}

const char *family_type_name(enum family_type type)
{
        switch (type) {
        case FAMILY_GAUGE:
                return "gauge";
        case FAMILY_COUNTER:
                return "counter";
        }
        return "?";
}

void text_put_head(struct text *t, const char *name, const char *suffix, const char *type,
                   const char *help)
{
        strbuf_puts(t->out, "# HELP ");
        strbuf_puts(t->out, name);
        strbuf_puts(t->out, suffix);
        strbuf_putc(t->out, ' ');
        if (t->openmetrics) {
                text_put_escaped(t->out, help);
        } else {
                for (const char *s = help; *s; s++)
                        strbuf_puts(t->out, *s == '\\'   ? "\\\\"
                                            : *s == '\n' ? "\\n"
                                                         : (char[]){*s, 0});
        }
        strbuf_puts(t->out, "\n# TYPE ");
        strbuf_puts(t->out, name);
        strbuf_puts(t->out, suffix);
        strbuf_putc(t->out, ' ');
        strbuf_puts(t->out, type);
        strbuf_putc(t->out, '\n');
}

const struct entity *text_parent_of(const struct exposition_input *in, const struct entity *e)
{
        for (size_t i = 0; i < in->n; i++) {
                const struct entity *p = in->gpus[i].row->sample.who;
                if (p->kind == ENTITY_GPU && p != e && entity_same_gpu(p, e))
                        return p;
        }
        return e;
}

const char *text_of_device(const struct entity *e, const struct entity *parent, enum entity_text t)
{
        return parent->text[t][0] ? parent->text[t] : e->text[t];
}
