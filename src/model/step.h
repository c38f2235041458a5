/* The steps of a run: how long they took, and what the slow ones had otherwise. */
#pragma once

#include "model/limit.h"
#include "model/phase.h"

/* How a program does it: for messages. */
#define STEPS_HOW "mark steps (assay.step_end(), assay mark step)"

enum step_figure {
#define STEP_FIGURE(id, name, words, unit, least) STEP_FIGURE_##id,
#include "model/step_figures.def"
#undef STEP_FIGURE
        STEP_FIGURE_COUNT
};

struct step_figure_info {
        const char *name, *words;
        enum unit unit;
        double least; /* a difference of less is not worth reporting */
};

const struct step_figure_info *step_figure_info(enum step_figure figure);

struct run_step {
        int64_t begin_ns, end_ns;
        double seconds;
        double waited; /* for data; NAN when not known */
};

#define STEP_SLOW 1.5     /* of the median: a longer step is slow */
#define STEP_SLOW_LEAST 8 /* steps: with fewer none is called slow */
#define STEP_SLOW_KEPT 5  /* that cost most */
#define STEP_LINE_MAX 200
#define STEP_SERIES_MAX 64

struct slow_step {
        size_t at; /* from 1 */
        struct run_step step;
        char phase[PHASE_NAME_MAX]; /* that took most of it, and most of few others; or empty */
        double phase_s;
        bool has_limiter, is_like_others; /* the limiter is the usual one */
        enum limiter limiter;
        double own[STEP_FIGURE_COUNT]; /* NAN when not known */
        char line[STEP_LINE_MAX];      /* that the program was in for most of it; or empty */
        double line_share;
};

/* The steps of one name and process. */
struct step_series {
        char name[PHASE_NAME_MAX], host[64];
        int64_t pid;
        struct run_step *list; /* in order of time; owned */
        size_t n, cap;
        double seconds; /* of all steps */
        double mean, p50, p95, longest;
        double jitter; /* seconds: what two thirds of the steps stay within, either way */
        double per_s;  /* between the first and the last; 0 when not known */
        double waited; /* in all; NAN when not known */
        double waited_usual;
        size_t n_slow;
        double slow_s; /* what they took beyond the median */
        double usual[STEP_FIGURE_COUNT];
        size_t n_reported;
        struct slow_step slow[STEP_SLOW_KEPT]; /* the costliest first */
};

/* What the model's arithmetic is of what the GPUs could do, while steps ran. */
struct mfu {
        double flops_per_step; /* on all GPUs; 0: nobody said */
        double flops_per_s;    /* of the model, in a mean step */
        double peak;           /* of these GPUs, dense; 0 when not known */
        size_t gpus;           /* that worked */
        const char *type;      /* of the peak */
        bool is_assumed;       /* nobody declared the type */
};

struct run_steps {
        struct mfu mfu;           /* of the first series */
        struct step_series *list; /* the one with most steps first; owned */
        size_t n;
};

/* Whether a slow step's figure differs from the usual one by as much as is worth reporting. */
bool slow_step_differs(const struct step_series *s, const struct slow_step *slow,
                       enum step_figure figure);
void run_steps_finish(struct run_steps *s);
