/* Parts of the report's page. Only for the files of this folder. */
#pragma once

#include "base/strbuf.h"
#include "present/report/report.h"

/* What the script draws, as JSON that may stand inside a script element. */
void report_page_data(const struct summary *s, const struct traces *t, const struct report_view *v,
                      struct strbuf *out);
/* The id of the i-th chart that there can be; empty when it has nothing to show, NULL at the end.
 */
const char *report_page_chart(const struct traces *t, size_t i);
/* The elements that the script draws into, in order; chosen: of these ids alone (commas between),
 * NULL or "" for all. False when there is no curve at all. */
bool report_page_charts(const struct summary *s, const struct traces *t, const char *chosen,
                        struct strbuf *out);
/* What has to move for a limiter to go, as the style sheet has a colour for it: "host". */
const char *page_side(enum limiter limiter);
/* Whether there is a stack to show; f may be NULL. */
bool report_has_stacks(const struct flame *f);
/* The picture of the stacks with its data, and a table of the processes. */
void report_stacks(const struct flame *f, const struct stretch_list *list, struct strbuf *out);
