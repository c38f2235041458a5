/* Letters of UTF-8 and the columns they take. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

/* How many bytes the first letter of s takes, which is not empty. The letter is 0 where they are
 * not UTF-8. */
size_t text_decode(const char *s, uint32_t *ret);
bool text_is_utf8(const char *s);
/* Whether a letter only stands for itself: no control character, none that ends a line or turns the
 * direction of writing, and not 0. */
bool text_is_plain(uint32_t code);
/* Makes a text of someone else's fit to be shown and written, in its place: what is not UTF-8, or
 * would do something to a terminal, becomes '?'. It never gets longer. */
void text_clean(char *s);
/* A line without the blanks around it: cut at its end, from where it begins. */
char *text_trim(char *s);
/* The same as text_clean for a whole text of many lines, from a place on: line ends stay. What is
 * written for people goes through here once, whatever names are in it. */
void text_clean_lines(struct strbuf *text, size_t from);
/*
 * At most that many columns of a text of someone else's. What cannot be shown, or would do
 * something to a terminal, is '?'. Returns the columns taken.
 */
size_t text_put(struct strbuf *out, const char *s, size_t columns);
/* The same, filled with blanks. */
void text_put_name(struct strbuf *out, const char *s, size_t columns);
/* How many columns the whole text takes. */
size_t text_columns(const char *s);
/* Breaks a text at blanks so it fits into that many columns, later lines indented; the first one
 * begins at the indent. A number stays with the next word: "28 %", "6.9 s". Ends the line. What
 * cannot be shown is '?'. */
void text_put_wrapped(struct strbuf *out, const char *text, size_t indent, size_t columns);
