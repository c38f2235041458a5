/* The nearest of a list of names, for "did you mean". */
#pragma once

#include <stddef.h>

/*
 * The candidate nearest to word, or NULL when none is near enough to be worth naming: one edit in
 * three letters, or the word is how the name begins.
 * candidate(i, arg) gives names until it returns NULL.
 */
const char *suggest_nearest(const char *word, const char *(*candidate)(size_t i, const void *arg),
                            const void *arg);
