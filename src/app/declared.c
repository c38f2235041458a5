#include "app/declared.h"

#include "session/mark.h"

#include <errno.h>
#include <string.h>

#define TYPE_MAX 16

static enum flops_type type_in(const char *data)
{
        char name[TYPE_MAX];
        return mark_text(data, "flops", name, sizeof(name)) ? flops_find(name) : FLOPS_COUNT;
}

static void take_events(const struct input *in, struct declared *d, struct strbuf *notices)
{
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                enum flops_type said = m->type == MARK_EVENT ? type_in(m->data) : FLOPS_COUNT;
                if (said == FLOPS_COUNT)
                        continue;
                if (d->has_run && d->run != said) {
                        strbuf_puts(notices, "events declare several types of FLOP; choose one "
                                             "with --flops, or declare them in phases\n");
                        d->has_run = false;
                        return;
                }
                d->has_run = true;
                d->run = said;
        }
}

static void forget_phases(struct declared *d)
{
        free(d->phases);
        d->phases = NULL;
}

/* Phases come in the order of their beginnings: those that hold a phase are on a stack. */
static int take_phases(const struct phase *phases, size_t n, struct declared *d)
{
        size_t *enclosing = calloc(n + 1, sizeof(*enclosing)), depth = 0;
        bool any = false;
        d->phases = malloc(n + 1);
        if (!enclosing || !d->phases) {
                free(enclosing);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
                enum flops_type type = type_in(phases[i].data);
                while (depth > 0 && phases[enclosing[depth - 1]].end_ns <= phases[i].begin_ns)
                        depth--;
                if (type == FLOPS_COUNT && depth > 0)
                        type = (enum flops_type)d->phases[enclosing[depth - 1]];
                d->phases[i] = (uint8_t)type;
                any |= type < FLOPS_COUNT;
                enclosing[depth++] = i;
        }
        free(enclosing);
        if (!any)
                forget_phases(d);
        return 0;
}

int declared_take(const struct config *config, const struct input *in, struct declared *ret,
                  struct strbuf *notices)
{
        if (config_is_set(config, OPT_FLOPS)) {
                ret->has_run = true;
                ret->run = flops_find(config_text(config, OPT_FLOPS));
                return 0;
        }
        take_events(in, ret, notices);
        return take_phases(in->phases, in->n_phases, ret);
}

void declared_finish(struct declared *d)
{
        forget_phases(d);
        *d = (struct declared){0};
}

void declared_use(const struct declared *d, struct stretches *stretches, struct summary *summary)
{
        stretches->has_flops = d->has_run;
        stretches->flops = d->run;
        stretches->phase_flops = d->phases;
        summary->asks_flops = d->has_run || d->phases;
}

/* The type of all phases of one name; FLOPS_COUNT when they differ or none is declared. */
static enum flops_type type_of_scope(const struct declared *d, const struct summary *s, size_t at,
                                     bool *ret_differ)
{
        enum flops_type type = FLOPS_COUNT;
        bool seen = false;
        for (size_t i = 0; d->phases && i < s->n_phases; i++) {
                if (s->scope_of[i] != at)
                        continue;
                if (seen && d->phases[i] != type) {
                        *ret_differ = true;
                        return FLOPS_COUNT;
                }
                type = (enum flops_type)d->phases[i];
                seen = true;
        }
        return type == FLOPS_COUNT && d->has_run ? d->run : type;
}

void declared_report(const struct declared *d, struct summary *s, struct strbuf *notices)
{
        bool differ = false;
        summary_count_flops(&s->scopes[0], d->has_run ? d->run : FLOPS_COUNT);
        for (size_t i = 1; i < s->n; i++)
                summary_count_flops(&s->scopes[i], type_of_scope(d, s, i, &differ));
        if (differ)
                strbuf_puts(notices,
                            "phases of one name declare several types of FLOP; their FLOP/s "
                            "are left out\n");
}
