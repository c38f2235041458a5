/* What limits the GPUs: findings and stretches. */
#include "api/findings.h"

#include "app/summarise.h"
#include "base/jsonw.h"
#include "present/report/report.h"
#include "present/text/where.h"

#include <errno.h>
#include <string.h>

struct assay_findings {
        struct stretch_list list;
        char **texts; /* of each finding */
        char **gpus;  /* of each stretch */
        char **lines; /* of each place: PLACES_MAX of each of the list's wheres */
};

#define PLACES_MAX (WHERE_PARTS_MAX * WHERE_PLACES_MAX)

/* One of the places of all parts; NULL beyond the last. */
static const struct where_place *place_at(const struct where *where, size_t at,
                                          const struct where_part **ret_part)
{
        for (size_t i = 0; where && i < where->n; i++) {
                *ret_part = &where->parts[i];
                if (at < where->parts[i].n)
                        return &where->parts[i].places[at];
                at -= where->parts[i].n;
        }
        return NULL;
}

static char *text_of_finding(const struct stretch_list *list, size_t at)
{
        struct strbuf out = {0};
        report_finding(list, &list->findings[at], &out);
        char *text = out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        return text;
}

static char *gpus_of_stretch(const struct stretch_list *list, size_t at)
{
        struct strbuf out = {0};
        report_stretch_gpus(list, &list->list[at].gpus, &out);
        char *text = out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        return text;
}

static char *text_of_place(const struct where_place *place)
{
        struct strbuf out = {0};
        where_put_place(&out, place);
        char *text = out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        return text;
}

static bool fill_lines(struct assay_findings *f)
{
        const struct where_part *part;
        f->lines = calloc(f->list.n_wheres * PLACES_MAX + 1, sizeof(*f->lines));
        bool whole = f->lines != NULL;
        for (size_t i = 0; whole && i < f->list.n_wheres * PLACES_MAX; i++) {
                const struct where_place *place =
                    place_at(&f->list.wheres[i / PLACES_MAX], i % PLACES_MAX, &part);
                whole = !place || (f->lines[i] = text_of_place(place)) != NULL;
        }
        return whole;
}

struct assay_findings *findings_make(struct stretch_list *list)
{
        struct assay_findings *f = calloc(1, sizeof(*f));
        if (!f) {
                stretch_list_finish(list);
                return NULL;
        }
        f->list = *list;
        f->texts = calloc(list->n_findings + 1, sizeof(*f->texts));
        f->gpus = calloc(list->n + 1, sizeof(*f->gpus));
        bool whole = f->texts && f->gpus;
        for (size_t i = 0; whole && i < list->n_findings; i++)
                whole = (f->texts[i] = text_of_finding(list, i)) != NULL;
        for (size_t i = 0; whole && i < list->n; i++)
                whole = (f->gpus[i] = gpus_of_stretch(list, i)) != NULL;
        if (whole && fill_lines(f))
                return f;
        assay_findings_free(f);
        return NULL;
}

void assay_findings_free(assay_findings *f)
{
        if (!f)
                return;
        for (size_t i = 0; f->texts && i < f->list.n_findings; i++)
                free(f->texts[i]);
        for (size_t i = 0; f->gpus && i < f->list.n; i++)
                free(f->gpus[i]);
        free(f->texts);
        for (size_t i = 0; f->lines && i < f->list.n_wheres * PLACES_MAX; i++)
                free(f->lines[i]);
        free(f->gpus);
        free(f->lines);
        stretch_list_finish(&f->list);
        free(f);
}

int findings_read(const char *path, const struct config *config, struct stretch_list *ret,
                  struct err *err)
{
        struct run_summary *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        int r = run_summary_read(s, config, path, "json", err);
        if (r == 0) {
                *ret = s->summary.limits;
                s->summary.limits = (struct stretch_list){0}; /* it is the caller's now */
        }
        run_summary_finish(s);
        free(s);
        return r;
}

size_t assay_findings_count(const assay_findings *f)
{
        return f ? f->list.n_findings : 0;
}

static const char *or_null(const char *s)
{
        return s && s[0] ? s : NULL;
}

int assay_findings_get(const assay_findings *f, size_t at, struct assay_finding *ret)
{
        if (!f || !ret || at >= f->list.n_findings)
                return ASSAY_E_USAGE;
        const struct limit_finding *from = &f->list.findings[at];
        *ret = (struct assay_finding){
            .limiter = limiter_name(from->limiter),
            .held_by = held_by_name(from->held_by),
            .phase = or_null(f->list.list[from->stretch].phase),
            .gpus = f->gpus[from->stretch],
            .text = f->texts[at],
            .advice = report_finding_try(&f->list, from),
            .stretch = from->stretch,
            .stretches = from->n,
            .seconds = from->seconds,
            .gpu_seconds = from->won_s,
            .gain = from->gain,
        };
        return 0;
}

size_t assay_findings_stretches(const assay_findings *f)
{
        return f ? f->list.n : 0;
}

const char *assay_findings_basis(const assay_findings *f, size_t at)
{
        return f && at < f->list.n_findings ? basis_name(f->list.findings[at].basis) : NULL;
}

const char *assay_findings_stretch_basis(const assay_findings *f, size_t at)
{
        return f && at < f->list.n ? basis_name((enum basis)f->list.list[at].limit.basis) : NULL;
}

int assay_findings_stretch(const assay_findings *f, size_t at, struct assay_stretch *ret)
{
        if (!f || !ret || at >= f->list.n)
                return ASSAY_E_USAGE;
        const struct stretch *from = &f->list.list[at];
        bool unknown = from->limit.limiter == LIMITER_UNKNOWN;
        *ret = (struct assay_stretch){
            .begin_s = from->begin_s,
            .end_s = from->end_s,
            .gpus = f->gpus[at],
            .limiter = limiter_name((enum limiter)from->limit.limiter),
            .held_by = held_by_name((enum held_by)from->limit.held_by),
            .phase = or_null(from->phase),
            .rule =
                limiter_rule((enum limiter)(unknown ? from->limit.undecided : from->limit.limiter),
                             (enum basis)from->limit.basis),
            .duty = api_value(ceiling_value(&from->limit.ceilings, CEILING_ENGINE)),
            .uneven = from->uneven,
            .before_work = from->before_work,
            .flops = {from->flops.type, from->flops.lo, from->flops.hi},
        };
        return 0;
}

/* where: as findings and stretches number it. */
static int take_place(const assay_findings *f, size_t where, size_t at, struct assay_place *ret)
{
        const struct where_part *part = NULL;
        const struct where_place *place = place_at(stretch_list_where(&f->list, where), at, &part);
        if (!place)
                return ASSAY_E_USAGE;
        bool inside = place->inner.file[0] != '\0';
        *ret = (struct assay_place){.what = part->rule->name,
                                    .words = part->rule->words,
                                    .text = f->lines[(where - 1) * PLACES_MAX + at],
                                    .file = place->own.file,
                                    .function = place->own.function,
                                    .in_file = inside ? place->inner.file : NULL,
                                    .in_function = inside ? place->inner.function : NULL,
                                    .line = place->own.line,
                                    .in_line = place->inner.line,
                                    .looks = place->n_samples,
                                    .share = place->share,
                                    .seconds = place->seconds};
        return 0;
}

int assay_findings_place(const assay_findings *f, size_t finding, size_t at,
                         struct assay_place *ret)
{
        if (!f || !ret || finding >= f->list.n_findings)
                return ASSAY_E_USAGE;
        return take_place(f, f->list.findings[finding].where, at, ret);
}

int assay_findings_stretch_place(const assay_findings *f, size_t stretch, size_t at,
                                 struct assay_place *ret)
{
        if (!f || !ret || stretch >= f->list.n)
                return ASSAY_E_USAGE;
        return take_place(f, f->list.list[stretch].where, at, ret);
}

struct assay_value assay_findings_evidence(const assay_findings *f, size_t stretch,
                                           const char *name)
{
        for (enum ceiling i = 0; f && name && stretch < f->list.n && i < CEILING_COUNT; i++) {
                if (strcmp(ceiling_info(i)->name, name) == 0)
                        return api_value(ceiling_value(&f->list.list[stretch].limit.ceilings, i));
        }
        return (struct assay_value){.state = ASSAY_VALUE_ABSENT};
}

int assay_findings_json(const assay_findings *f, char **ret, struct assay_error *error)
{
        struct strbuf out = {0};
        if (!f || !ret)
                return api_fail(error, ASSAY_E_USAGE, "there are no findings to write",
                                "take them with assay_monitor_findings or assay_file_findings");
        struct jsonw j = {.out = &out};
        jsonw_object(&j, NULL);
        jsonw_whole(&j, "schema", REPORT_SCHEMA_VERSION);
        jsonw_number(&j, "seconds", f->list.seconds);
        report_json_limits(&f->list, &j);
        jsonw_end(&j);
        strbuf_putc(&out, '\n');
        char *text = out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        if (!text)
                return api_fail(error, -ENOMEM, "out of memory", "");
        *ret = text;
        return 0;
}
