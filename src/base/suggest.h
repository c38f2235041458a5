/* The nearest of a list of names, for "did you mean". */
#pragma once

#include <stddef.h>

/* Edits (insert, delete, replace, swap neighbours) between two words; words over 64 bytes are
 * compared by their start. */
size_t suggest_distance(const char *a, const char *b);

/*
 * The candidate nearest to word, or NULL when none is near enough to be worth naming: one edit in
 * three letters, or the word is how the name begins.
 * candidate(i, arg) gives names until it returns NULL.
 */
const char *suggest_nearest(const char *word, const char *(*candidate)(size_t i, const void *arg),
                            const void *arg);
