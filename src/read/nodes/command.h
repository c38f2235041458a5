/* The command line that starts assay on a node. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define COMMAND_WORDS_MAX 48
#define COMMAND_TEXT_MAX 8192

struct node_command {
        const char *argv[COMMAND_WORDS_MAX + 1]; /* ends with NULL; points into text */
        size_t n, used;
        bool full; /* something did not fit */
        char text[COMMAND_TEXT_MAX];
};

struct node_command_for {
        const char *program; /* what reaches the node, found on the PATH: ssh or srun */
        const char *words;   /* further words of --ssh, quoted as in a shell; NULL for none */
        bool is_ssh;         /* it understands OpenSSH's options */
        const char *job;     /* NULL: not through srun */
        const char *host;
        const char *remote;      /* the assay to run there */
        const char *const *asks; /* its words: plain ones, that any shell takes for themselves */
        size_t n_asks;
};

/* False when it does not fit. */
bool node_command_make(const struct node_command_for *f, struct node_command *ret);
/* Takes a command of an option apart: blanks separate, quotes and backslashes hold together. False
 * when a quote is not closed, or it is too long. */
bool node_command_split(const char *text, struct node_command *ret);
