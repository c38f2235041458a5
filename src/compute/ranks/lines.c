/* In which line of the program a straggler is, and in which the others wait for it. */
#include "base/attr.h"
#include "compute/ranks/ranks.h"

#include <math.h>

#define LEAST 0.05 /* of the time of a main thread */
#define SURE 2.2   /* standard errors */

/* A line's share of the time of the other ranks, and how far they differ. */
struct peers {
        double mean, spread;
        size_t n;
};

static bool is_peer(const struct job *j, size_t rank)
{
        for (size_t i = 0; i < j->n_stragglers; i++) {
                if (j->stragglers[i].rank == rank)
                        return false;
        }
        return j->ranks[rank].lines.n > 0;
}

static double share_in(const struct job_rank *r, const struct profile_line *line, double *ret_se)
{
        const struct profile_line *l = line_profile_find(&r->lines, line);
        *ret_se = l ? l->se : r->lines.least;
        return l ? l->share : 0;
}

static struct peers peers_of_line(const struct job *j, const struct profile_line *line)
{
        struct peers p = {0};
        double squares = 0, errors = 0, se;
        for (size_t i = 0; i < j->n; i++) {
                if (!is_peer(j, i))
                        continue;
                double share = share_in(&j->ranks[i], line, &se);
                p.n++;
                p.mean += share;
                squares += share * share;
                errors += se;
        }
        if (p.n == 0)
                return p;
        p.mean /= (double)p.n;
        p.spread =
            MAX(sqrt(MAX(squares / (double)p.n - p.mean * p.mean, 0.0)), errors / (double)p.n);
        return p;
}

/* Keeps a line in which the two differ more than in the one before; sign: 1 where the straggler has
 * more of it. */
static void weigh_line(const struct job *j, const struct job_rank *r,
                       const struct profile_line *line, int sign, struct job_line *best)
{
        double se, own = share_in(r, line, &se);
        struct peers p = peers_of_line(j, line);
        double d = sign * (own - p.mean);
        if (line->of_workers || p.n == 0 || d < LEAST || d < SURE * hypot(se, p.spread))
                return;
        if (best->is_known && d <= sign * (best->own_share - best->peers_share))
                return;
        *best = (struct job_line){.is_known = true,
                                  .own = line->own,
                                  .inner = line->inner,
                                  .own_share = own,
                                  .peers_share = p.mean};
}

static void compare_lines(const struct job *j, struct straggler *s)
{
        const struct job_rank *r = &j->ranks[s->rank], *peer = NULL;
        for (size_t i = 0; i < j->n && !peer; i++)
                peer = is_peer(j, i) ? &j->ranks[i] : NULL;
        for (size_t i = 0; i < r->lines.n; i++)
                weigh_line(j, r, &r->lines.lines[i], 1, &s->line);
        for (size_t i = 0; peer && i < peer->lines.n; i++)
                weigh_line(j, r, &peer->lines.lines[i], -1, &s->others_line);
}

void job_compare_lines(struct job *j)
{
        for (size_t i = 0; i < j->n_stragglers; i++) {
                struct straggler *s = &j->stragglers[i];
                if (s->cause != CAUSE_LATE_START && j->ranks[s->rank].lines.n > 0)
                        compare_lines(j, s);
        }
}
