/* Phases from marks. */
#pragma once

#include "model/phase.h"
#include "session/mark.h"

/*
 * An end closes the last phase of its name that is open; what is still open ends with the run. In
 * order of their beginning; their data is that of the mark that began them, with the keys of the
 * one that ended them put into it. The caller frees *ret. 0 or -ENOMEM.
 */
int phases_from_marks(struct mark *marks, size_t n, int64_t run_end_ns, struct phase **ret,
                      size_t *ret_n);

/*
 * Chooses phases: a name, or places in the list as "5", "2:8", ":5", "3:", negative ones counted
 * from the end; the end of a range is not part of it. Moves the chosen to the front and returns how
 * many, or ERR_USAGE.
 */
int phases_choose(struct phase *phases, size_t n, const char *range, struct err *err);
