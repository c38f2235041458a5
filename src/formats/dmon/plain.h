/* Makes lines of captures that somebody changed what dcgmi wrote. */
#pragma once

#include "formats/dmon/dmon.h"
#include "formats/rows.h"

/* The header without what precedes it; notes how rows are indented and divided. Valid until the
 * next call. */
struct line plain_header(struct dmon *d, const struct line *line);
/* A row by what the header showed. Valid until the next call. */
struct line plain_row(struct dmon *d, const struct line *line);
/* Cells between tabs, without blanks around them; empty ones stay. */
void plain_split_tabs(const struct line *line, struct words *ret);

/* How many values a row without a header has when it is one of the dashboard's; 0 when it is not.
 */
size_t plain_headless(const struct line *line);
/* Takes those columns for the header that is absent. */
void plain_dashboard_columns(struct dmon *d, struct batcher *b, size_t n);
