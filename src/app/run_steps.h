/* The steps that a recorded run marked, and what its slow ones had otherwise. */
#pragma once

#include "app/input.h"
#include "model/step.h"
#include "model/stretch.h"

struct frame;
struct host;

/* What was measured, kept while a run with steps is read. All zeros: nothing is kept. */
struct step_samples {
        bool wanted;
        int64_t *ns[2]; /* of the GPUs, of the host */
        float (*v[2])[STEP_FIGURE_COUNT];
        size_t n[2], cap[2][2];
};

/* Finds the steps of an input. 0 or -ENOMEM. */
int run_steps_find(const struct input *in, struct run_steps *ret);
void step_samples_add(struct step_samples *s, const struct frame *f);
void step_samples_add_host(struct step_samples *s, const struct host *h, enum level level);
void step_samples_finish(struct step_samples *s);
/* What the slow steps had otherwise, except lines; first_ns: when the first tick was. */
void run_steps_explain(struct run_steps *steps, const struct step_samples *samples,
                       const struct input *in, const struct stretch_list *limits, int64_t first_ns);
