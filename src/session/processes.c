/*
 * The processes on GPUs on their way into a session: who it is once, what it does when that changed
 * by more than a step, and every ten seconds in any case.
 */
#include "session/state.h"

#include "base/clock.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>

#define SAMPLE_EVERY_NS (10 * NS_PER_S)

static struct value *figure_of(struct process *p, size_t i)
{
        struct value *const figures[PROCESS_FIGURES] = {
            &p->gpu_memory, &p->sm_util, &p->mem_copy_util, &p->enc_util, &p->dec_util,
            &p->cpu,        &p->rss};
        return figures[i];
}

struct value process_figure(const struct process *p, size_t i)
{
        return *figure_of((struct process *)p, i);
}

void process_set_figure(struct process *p, size_t i, struct value v)
{
        *figure_of(p, i) = v;
}

/* The first and the last are bytes, all others ratios. */
struct series_scale process_figure_scale(size_t i)
{
        return i == 0 || i == PROCESS_FIGURES - 1 ? (struct series_scale){65536, 1}
                                                  : (struct series_scale){1, 1000};
}

static bool is_same(const struct process *a, const struct process *b)
{
        return a->pid == b->pid && a->start_ns == b->start_ns && strcmp(a->gpu, b->gpu) == 0;
}

/* The list keeps its order from tick to tick, so the place it had is nearly always right. */
static struct process_track *track_for(struct process_part *p, const struct process *who,
                                       size_t hint)
{
        if (hint < p->n_tracks && is_same(&p->tracks[hint].who, who))
                return &p->tracks[hint];
        for (size_t i = 0; i < p->n_tracks; i++) {
                if (is_same(&p->tracks[i].who, who))
                        return &p->tracks[i];
        }
        if (p->n_tracks == PROCESS_TRACKS_MAX || !LIST_ROOM(p->tracks, p->n_tracks, p->cap_tracks))
                return NULL;
        struct process_track *t = &p->tracks[p->n_tracks++];
        *t = (struct process_track){.id = ++p->last_id, .who = *who};
        return t;
}

static struct process_sample *new_sample(struct process_part *p)
{
        if (p->n_samples == PROCESS_SAMPLES_MAX ||
            !LIST_ROOM(p->samples, p->n_samples, p->cap_samples))
                return NULL;
        return &p->samples[p->n_samples++];
}

/* A hundredth of a ratio, a mebibyte; of a child, of which there may be many, ten times that. */
static cell step_of(const struct process *who, size_t i)
{
        return (process_figure_scale(i).scale > 1 ? 10 : 16) * (who->child ? 10 : 1);
}

static bool has_changed(const struct process_track *t, const cell *cells)
{
        for (size_t i = 0; i < PROCESS_FIGURES; i++) {
                if (cell_is_set(cells[i]) != cell_is_set(t->cells[i]) ||
                    llabs(cells[i] - t->cells[i]) >= step_of(&t->who, i))
                        return true;
        }
        return false;
}

static void add_sample(struct process_part *p, struct process_track *t, const struct process *who,
                       uint64_t tick, int64_t mono_ns)
{
        cell cells[PROCESS_FIGURES];
        for (size_t i = 0; i < PROCESS_FIGURES; i++) {
                struct series_scale s = process_figure_scale(i);
                cells[i] = cell_from(process_figure(who, i), s.step, s.scale);
        }
        bool first = t->sampled_ns == 0;
        /* What it computes with, and whether it holds the GPU, shows after its start. */
        if (t->who.framework != who->framework || t->who.child != who->child) {
                t->who.framework = who->framework;
                t->who.child = who->child;
                t->written = t->writing = false;
        }
        t->present = true;
        if (!first && mono_ns - t->sampled_ns < SAMPLE_EVERY_NS && !has_changed(t, cells))
                return;
        struct process_sample *sample = new_sample(p);
        if (!sample)
                return;
        *sample = (struct process_sample){.tick = tick, .process = t->id};
        memcpy(sample->cells, cells, sizeof(cells));
        memcpy(t->cells, cells, sizeof(cells));
        t->sampled_ns = MAX(mono_ns, 1);
}

/* Those that are gone say so once, and their places go to others. */
static void drop_gone(struct process_part *p, uint64_t tick)
{
        size_t kept = 0;
        for (size_t i = 0; i < p->n_tracks; i++) {
                struct process_track *t = &p->tracks[i];
                bool gone = !t->present && t->written;
                struct process_sample *sample = gone ? new_sample(p) : NULL;
                if (sample)
                        *sample =
                            (struct process_sample){.tick = tick, .process = t->id, .gone = true};
                if (!sample)
                        p->tracks[kept++] = *t;
        }
        p->n_tracks = kept;
}

void processes_add(struct session *s, const struct frame *f, uint64_t tick)
{
        struct process_part *p = &s->processes;
        if (!f->knows_processes || (f->processes.n == 0 && p->n_tracks == 0))
                return;
        for (size_t i = 0; i < p->n_tracks; i++)
                p->tracks[i].present = false;
        for (size_t i = 0; i < f->processes.n; i++) {
                const struct process *who = &f->processes.list[i];
                struct process_track *t = track_for(p, who, i);
                if (t)
                        add_sample(p, t, who, tick, f->mono_ns);
        }
        drop_gone(p, tick);
}

/* ---- committing ---- */

static int write_process(struct session *s, const struct process_track *t)
{
        const struct process *p = &t->who;
        struct statement q =
            db_prepare(&s->db, DB_PUT_PROCESS,
                       "INSERT OR REPLACE INTO process VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
        bool named = s->commands == COMMANDS_NONE || (p->foreign && s->commands == COMMANDS_OWN);
        const char *const texts[] = {p->gpu,       p->user,      p->group,
                                     p->slurm_job, p->container, named ? p->name : p->command};
        db_bind_int(&q, t->id);
        db_bind_int(&q, p->pid);
        db_bind_int(&q, p->ppid);
        db_bind_int(&q, p->start_ns);
        db_bind_int(&q, p->type);
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                db_bind_text(&q, texts[i][0] ? texts[i] : NULL);
        db_bind_int(&q, p->child);
        db_bind_text(&q, p->framework ? framework_name((enum framework)p->framework) : NULL);
        return db_run(&q);
}

/* A missing figure is its reason, below zero. */
static int write_sample(struct session *s, const struct process_sample *sample)
{
        struct statement q =
            db_prepare(&s->db, DB_PUT_PROCESS_SAMPLE,
                       "INSERT OR REPLACE INTO process_sample VALUES(?,?,?,?,?,?,?,?,?,?)");
        db_bind_int(&q, (int64_t)sample->tick);
        db_bind_int(&q, sample->process);
        db_bind_int(&q, sample->gone);
        for (size_t i = 0; i < PROCESS_FIGURES; i++) {
                cell c = sample->cells[i];
                int64_t code = cell_is_set(c) ? MAX(c, 0) : -1 - (int64_t)cell_state(c);
                db_bind_int_or_null(&q, code, !sample->gone);
        }
        return db_run(&q);
}

int processes_write(struct session *s)
{
        struct process_part *p = &s->processes;
        int r = 0;
        for (size_t i = 0; r == 0 && i < p->n_tracks; i++) {
                if (!p->tracks[i].written)
                        r = write_process(s, &p->tracks[i]);
                p->tracks[i].writing = true;
        }
        for (size_t i = 0; r == 0 && i < p->n_samples; i++)
                r = write_sample(s, &p->samples[i]);
        p->sampled = p->n_samples;
        return r;
}

void processes_note_written(struct session *s)
{
        struct process_part *p = &s->processes;
        for (size_t i = 0; i < p->n_tracks; i++)
                p->tracks[i].written |= p->tracks[i].writing;
        if (p->sampled == 0)
                return;
        memmove(p->samples, p->samples + p->sampled,
                (p->n_samples - p->sampled) * sizeof(*p->samples));
        p->n_samples -= p->sampled;
        p->sampled = 0;
}

void processes_drop_written(struct session *s)
{
        s->processes.sampled = 0;
        for (size_t i = 0; i < s->processes.n_tracks; i++)
                s->processes.tracks[i].writing = s->processes.tracks[i].written;
}

void processes_rewrite(struct session *s)
{
        for (size_t i = 0; i < s->processes.n_tracks; i++)
                s->processes.tracks[i].written = s->processes.tracks[i].writing = false;
}

void processes_free(struct session *s)
{
        free(s->processes.tracks);
        free(s->processes.samples);
}

void session_keep_commands(struct session *s, enum session_commands which)
{
        s->commands = which;
}
