#include "compute/ranks/group.h"

#include "base/attr.h"

#include <string.h>

/* Of the time of the shorter run: less happens by chance where one run follows another. */
#define OVERLAP_SHARE 0.5

static bool has_same_value(struct value a, struct value b)
{
        return value_is_set(a) == value_is_set(b) && (!value_is_set(a) || a.v == b.v);
}

static bool is_copy(const struct run_identity *a, const struct run_identity *b)
{
        return a->readable && b->readable && a->start_ns != 0 && a->start_ns == b->start_ns &&
               a->end_ns == b->end_ns && a->command == b->command &&
               has_same_value(a->rank, b->rank) && strcmp(a->node, b->node) == 0 &&
               strcmp(a->job, b->job) == 0 && a->n_gpus == b->n_gpus &&
               (a->n_gpus == 0 || memcmp(a->gpus, b->gpus, a->n_gpus * sizeof(*a->gpus)) == 0);
}

static bool runs_overlap(const struct run_identity *a, const struct run_identity *b)
{
        int64_t from = MAX(a->start_ns, b->start_ns), to = MIN(a->end_ns, b->end_ns);
        double shorter =
            MIN((double)a->end_ns - (double)a->start_ns, (double)b->end_ns - (double)b->start_ns);
        return a->start_ns != 0 && b->start_ns != 0 && to > from &&
               (double)to - (double)from >= OVERLAP_SHARE * shorter;
}

/* Whether no GPU is in both; false when one of them has none. */
static bool has_other_gpus(const struct run_identity *a, const struct run_identity *b)
{
        size_t i = 0, k = 0;
        while (i < a->n_gpus && k < b->n_gpus) {
                if (a->gpus[i] == b->gpus[k])
                        return false;
                if (a->gpus[i] < b->gpus[k])
                        i++;
                else
                        k++;
        }
        return a->n_gpus > 0 && b->n_gpus > 0;
}

/* One of several ranks, whether or not there is a name for the job. */
static bool is_rank(const struct run_identity *r)
{
        return value_is_set(r->rank) && !(value_is_set(r->world) && r->world.v <= 1);
}

static bool names_job(const struct run_identity *r)
{
        return r->readable && (r->job[0] || (is_rank(r) && value_is_set(r->world)));
}

/* By what both say. A launcher without a name for its jobs is taken by command and world size. */
static bool names_same_job(const struct run_identity *a, const struct run_identity *b)
{
        if (!names_job(a) || !names_job(b) || strcmp(a->job, b->job) != 0)
                return false;
        if (!a->job[0])
                return a->command == b->command && has_same_value(a->world, b->world);
        return (value_is_set(a->rank) && value_is_set(b->rank)) || runs_overlap(a, b);
}

/* The same run of that job, where ranks occur several times: it may have been started again. */
static bool has_same_start(const struct run_identity *a, const struct run_identity *b)
{
        return names_same_job(a, b) && runs_overlap(a, b) && a->command == b->command &&
               has_same_value(a->world, b->world);
}

static bool is_like_job(const struct run_identity *a, const struct run_identity *b)
{
        return a->readable && b->readable && !names_job(a) && !names_job(b) && a->command != 0 &&
               a->command == b->command && runs_overlap(a, b) && has_other_gpus(a, b);
}

static void join_groups(size_t *group, size_t n, size_t a, size_t b)
{
        size_t to = MIN(group[a], group[b]), from = MAX(group[a], group[b]);
        for (size_t i = 0; i < n && to != from; i++)
                group[i] = group[i] == from ? to : group[i];
}

typedef bool run_relation(const struct run_identity *a, const struct run_identity *b);

/* Joins what stands in the relation; only: within this group. SIZE_MAX: everywhere. */
static void join_related(const struct run_identity *runs, size_t n, size_t *group, size_t only,
                         const bool *in, run_relation *related)
{
        for (size_t i = only == SIZE_MAX ? 0 : only; i < n; i++) {
                for (size_t k = 0; k < i && group[i] != GROUP_COPY; k++) {
                        if (group[k] != GROUP_COPY && group[i] != group[k] &&
                            (!in || (in[i] && in[k])) && related(&runs[i], &runs[k]))
                                join_groups(group, n, i, k);
                }
        }
}

static bool has_rank_twice(const struct run_identity *runs, size_t n, const size_t *group,
                           size_t at)
{
        for (size_t i = at; i < n; i++) {
                for (size_t k = at; k < i && group[i] == at; k++) {
                        if (group[k] == at && value_is_set(runs[i].rank) &&
                            has_same_value(runs[i].rank, runs[k].rank))
                                return true;
                }
        }
        return false;
}

static void dissolve_group(size_t *group, size_t n, size_t at, bool *in)
{
        for (size_t i = 0; i < n; i++)
                in[i] = group[i] == at;
        for (size_t i = 0; i < n; i++)
                group[i] = in[i] ? i : group[i];
}

/* A chain of runs of which not all overlap is a sweep over two GPUs, and no job. */
static bool all_are_like_job(const struct run_identity *runs, size_t n, const size_t *group,
                             size_t at)
{
        for (size_t i = at; i < n; i++) {
                for (size_t k = at; k < i && group[i] == at; k++) {
                        if (group[k] == at && !is_like_job(&runs[i], &runs[k]))
                                return false;
                }
        }
        return true;
}

static void find_copies(const struct run_identity *runs, size_t n, size_t *group)
{
        for (size_t i = 0; i < n; i++) {
                group[i] = i;
                for (size_t k = 0; k < i && group[i] == i; k++) {
                        if (group[k] == k && is_copy(&runs[i], &runs[k]))
                                group[i] = GROUP_COPY;
                }
        }
}

void runs_group(const struct run_identity *runs, size_t n, size_t *ret_group)
{
        bool in[JOB_RANKS_MAX];
        n = MIN(n, (size_t)JOB_RANKS_MAX);
        find_copies(runs, n, ret_group);
        join_related(runs, n, ret_group, SIZE_MAX, NULL, names_same_job);
        for (size_t at = 0; at < n; at++) {
                if (ret_group[at] != at || !has_rank_twice(runs, n, ret_group, at))
                        continue;
                dissolve_group(ret_group, n, at, in);
                join_related(runs, n, ret_group, at, in, has_same_start);
        }
        join_related(runs, n, ret_group, SIZE_MAX, NULL, is_like_job);
        for (size_t at = 0; at < n; at++) {
                if (ret_group[at] == at && !names_job(&runs[at]) &&
                    !all_are_like_job(runs, n, ret_group, at))
                        dissolve_group(ret_group, n, at, in);
        }
}

bool runs_group_is_job(const struct run_identity *runs, size_t n, const size_t *group, size_t at)
{
        size_t members = 0;
        for (size_t i = 0; i < n; i++)
                members += group[i] == at;
        return members > 1 || (members == 1 && runs[at].readable && is_rank(&runs[at]));
}
