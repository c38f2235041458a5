/* Words with ranges in brackets, as Slurm writes hosts: "node[01-16,20]", "r[1-2]n[001-128]". */
#pragma once

#include <stddef.h>

#define BRACKETS_WORD_MAX 1024 /* bytes of a word, its end included */
#define BRACKETS_BAD 1

/* How long the first word of a text is: up to a comma or blank that stands in no bracket, or a line
 * end. */
size_t brackets_word(const char *s, size_t n);

struct brackets {
        /* Gets every word that comes out, in order. Anything but 0 ends it. */
        int (*each)(void *arg, const char *word);
        void *arg;
        const char *why; /* it is BAD */
};

/*
 * Numbers have as many digits as the first of their range is written with. A bracket with a colon
 * in it is an address, "[::1]", and stays. 0, what each gave, or BRACKETS_BAD.
 */
int brackets_expand(struct brackets *b, const char *s, size_t n);
