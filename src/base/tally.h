/* What was left out and why: for each reason a few names and a count, however many there are. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>

#define TALLY_REASONS_MAX 8
#define TALLY_NAMES_MAX 3
#define TALLY_WHY_MAX 240

struct tally_row {
        char why[TALLY_WHY_MAX];
        char *names[TALLY_NAMES_MAX]; /* of the first ones; owned */
        size_t n;
};

/* All zeros to begin with. */
struct tally {
        struct tally_row rows[TALLY_REASONS_MAX];
        size_t n;
        size_t others; /* those of further reasons */
};

void tally_add(struct tally *t, const char *name, const char *why);
/*
 * "'a': a copy of another, skipping" and after some names "1997 more: …"; beyond that many reasons
 * only how many more there are. Clears it.
 */
void tally_write(struct tally *t, struct strbuf *out);
