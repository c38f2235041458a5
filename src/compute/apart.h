/* One among many: the middle of the others, and which stand out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Middle of a list, which is put in order; 0 of none. */
double job_median(double *v, size_t n);

/* Which values differ clearly from the others on one side (sign +1 or -1): out[i]. NAN is missing.
 * So many ranks are apart: 0 when the spread is noise, or too many differ. */
size_t job_outliers(const double *v, size_t n, int sign, double least, bool *out);
/* The same with room for n + 1 numbers: nothing is allocated. */
size_t job_outliers_in(const double *v, size_t n, int sign, double least, bool *out,
                       double *scratch);
/* The middle of all values but one; NAN when there is none. */
double job_others(const double *v, size_t n, size_t but);
/* Whether something happened to one more often than chance explains; it happened so often to n
 * others, all together. */
bool job_more_often(double times, double others, size_t n);
