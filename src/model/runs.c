#include "model/runs.h"

#include "base/attr.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static bool has_failed(const struct run_row *r)
{
        return (value_is_set(r->exit_status) && r->exit_status.v != 0) ||
               (value_is_set(r->exit_signal) && r->exit_signal.v != 0);
}

static bool has_gpu(const struct run_row *r, uint64_t gpu)
{
        for (size_t i = 0; i < MIN(r->n_gpus, (size_t)RUN_GPUS_MAX); i++) {
                if (r->gpus[i] == gpu)
                        return true;
        }
        return false;
}

/* Ranks that share a GPU have each recorded it; it counts once. Returns the share that is new. */
static double join_gpus(struct run_row *to, const struct run_row *from)
{
        size_t more = 0;
        for (size_t i = 0; i < from->n_gpus; i++) {
                uint64_t gpu = i < RUN_GPUS_MAX ? from->gpus[i] : 0;
                if (i < RUN_GPUS_MAX && has_gpu(to, gpu))
                        continue;
                if (to->n_gpus < RUN_GPUS_MAX)
                        to->gpus[to->n_gpus] = gpu;
                to->n_gpus++;
                more++;
        }
        return from->n_gpus > 0 ? (double)more / (double)from->n_gpus : 1;
}

static void join_row(struct run_row *to, const struct run_row *from)
{
        to->n_files += from->n_files;
        to->start_ns = MIN(to->start_ns, from->start_ns);
        to->end_ns = MAX(to->end_ns, from->end_ns);
        to->seconds = to->end_ns > to->start_ns
                          ? value_ok(clock_to_seconds(to->end_ns - to->start_ns))
                          : to->seconds;
        double share = join_gpus(to, from);
        to->gpu_s += share * from->gpu_s;
        to->idle_s += share * from->idle_s;
        to->energy_j += share * from->energy_j;
        to->energies += from->energies;
        to->apart_s += share * from->apart_s;
        to->likely_s += share * from->likely_s;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                to->limiter_s[l] += share * from->limiter_s[l];
                to->first_s[l] += share * from->first_s[l];
        }
        if (strcmp(to->node, from->node) != 0)
                to->node[0] = '\0';
        if (!has_failed(to) && has_failed(from)) {
                to->exit_status = from->exit_status;
                to->exit_signal = from->exit_signal;
        }
}

static int compare_places(const void *a, const void *b)
{
        const struct run_row *x = a, *y = b;
        if (x->group != y->group)
                return x->group < y->group ? -1 : 1;
        return strverscmp(x->file, y->file);
}

void run_list_join(struct run_list *l)
{
        size_t n = 0;
        if (l->n > 1)
                qsort(l->rows, l->n, sizeof(*l->rows), compare_places);
        for (size_t i = 0; i < l->n; i++) {
                if (n > 0 && l->rows[n - 1].group == l->rows[i].group)
                        join_row(&l->rows[n - 1], &l->rows[i]);
                else
                        l->rows[n++] = l->rows[i];
        }
        l->n = n;
}

enum limiter run_row_limiter(const struct run_row *r, double *ret_share)
{
        enum limiter best = LIMITER_COUNT;
        double sum = r->apart_s;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                sum += r->limiter_s[l];
                if (r->first_s[l] > 0 &&
                    (best == LIMITER_COUNT || r->first_s[l] > r->first_s[best]))
                        best = l;
        }
        *ret_share = sum > 0 && best < LIMITER_COUNT ? r->limiter_s[best] / sum : 0;
        return best;
}

enum basis run_row_basis(const struct run_row *r)
{
        double sum = r->apart_s;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                sum += r->limiter_s[l];
        return r->likely_s > sum / 2 ? BASIS_DRIVER : BASIS_COUNTERS;
}
