/* The ledger of a run's time: pure. */
#pragma once

#include "model/goodput.h"
#include "model/step.h"
#include "model/stretch.h"

/*
 * Divides the time of a run, whose file, times and end are filled in. steps: the series that its
 * time is divided by, or NULL: then limits say what is known, whose times count from first_ns.
 * 0 or -ENOMEM.
 */
int goodput_measure(struct ledger *l, const struct step_series *steps, const struct phase *phases,
                    size_t n_phases, const struct stretch_list *limits, int64_t first_ns);
/* Orders the runs, leaves out those of the same time, and adds them up. */
void goodput_join(struct goodput_list *l);
