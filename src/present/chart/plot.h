/*
 * A run as a chart for paper: one panel a metric above a shared time axis, phases as bands. Frames
 * stream through once into buckets, so memory is bounded; then it is drawn with a pen.
 */
#pragma once

#include "model/frame.h"
#include "model/host.h"
#include "model/phase.h"
#include "model/stretch.h"
#include "model/summary.h"
#include "present/chart/choose.h"
#include "present/chart/curve.h"
#include "present/chart/pen.h"

#define PLOT_GPUS_MAX 32 /* lines of their own; more take part in means and ranges only */
#define PLOT_BOTTLENECKS 6

struct plot_event {
        int64_t wall_ns;
        const char *name;
};

struct plot_options {
        struct choices choices;
        bool per_gpu;           /* a line for each GPU where the choice does not say */
        enum level level;       /* LEVEL_COUNT takes the first there is */
        bool level_gpus;        /* of GPUs, what the level does on them where that is known */
        double width, height;   /* units; height 0: as high as the panels need */
        size_t most_panels;     /* that there is room for; 0 for all */
        const char *title;      /* NULL is the command, or the file */
        int64_t from_ns, to_ns; /* the time that is drawn; INT64_MIN and INT64_MAX for all */
};

/* How often each bottleneck was the verdict in a bucket. */
struct strip {
        uint16_t n[CURVE_BUCKETS][PLOT_BOTTLENECKS];
};

struct plot_gpu {
        uint32_t slot;
        char label[ENTITY_LABEL_MAX];
        char host[ENTITY_TEXT_MAX], id[ENTITY_TEXT_MAX];
        char model[ENTITY_TEXT_MAX];
        struct strip *strip;
};

/* Curves are present once they have a tick. */
struct plot_panel {
        struct choice choice;
        bool each;       /* a line for each GPU or core */
        bool from_level; /* what the level's processes do on the GPUs, not what all do */
        bool limited;
        bool left_out; /* there was no room */
        struct choice limit_choice;
        struct curve *all, *limit;
        struct curve *gpus[PLOT_GPUS_MAX]; /* or one a core */
        size_t n_cores;
};

struct plot {
        struct plot_options options;
        struct plot_panel panels[CHOICES_MAX];
        size_t n_panels;
        struct plot_gpu gpus[PLOT_GPUS_MAX];
        size_t n_gpus, n_slots; /* those with lines, and how many there are */
        uint64_t seen[4];       /* slots, one bit each */
        bool started;
        int64_t zero_ns;  /* elapsed time counts from here */
        int64_t start_ns; /* of the first bucket */
        int64_t width_ns; /* of a bucket */
        int64_t end_ns;
        bool overlay;        /* lines are runs over each other, not GPUs */
        int64_t run_zero_ns; /* overlay: where this run's time begins; 0 with its first frame */
        struct phase_clock clock;
        uint64_t ticks, host_ticks;
        bool failed; /* memory was short */
};

/* zero_ns: the run's start, 0 when not known. The options are copied; the title is borrowed. */
void plot_init(struct plot *p, const struct plot_options *options, int64_t zero_ns);
void plot_finish(struct plot *p);
/*
 * What comes next is another run, drawn over those before as a line of its own: the mean of its
 * GPUs, from its own beginning, or from from_ns where that is later. False when there are too many.
 */
bool plot_begin_run(struct plot *p, const char *name, int64_t zero_ns, int64_t from_ns,
                    int64_t to_ns);
/* All frames first, then the host. Moments come in order. 0 or -ENOMEM. */
int plot_add_frame(struct plot *p, const struct frame *f);
int plot_add_host(struct plot *p, const struct host *h);
/* Names the GPUs, when all is added. */
void plot_name_gpus(struct plot *p, const struct naming *naming);
/* A number of the run's own; which: its place among the user's names. */
int plot_add_user(struct plot *p, int64_t wall_ns, size_t which, double v);

/* What is drawn beside the curves; all borrowed. */
struct plot_context {
        const struct run_facts *facts;
        const struct phase *phases; /* sorted by their beginning */
        size_t n_phases;
        const struct plot_event *events;
        size_t n_events;
        const struct stretch_list *limits; /* what limited the GPUs; NULL when not known */
        int64_t limits_ns;                 /* the moment that its times count from */
        const char *finding;               /* one sentence, or NULL */
        const char *const *first;          /* names of panels that matter most; NULL for none */
        size_t n_first;
};

/* Draws the file into out. 0, or a negative code with err: nothing to draw, no cairo, no memory. */
int plot_draw(struct plot *p, const struct plot_context *context, enum plot_format format,
              struct strbuf *out, struct err *err);
