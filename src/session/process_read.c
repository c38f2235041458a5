/* The processes that were on the GPUs, tick by tick, out of samples that report changes only. */
#include "base/clock.h"
#include "base/list.h"
#include "session/reader.h"
#include "session/state.h"

#include <errno.h>
#include <stdio.h>

struct process_cursor {
        bool present; /* the file has processes */
        struct process *list;
        int64_t *ids; /* parallel to list */
        size_t n, cap;
        struct statement samples;
        bool ahead;      /* a sample lies ahead */
        int64_t next_at; /* its tick */
};

void process_cursor_close(struct process_cursor *c)
{
        if (!c)
                return;
        free(c->list);
        free(c->ids);
        free(c);
}

/* 1 when there is a sample ahead, 0 at their end. */
static int next_sample(struct process_cursor *c)
{
        int got = db_step(&c->samples);
        c->ahead = got > 0;
        if (c->ahead)
                c->next_at = sqlite3_column_int64(c->samples.h, 21);
        return got;
}

/* Children and frameworks are known since schema 2. */
static bool has_child(struct session_reader *r)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT child, framework FROM process LIMIT 0", -1, &q.h,
                                 NULL);
        sqlite3_finalize(q.h);
        return q.r == SQLITE_OK;
}

/*
 * The samples in the order that they are kept in: CROSS says which table leads. They are not
 * sorted: that would copy a command as often as a file that is made to harm names it.
 */
#define SELECT_PROCESSES(more)                                                                     \
        "SELECT s.process, s.gone, s.gpu_memory, s.gpu_util, s.gpu_band, s.gpu_encoder,"           \
        " s.gpu_decoder, s.cpu, s.memory, p.pid, p.ppid, p.start_ns, p.type, p.gpu, p.user,"       \
        " p.grp, p.slurm_job, p.container, p.command, " more                                       \
        ", s.tick FROM process_sample s CROSS JOIN process p ON p.id = s.process"                  \
        " WHERE s.tick >= 0"

static int open_cursor(struct session_reader *r)
{
        struct process_cursor *c = r->processes = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        if (!session_has_table(r, "process_sample"))
                return 0;
        c->samples = db_prepare(&r->db, DB_GET_PROCESSES,
                                has_child(r) ? SELECT_PROCESSES("p.child, p.framework")
                                             : SELECT_PROCESSES("0, NULL"));
        int got = next_sample(c);
        c->present = got > 0;
        return MIN(got, 0);
}

static size_t process_place_of(const struct process_cursor *c, int64_t id)
{
        size_t i = 0;
        while (i < c->n && c->ids[i] != id)
                i++;
        return i;
}

static bool make_room(struct process_cursor *c)
{
        if (c->n < c->cap)
                return true;
        size_t cap = c->cap ? 2 * c->cap : 16;
        if (!list_resize(&c->list, cap, sizeof(*c->list)) ||
            !list_resize(&c->ids, cap, sizeof(*c->ids)))
                return false;
        c->cap = cap;
        return true;
}

static void copy_text(char *to, size_t size, sqlite3_stmt *h, int column)
{
        const char *s = (const char *)sqlite3_column_text(h, column);
        snprintf(to, size, "%s", s ? s : "");
}

static void take_identity(struct process *p, sqlite3_stmt *h)
{
        *p = (struct process){.pid = (int32_t)sqlite3_column_int64(h, 9),
                              .ppid = (int32_t)sqlite3_column_int64(h, 10),
                              .start_ns = clock_bounded(sqlite3_column_int64(h, 11)),
                              .type = (uint8_t)sqlite3_column_int64(h, 12),
                              .on = {-1, -1}};
        copy_text(p->gpu, sizeof(p->gpu), h, 13);
        copy_text(p->user, sizeof(p->user), h, 14);
        copy_text(p->group, sizeof(p->group), h, 15);
        copy_text(p->slurm_job, sizeof(p->slurm_job), h, 16);
        copy_text(p->container, sizeof(p->container), h, 17);
        copy_text(p->command, sizeof(p->command), h, 18);
        p->child = sqlite3_column_int64(h, 19) != 0;
        p->framework = (uint8_t)framework_find((const char *)sqlite3_column_text(h, 20));
}

static void take_figures(struct process *p, sqlite3_stmt *h)
{
        for (size_t i = 0; i < PROCESS_FIGURES; i++) {
                struct series_scale s = process_figure_scale(i);
                int64_t code = sqlite3_column_int64(h, 2 + (int)i);
                cell c = code >= 0 ? code : CELL_MISSING(-1 - MAX(code, -STATE_COUNT));
                process_set_figure(p, i, cell_value(c, s.step, s.scale));
        }
}

static int take_sample(struct process_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0);
        size_t at = process_place_of(c, id);
        if (sqlite3_column_int64(h, 1) != 0) {
                /* The order stays: what is listed jumps about as little as it can. */
                if (at == c->n)
                        return 0;
                c->n--;
                memmove(c->list + at, c->list + at + 1, (c->n - at) * sizeof(*c->list));
                memmove(c->ids + at, c->ids + at + 1, (c->n - at) * sizeof(*c->ids));
                return 0;
        }
        if (at == c->n) {
                if (c->n == PROCESS_TRACKS_MAX)
                        return 0;
                if (!make_room(c))
                        return -ENOMEM;
                c->ids[c->n] = id;
                take_identity(&c->list[c->n++], h);
        }
        take_figures(&c->list[at], h);
        return 0;
}

static void set_ages(struct process_cursor *c, const struct frame *f)
{
        for (size_t i = 0; i < c->n; i++) {
                struct process *p = &c->list[i];
                bool known = p->start_ns > 0 && p->start_ns <= f->wall_ns;
                p->elapsed = known ? value_ok(clock_to_seconds(f->wall_ns - p->start_ns))
                                   : value_missing(STATE_BLANK);
        }
}

void process_cursor_rest(struct process_cursor *c)
{
        if (!c)
                return;
        db_reset(&c->samples);
        c->ahead = false;
}

/* A sample says what changed, so one whose own tick was lost counts from the next. */
int process_cursor_fill(struct session_reader *r, int64_t tick, struct frame *f)
{
        int got = r->processes ? 0 : open_cursor(r), code = 0;
        struct process_cursor *c = r->processes;
        if (got < 0 || !c->present)
                return got;
        while (code == 0 && c->ahead && c->next_at <= tick) {
                code = take_sample(c, c->samples.h);
                got = next_sample(c);
        }
        set_ages(c, f);
        f->knows_processes = true;
        f->processes = (struct process_list){c->list, c->n};
        return code < 0 ? code : got;
}
