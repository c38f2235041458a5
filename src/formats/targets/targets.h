/*
 * The nodes of a fleet, from what reports them: lists of host names, Slurm's sinfo, Kubernetes'
 * pods; and as the JSON of Prometheus' file_sd. No I/O.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

#define TARGETS_MAX 100000
#define TARGET_HOST_MAX 256 /* bytes with the end; DNS allows 253 */
#define TARGETS_TEXT_MAX (64u << 20)

struct target {
        char host[TARGET_HOST_MAX];     /* a name or an address, without brackets */
        char instance[TARGET_HOST_MAX]; /* what the node is called; "" when host says it */
        uint16_t port;                  /* 0: the usual one */
};

struct target_list {
        struct target *list;
        size_t n, cap;
};

void targets_finish(struct target_list *t);

/*
 * Each adds to the list: 0, or ERR_DATA with the place in err; -ENOMEM. What is in the list then is
 * of no use.
 */

/* "node[001-128,200],login1:9500": names with commas or blanks between, ranges in brackets as Slurm
 * writes them. */
int targets_parse_list(struct target_list *t, const char *s, size_t len, struct err *err);
/* A file of such lists, one or more a line; # begins a comment. */
int targets_parse_hosts(struct target_list *t, const char *s, size_t len, struct err *err);
/* "NODE|GRES" a line, as 'sinfo -h -N -o %N|%G' writes; nodes whose GRES have no GPU are left out.
 */
int targets_parse_sinfo(struct target_list *t, const char *s, size_t len, struct err *err);
/* 'kubectl get pods -o json': pods that run and have an address, called as their node. */
int targets_parse_pods(struct target_list *t, const char *s, size_t len, struct err *err);

/* In the order of names (node2 before node10), each once. */
void targets_sort(struct target_list *t);
/* Reads "rack=7,cluster=a" into the labels object of each group when it is written. */
struct target_label {
        const char *name, *value;
};
/* file_sd's JSON: one group of all that need no name of their own, one each for the others. */
void targets_write(const struct target_list *t, uint16_t port, const struct target_label *labels,
                   size_t n_labels, struct strbuf *out);
