/* What every page has: one style sheet, tables that sort, charts over time, no network and no other
 * file. */
#pragma once

#include "base/jsonw.h"
#include "base/strbuf.h"

#include <stdbool.h>

extern const char page_style[], page_style_hash[];
extern const char page_dark[], page_dark_hash[];
extern const char page_sort[], page_sort_hash[];
extern const char page_plot[], page_plot_hash[];
extern const char page_chart[], page_chart_hash[];
extern const char page_flame[], page_flame_hash[];

/* A script of a page, with the hash that allows it to run. */
struct page_script {
        const char *body, *hash;
};

/* A page's scripts beside those that sort tables and draw charts; n of them. */
struct page_scripts {
        bool charts;
        size_t n;
        const struct page_script *list;
};

/* The head of a page; title is the window's. scripts: as page_end is given them; NULL for none. */
void page_begin(struct strbuf *out, const char *title, const struct page_scripts *scripts);
void page_put_title(struct strbuf *out, const char *title);
/* What the script of charts draws into and shows; data is its JSON. Ends the text of the page. */
void page_put_data(struct strbuf *out, const struct strbuf *data);
void page_end(struct strbuf *out, const struct page_scripts *scripts);
/* A table up to its first title; title is for screen readers. */
void page_open_table(struct strbuf *out, const char *title);
void page_close_table(struct strbuf *out);
/* One number that matters: its title, the number, and more about it, which may be empty. */
void page_put_tile(struct strbuf *out, const char *title, const char *value, const char *more);

/* ---- data of charts ---- */

/* Members that chart.js reads are listed there. "</script>" in a name does not end the script. */
void page_put_text(struct jsonw *j, const char *name, const char *s);
/* "%.6g", as precise as a line on a chart is. */
void page_put_short(struct jsonw *j, const char *name, double v);
/* A chart: its object is open afterwards, for "limits" and "curves". */
struct page_chart {
        const char *id, *title, *unit; /* unit: may be empty */
        double top;                    /* of the axis, in that unit */
        bool chosen;                   /* its curves are those that can be chosen */
        const char *says;              /* for who cannot see it */
};
void page_begin_chart(struct jsonw *j, const struct page_chart *chart);
/* One point of a curve in two letters: v of top, from 0 to 1; NAN for nothing. */
void page_put_point(struct strbuf *out, double v, double top);
/* A bar above the charts to zoom with, and the names that can be chosen. */
void page_put_chart_bar(struct strbuf *out);
void page_put_chart(struct strbuf *out, const char *id);
