#include "app/stall_causes.h"

#include "app/why.h"
#include "base/attr.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "present/report/report.h"
#include "present/why/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WATCH_S 10.0 /* as 'assay why' watches by default */
#define BEFORE_S 2.0 /* the end of a stall is part of what follows */

/* The place in which most ranks, or the only one, waited. */
static void put_common_place(const struct why *w, struct strbuf *out)
{
        for (size_t i = 0; i < w->n_ranks && out->len == 0; i++) {
                if (w->ranks[i].group == 0 && w->ranks[i].doing != WHY_UNKNOWN)
                        why_put_line(w->snapshot, w->ranks[i].thread, out);
        }
}

static void describe_stall(const struct why *w, struct stretch_stall *s)
{
        struct strbuf text = {0};
        if (w->outcome == WHY_FOUND && w->n_findings > 0) {
                const struct why_cause_info *info = why_cause_info(w->findings[0].cause);
                why_put_finding(w, &w->findings[0], &text);
                s->cause = info->name;
                s->advice = info->advice;
        } else {
                put_common_place(w, &text);
                if (text.len > 0)
                        snprintf(s->words, sizeof(s->words), "it was at ");
        }
        size_t n = strlen(s->words);
        snprintf(s->words + n, sizeof(s->words) - n, "%s", strbuf_str(&text));
        text_clean(s->words); /* a letter may have been cut */
        strbuf_finish(&text);
}

int stall_causes_find(const char *path, struct stretch_list *list, struct err *err)
{
        int code = 0;
        for (size_t i = 0; code >= 0 && i < MIN(list->n_stalls, (size_t)REPORT_FINDINGS); i++) {
                struct why_reading r = {0};
                struct err ignored = {0};
                code = why_read_recorded(path, MAX(list->stalls[i].end_s - BEFORE_S, 0), WATCH_S,
                                         &r, &ignored);
                if (code == 0)
                        describe_stall(&r.why, &list->stalls[i]);
                else if (code == -ENOMEM)
                        *err = ignored;
                code = code == -ENOMEM ? code : 0;
                why_reading_finish(&r);
        }
        return code;
}
