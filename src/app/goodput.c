#include "app/goodput.h"

#include "app/setup.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/text.h"
#include "compute/goodput.h"
#include "present/document/document.h"
#include "present/report/goodput.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_end(const struct run_summary *r, struct ledger *l)
{
        const struct run_facts *f = &r->in.facts;
        if (value_is_set(f->exit_signal) && f->exit_signal.v > 0)
                snprintf(l->ended, sizeof(l->ended), "signal %.0f", f->exit_signal.v);
        else if (value_is_set(f->exit_status) && f->exit_status.v != 0)
                snprintf(l->ended, sizeof(l->ended), "exit status %.0f", f->exit_status.v);
        else if (r->in.session && f->stop_ns == 0)
                snprintf(l->ended, sizeof(l->ended), "cut off");
        l->is_failed = l->ended[0] != '\0';
}

/* From the recording's first moment to its last, of whatever is known. */
static void take_times(struct run_summary *r, struct ledger *l)
{
        const struct run_facts *f = &r->in.facts;
        l->begin_ns = f->start_ns > 0 ? f->start_ns : r->summary.first_ns;
        l->end_ns =
            f->stop_ns > l->begin_ns ? f->stop_ns : MAX(r->summary.last_ns, input_last_ns(&r->in));
        for (size_t i = 0; i < r->steps.n && r->steps.list[i].n > 0; i++) {
                const struct step_series *s = &r->steps.list[i];
                l->end_ns = MAX(l->end_ns, s->list[s->n - 1].end_ns);
        }
        l->end_ns = MAX(l->end_ns, l->begin_ns);
}

static int add_ledger(struct goodput_list *list, struct run_summary *r)
{
        struct ledger l = {0};
        const struct step_series *steps = r->steps.n > 0 ? &r->steps.list[0] : NULL;
        snprintf(l.file, sizeof(l.file), "%s", r->in.facts.input);
        text_clean(l.file);
        take_end(r, &l);
        take_times(r, &l);
        int code = goodput_measure(&l, steps, r->in.phases, r->in.n_phases, &r->summary.limits,
                                   r->stretches.first_wall_ns);
        if (code == 0 && !LIST_ROOM(list->list, list->n, list->cap))
                code = -ENOMEM;
        if (code == 0)
                list->list[list->n++] = l;
        return code;
}

static int read_one(const struct config *config, const char *path, struct goodput_list *list,
                    struct err *err)
{
        struct run_summary *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->wants_steps = true;
        int code = run_summary_read(r, config, path, "text", err);
        if (code == 0 && add_ledger(list, r) < 0)
                code = err_set(err, -ENOMEM, "out of memory");
        run_summary_finish(r);
        free(r);
        return code;
}

int goodput_report(const struct config *config, const char *const *paths, size_t n,
                   const char *format, size_t columns, struct strbuf *notices, struct strbuf *out,
                   struct err *err)
{
        struct goodput_list list = {0};
        struct document d;
        int code = 0;
        for (size_t i = 0; code == 0 && i < n; i++) {
                struct err why = {0};
                code = read_one(config, paths[i], &list, &why);
                if (code < 0 && (n == 1 || code == -ENOMEM)) {
                        *err = why;
                } else if (code < 0) {
                        strbuf_putf(notices, "%s, skipping\n", why.msg);
                        code = 0;
                }
        }
        if (code == 0 && list.n == 0) {
                code = err_set(err, ERR_DATA, "none of the recordings can be read");
                err_hint(err, "point at files that 'assay run' or 'assay record' wrote");
        }
        if (code == 0) {
                goodput_join(&list);
                goodput_document(&list, program_version, &d);
                code = document_write(&d, format, &(struct doc_view){.columns = columns}, out, err);
                document_finish(&d);
        }
        goodput_list_finish(&list);
        return code;
}
