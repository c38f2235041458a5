#include "fleet/query.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* After an absence of this length it is not known any more whose a counter's growth was. */
#define ABSENCE "1h"
#define GPU "cluster,instance,uuid,gi"
#define SLOT GPU ",slot"
#define NODE_PART "cluster,instance,part"
#define OWNER "kind,user,account,namespace,exported_namespace"
#define JOB OWNER ",partition,job,exported_job,pod,exported_pod"
#define RULE_STEP_S 300
#define FINE_STEP_S 60
#define FINE_STEPS_MAX 25000 /* VictoriaMetrics allows 30000 */

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

/*
 * What distinguishes one counter from another. Whatever else an engine adds (who scraped it, a
 * replica, a pod that was replaced) makes no second GPU of one, and its index may change with a
 * reboot.
 */
static const char *labels_of(const char *name)
{
        bool by_slot = strncmp(name, "assay_gpu_held_", 15) == 0 ||
                       strncmp(name, "assay_gpu_wasted_", 17) == 0;
        if (strncmp(name, "assay_node_", 11) == 0)
                return NODE_PART;
        return by_slot ? SLOT ",reason" : GPU ",limiter,finding,xid";
}

/* The newest value of each counter in a range that ended offset_s ago: counters only grow. */
static void put_newest(struct strbuf *out, const char *labels, const char *name, int len,
                       const struct query_terms *t, const char *range, int64_t offset_s)
{
        strbuf_putf(out, "max by (%s) (last_over_time(%.*s{%s}[%s]", labels, len, name, t->gpus,
                    range);
        if (offset_s > 0)
                strbuf_putf(out, " offset %llds", (long long)offset_s);
        strbuf_puts(out, "))");
}

/* That the slot, or the GPU, was known before the step. */
static void put_known(struct strbuf *out, const char *labels, const struct query_terms *t)
{
        long long step = (long long)t->step_s;
        if (strncmp(labels, SLOT, sizeof(SLOT) - 1) == 0)
                strbuf_putf(out,
                            " and on (" SLOT ") last_over_time(assay_gpu_held_seconds_total{%s}"
                            "[" ABSENCE "] offset %llds)",
                            t->gpus, step);
        else
                strbuf_putf(out, " and on (%s) (assay_gpu_up{%s} offset %llds)",
                            strcmp(labels, NODE_PART) == 0 ? "cluster,instance" : GPU, t->gpus,
                            step);
}

/* Only GPUs of a model: that is a label of assay_gpu_info alone. on: what distinguishes one from
 * another. */
static void put_model_of(struct strbuf *out, const char *on, const struct query_terms *t)
{
        if (t->model[0])
                strbuf_putf(out, " and on (%s) last_over_time(assay_gpu_info{%s}[" ABSENCE "])", on,
                            t->model);
}

static void put_model(struct strbuf *out, const struct query_terms *t)
{
        put_model_of(out, "cluster,instance,uuid", t);
}

/*
 * Newest value in the step less the newest before it: that of the step before, and after an absence
 * an older one. Where the difference is negative the counter was reset, and where there is none the
 * counter is new: then it is the value itself, but only of a slot or GPU that was known before, so
 * that after a long absence nobody is charged with what nobody saw. shown: with the GPU's index.
 */
static void put_growth_of(struct strbuf *out, bool shown, const char *name, int len,
                          const struct query_terms *t)
{
        const char *labels = labels_of(name);
        char step[32], with[128];
        snprintf(step, sizeof(step), "%llds", (long long)t->step_s);
        snprintf(with, sizeof(with), "%s%s", shown ? "gpu," : "", labels);
        strbuf_puts(out, t->model[0] ? "((((" : "(((");
        put_newest(out, with, name, len, t, step, 0);
        strbuf_puts(out, " - ");
        if (shown)
                strbuf_putf(out, "on (%s) group_left () ", labels);
        strbuf_puts(out, "(");
        put_newest(out, labels, name, len, t, step, t->step_s);
        strbuf_puts(out, " or ");
        put_newest(out, labels, name, len, t, ABSENCE, t->step_s);
        strbuf_puts(out, ")) >= 0) or (");
        put_newest(out, with, name, len, t, step, 0);
        put_known(out, labels, t);
        strbuf_puts(out, "))");
        if (t->model[0]) {
                put_model_of(out,
                             strcmp(labels, NODE_PART) == 0 ? "cluster,instance"
                                                            : "cluster,instance,uuid",
                             t);
                strbuf_putc(out, ')');
        }
}

static void put_growth(struct strbuf *out, const char *name, int len, const struct query_terms *t)
{
        put_growth_of(out, false, name, len, t);
}

static void put_event(struct strbuf *out, const char *name, int len, const struct query_terms *t)
{
        put_growth_of(out, true, name, len, t);
}

/*
 * Labels may have changed within the step: one owner a slot, who was seen to hold it longest. A
 * selection comes after that: who let go long ago is not charged with what the next one had.
 */
static void put_owner(struct strbuf *out, const char *labels, int len, const struct query_terms *t)
{
        long long step = (long long)t->step_s;
        strbuf_putf(out,
                    "* on (" SLOT ") group_left (%.*s) ((topk by (" SLOT
                    ") (1, sum_over_time(assay_gpu_owner_info{%s}[%llds]))",
                    len, labels, t->gpus, step);
        if (t->owners[0])
                strbuf_putf(out, " and last_over_time(assay_gpu_owner_info%s[%llds])", t->owners,
                            step);
        strbuf_puts(out, ") >= bool 0)");
}

/* Of one job's few series more steps are affordable. */
static int64_t fine_step_s(int64_t window_s)
{
        return (window_s / FINE_STEPS_MAX / FINE_STEP_S + 1) * FINE_STEP_S;
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
        case 'Q':
                strbuf_putf(out, "[%llds:%llds]", w - 1, (long long)fine_step_s(t->window_s));
                break;
        case 'N':
                strbuf_putf(out, "%lld", step);
                break;
        case 'K':
                strbuf_putf(out, "%u", t->rows);
                break;
        case 'F':
                strbuf_puts(out, t->gpus);
                break;
        case 'M':
                put_model(out, t);
                break;
        case 'V':
                strbuf_puts(out, t->rules);
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

static void expand_terms(struct strbuf *out, const char *s, size_t n, const struct query_terms *t)
{
        static const struct {
                char name;
                void (*put)(struct strbuf *out, const char *arg, int len,
                            const struct query_terms *t);
        } macros[] = {{'D', put_growth}, {'O', put_owner}, {'G', put_event}};
        for (size_t i = 0; i < n; i++) {
                size_t m = 0;
                bool word = i > 0 && (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_');
                while (m < ARRAY_LEN(macros) && s[i] != macros[m].name)
                        m++;
                if (m < ARRAY_LEN(macros) && !word && i + 1 < n && s[i + 1] == '(') {
                        struct strbuf arg = {0};
                        size_t len = strcspn(s + i + 2, ")");
                        expand_terms(&arg, s + i + 2, len, t);
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
        expand_terms(out, text, strlen(text), terms);
}
