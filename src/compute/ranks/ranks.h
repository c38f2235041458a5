/*
 * The ranks of a job compared: what each did, who is late, and why. Pure: everything comes from the
 * sessions. docs/NODES.md has the rules in words.
 */
#pragma once

#include "compute/apart.h"
#include "compute/stretches.h"
#include "model/job.h"

#define JOB_FOLD_GPUS 64

/* What is gathered while a session is read, by GPU. All zeros to begin with. */
struct job_fold {
        size_t n;
        struct job_gpu gpus[JOB_FOLD_GPUS];
        int64_t tick_ns; /* of the tick before */
        int64_t host_ns; /* of the host's sample before */
        struct job_own own;
};

void job_fold_frame(struct job_fold *fold, const struct frame *f);
/* What the watched processes do, and which GPUs they use, as the host's sample reports. */
void job_fold_host(struct job_fold *fold, const struct host *h);
/* The curves of a GPU, from what its stretches are made of. 0 or -ENOMEM. */
int job_take_track(const struct stretches *s, const char *label, struct job_rank *ret);
/* Adds a step; two become one when there are too many. seconds may be 0. 0 or -ENOMEM. */
int job_add_step(struct job_rank *r, const char *name, double begin_s, double seconds);

/* By rank, then node and GPU. */
void job_sort(struct job *j);
/*
 * Before the ranks are compared: two machines of one name get names of their own, a node whose
 * clock is hours off is moved to the others, and what is odd is counted. Times of steps are since
 * base_ns; then since the job's start. 0 or -ENOMEM.
 */
int job_settle(struct job *j, int64_t base_ns);
/* Sorts the ranks, aligns their clocks, compares them and names those that hold the others up;
 * joins their findings. 0 or -ENOMEM. */
int job_find_stragglers(struct job *j);

/* ---- parts of it, for the judge and the tests ---- */

/* How late a rank is by its steps. */
struct step_late {
        bool late, lasting; /* lasting: from begin_s on, most steps are late */
        double late_s;      /* a late step, over the others' */
        double cost_s, share;
        double usual;    /* of a step, early ones negative: what is compared where it is not late */
        double chance_s; /* the mean of its steps is off by less than this */
        double begin_s;
        size_t times, of;
        size_t slow; /* steps that were much longer than the others' */
        size_t with; /* the first rank that is late in the same steps by the same; itself: none */
};

struct step_view {
        bool shows_own_time; /* the marks show each rank's own time */
        char name[PHASE_NAME_MAX];
        double step_s; /* median from one to the next */
        double warm_s; /* when steps had become usual, since the job's start */
        double covers; /* of a step, by the marks that report slow ones */
        size_t n;
        struct step_late *ranks; /* by rank; owned by the caller of job_steps */
        size_t n_slow;           /* steps that were slow for all */
        struct job_pause slow[JOB_PAUSES_MAX];
        bool between[JOB_PAUSES_MAX]; /* of those: the time passed between the marks */
};

/* Compares the steps of the ranks, and sets each rank's step_s, late_s and the clock offsets by
 * node. ret->ranks has j->n places. 0 or -ENOMEM. */
int job_steps(struct job *j, struct step_view *ret);

/*
 * COMPARED(id, sign, least, relative): what is compared rank by rank. A rank stands out that is
 * beyond the others on that side by at least so much (relative: of their middle).
 */
#define COMPARISONS(COMPARED)                                                                      \
        COMPARED(HOLDERS, 1, 0.4, false)     /* processes on its GPU */                            \
        COMPARED(LINK_SPEED, -1, 0.25, true) /* bytes a second that its PCIe link can carry */     \
        COMPARED(CLOCK, -1, 0.04, true)      /* SM clock while it works */                         \
        COMPARED(LIMIT, -1, 0.03, true)      /* power limit */                                     \
        COMPARED(ERRORS, 1, 1, false)        /* memory errors of this run */                       \
        COMPARED(IO_WAIT, 1, 0.2, false)     /* threads that wait for storage */                   \
        COMPARED(THREAD, 1, 0.15, false)     /* its busiest thread while no kernel runs */         \
        COMPARED(CPU, 1, 0.3, false)         /* cores busy in its processes */                     \
        COMPARED(IDLES, -1, 0.03, false)     /* time in which kernels ran */                       \
        COMPARED(BUSIER, 1, 0.03, false)     /* the same, on the other side */                     \
        COMPARED(DENSE, 1, 0.05, true)       /* work for the time in which kernels ran */          \
        COMPARED(DRAWS_LESS, -1, 0.05, true) /* power, where the pipes' counters are not known */  \
        COMPARED(LATE, 1, 5, false)          /* seconds until its first kernel */                  \
        COMPARED(HELD, 1, 5, false)          /* seconds until it held its GPU */                   \
        COMPARED(BEGUN, 1, 5, false)         /* seconds until its session began */                 \
        COMPARED(GROWN, 1, 5,                                                                      \
                 false) /* seconds until its processes had half of the usual memory */             \
        COMPARED(PREPARED, 1, 5, false)   /* seconds of busy processes before any kernel ran */    \
        COMPARED(PAUSED, 1, 2, false)     /* seconds in pauses that the others do not have */      \
        COMPARED(IN_SLOW, 1, 0.15, false) /* unlike itself in steps that are slow for all */

enum compared {
#define COMPARED(id, sign, least, relative) COMPARED_##id,
        COMPARISONS(COMPARED)
#undef COMPARED
            COMPARED_COUNT
};

/* Everything that rules look at. */
struct clues {
        const struct job *j;
        struct step_view steps;
        double *v[COMPARED_COUNT]; /* by rank; NAN is missing */
        bool *out[COMPARED_COUNT]; /* by rank: it stands out */
        double *work;              /* by rank, relative to the middle of all; NAN is missing */
        bool *alike;               /* by rank: its memory is as the others' */
        bool *by_node;             /* by rank: it stands out with all of its node */
        size_t growth;             /* places of grown_ns that ranks usually have */
        int64_t first_ns;          /* the first kernel of any rank */
        size_t *n_pauses;          /* by rank */
        size_t *n_common;          /* by rank: of those, pauses that most others have as well */
        double *pause_s;           /* by rank: when the first began, since the job's start */
        int64_t from_ns, to_ns;    /* all ranks are present and at work */
        double seconds;            /* between them */
};

/* Compares, with the steps that were compared before; later: only the second half of the time.
 * 0 or -ENOMEM; finish it either way. */
int clues_take(const struct job *j, const struct step_view *steps, bool later, struct clues *ret);
void clues_finish(struct clues *c);
/* Seconds of a time in which a rank saved something. */
double job_saves(const struct job_rank *r, int64_t from_ns, int64_t to_ns);

/* Which line of the program each straggler is in more than the others, and they more than it. */
void job_compare_lines(struct job *j);

/* The first rule that holds for a rank: its cause, and what says so. CAUSE_COUNT when none does. */
enum straggler_cause job_cause(const struct clues *c, size_t rank, struct straggler *ret);
