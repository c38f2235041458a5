#include "fleet/filter.h"

#include "base/brackets.h"
#include "fleet/query.h"

#include <errno.h>
#include <stdio.h>

/* A selection of nodes is in a question ten times, and VictoriaMetrics takes 16 KiB of one. */
#define SELECTION_MAX 1000

void filter_finish(struct filter *f)
{
        strbuf_finish(&f->gpus);
        strbuf_finish(&f->who);
        strbuf_finish(&f->rules);
        strbuf_finish(&f->model);
}

struct alternatives {
        struct strbuf *out;
        size_t n;
};

/* One word as a part of a regular expression: as it is, but that * stands for anything. */
static int put_alternative(void *arg, const char *word)
{
        struct alternatives *a = arg;
        char piece[BRACKETS_WORD_MAX];
        if (a->n++ > 0)
                strbuf_putc(a->out, '|');
        for (; *word; word += *word == '*') {
                size_t n = strcspn(word, "*");
                snprintf(piece, sizeof(piece), "%.*s", (int)n, word);
                query_put_literal(a->out, piece);
                word += n;
                if (*word == '*')
                        strbuf_puts(a->out, ".*");
        }
        return a->out->len > SELECTION_MAX ? -EFBIG : 0;
}

/* ,label=~"a|b" of a list such as "a,b" or "node[01-16]". Nothing for NULL. */
static int put_selection(struct strbuf *out, const char *option, const char *label,
                         const char *before, const char *list, const char *after, struct err *err)
{
        struct alternatives a = {.out = out};
        struct brackets b = {.each = put_alternative, .arg = &a};
        int r = 0;
        if (!list)
                return 0;
        strbuf_putf(out, "%s%s=~\"%s", out->len > 0 ? "," : "", label, before);
        for (const char *at = list, *end = list + strlen(list); at < end && r == 0;) {
                size_t n = brackets_word(at, (size_t)(end - at));
                if (n > 0)
                        r = brackets_expand(&b, at, n);
                at += n + (at + n < end);
        }
        strbuf_putf(out, "%s\"", after);
        if (r == BRACKETS_BAD)
                return err_set(err, ERR_USAGE, "--%s: '%s': %s", option, list, b.why);
        if (r < 0) {
                err_set(err, ERR_USAGE, "--%s: the list is too long for one question", option);
                return err_hint(err, "* stands for anything: --%s 'node1*'", option);
        }
        if (a.n == 0)
                return err_set(err, ERR_USAGE, "--%s: the list is empty", option);
        return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int filter_init(struct filter *f, const struct fleet_filter *asked, struct err *err)
{
        const struct {
                struct strbuf *to;
                const char *option, *label, *list, *before, *after;
        } rows[] = {
            {&f->gpus, "cluster", "cluster", asked->cluster, "", ""},
            {&f->gpus, "node", "instance", asked->node, "", ""},
            {&f->who, "user", "user", asked->user, "", ""},
            {&f->who, "account", "account", asked->account, "", ""},
            {&f->who, "partition", "partition", asked->partition, "", ""},
            {&f->rules, "cluster", "cluster", asked->cluster, "", ""},
            {&f->rules, "user", "user", asked->user, "", ""},
            {&f->rules, "account", "account", asked->account, "", ""},
            {&f->model, "model", "model", asked->model, "(?i).*(", ").*"},
        };
        int r = 0;
        *f = (struct filter){
            .by_owner = !asked->partition && !asked->node && !asked->model,
            .by_node = !asked->user && !asked->account && !asked->partition && !asked->model,
        };
        for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++) {
                r = put_selection(rows[i].to, rows[i].option, rows[i].label, rows[i].before,
                                  rows[i].list, rows[i].after, err);
                f->any |= rows[i].list != NULL;
        }
        return r;
}
