#include "fleet/query.h"

#include <ctype.h>
#include <string.h>

/* After an absence of this length it is not known any more whose a counter's growth was. */
#define ABSENCE "1h"
#define SLOT "instance,uuid,gi,slot"
#define OWNER "kind,user,account,namespace,exported_namespace"
#define JOB OWNER ",job,exported_job,pod,exported_pod"
#define RULE_STEP_S 300

static const struct {
        const char *name, *recorded, *raw;
} table[] = {
#define QUERY(id, recorded, raw) {#id, recorded, raw},
#include "fleet/queries.def"
#undef QUERY
};

const char *query_name(enum query q)
{
        return table[q].name;
}

int64_t query_step_s(int64_t window_s)
{
        static const int64_t steps[] = {60, 300, 900, 3600, 21600};
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                /* Slots are kept for a quarter of an hour: that is the longest exact step. */
                if (window_s / steps[i] <= (steps[i] < RULE_STEP_S ? 60 : QUERY_STEPS_MAX))
                        return steps[i];
        }
        return steps[ARRAY_LEN(steps) - 1];
}

bool query_is_recorded(enum query q, const struct query_terms *terms)
{
        return table[q].recorded[0] && terms->recorded;
}

void query_put_escaped(struct strbuf *out, const char *text)
{
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        strbuf_putc(out, '\\');
                if (*text == '\n')
                        strbuf_puts(out, "\\n");
                else
                        strbuf_putc(out, *text);
        }
}

void query_put_literal(struct strbuf *out, const char *text)
{
        for (; *text; text++) {
                char one[2] = {*text, '\0'};
                if (strchr("\\.+*?()|[]{}^$", *text))
                        strbuf_puts(out, "\\\\");
                query_put_escaped(out, one);
        }
}

static void put_last(struct strbuf *out, const char *name, int len, const struct query_terms *t,
                     bool before)
{
        strbuf_putf(out, "last_over_time(%.*s{%s}[", len, name, t->gpus);
        if (before)
                strbuf_putf(out, ABSENCE "] offset %llds)", (long long)t->step_s);
        else
                strbuf_putf(out, "%llds])", (long long)t->step_s);
}

/*
 * Newest value in the step less the newest before it. Where that is negative the counter was reset,
 * and where there is none the counter is new: then it is the value itself, but only of a slot that
 * was known before, so that after a long absence nobody is charged with what nobody saw.
 */
static void put_growth(struct strbuf *out, const char *name, int len, const struct query_terms *t)
{
        static const char held[] = "assay_gpu_held_seconds_total";
        strbuf_puts(out, "(((");
        put_last(out, name, len, t, false);
        strbuf_puts(out, " - ");
        put_last(out, name, len, t, true);
        strbuf_puts(out, ") >= 0) or (");
        put_last(out, name, len, t, false);
        strbuf_puts(out, " and on (" SLOT ") ");
        put_last(out, held, (int)sizeof(held) - 1, t, true);
        strbuf_puts(out, "))");
}

/* Labels may have changed within the step: one owner a slot, who holds it before who let go. */
static void put_owner(struct strbuf *out, const char *labels, int len, const struct query_terms *t)
{
        strbuf_putf(out,
                    "* on (" SLOT ") group_left (%.*s) (topk by (" SLOT
                    ") (1, last_over_time(assay_gpu_owner_info%s[%llds])) >= bool 0)",
                    len, labels, t->owners, (long long)t->step_s);
}

/* A counter of events is born with its first one, which increase() would not see. */
static void put_born(struct strbuf *out, const char *name, int len, const struct query_terms *t)
{
        long long w = (long long)t->window_s;
        strbuf_putf(out,
                    "((last_over_time(%.*s[%llds]) - last_over_time(%.*s[" ABSENCE
                    "] offset %llds)) > 0 or (last_over_time(%.*s[%llds]) unless "
                    "last_over_time(%.*s[" ABSENCE "] offset %llds)) and on (instance,uuid,gi) "
                    "last_over_time(assay_gpu_observed_seconds_total[" ABSENCE
                    "] offset %llds) or increase(%.*s[%llds]) > 0)",
                    len, name, w, len, name, w, len, name, w, len, name, w, w, len, name, w);
}

static void put_letter(struct strbuf *out, char letter, const struct query_terms *t)
{
        long long w = (long long)t->window_s, step = (long long)t->step_s;
        switch (letter) {
        case 'W':
                strbuf_putf(out, "%llds", w);
                break;
        case 'R':
                strbuf_putf(out, "[%llds]", w - 1);
                break;
        case 'S':
                strbuf_putf(out, "[%llds:%llds]", w - 1, step);
                break;
        case 'I':
                strbuf_putf(out, "%llds", step);
                break;
        case 'K':
                strbuf_putf(out, "%u", t->rows);
                break;
        case 'F':
                strbuf_puts(out, t->gpus);
                break;
        case 'P':
                strbuf_puts(out, t->owners);
                break;
        case 'U':
                strbuf_puts(out, OWNER);
                break;
        case 'J':
                strbuf_puts(out, JOB);
                break;
        default:
                break;
        }
}

static void expand(struct strbuf *out, const char *s, size_t n, const struct query_terms *t)
{
        static const struct {
                char name;
                void (*put)(struct strbuf *out, const char *arg, int len,
                            const struct query_terms *t);
        } macros[] = {{'D', put_growth}, {'O', put_owner}, {'G', put_born}};
        for (size_t i = 0; i < n; i++) {
                size_t m = 0;
                bool word = i > 0 && (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_');
                while (m < ARRAY_LEN(macros) && s[i] != macros[m].name)
                        m++;
                if (m < ARRAY_LEN(macros) && !word && i + 1 < n && s[i + 1] == '(') {
                        struct strbuf arg = {0};
                        size_t len = strcspn(s + i + 2, ")");
                        expand(&arg, s + i + 2, len, t);
                        macros[m].put(out, strbuf_str(&arg), (int)arg.len, t);
                        strbuf_finish(&arg);
                        i += 2 + len;
                } else if (s[i] == '$' && i + 1 < n) {
                        put_letter(out, s[++i], t);
                } else {
                        strbuf_putc(out, s[i]);
                }
        }
}

void query_write(enum query q, const struct query_terms *terms, struct strbuf *out)
{
        const char *text = query_is_recorded(q, terms) ? table[q].recorded : table[q].raw;
        expand(out, text, strlen(text), terms);
}
