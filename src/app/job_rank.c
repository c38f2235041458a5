/* From a session that is read to its ranks: one, or one a GPU where a launcher ran inside. */
#include "app/job_rank.h"

#include "app/digest.h"
#include "app/lines.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lookup.h"
#include "base/text.h"
#include "compute/stretches.h"
#include "session/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_SHARE 0.2 /* of the samples that the most used GPU has */

/* ---- which GPUs ---- */

static const struct gpu_summary *summary_of(const struct scope *run, const char *label)
{
        for (size_t i = 0; i < run->n; i++) {
                if (strcmp(run->gpus[i]->who.label, label) == 0)
                        return run->gpus[i];
        }
        return NULL;
}

struct choice {
        size_t n;
        size_t gpus[JOB_FOLD_GPUS];
        bool split; /* each is a rank of its own */
        bool any;   /* none is known to be the run's: the first stands for all */
};

static void choose_own(const struct job_fold *fold, struct choice *ret)
{
        double most = 0;
        for (size_t i = 0; i < fold->n; i++)
                most = MAX(most, fold->gpus[i].own);
        for (size_t i = 0; most > 0 && i < fold->n; i++) {
                if (fold->gpus[i].own >= OWN_SHARE * most)
                        ret->gpus[ret->n++] = i;
        }
}

static void choose_worked(const struct job_fold *fold, const struct scope *run, struct choice *ret)
{
        for (size_t i = 0; i < fold->n; i++) {
                const struct gpu_summary *g = summary_of(run, fold->gpus[i].label);
                if (g && g->worked)
                        ret->gpus[ret->n++] = i;
        }
        ret->any = ret->n == 0;
        if (ret->any && fold->n > 0)
                ret->gpus[ret->n++] = 0;
}

/* Whether each GPU has a process of its own. */
static bool have_own_process(const struct job_fold *fold, const struct choice *c)
{
        for (size_t i = 0; i < c->n; i++) {
                const struct job_gpu *a = &fold->gpus[c->gpus[i]];
                for (size_t k = 0; k < i; k++) {
                        const struct job_gpu *b = &fold->gpus[c->gpus[k]];
                        if (a->n_pids > 0 && b->n_pids > 0 && a->pids[0] == b->pids[0])
                                return false;
                }
        }
        return true;
}

static void choose_main_figures(const struct run_summary *s, const struct job_fold *fold,
                                struct choice *ret)
{
        const struct run_facts *f = &s->in.facts;
        const struct scope *run = &s->summary.scopes[0];
        *ret = (struct choice){0};
        choose_own(fold, ret);
        if (ret->n == 0 && value_is_set(f->local_rank) && f->local_rank.v < (double)fold->n &&
            fold->n > 1)
                ret->gpus[ret->n++] = (size_t)f->local_rank.v;
        if (ret->n == 0)
                choose_worked(fold, run, ret);
        ret->split = ret->n > 1 && have_own_process(fold, ret);
}

/* ---- one rank ---- */

static void take_facts(const struct run_summary *s, struct job_rank *r)
{
        const struct run_facts *f = &s->in.facts;
        snprintf(r->file, sizeof(r->file), "%s", f->input);
        snprintf(r->node, sizeof(r->node), "%.63s", f->host);
        snprintf(r->launcher, sizeof(r->launcher), "%s", f->launcher);
        snprintf(r->job, sizeof(r->job), "%s", f->job);
        snprintf(r->command, sizeof(r->command), "%.255s", f->command);
        text_clean(r->file);
        text_clean(r->node);
        text_clean(r->job);
        text_clean(r->launcher);
        text_clean(r->command);
        r->rank = f->rank;
        r->local_rank = f->local_rank;
        r->node_rank = f->node_rank;
        r->world = f->world;
        r->start_ns = f->start_ns ? f->start_ns : s->summary.first_ns;
        r->stop_ns = f->stop_ns;
        r->exit_status = f->exit_status;
        r->exit_signal = f->exit_signal;
        int64_t end = f->stop_ns ? f->stop_ns : s->summary.last_ns;
        r->seconds = value_is_set(f->command_s) ? f->command_s
                     : end > r->start_ns        ? value_ok(clock_to_seconds(end - r->start_ns))
                                                : value_missing(STATE_NONE);
}

static void take_own(const struct run_summary *s, const struct job_fold *fold, struct job_rank *r)
{
        r->own = fold->own;
        if (s->level == LEVEL_PROCESS)
                r->own_cpu = spread_mean(&s->summary.scopes[0].level.cpu);
}

static int average_track(const struct run_summary *s, const struct job_fold *fold,
                         const struct choice *c, struct job_rank *r)
{
        int code = job_take_track(&s->stretches, fold->gpus[c->gpus[0]].label, r);
        for (size_t i = 1; code == 0 && i < c->n; i++) {
                struct job_rank other = {0};
                code = job_take_track(&s->stretches, fold->gpus[c->gpus[i]].label, &other);
                for (size_t k = 0; code == 0 && k < JOB_FIGURE_COUNT; k++) {
                        for (size_t b = 0; b < MIN(r->track.n, other.track.n); b++)
                                r->track.v[k][b] +=
                                    (other.track.v[k][b] - r->track.v[k][b]) / (float)(i + 1);
                }
                job_rank_finish(&other);
        }
        return code;
}

static void take_gpu(const struct run_summary *s, struct job_rank *r)
{
        const struct gpu_summary *g = summary_of(&s->summary.scopes[0], r->gpu);
        if (!g)
                return;
        snprintf(r->uuid, sizeof(r->uuid), "%s", g->who.text[ENTITY_TEXT_UUID]);
        r->energy_j = g->has_energy ? value_ok(g->energy_j) : value_missing(STATE_NONE);
        r->peak_memory = spread_max(&g->m[METRIC_FB_USED]);
}

static double won_share(const struct stretch_list *l, const struct stretch *s)
{
        for (size_t i = 0; i < l->n_findings; i++) {
                const struct limit_finding *f = &l->findings[i];
                if (f->limiter == s->limit.limiter && f->held_by == s->limit.held_by &&
                    f->basis == s->limit.basis && f->before_work == s->before_work && f->gpu_s > 0)
                        return f->won_s / f->gpu_s;
        }
        return 0;
}

static void add_finding(struct job_rank *r, const struct stretch_list *l, const struct stretch *s,
                        double won)
{
        struct job_finding *f = NULL;
        double seconds = s->end_s - s->begin_s;
        for (size_t i = 0; i < r->n_findings && !f; i++) {
                struct job_finding *have = &r->findings[i];
                if (have->limiter == s->limit.limiter && have->held_by == s->limit.held_by &&
                    have->basis == s->limit.basis && have->before_work == s->before_work)
                        f = have;
        }
        if (!f && r->n_findings == JOB_FINDINGS_MAX)
                return;
        if (!f) {
                f = &r->findings[r->n_findings++];
                *f = (struct job_finding){.limiter = (enum limiter)s->limit.limiter,
                                          .held_by = (enum held_by)s->limit.held_by,
                                          .basis = (enum basis)s->limit.basis,
                                          .before_work = s->before_work};
        }
        if (seconds > f->longest_s) {
                f->longest_s = seconds;
                f->why = s->limit.ceilings;
                const struct where *where = stretch_list_where(l, s->where);
                f->rule = where ? where->parts[0].rule : NULL;
                if (where)
                        f->place = where->parts[0].places[0];
        }
        f->gpu_s += seconds;
        f->won_s += won * seconds;
}

static void take_findings(const struct run_summary *s, struct job_rank *r)
{
        const struct stretch_list *l = &s->summary.limits;
        for (size_t g = 0; g < l->n_gpus; g++) {
                if (strcmp(l->gpus[g].label, r->gpu) != 0)
                        continue;
                for (size_t i = 0; i < l->n; i++) {
                        if (gpu_set_has(&l->list[i].gpus, g))
                                add_finding(r, l, &l->list[i], won_share(l, &l->list[i]));
                }
        }
        for (size_t i = 0; i < r->n_findings; i++)
                r->findings[i].share = l->seconds > 0 ? r->findings[i].gpu_s / l->seconds : 0;
}

/* ---- steps ---- */

static double seconds_from(int64_t base_ns, int64_t ns)
{
        return clock_to_seconds(ns - base_ns);
}

static int add_phases(struct job_rank *r, const struct phase *phases, size_t n, int64_t base_ns)
{
        int code = 0;
        for (size_t i = 0; code == 0 && i < n; i++) {
                const struct phase *p = &phases[i];
                if (!p->open && p->end_ns >= p->begin_ns)
                        code = job_add_step(r, p->name, seconds_from(base_ns, p->begin_ns),
                                            clock_to_seconds(p->end_ns - p->begin_ns));
        }
        return code;
}

/* Between two events of a step lies one; a number that is a step's length ends it. */
static int add_marks(struct job_rank *r, const struct mark *marks, size_t n, int64_t base_ns)
{
        const struct mark *before = NULL;
        struct step_walk walk = {0};
        double unit_s, seconds;
        int code = 0;
        for (size_t i = 0; code == 0 && i < n; i++) {
                const struct mark *m = &marks[i];
                if (m->type == MARK_METRIC && m->value > 0 &&
                    digest_is_step_length(m->name, &unit_s))
                        code = job_add_step(r, m->name,
                                            seconds_from(base_ns, m->wall_ns) - m->value * unit_s,
                                            m->value * unit_s);
                if (step_walk_length(&walk, m, &seconds))
                        code = job_add_step(r, m->name, seconds_from(base_ns, m->wall_ns) - seconds,
                                            seconds);
                if (m->type != MARK_EVENT || !digest_is_step_event(m->name))
                        continue;
                if (before && strcmp(before->name, m->name) == 0 && m->wall_ns > before->wall_ns)
                        code = job_add_step(r, m->name, seconds_from(base_ns, before->wall_ns),
                                            clock_to_seconds(m->wall_ns - before->wall_ns));
                before = m;
        }
        return code;
}

static bool is_of(const struct job_rank *r, int64_t pid)
{
        for (size_t i = 0; i < r->use.n_pids; i++) {
                if (r->use.pids[i] == pid)
                        return true;
        }
        return false;
}

/* Of several ranks in one session, each has the marks that its process made. */
static int add_own_steps(const struct run_summary *s, struct job_rank *r, int64_t base_ns)
{
        struct mark *own = calloc(s->in.n_marks + 1, sizeof(*own));
        struct phase *phases = NULL;
        size_t n = 0, n_phases = 0;
        if (!own)
                return -ENOMEM;
        for (size_t i = 0; i < s->in.n_marks; i++) {
                if (!is_of(r, s->in.marks[i].pid))
                        continue;
                own[n] = s->in.marks[i];
                own[n++].data = NULL;
        }
        int code = phases_from_marks(own, n, INT64_MAX, &phases, &n_phases);
        if (code == 0)
                code = add_phases(r, phases, n_phases, base_ns);
        if (code == 0)
                code = add_marks(r, own, n, base_ns);
        free(phases);
        free(own);
        return code;
}

static int add_steps(const struct run_summary *s, struct job_rank *r, int64_t base_ns)
{
        int code = add_phases(r, s->in.phases, s->in.n_phases, base_ns);
        return code < 0 ? code : add_marks(r, s->in.marks, s->in.n_marks, base_ns);
}

/* ---- a recording as a row of a list ---- */

static void take_use(const struct run_summary *s, const char *label, struct run_row *row,
                     struct gpu_set *gpus)
{
        const struct stretch_list *l = &s->summary.limits;
        const struct gpu_summary *g = summary_of(&s->summary.scopes[0], label);
        if (!g)
                return;
        const char *uuid = g->who.text[ENTITY_TEXT_UUID];
        char name[ENTITY_TEXT_MAX + sizeof(row->node)];
        snprintf(name, sizeof(name), "%s/%s", row->node, label);
        if (row->n_gpus < RUN_GPUS_MAX)
                row->gpus[row->n_gpus] =
                    hash_stable(uuid[0] ? uuid : name, strlen(uuid[0] ? uuid : name));
        row->n_gpus++;
        row->gpu_s += g->seconds;
        row->idle_s += g->idle_s;
        row->energy_j += g->has_energy ? g->energy_j : 0;
        row->energies += g->has_energy;
        for (size_t at = 0; at < l->n_gpus; at++) {
                if (strcmp(l->gpus[at].label, label) == 0)
                        gpu_set_add(gpus, at);
        }
}

/* All that were recorded, where none of them did anything: somebody asked for them. */
static void take_all_gpus(const struct run_summary *s, struct run_row *row, struct gpu_set *gpus)
{
        const struct scope *run = &s->summary.scopes[0];
        for (size_t i = 0; i < run->n; i++)
                take_use(s, run->gpus[i]->who.label, row, gpus);
}

/* What the findings of the row's GPUs begin with, and for how long each limiter was. */
static void take_limiter(const struct run_summary *s, const struct gpu_set *gpus,
                         struct run_row *row)
{
        const struct stretch_list *l = &s->summary.limits;
        struct limited limited;
        findings_limit(l, NULL, gpus, l->seconds, &limited);
        if (limited.is_known)
                row->first_s[limited.limiter] += row->gpu_s;
        for (size_t i = 0; i < l->n; i++) {
                const struct stretch *t = &l->list[i];
                struct gpu_set of = t->gpus;
                gpu_set_intersect(&of, gpus);
                double gpu_s = (t->end_s - t->begin_s) * (double)gpu_set_count(&of);
                bool apart = t->before_work != limited.before_work;
                if (apart && t->limit.limiter == limited.limiter)
                        row->apart_s += gpu_s;
                else
                        row->limiter_s[t->limit.limiter] += gpu_s;
                row->likely_s += t->limit.basis == BASIS_DRIVER ? gpu_s : 0;
        }
}

int job_row_add(struct run_list *l, const struct run_summary *s, const struct job_fold *fold,
                size_t group, bool is_job)
{
        struct job_rank r = {0};
        struct gpu_set gpus = {0};
        struct choice c;
        if (!LIST_ROOM(l->rows, l->n, l->room))
                return -ENOMEM;
        struct run_row *row = &l->rows[l->n++];
        *row = (struct run_row){.group = group, .is_job = is_job, .n_files = 1};
        take_facts(s, &r);
        snprintf(row->file, sizeof(row->file), "%s", r.file);
        snprintf(row->node, sizeof(row->node), "%s", r.node);
        snprintf(row->job, sizeof(row->job), "%s", r.job);
        snprintf(row->command, sizeof(row->command), "%s", r.command);
        row->start_ns = r.start_ns;
        row->end_ns = r.stop_ns ? r.stop_ns : s->summary.last_ns;
        row->seconds = r.seconds;
        row->exit_status = r.exit_status;
        row->exit_signal = r.exit_signal;
        choose_main_figures(s, fold, &c);
        if (c.any)
                take_all_gpus(s, row, &gpus);
        for (size_t i = 0; !c.any && i < c.n; i++)
                take_use(s, fold->gpus[c.gpus[i]].label, row, &gpus);
        take_limiter(s, &gpus, row);
        return 0;
}

/* ---- all ranks of a session ---- */

static struct job_rank *new_rank(struct job *j)
{
        if (!LIST_ROOM(j->ranks, j->n, j->room))
                return NULL;
        j->ranks[j->n] = (struct job_rank){0};
        return &j->ranks[j->n++];
}

/* The lines of the rank's own GPU after its start-up. */
static int take_rank_lines(struct run_summary *s, bool split, struct job_rank *r)
{
        const struct stretch_list *l = &s->summary.limits;
        struct err err = {0};
        size_t gpu = WHERE_EVERY_GPU;
        double startup_s = 0;
        for (size_t i = 0; i < l->n_gpus; i++) {
                if (split && strcmp(l->gpus[i].label, r->gpu) == 0)
                        gpu = i;
        }
        for (size_t i = 0; i < l->n; i++) {
                if (l->list[i].before_work)
                        startup_s = MAX(startup_s, l->list[i].end_s);
        }
        int64_t after = s->stretches.first_wall_ns + clock_bounded(clock_from_seconds(startup_s));
        int code = lines_take(s, after, s->summary.last_ns, gpu, &r->lines, &err);
        return code == -ENOMEM ? code : 0;
}

static int add_rank(struct job *j, struct run_summary *s, const struct job_fold *fold,
                    const struct choice *c, int64_t base_ns, bool split)
{
        struct job_rank *r = new_rank(j);
        int code = 0;
        if (!r)
                return -ENOMEM;
        take_facts(s, r);
        if (!split) /* else the processes are those of several ranks */
                take_own(s, fold, r);
        if (c->n > 0) {
                r->use = fold->gpus[c->gpus[0]];
                snprintf(r->gpu, sizeof(r->gpu), "%s", r->use.label);
                code = average_track(s, fold, c, r);
        }
        take_gpu(s, r);
        take_findings(s, r);
        if (code == 0)
                code = split ? add_own_steps(s, r, base_ns) : add_steps(s, r, base_ns);
        if (code == 0)
                code = take_rank_lines(s, split, r);
        return code;
}

int job_rank_add(struct job *j, struct run_summary *s, const struct job_fold *fold, int64_t base_ns)
{
        struct choice c;
        int code = 0;
        choose_main_figures(s, fold, &c);
        if (!c.split)
                return add_rank(j, s, fold, &c, base_ns, false);
        for (size_t i = 0; code == 0 && i < c.n; i++) {
                struct choice one = {.n = 1, .gpus = {c.gpus[i]}};
                code = add_rank(j, s, fold, &one, base_ns, true);
        }
        return code;
}
