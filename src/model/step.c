#include "model/step.h"

#include "base/attr.h"

#include <math.h>
#include <stdlib.h>

const struct step_figure_info *step_figure_info(enum step_figure figure)
{
        static const struct step_figure_info list[STEP_FIGURE_COUNT] = {
#define STEP_FIGURE(id, name, words, unit, least) {name, words, UNIT_##unit, least},
#include "model/step_figures.def"
#undef STEP_FIGURE
        };
        return &list[figure];
}

bool slow_step_differs(const struct step_series *s, const struct slow_step *slow,
                       enum step_figure figure)
{
        double own = slow->own[figure], usual = s->usual[figure];
        return fabs(own - usual) >= MAX(step_figure_info(figure)->least, 0.2 * fabs(usual));
}

void run_steps_finish(struct run_steps *s)
{
        for (size_t i = 0; i < s->n; i++)
                free(s->list[i].list);
        free(s->list);
        *s = (struct run_steps){0};
}
