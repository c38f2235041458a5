/*
 * Stacks on their way into a session: texts, frames and stacks once, and for each second how long
 * each thread was seen in each stack, packed into one row. docs/SESSION.md has the format.
 */
#include "session/state.h"

#include "base/list.h"

#include <errno.h>
#include <stdio.h>

/* The threads of a process are few, and the newest are searched for most. */
static size_t find_thread(const struct stack_part *p, const struct stack_sample *s)
{
        for (size_t i = p->n_threads; i-- > 0;) {
                const struct stack_track *t = &p->threads[i];
                if (t->tid == s->tid && t->pid == s->pid && t->start_ticks == s->start_ticks)
                        return i;
        }
        return p->n_threads;
}

static bool thread_for(struct stack_part *p, const struct stack_sample *s, size_t *ret)
{
        *ret = find_thread(p, s);
        if (*ret < p->n_threads)
                return true;
        if (p->n_threads == STACK_THREADS_MAX ||
            !LIST_ROOM(p->threads, p->n_threads, p->cap_threads))
                return false;
        p->threads[p->n_threads++] = (struct stack_track){.pid = s->pid,
                                                          .tid = s->tid,
                                                          .start_ticks = s->start_ticks,
                                                          .name = s->thread,
                                                          .is_main = s->is_main};
        return true;
}

static bool is_same_kind(const struct stack_kind *a, const struct stack_kind *b)
{
        return a->thread == b->thread && a->stack == b->stack && a->call == b->call &&
               a->flags == b->flags;
}

static bool kind_for(struct stack_part *p, const struct stack_kind *kind, uint32_t *ret)
{
        uint32_t hash = hash_text((const char *)kind, sizeof(*kind));
        for (size_t step = 0; (*ret = lookup_next(&p->by_kind, hash, &step)) != LOOKUP_END;) {
                if (is_same_kind(&p->kinds[*ret], kind))
                        return true;
        }
        *ret = (uint32_t)p->n_kinds;
        if (p->n_kinds == STACK_KINDS_MAX || !LIST_ROOM(p->kinds, p->n_kinds, p->cap_kinds) ||
            !lookup_put(&p->by_kind, hash, *ret))
                return false;
        p->kinds[p->n_kinds++] = *kind;
        return true;
}

/* The row of its window that has the same; rows of one window stand together. */
static bool add_row(struct stack_part *p, const struct stack_row *row)
{
        for (size_t i = p->n_rows; i-- > 0 && p->rows[i].window == row->window;) {
                if (p->rows[i].kind != row->kind)
                        continue;
                p->rows[i].ns += row->ns;
                p->rows[i].n_samples++;
                return true;
        }
        if (p->n_rows == STACK_ROWS_MAX || !LIST_ROOM(p->rows, p->n_rows, p->cap_rows))
                return false;
        p->rows[p->n_rows++] = *row;
        return true;
}

static void note_ids(struct stack_part *p, const struct stack_table *table,
                     const struct stack_sample *s)
{
        p->texts = MAX(p->texts, MAX(s->thread, s->call) + 1);
        for (uint32_t at = s->stack; at != STACK_EMPTY && at >= p->nodes;) {
                const struct stack_node *node = stack_node(table, at);
                const struct stack_frame *frame = stack_frame(table, node->frame);
                p->frames = MAX(p->frames, node->frame + 1);
                p->texts = MAX(p->texts, MAX(frame->file, frame->function) + 1);
                at = node->parent;
        }
        p->nodes = MAX(p->nodes, s->stack + 1);
}

static void add_sample(struct session *s, const struct stack_sample *sample)
{
        struct stack_part *p = &s->stacks;
        int64_t since = sample->mono_ns - s->start_mono_ns;
        size_t thread;
        if (since < 0 || !thread_for(p, sample, &thread))
                return;
        const struct stack_kind kind = {.thread = (uint32_t)thread,
                                        .stack = sample->stack,
                                        .call = sample->call,
                                        .flags = sample->state | (sample->holds_gil ? 4u : 0u)};
        struct stack_row row = {
            .window = since / STACK_WINDOW_NS, .n_samples = 1, .ns = sample->stands_for_ns};
        /* A sample that comes late is reported with the window that is open. */
        if (p->n_rows > 0)
                row.window = MAX(row.window, p->rows[p->n_rows - 1].window);
        if (kind_for(p, &kind, &row.kind) && add_row(p, &row))
                note_ids(p, p->table, sample);
        else
                p->dropped++;
}

void session_add_stacks(struct session *s, const struct stack_table *table,
                        const struct stack_sample *samples, size_t n)
{
        pthread_mutex_lock(&s->lock);
        s->stacks.table = table;
        for (size_t i = 0; i < n && s->commands != COMMANDS_NONE; i++) {
                if (s->start_mono_ns != INT64_MIN)
                        add_sample(s, &samples[i]);
        }
        pthread_mutex_unlock(&s->lock);
}

void session_end_stacks(struct session *s)
{
        struct stack_part *p = &s->stacks;
        pthread_mutex_lock(&s->writing);
        pthread_mutex_lock(&s->lock);
        p->table = NULL;
        p->n_rows = 0;
        pthread_mutex_unlock(&s->lock);
        pthread_mutex_unlock(&s->writing);
}

void session_add_stack_process(struct session *s, const struct stack_process *process)
{
        struct stack_part *p = &s->stacks;
        pthread_mutex_lock(&s->lock);
        size_t i = 0;
        while (i < p->n_processes && (p->processes[i].who.pid != process->pid ||
                                      p->processes[i].who.start_ticks != process->start_ticks))
                i++;
        bool room =
            i < p->n_processes || (p->n_processes < STACK_PROCESSES_MAX &&
                                   LIST_ROOM(p->processes, p->n_processes, p->cap_processes));
        if (room && s->commands != COMMANDS_NONE && process->access != STACK_FOREIGN) {
                p->n_processes = MAX(p->n_processes, i + 1);
                p->processes[i] = (struct stack_process_track){.who = *process};
        }
        pthread_mutex_unlock(&s->lock);
}

/* ---- writing ---- */

static int write_texts(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (uint32_t i = p->texts_written; r == 0 && i < p->texts; i++) {
                struct statement q = db_prepare(&s->db, DB_PUT_STACK_TEXT,
                                                "INSERT OR REPLACE INTO stack_text VALUES(?,?)");
                db_bind_int(&q, i);
                db_bind_text(&q, stack_text(p->table, i));
                r = db_run(&q);
        }
        return r;
}

static int write_frames(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (uint32_t i = p->frames_written; r == 0 && i < p->frames; i++) {
                const struct stack_frame *f = stack_frame(p->table, i);
                struct statement q =
                    db_prepare(&s->db, DB_PUT_STACK_FRAME,
                               "INSERT OR REPLACE INTO stack_frame VALUES(?,?,?,?,?,?)");
                db_bind_int(&q, i);
                db_bind_int(&q, f->file);
                db_bind_int(&q, f->function);
                db_bind_int(&q, f->first_line);
                db_bind_int(&q, f->line);
                db_bind_int(&q, f->whose);
                r = db_run(&q);
        }
        return r;
}

/* Own and inner place of each stack are next to it: views need not walk up. */
static int write_nodes(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (uint32_t i = MAX(p->nodes_written, 1); r == 0 && i < p->nodes; i++) {
                const struct stack_node *node = stack_node(p->table, i);
                struct stack_place place = stack_find_place(p->table, i);
                struct statement q =
                    db_prepare(&s->db, DB_PUT_STACK_NODE,
                               "INSERT OR REPLACE INTO stack_node VALUES(?,?,?,?,?)");
                db_bind_int(&q, i);
                db_bind_int(&q, node->parent);
                db_bind_int(&q, node->frame);
                db_bind_int(&q, stack_node(p->table, place.own)->frame);
                db_bind_int(&q, stack_node(p->table, place.inner)->frame);
                r = db_run(&q);
        }
        return r;
}

static int write_stack_process(struct session *s, const struct stack_process *p, size_t id)
{
        struct statement q = db_prepare(&s->db, DB_PUT_STACK_PROCESS,
                                        "INSERT OR REPLACE INTO stack_process"
                                        " VALUES(?,?,?,?,?,?,?,?,?,?)");
        db_bind_int(&q, (int64_t)id);
        db_bind_int(&q, p->pid);
        db_bind_int(&q, p->ppid);
        db_bind_int(&q, (int64_t)p->start_ticks);
        db_bind_text(&q, p->runtime[0] ? p->runtime : NULL);
        db_bind_text(&q, stack_access_name(p->access));
        db_bind_text(&q, p->why[0] ? p->why : NULL);
        db_bind_text(&q, p->command[0] ? p->command : NULL);
        db_bind_int(&q, (int64_t)p->samples);
        db_bind_int(&q, (int64_t)p->torn);
        return db_run(&q);
}

static int write_stack_processes(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (size_t i = 0; r == 0 && i < p->n_processes; i++) {
                if (!p->processes[i].written)
                        r = write_stack_process(s, &p->processes[i].who, i);
                p->processes[i].writing = true;
        }
        return r;
}

static int write_threads(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (size_t i = p->threads_written; r == 0 && i < p->n_threads; i++) {
                const struct stack_track *t = &p->threads[i];
                struct statement q =
                    db_prepare(&s->db, DB_PUT_STACK_THREAD,
                               "INSERT OR REPLACE INTO stack_thread VALUES(?,?,?,?,?,?)");
                db_bind_int(&q, (int64_t)i);
                db_bind_int(&q, t->pid);
                db_bind_int(&q, (int64_t)t->start_ticks);
                db_bind_int(&q, t->tid);
                db_bind_int(&q, t->name);
                db_bind_int(&q, t->is_main);
                r = db_run(&q);
        }
        return r;
}

static int write_kinds(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (size_t i = p->kinds_written; r == 0 && i < p->n_kinds; i++) {
                const struct stack_kind *k = &p->kinds[i];
                struct statement q = db_prepare(&s->db, DB_PUT_STACK_KIND,
                                                "INSERT OR REPLACE INTO stack_kind"
                                                " VALUES(?,?,?,?,?)");
                db_bind_int(&q, (int64_t)i);
                db_bind_int(&q, k->thread);
                db_bind_int(&q, k->stack);
                db_bind_int(&q, k->call);
                db_bind_int(&q, k->flags);
                r = db_run(&q);
        }
        return r;
}

static unsigned char *put_be(unsigned char *to, uint64_t v, int bytes)
{
        for (int i = bytes; i-- > 0;)
                *to++ = (unsigned char)(v >> 8 * i);
        return to;
}

static void pack_row(const struct stack_row *row, unsigned char *to)
{
        uint64_t ms = ((uint64_t)MAX(row->ns, 0) + 500000) / 1000000;
        to = put_be(to, row->kind, 3);
        to = put_be(to, MIN(row->n_samples, 255u), 1);
        put_be(to, MIN(ms, UINT16_MAX), 2);
}

static int write_window(struct session *s, const struct stack_row *rows, size_t n)
{
        struct strbuf *bytes = &s->stacks.bytes;
        strbuf_clear(bytes);
        for (size_t i = 0; i < n; i++) {
                unsigned char packed[STACK_ROW_BYTES];
                pack_row(&rows[i], packed);
                strbuf_put(bytes, (const char *)packed, sizeof(packed));
        }
        if (bytes->failed)
                return -ENOMEM;
        struct statement q = db_prepare(&s->db, DB_PUT_STACK_WINDOW,
                                        "INSERT OR REPLACE INTO stack_window VALUES(?,?)");
        db_bind_int(&q, rows[0].window);
        db_bind_blob(&q, bytes->s, bytes->len);
        return db_run(&q);
}

static int write_windows(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = 0;
        for (size_t i = 0, to; r == 0 && i < p->n_rows; i = to) {
                for (to = i + 1; to < p->n_rows && p->rows[to].window == p->rows[i].window;)
                        to++;
                r = write_window(s, &p->rows[i], to - i);
        }
        return r;
}

int stacks_write(struct session *s)
{
        struct stack_part *p = &s->stacks;
        int r = write_stack_processes(s);
        if (!p->table)
                return r;
        p->texts_staged = p->texts;
        p->frames_staged = p->frames;
        p->nodes_staged = p->nodes;
        p->threads_staged = p->n_threads;
        p->kinds_staged = p->n_kinds;
        p->rows_staged = p->n_rows;
        int (*const parts[])(struct session *) = {write_texts,   write_frames, write_nodes,
                                                  write_threads, write_kinds,  write_windows};
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
                r = parts[i](s);
        return r;
}

/* The window that was open when the commit began stays: more may have come, and it is then written
 * again, whole. */
static void drop_written_rows(struct stack_part *p)
{
        size_t n = p->rows_staged;
        int64_t open = p->rows[n - 1].window;
        while (n > 0 && p->rows[n - 1].window == open)
                n--;
        memmove(p->rows, p->rows + n, (p->n_rows - n) * sizeof(*p->rows));
        p->n_rows -= n;
        p->rows_staged = 0;
}

void stacks_note_written(struct session *s)
{
        struct stack_part *p = &s->stacks;
        for (size_t i = 0; i < p->n_processes; i++)
                p->processes[i].written |= p->processes[i].writing;
        p->texts_written = p->texts_staged;
        p->frames_written = p->frames_staged;
        p->nodes_written = p->nodes_staged;
        p->threads_written = p->threads_staged;
        p->kinds_written = p->kinds_staged;
        if (p->rows_staged > 0)
                drop_written_rows(p);
}

void stacks_drop_written(struct session *s)
{
        struct stack_part *p = &s->stacks;
        for (size_t i = 0; i < p->n_processes; i++)
                p->processes[i].writing = p->processes[i].written;
        p->rows_staged = 0;
}

void stacks_free(struct session *s)
{
        free(s->stacks.threads);
        free(s->stacks.processes);
        free(s->stacks.kinds);
        lookup_finish(&s->stacks.by_kind);
        free(s->stacks.rows);
        strbuf_finish(&s->stacks.bytes);
}
