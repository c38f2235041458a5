/* What every page has: one style sheet, tables that sort, no network and no other file. */
#pragma once

#include "base/strbuf.h"

extern const char page_style[], page_style_hash[];
extern const char page_sort[], page_sort_hash[];

/* The head of a page, up to its title. script_hash: of a script of its own; NULL for none. */
void page_begin(struct strbuf *out, const char *title, const char *script_hash);
/* Its end. script: its own, whose hash page_begin was given; NULL for none. */
void page_end(struct strbuf *out, const char *script);
/* A table up to its first title; title is for screen readers. */
void page_open_table(struct strbuf *out, const char *title);
void page_close_table(struct strbuf *out);
