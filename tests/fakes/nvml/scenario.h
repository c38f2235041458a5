/* A scenario: what the fake library answers, and when. See README.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GPUS_MAX 256
#define NUMBERS_MAX 64

struct answer {
        struct answer *next; /* later lines first */
        uint32_t hash;       /* of the name */
        char *name;          /* "nvmlDeviceGetClockInfo/1", "gpm/2", "*" */
        double from_s;
        int rc;
        char crash; /* 's' by SIGSEGV, 'a' by abort(), 'e' by exit(); 0 when the call returns */
        bool hang, none; /* none: as if the line before had not been */
        double delay_ms;
        char *text; /* what follows the code */
};

struct node { /* the system, a GPU, or a MIG device */
        struct answer *answers;
        struct node *parent, *slices, *next;
        int index, gi, ci, n_slices;
        unsigned long xids_taken;
        bool any_call; /* there is a "*" among the answers */
};

struct block; /* memory to free */

struct scenario {
        struct block *blocks;
        struct node system;
        struct node *gpu[GPUS_MAX];
        unsigned n;
};

/* Ends the program with a message when the file cannot be read: this is for tests only. */
void scenario_load(struct scenario *s, const char *path);
void scenario_free(struct scenario *s);
/* The answer in force at that moment; a "*" of the node or its GPU comes first. NULL for none. */
const struct answer *scenario_find(const struct node *node, const char *name, double now_s);
/* Numbers of an answer's text, split at blanks and colons. */
int scenario_numbers(const struct answer *a, double ret[NUMBERS_MAX]);
