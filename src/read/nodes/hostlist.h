/*
 * Lists of hosts: "a,b,node[01-16,20]", as Slurm writes them, with several brackets in a name where
 * there are several, or "@FILE" with such lists in its lines.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define HOSTLIST_MAX 4096     /* hosts */
#define HOSTLIST_NAME_MAX 256 /* letters of one, its end included; a DNS name has 253 */
#define HOSTLIST_MADE_MAX 16384
#define HOSTLIST_FILE_MAX (1024 * 1024)

struct hostlist {
        char (*names)[HOSTLIST_NAME_MAX];
        size_t n, cap;
        bool addresses; /* the names may be addresses: http://node[1-4]:9400/metrics, [::1]:9400 */
        size_t made;    /* names with those that came twice */
};

/*
 * Adds the hosts of a list, each once, in its order. Blanks, commas and line ends separate; "#"
 * begins a comment. Names are what ssh and Slurm take: user@ may come before, nothing starts with a
 * dash. Addresses may have what URLs have. 0, or ERR_USAGE with what is wrong with which word;
 * -ENOMEM.
 */
int hostlist_add(struct hostlist *h, const char *text, struct err *err);
/* The same of what an option holds: a list, or "@FILE". */
int hostlist_read(struct hostlist *h, const char *option, const char *text, struct err *err);
void hostlist_finish(struct hostlist *h);
