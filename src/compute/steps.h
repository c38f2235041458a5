/* Figures of steps: pure. */
#pragma once

#include "model/step.h"

/* Fills what follows from the list of steps, the slow ones included. 0 or -ENOMEM. */
int steps_measure(struct step_series *s);
