/*
 * JSON, written into a text buffer as it is reported: no tree, and commas come by themselves.
 * Members of an object have a name, items of an array have NULL for it.
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

struct jsonw {
        struct strbuf *out;
        uint64_t arrays; /* a bit for each open bracket, the innermost lowest: [ and not { */
        unsigned depth;  /* open brackets */
        bool more;       /* something precedes it in the innermost bracket */
        bool line;       /* what comes next begins a line */
        bool spread;     /* all do, indented: for files that people read */
};

/* Up to 64 brackets deep. */
void jsonw_object(struct jsonw *j, const char *name);
void jsonw_array(struct jsonw *j, const char *name);
/* Closes the innermost. */
void jsonw_end(struct jsonw *j);
/* What comes next begins a line; for a closing bracket likewise. */
void jsonw_line(struct jsonw *j);

void jsonw_text(struct jsonw *j, const char *name, const char *s);
/* null for an empty text and for NULL. */
void jsonw_text_or_null(struct jsonw *j, const char *name, const char *s);
/* As json_put_number. */
void jsonw_number(struct jsonw *j, const char *name, double v);
void jsonw_count(struct jsonw *j, const char *name, uint64_t v);
void jsonw_whole(struct jsonw *j, const char *name, int64_t v);
/* With that many decimals. */
void jsonw_fixed(struct jsonw *j, const char *name, double v, unsigned decimals);
/* printf's %g with that many digits. */
void jsonw_short(struct jsonw *j, const char *name, double v, int digits);
void jsonw_bool(struct jsonw *j, const char *name, bool v);
void jsonw_null(struct jsonw *j, const char *name);
/* Name and comma of a value that the caller writes into the buffer. */
void jsonw_begin(struct jsonw *j, const char *name);

/* Takes the last closing bracket of an object off a text, so that more can follow in it. */
void jsonw_reopen(struct strbuf *out);

/* In quotes. Bytes that are no UTF-8, which JSON must be, become U+FFFD. */
void json_put_string(struct strbuf *out, const char *s);
/* The shortest text that reads back as the same double; null when it is infinite or no number. */
void json_put_number(struct strbuf *out, double v);
