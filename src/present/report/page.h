/* The parts of the report's page that are the same for all runs; compiled in from page.js, with
 * the hash that allows it to run. Only for the files of this folder. */
#pragma once

#include "base/strbuf.h"
#include "present/report/report.h"

extern const char report_page_script[], report_page_script_hash[];

/* What the script draws, as JSON that may stand inside a script element. */
void report_page_data(const struct summary *s, const struct traces *t, const struct report_view *v,
                      struct strbuf *out);
/* The elements that the script draws into, in order. False when there is no curve at all. */
bool report_page_charts(const struct summary *s, const struct traces *t, bool level,
                        struct strbuf *out);
