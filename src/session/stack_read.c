/*
 * The stacks of a session, read into a table of their own: ids of the file become ids of the table.
 * The file may be a stranger's: every id is checked, and what makes no sense is passed over.
 */
#include "base/clock.h"
#include "base/jsonin.h"
#include "base/list.h"
#include "base/lookup.h"
#include "session/reader.h"
#include "session/state.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define CELLS_MAX 65536       /* of a notebook */
#define WINDOW_ROWS_MAX 65536 /* no second has more threads and stacks than that */

/* What an id of the file is here; ids beyond n are unknown. */
struct id_map {
        uint32_t *to;
        size_t n;
};

/* A cell of a notebook, and the file name that its code has. */
struct cell_file {
        uint64_t hash; /* of the name */
        long long cell;
};

struct stack_cursor {
        struct stack_table *table;
        struct cell_file *cells;
        size_t n_cells, cap_cells;
        struct stack_log all;
        struct id_map texts, frames, nodes;
        struct stack_thread *threads;
        struct stack_process *processes;
        struct stack_kind *kinds; /* as in the file, its stack and call of the table */
        size_t n_kinds;
        struct stack_count *counts; /* of the window that was given last */
        size_t cap;
        struct statement windows;
        bool reading;
};

void stack_cursor_close(struct stack_cursor *c)
{
        if (!c)
                return;
        stack_table_close(c->table);
        free(c->cells);
        free(c->texts.to);
        free(c->frames.to);
        free(c->nodes.to);
        free(c->threads);
        free(c->processes);
        free(c->kinds);
        free(c->counts);
        free(c);
}

static uint32_t map_find(const struct id_map *m, int64_t id)
{
        return id >= 0 && (size_t)id < m->n ? m->to[id] : 0;
}

/* One more than the largest id of a table, at most most; 0 for an empty one. */
static size_t count_ids(struct session_reader *r, const char *sql, size_t most)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(r->db.h, sql, -1, &q.h, NULL);
        bool some = db_step(&q) > 0 && sqlite3_column_type(q.h, 0) == SQLITE_INTEGER;
        int64_t last = some ? sqlite3_column_int64(q.h, 0) : -1;
        sqlite3_finalize(q.h);
        return last < 0 ? 0 : MIN((size_t)last + 1, most);
}

static int map_open(struct session_reader *r, struct id_map *m, const char *sql, size_t most)
{
        m->n = count_ids(r, sql, most);
        m->to = calloc(m->n + 1, sizeof(*m->to));
        return m->to ? 0 : -ENOMEM;
}

/* Runs a question and gives each of its rows to take; rows come in the order of their ids. */
static int each_row(struct session_reader *r, const char *sql,
                    void (*take)(struct stack_cursor *c, sqlite3_stmt *h), struct stack_cursor *c)
{
        struct statement q = {.db = &r->db};
        int got;
        q.r = sqlite3_prepare_v2(r->db.h, sql, -1, &q.h, NULL);
        while ((got = db_step(&q)) > 0)
                take(c, q.h);
        sqlite3_finalize(q.h);
        return got;
}

static uint32_t bounded_number(sqlite3_stmt *h, int column)
{
        int64_t v = sqlite3_column_int64(h, column);
        return v >= 0 && v <= INT32_MAX ? (uint32_t)v : 0;
}

/* The mark of a cell that ran says which file name its code has. */
static void take_cell(struct stack_cursor *c, sqlite3_stmt *h)
{
        const char *data = (const char *)sqlite3_column_text(h, 0);
        json_t *o = data ? jsonin_text(data, 0, NULL) : NULL;
        const char *file = json_string_value(json_object_get(o, "cell_file"));
        const json_t *number = json_object_get(o, "cell_index");
        if (file && json_is_integer(number) && json_integer_value(number) >= 0 &&
            json_integer_value(number) <= INT32_MAX && c->n_cells < CELLS_MAX &&
            LIST_ROOM(c->cells, c->n_cells, c->cap_cells))
                c->cells[c->n_cells++] =
                    (struct cell_file){hash_stable(file, strlen(file)), json_integer_value(number)};
        json_decref(o);
}

/* "cell 3"; of cells that are alike the last one. False when it is not a file of a cell. */
static bool name_cell(const struct stack_cursor *c, const char *file, char buf[32])
{
        if (c->n_cells == 0 || !strstr(file, "/ipykernel_"))
                return false;
        uint64_t hash = hash_stable(file, strlen(file));
        for (size_t i = c->n_cells; i-- > 0;) {
                if (c->cells[i].hash == hash)
                        return snprintf(buf, 32, "cell %lld", c->cells[i].cell) > 0;
        }
        return false;
}

static void take_text(struct stack_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0);
        const char *s = (const char *)sqlite3_column_text(h, 1);
        size_t n = (size_t)sqlite3_column_bytes(h, 1);
        char cell_name[32];
        if (!s || id <= 0 || (size_t)id >= c->texts.n)
                return;
        if (name_cell(c, s, cell_name)) {
                s = cell_name;
                n = strlen(cell_name);
        }
        c->texts.to[id] = stack_intern_text(c->table, s, n);
}

static void take_frame(struct stack_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0);
        if (id <= 0 || (size_t)id >= c->frames.n)
                return;
        struct stack_frame f = {.file = map_find(&c->texts, sqlite3_column_int64(h, 1)),
                                .function = map_find(&c->texts, sqlite3_column_int64(h, 2)),
                                .first_line = bounded_number(h, 3),
                                .line = bounded_number(h, 4),
                                .whose = MIN(bounded_number(h, 5), STACK_INTERPRETER)};
        c->frames.to[id] = stack_intern_frame(c->table, &f);
}

/* A caller has a smaller id, so that stacks end. */
static void take_node(struct stack_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0), parent = sqlite3_column_int64(h, 1);
        uint32_t frame = map_find(&c->frames, sqlite3_column_int64(h, 2));
        if (id <= 0 || (size_t)id >= c->nodes.n || parent >= id || frame == STACK_FRAME_NONE)
                return;
        c->nodes.to[id] = stack_intern_call(c->table, map_find(&c->nodes, parent), frame);
}

static enum stack_access access_find(const char *name)
{
        for (enum stack_access i = 0; name && i < STACK_ACCESS_COUNT; i++) {
                if (strcmp(stack_access_name(i), name) == 0)
                        return i;
        }
        return STACK_PENDING;
}

static void take_process(struct stack_cursor *c, sqlite3_stmt *h)
{
        if (c->all.n_processes == STACK_PROCESSES_MAX)
                return;
        struct stack_process *p = &c->processes[c->all.n_processes++];
        *p = (struct stack_process){.pid = (int32_t)bounded_number(h, 0),
                                    .ppid = (int32_t)bounded_number(h, 1),
                                    .start_ticks = (uint64_t)sqlite3_column_int64(h, 2),
                                    .samples = (uint64_t)MAX(sqlite3_column_int64(h, 7), 0),
                                    .torn = (uint64_t)MAX(sqlite3_column_int64(h, 8), 0)};
        db_take_name(h, 3, p->runtime, sizeof(p->runtime));
        p->access = access_find((const char *)sqlite3_column_text(h, 4));
        db_take_name(h, 5, p->why, sizeof(p->why));
        db_take_name(h, 6, p->command, sizeof(p->command));
}

static uint32_t process_of(const struct stack_cursor *c, int64_t pid, uint64_t start_ticks)
{
        for (size_t i = 0; i < c->all.n_processes; i++) {
                if (c->processes[i].pid == pid && c->processes[i].start_ticks == start_ticks)
                        return (uint32_t)i;
        }
        return UINT32_MAX;
}

/* A thread whose process is not described gets one that has its pid alone. */
static void take_thread(struct stack_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0);
        int32_t pid = (int32_t)bounded_number(h, 1);
        uint64_t start = (uint64_t)sqlite3_column_int64(h, 2);
        if (id < 0 || (size_t)id >= c->all.n_threads)
                return;
        uint32_t process = process_of(c, pid, start);
        if (process == UINT32_MAX && c->all.n_processes < STACK_PROCESSES_MAX) {
                process = (uint32_t)c->all.n_processes++;
                c->processes[process] = (struct stack_process){.pid = pid, .start_ticks = start};
        }
        if (process == UINT32_MAX)
                return;
        c->threads[id] =
            (struct stack_thread){.process = process,
                                  .tid = (int32_t)bounded_number(h, 3),
                                  .name = map_find(&c->texts, sqlite3_column_int64(h, 4)),
                                  .is_main = sqlite3_column_int64(h, 5) != 0};
}

/* A kind that the file lacks is of a thread that is not one. */
static void take_kind(struct stack_cursor *c, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 0), thread = sqlite3_column_int64(h, 1);
        if (id < 0 || (size_t)id >= c->n_kinds || thread < 0 || (size_t)thread >= c->all.n_threads)
                return;
        c->kinds[id] = (struct stack_kind){.thread = (uint32_t)thread,
                                           .stack = map_find(&c->nodes, sqlite3_column_int64(h, 2)),
                                           .call = map_find(&c->texts, sqlite3_column_int64(h, 3)),
                                           .flags = bounded_number(h, 4)};
}

static int open_kinds(struct session_reader *r, struct stack_cursor *c)
{
        c->n_kinds = count_ids(r, "SELECT max(id) FROM stack_kind", STACK_KINDS_MAX);
        c->kinds = calloc(c->n_kinds + 1, sizeof(*c->kinds));
        for (size_t i = 0; c->kinds && i < c->n_kinds; i++)
                c->kinds[i].thread = UINT32_MAX;
        return c->kinds ? 0 : -ENOMEM;
}

static int read_interned(struct session_reader *r, struct stack_cursor *c)
{
        static const struct {
                const char *sql;
                void (*take)(struct stack_cursor *c, sqlite3_stmt *h);
        } parts[] = {
            {"SELECT data FROM mark WHERE type = 'begin' AND data LIKE '%\"cell_file\"%'"
             " ORDER BY wall_ns",
             take_cell},
            {"SELECT id, text FROM stack_text ORDER BY id", take_text},
            {"SELECT id, file, function, first_line, line, whose FROM stack_frame ORDER BY id",
             take_frame},
            {"SELECT id, parent, frame FROM stack_node ORDER BY id", take_node},
            {"SELECT pid, ppid, start_ticks, runtime, access, why, command, samples, torn FROM"
             " stack_process ORDER BY id",
             take_process},
            {"SELECT id, pid, start_ticks, tid, name, main FROM stack_thread ORDER BY id",
             take_thread},
            {"SELECT id, thread, stack, call, flags FROM stack_kind ORDER BY id", take_kind},
        };
        int got = 0;
        for (size_t i = 0; got == 0 && i < ARRAY_LEN(parts); i++)
                got = each_row(r, parts[i].sql, parts[i].take, c);
        return got;
}

static int open_maps(struct session_reader *r, struct stack_cursor *c)
{
        int code = stack_table_open(&c->table);
        if (code == 0)
                code = map_open(r, &c->texts, "SELECT max(id) FROM stack_text", STACK_TEXTS_MAX);
        if (code == 0)
                code = map_open(r, &c->frames, "SELECT max(id) FROM stack_frame", STACK_FRAMES_MAX);
        if (code == 0)
                code = map_open(r, &c->nodes, "SELECT max(id) FROM stack_node", STACK_NODES_MAX);
        if (code < 0)
                return code;
        c->all.n_threads = count_ids(r, "SELECT max(id) FROM stack_thread", STACK_THREADS_MAX);
        c->threads = calloc(c->all.n_threads + 1, sizeof(*c->threads));
        c->processes = calloc(STACK_PROCESSES_MAX, sizeof(*c->processes));
        return c->threads && c->processes ? open_kinds(r, c) : -ENOMEM;
}

int session_stacks(struct session_reader *r, const struct stack_log **ret, struct err *err)
{
        *ret = NULL;
        if (!r->stacks) {
                if (!session_has_table(r, "stack_kind"))
                        return 0;
                struct stack_cursor *c = r->stacks = calloc(1, sizeof(*c));
                int code = c ? open_maps(r, c) : -ENOMEM;
                if (code == 0)
                        code = read_interned(r, c);
                if (code < 0) {
                        stack_cursor_close(c);
                        r->stacks = NULL;
                        return db_error(&r->db, code, err);
                }
                c->all.table = c->table;
                c->all.threads = c->threads;
                c->all.processes = c->processes;
        }
        if (r->stacks->all.n_threads > 0 || r->stacks->all.n_processes > 0)
                *ret = &r->stacks->all;
        return 0;
}

static uint32_t get_be(const unsigned char *s, int bytes)
{
        uint32_t v = 0;
        for (int i = 0; i < bytes; i++)
                v = v << 8 | s[i];
        return v;
}

/* Rows of threads that are not in the file are passed over. */
static size_t unpack_window(struct stack_cursor *c, const unsigned char *s, size_t n)
{
        size_t kept = 0;
        for (size_t i = 0; i < n; i++, s += STACK_ROW_BYTES) {
                uint32_t id = get_be(s, 3);
                if (id >= c->n_kinds)
                        continue;
                const struct stack_kind *kind = &c->kinds[id];
                struct stack_count row = {.thread = kind->thread,
                                          .stack = kind->stack,
                                          .call = kind->call,
                                          .state = kind->flags & 3,
                                          .holds_gil = kind->flags & 4,
                                          .n_samples = s[3],
                                          .seconds = get_be(s + 4, 2) / 1e3};
                if (row.thread < c->all.n_threads &&
                    c->threads[row.thread].process < c->all.n_processes)
                        c->counts[kept++] = row;
        }
        return kept;
}

int session_next_stacks(struct session_reader *r, struct stack_window *ret, struct err *err)
{
        struct stack_cursor *c = r->stacks;
        if (!c)
                return 0;
        if (!c->reading)
                c->windows = db_prepare(&r->db, DB_GET_STACK_WINDOWS,
                                        "SELECT id, data FROM stack_window ORDER BY id");
        c->reading = true;
        int got = db_step(&c->windows);
        if (got <= 0) {
                c->reading = false;
                return got < 0 ? db_error(&r->db, got, err) : 0;
        }
        int64_t second = sqlite3_column_int64(c->windows.h, 0);
        const unsigned char *s = sqlite3_column_blob(c->windows.h, 1);
        size_t n = s ? (size_t)sqlite3_column_bytes(c->windows.h, 1) / STACK_ROW_BYTES : 0;
        n = MIN(n, WINDOW_ROWS_MAX);
        if (n > c->cap && !list_resize(&c->counts, n, sizeof(*c->counts)))
                return err_set(err, -ENOMEM, "out of memory");
        c->cap = MAX(c->cap, n);
        second = MIN(MAX(second, 0), CLOCK_FILE_MAX_NS / STACK_WINDOW_NS);
        *ret =
            (struct stack_window){.mono_ns = clock_bounded(r->start_ns + second * STACK_WINDOW_NS),
                                  .n = unpack_window(c, s, n),
                                  .counts = c->counts};
        return 1;
}
