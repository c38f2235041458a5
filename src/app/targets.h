/* The nodes of a fleet as a file for Prometheus' file_sd: from Slurm, a list of hosts, Kubernetes.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

enum targets_source { TARGETS_HOSTS, TARGETS_SLURM, TARGETS_KUBERNETES };

struct targets_config {
        enum targets_source source;
        const char *hosts;     /* HOSTS: a list, "@FILE", or "@-" for the standard input */
        const char *partition; /* SLURM: of this one, or "all" */
        const char *selector;  /* KUBERNETES: which pods, as kubectl's -l has it */
        uint16_t port;         /* where nothing else is said */
        const char *labels;    /* "cluster=a,rack=7"; NULL for none */
};

/*
 * The JSON, and how many targets it has. Runs sinfo or kubectl as they are on the PATH, without a
 * shell, for 30 s at most. No target at all is an error: an empty file would end all scraping. 0,
 * or a negative code with err.
 */
int targets_make(const struct targets_config *config, struct strbuf *out, size_t *ret_n,
                 struct err *err);
