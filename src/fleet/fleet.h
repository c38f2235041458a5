/*
 * Questions to an engine that stores what 'assay serve' exports: Prometheus, VictoriaMetrics, and
 * whatever else answers PromQL over HTTP.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/fleet.h"

struct fleet_config {
        const char *engine;     /* its base URL */
        const char *token_file; /* NULL for none */
        const char *tenant;     /* NULL for none */
        int64_t timeout_ns;     /* of one question */
        int wake;               /* a descriptor that ends it all when it is readable; -1 for none */
};

/* A part of the fleet: lists such as "a,b" or "node[01-16]", in which * stands for anything; NULL
 * for all. */
struct fleet_filter {
        const char *user, *account, *partition; /* of views by owner alone */
        const char *cluster, *node;
        const char *model; /* a part of the name, in letters of any size */
};

/* Who holds GPUs: texts are "" where nothing is known. */
struct fleet_holder {
        const char *owner, *account, *partition, *job, *cluster;
        const char *nodes; /* "n1 n2" */
};

/* What is asked for. */
struct fleet_asked {
        int64_t to_ns;        /* wall clock: the end of the window */
        int64_t window_ns;    /* its length */
        unsigned rows;        /* of tables that may be long */
        double co2_g_per_kwh; /* of a job's card; 0: it has no CO2 */
        struct fleet_filter filter;
        /* Jobs that 'idle' leaves out; NULL for none. */
        bool (*leaves_out)(void *arg, const struct fleet_holder *holder);
        void *leaves_arg;
};

struct fleet;

int fleet_open(const struct fleet_config *config, struct fleet **ret, struct err *err);
void fleet_close(struct fleet *f);
/*
 * Asks all that a view needs. 1 with the report, which the caller finishes; 0 when woken; or a code
 * with a remedy in err, and no report.
 */
int fleet_collect(struct fleet *f, enum fleet_view view, const struct fleet_asked *asked,
                  struct fleet_report *ret, struct err *err);
/*
 * The same of one job, by its number or a pod's name; "OWNER/4711" and "NAMESPACE/POD" where others
 * have one of that name, too.
 */
int fleet_collect_job(struct fleet *f, const char *job, const struct fleet_asked *asked,
                      struct fleet_report *ret, struct err *err);
/* The columns of fleet_collect_idle's one table. */
enum fleet_idle_column {
        IDLE_JOB,
        IDLE_OWNER,
        IDLE_ACCOUNT,
        IDLE_PARTITION,
        IDLE_NODES,
        IDLE_GPUS,
        IDLE_HELD,
        IDLE_WASTED,
        IDLE_SHARE,
        IDLE_REASON,
        IDLE_KIND,
        IDLE_CLUSTER,
        IDLE_COLUMNS
};
/*
 * The jobs that hold GPUs now and left them idle for nine tenths of the window, which they held
 * whole. As fleet_collect.
 */
int fleet_collect_idle(struct fleet *f, const struct fleet_asked *asked, struct fleet_report *ret,
                       struct err *err);
/* Sends a JSON text to an address. 0, or a negative code with a remedy in err. */
int fleet_post_json(const char *url, const char *token_file, int64_t timeout_ns, const char *json,
                    struct err *err);
/* The questions of a view as PromQL, one a line with its name: with the rules, or without. 0, or
 * ERR_USAGE with err. */
int fleet_write_queries(enum fleet_view view, const struct fleet_asked *asked, bool recorded,
                        struct strbuf *out, struct err *err);
