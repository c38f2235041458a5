/* A recorded run in numbers, and as a report: the same for `assay report` and the library. */
#pragma once

#include "app/declared.h"
#include "app/input.h"
#include "app/run_steps.h"
#include "app/serving_samples.h"
#include "base/strbuf.h"
#include "compute/flame.h"
#include "compute/serving_sum.h"
#include "compute/stretches.h"
#include "compute/summary.h"
#include "compute/where.h"
#include "config/config.h"
#include "model/trace.h"
#include "present/report/report.h"

/* All zeros to begin with, except for the callback. */
struct run_summary {
        struct input in;
        struct summary summary;
        struct traces traces;
        struct stretches stretches;
        struct where_finder where;
        const struct stack_log *stacks; /* of the session; NULL without */
        struct flame_maker flame_maker;
        struct flame flame;           /* of a page */
        enum level level;             /* whose figures are reported */
        const struct host *next_host; /* the sample of the host that lies ahead */
        bool curves;             /* are taken: the format shows them, or the reader wants them */
        bool wants_steps;        /* the reader wants them */
        bool stacks_drawn;       /* the format shows them as a picture */
        bool as_recorded;        /* nothing but the session is read, whatever options say */
        struct report_view view; /* how it is written; the events are the summary's own */
        struct report_event *events;
        struct run_steps steps;
        struct step_samples samples;            /* of a run with steps */
        bool has_servings;                      /* the host's samples report model servers */
        struct serving_totals *servings;        /* NULL without */
        struct serving_samples serving_samples; /* with curves */
        struct declared declared;
        struct strbuf notices;      /* what is worth reporting, a line each */
        void (*on_tick)(void *arg); /* called at each tick that was read; may be NULL */
        void *arg;
        /* Called with all that is read; either may be NULL. */
        void (*on_frame)(void *watch, const struct frame *f);
        void (*on_host)(void *watch, const struct host *h);
        void *watch;
};

/* Reads and summarises the run at path. 0, or a negative code with err; finish it either way. */
int run_summary_read(struct run_summary *r, const struct config *config, const char *path,
                     const char *format, struct err *err);
/* The same for a session, as text: as it was recorded, from the file alone. */
int run_summary_recorded(struct run_summary *r, const struct config *config, const char *path,
                         struct err *err);
/* The same for an input that is open already; it becomes the summary's. */
int run_summary_take(struct run_summary *r, const struct config *config, const char *format,
                     struct err *err);
/* format: text, json, html or resource-summary; the one it was read for. */
int run_summary_write(const struct run_summary *r, const char *format, struct strbuf *out,
                      struct err *err);
void run_summary_finish(struct run_summary *r);
