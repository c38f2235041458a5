/* The lines that front ends of model servers were in while they were the limit. */
#pragma once

#include "model/serving_sum.h"
#include "session/session.h"

/* Fills where of those servers, from the session at path; one without stacks leaves them empty. 0
 * or a negative code with err. */
int serving_lines_find(const char *path, struct serving_totals *servings, struct err *err);
