/*
 * What the terminal can do, from ncurses' terminfo. The library is loaded when a screen is opened:
 * the other commands start without it. Like terminfo itself there is one terminal at a time.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

/* Learns a terminal; NULL is TERM's. 0, or an error: ERR_USAGE where it is not known. */
int terminfo_open(const char *term, int fd, struct err *err);
/* Of the terminal that is open: a capability's text, "" where it has none; it is borrowed. */
const char *terminfo_text(const char *name);
/* A number, negative where it has none. */
int terminfo_number(const char *name);
/* Appends a capability with its padding; and one that takes numbers, with these. */
void terminfo_put(struct strbuf *out, const char *text);
void terminfo_put_with(struct strbuf *out, const char *text, long first, long second);
void terminfo_close(void);
