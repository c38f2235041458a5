/* Which GPUs to show: a list the user or the environment gives, matched against what is present. */
#pragma once

#include "base/err.h"
#include "model/entity.h"

#define SELECT_TOKENS_MAX 256

enum select_kind {
        SELECT_INDEX, /* lo to hi */
        SELECT_SLICE, /* GPU lo, GPU instance gi, and compute instance ci unless it is -1 */
        SELECT_FLAT,  /* dcgmi's number lo of a slice: "GPU-I 7"; ci is 0 for "GPU-CI 7" */
        SELECT_UUID,  /* text is the start of a GPU's or MIG device's UUID */
        SELECT_PCI,   /* text is a bus id */
};

struct select_token {
        enum select_kind kind;
        enum vendor vendor; /* numbers count this vendor's GPUs; VENDOR_UNKNOWN: all, as labelled */
        const char *origin; /* the list it stands in */
        int32_t lo, hi, gi, ci;
        char text[ENTITY_TEXT_MAX];
        bool matched; /* names something that exists */
};

struct selection {
        bool all;           /* nothing is left out */
        const char *origin; /* "--gpus", "CUDA_VISIBLE_DEVICES", …; NULL when nothing chose */
        bool scoped;        /* lists of vendors: GPUs of a vendor without one are all shown */
        bool limited[VENDOR_COUNT];
        bool seen[VENDOR_COUNT]; /* there is such a GPU */
        char
            host[ENTITY_TEXT_MAX]; /* GPUs that are said to be of another are all shown; "": none */
        size_t n;
        struct select_token tokens[SELECT_TOKENS_MAX];
};

/* Understands one list. An empty list, "none", "void", "NoDevFiles" and -1 choose nothing more. */
int select_parse(const char *list, const char *origin, struct selection *ret, struct err *err);

/* A variable that chooses GPUs. */
struct select_variable {
        const char *name;
        enum vendor vendor; /* whose GPUs it hides; VENDOR_UNKNOWN for a batch system's */
};

/* The variables, best first. NULL at the end. */
const struct select_variable *select_variable_at(size_t i);
/* Understands the list of a variable. */
int select_parse_variable(const char *list, const struct select_variable *variable,
                          struct selection *ret, struct err *err);

/* Whether Intel's numbers are those of cards. Level Zero numbers tiles unless it is reported
 * otherwise. */
bool select_by_intel_cards(const char *(*get_env)(const char *name));

/*
 * The first usable of --gpus (may be NULL) and the environment; everything when show_all is set or
 * nothing is given. In the environment each vendor's variable hides that vendor's GPUs only, by the
 * vendor's own numbers; a batch system's list counts when there is none of a vendor's. getenv is a
 * parameter so that tests can give their own environment.
 */
int select_choose(const char *gpus, bool show_all, bool use_environment,
                  const char *(*get_env)(const char *name), struct selection *ret, struct err *err);

/*
 * The same for a capture or an exporter, which do not report vendors: the first usable variable
 * counts, by the numbers shown, and only for GPUs that are not said to be of another host than this
 * one.
 */
int select_choose_noting(const char *gpus, bool show_all, const char *host,
                         const char *(*get_env)(const char *name), struct selection *ret,
                         struct err *err);

/* Whether the entity is chosen; notes which tokens named something. */
bool select_includes(struct selection *s, const struct entity *e);

/*
 * The first token that matched nothing so far, as the user wrote it. Returns the list it stands in,
 * NULL when all did. A list for GPUs of a vendor of which there is none is passed over.
 */
const char *select_unmatched(const struct selection *s, char *buf, size_t size);
