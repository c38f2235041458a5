/* Nodes of a job as they are: of one name or clocks of their own, before anything is compared. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/apart.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCKS_APART_S 3600.0 /* less may be a late start */

static int compare_ranks(const void *a, const void *b)
{
        const struct job_rank *x = a, *y = b;
        double p = value_or(x->rank, INFINITY);
        double q = value_or(y->rank, INFINITY);
        if (p != q)
                return p < q ? -1 : 1;
        int by_node = strverscmp(x->node, y->node);
        return by_node ? by_node : strverscmp(x->gpu, y->gpu);
}

void job_sort(struct job *j)
{
        if (j->n > 1)
                qsort(j->ranks, j->n, sizeof(*j->ranks), compare_ranks);
}

/* ---- two machines of one name ---- */

static bool has_same_place(const struct job_rank *a, const struct job_rank *b)
{
        return a->uuid[0] && b->uuid[0] && strcmp(a->gpu, b->gpu) == 0 &&
               strcmp(a->node, b->node) == 0;
}

/* How many other GPUs came before that have its number and a node of its node's name: each is in a
 * machine of its own. */
static size_t machine_of(const struct job *j, size_t rank)
{
        const struct job_rank *r = &j->ranks[rank];
        size_t n = 0;
        for (size_t i = 0; i < rank; i++) {
                if (!has_same_place(&j->ranks[i], r))
                        continue;
                if (strcmp(j->ranks[i].uuid, r->uuid) == 0)
                        return j->ranks[i].machine;
                n = MAX(n, j->ranks[i].machine + 1);
        }
        return n;
}

/* "vm" becomes "vm#1" and "vm#2" where GPU 0 of one is not GPU 0 of the other. */
static void separate_nodes(struct job *j)
{
        char names[JOB_NAMES_MAX][sizeof(j->ranks[0].node)];
        size_t n_names = 0;
        for (size_t i = 0; i < j->n; i++)
                j->ranks[i].machine = machine_of(j, i);
        for (size_t i = 0; i < j->n; i++) {
                const struct job_rank *r = &j->ranks[i];
                size_t k = 0;
                while (k < n_names && strcmp(names[k], r->node) != 0)
                        k++;
                if (r->machine > 0 && k == n_names && n_names < JOB_NAMES_MAX)
                        memcpy(names[n_names++], r->node, sizeof(names[0]));
        }
        j->n_shared_names = n_names;
        if (n_names > 0)
                memcpy(j->shared_name, names[0], sizeof(j->shared_name));
        for (size_t i = 0; i < j->n; i++) {
                struct job_rank *r = &j->ranks[i];
                for (size_t k = 0; k < n_names; k++) {
                        if (strcmp(names[k], r->node) != 0)
                                continue;
                        snprintf(r->node, sizeof(r->node), "%.50s#%zu", names[k], r->machine + 1);
                        break;
                }
        }
}

/* ---- clocks that are hours apart ---- */

static void shift_time(int64_t *ns, int64_t by)
{
        int64_t moved = 0;
        if (*ns && !__builtin_add_overflow(*ns, by, &moved))
                *ns = clock_bounded(moved);
}

static void shift_rank(struct job_rank *r, int64_t by)
{
        int64_t *const times[] = {
            &r->start_ns,     &r->stop_ns,           &r->track.start_ns,  &r->use.held_ns,
            &r->use.first_ns, &r->use.work_ns,       &r->use.last_ns,     &r->use.own_ns,
            &r->own.last_ns,  &r->use.idle_since_ns, &r->use.save.end_ns, &r->use.save.begin_ns};
        for (size_t i = 0; i < ARRAY_LEN(times); i++)
                shift_time(times[i], by);
        for (size_t i = 0; i < JOB_PAUSES_MAX; i++) {
                shift_time(&r->use.pauses[i].begin_ns, by);
                shift_time(&r->use.pauses[i].end_ns, by);
                shift_time(&r->use.saves[i].begin_ns, by);
                shift_time(&r->use.saves[i].end_ns, by);
        }
        for (size_t i = 0; i < JOB_CPU_POINTS; i++)
                shift_time(&r->own.at_ns[i], by);
        for (size_t i = 0; i < JOB_GROWTH_MAX; i++)
                shift_time(&r->own.grown_ns[i], by);
        for (size_t k = 0; k < r->n_series; k++) {
                for (size_t b = 0; b < r->series[k].n; b++)
                        r->series[k].begin_s[b] += clock_to_seconds(by);
        }
        r->clock_s = -clock_to_seconds(by);
}

static int64_t end_of(const struct job_rank *r)
{
        int64_t end = r->stop_ns;
        if (r->track.n > 0)
                end = MAX(end, r->track.start_ns + (int64_t)r->track.n * r->track.width_ns);
        return MAX(end, r->start_ns);
}

/* The first start of a node's ranks, and the last end. False when another rank of it came before.
 */
static bool span_of_node(const struct job *j, size_t rank, int64_t *ret_start, int64_t *ret_end)
{
        *ret_start = j->ranks[rank].start_ns;
        *ret_end = end_of(&j->ranks[rank]);
        for (size_t i = 0; i < j->n; i++) {
                if (strcmp(j->ranks[i].node, j->ranks[rank].node) != 0)
                        continue;
                if (i < rank)
                        return false;
                *ret_start = MIN(*ret_start, j->ranks[i].start_ns);
                *ret_end = MAX(*ret_end, end_of(&j->ranks[i]));
        }
        return true;
}

/* A node that ran hours before or after the others ran with them, by another clock. */
static int move_clocks(struct job *j)
{
        double *starts = calloc(j->n + 1, sizeof(*starts));
        if (!starts)
                return -ENOMEM;
        for (size_t i = 0; i < j->n; i++)
                starts[i] = clock_to_seconds(j->ranks[i].start_ns - j->ranks[0].start_ns);
        double middle_s = job_median(starts, j->n);
        free(starts);
        size_t like = 0;
        for (size_t i = 1; i < j->n; i++) {
                double now = clock_to_seconds(j->ranks[i].start_ns - j->ranks[0].start_ns);
                double best = clock_to_seconds(j->ranks[like].start_ns - j->ranks[0].start_ns);
                like = fabs(now - middle_s) < fabs(best - middle_s) ? i : like;
        }
        int64_t start = j->ranks[like].start_ns, end = end_of(&j->ranks[like]), from, to;
        for (size_t i = 0; i < j->n; i++) {
                if (!span_of_node(j, i, &from, &to) || (from < end && to > start))
                        continue;
                double apart = fabs(clock_to_seconds(from - start));
                if (apart < CLOCKS_APART_S)
                        continue;
                char node[sizeof(j->ranks[0].node)];
                memcpy(node, j->ranks[i].node, sizeof(node));
                for (size_t k = 0; k < j->n; k++) {
                        if (strcmp(j->ranks[k].node, node) == 0)
                                shift_rank(&j->ranks[k], start - from);
                }
                j->n_apart++;
                j->apart_s = MAX(j->apart_s, apart);
        }
        return 0;
}

/* ---- the rest ---- */

/* Two that have the same GPU of the same node. */
static void find_shared(struct job *j)
{
        for (size_t i = 0; i < j->n; i++) {
                for (size_t k = 0; k < i && j->ranks[i].gpu[0]; k++) {
                        if (strcmp(j->ranks[i].gpu, j->ranks[k].gpu) == 0 &&
                            strcmp(j->ranks[i].node, j->ranks[k].node) == 0)
                                j->ranks[i].shared = j->ranks[k].shared = true;
                }
        }
}

/* Ranks that several files claim. A file of several GPUs is one rank. */
static void count_twice(struct job *j)
{
        for (size_t i = 1; i < j->n; i++) {
                const struct job_rank *a = &j->ranks[i - 1], *b = &j->ranks[i];
                bool same =
                    value_is_set(a->rank) && value_is_set(b->rank) && a->rank.v == b->rank.v;
                bool before = i > 1 && value_is_set(j->ranks[i - 2].rank) &&
                              j->ranks[i - 2].rank.v == b->rank.v &&
                              strcmp(j->ranks[i - 2].file, a->file) != 0;
                if (!same || before || strcmp(a->file, b->file) == 0)
                        continue;
                if (j->n_twice++ == 0)
                        j->twice = b->rank.v;
        }
}

/* The job begins with its first session; steps are reported since then. */
static void find_span(struct job *j, int64_t base_ns)
{
        for (size_t i = 0; i < j->n; i++) {
                const struct job_rank *r = &j->ranks[i];
                j->start_ns = i == 0 ? r->start_ns : MIN(j->start_ns, r->start_ns);
                j->end_ns = i == 0 ? end_of(r) : MAX(j->end_ns, end_of(r));
        }
        double move = clock_to_seconds(base_ns - j->start_ns);
        for (size_t i = 0; i < j->n; i++) {
                for (size_t k = 0; k < j->ranks[i].n_series; k++) {
                        struct job_series *s = &j->ranks[i].series[k];
                        for (size_t b = 0; b < s->n; b++)
                                s->begin_s[b] += move;
                }
        }
}

int job_settle(struct job *j, int64_t base_ns)
{
        job_sort(j);
        count_twice(j);
        separate_nodes(j);
        int r = move_clocks(j);
        if (r == 0) {
                find_shared(j);
                find_span(j, base_ns);
        }
        return r;
}
