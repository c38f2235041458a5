/*
 * What GPUs draw at full clocks while nothing runs, kept by UUID from run to run in a small file of
 * the state folder: "UUID milliwatts" a line, the newest last. It is read once, bounded, and only
 * when nobody else could have written it; a thread of its own writes it, whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define REST_BOOK_FILE "power-at-rest"
#define REST_BOOK_GPUS 256 /* the newest are kept */
#define REST_BOOK_UUID 64

struct rest_entry {
        char uuid[REST_BOOK_UUID];
        double watts;
};

struct rest_book;

/* NULL when there is no memory. What cannot be read or written is not kept, and nobody is reported.
 */
struct rest_book *rest_book_open(const char *folder);
/* Writes what is new, and waits for that only a little. NULL is allowed. */
void rest_book_close(struct rest_book *b);
/* Watts of an earlier run, or of this one; 0 when there is nothing. */
double rest_book_find(struct rest_book *b, const char *uuid);
/* Takes what this run has learned: never waits, nothing is allocated. */
void rest_book_note(struct rest_book *b, const char *uuid, double watts);

/* The file's text; returns the number of entries. What makes no sense is left out. */
size_t rest_book_parse(const char *text, size_t len, struct rest_entry *ret, size_t max);
