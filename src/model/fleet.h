/* What an engine knows of many GPUs: a window of time, tables, and what is missing. */
#pragma once

#include "model/document.h"

#include <stddef.h>

/* FLEET_VIEW(id, name, what) in the order of their tabs. */
#define FLEET_VIEWS(FLEET_VIEW)                                                                    \
        FLEET_VIEW(OVERVIEW, "overview", "the fleet, who wastes most, what limits it")             \
        FLEET_VIEW(USERS, "users", "GPU-hours by owner: held, observed, used, wasted")             \
        FLEET_VIEW(JOBS, "jobs", "the jobs that held or wasted most")                              \
        FLEET_VIEW(NODES, "nodes", "GPU-hours by node")                                            \
        FLEET_VIEW(WASTED, "wasted", "wasted GPU-hours by reason and owner")                       \
        FLEET_VIEW(LIMITERS, "limiters", "what limits the GPUs of the fleet")                      \
        FLEET_VIEW(HEALTH, "health", "GPUs and nodes that need somebody")

enum fleet_view {
#define FLEET_VIEW(id, name, what) FLEET_##id,
        FLEET_VIEWS(FLEET_VIEW)
#undef FLEET_VIEW
            FLEET_VIEW_COUNT
};

const char *fleet_view_name(enum fleet_view view);
const char *fleet_view_what(enum fleet_view view);
/* FLEET_VIEW_COUNT when there is none. */
enum fleet_view fleet_view_find(const char *name);

/* What is missing in a report, and what that means; a and b are the numbers in its words. */
enum fleet_notice_kind {
        FLEET_RULES_MISSED,  /* recording rules ran a of b times */
        FLEET_NO_NEWS,       /* the newest sample is a seconds old */
        FLEET_SLOW,          /* the raw counters took a seconds */
        FLEET_FIRST_MINUTES, /* the engine has only just begun */
        FLEET_BEGINS,        /* its first sample is a seconds after the window's begin */
        FLEET_NODES_CUT,     /* of a nodes the first b are shown */
        FLEET_NO_PROBLEMS,
        FLEET_UNSEEN,  /* a share of a of the GPU time was not observed */
        FLEET_ALL_OLD, /* no GPU reports at the window's end */
        FLEET_SILENT,  /* a of b GPUs or slices do not answer */
        FLEET_WARNING, /* the engine's own words */
};

#define FLEET_NOTICES_MAX 6
#define FLEET_NOTICE_MAX 240

struct fleet_notice {
        enum fleet_notice_kind kind;
        double a, b;
        char text[FLEET_NOTICE_MAX]; /* of a warning, cleaned */
};

struct fleet_report {
        const char *what; /* the view's name, or "job" */
        char engine[256]; /* its address, for people */
        int64_t from_ns, to_ns;
        bool recorded;          /* from the engine's recording rules */
        struct document tables; /* its parts alone */
        struct fleet_notice notices[FLEET_NOTICES_MAX];
        size_t n_notices;
        int64_t took_ns;
};

void fleet_report_finish(struct fleet_report *r);
void fleet_report_notice(struct fleet_report *r, enum fleet_notice_kind kind, double a, double b);
void fleet_report_warning(struct fleet_report *r, const char *text);
