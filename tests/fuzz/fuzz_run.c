/*
 * A whole session from a stranger, through everything that reads one: summary, report as text, JSON
 * and page, plot, a look at its stacks, and every view of the dashboard.
 *
 * The input is a list of rows: a table, then a value for each of its columns, put into a session
 * that is otherwise as we write them. So nearly every input is a database that opens, and what is
 * strange about it are its values.
 */
#include "fuzz.h"
#include "run_plot.h"

#include "app/setup.h"
#include "app/stack_snapshot.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "engine/history.h"
#include "engine/host_play.h"
#include "present/stream/stack_snapshot.h"
#include "present/text/stack_snapshot.h"
#include "present/tui/ui.h"
#include "session/schema.h"
#include "session/session.h"

#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* ---- the session ---- */

/* Of a process, as schema 1 has them. */
#define FIRST_COLUMNS "process(id,pid,ppid,start_ns,type,gpu,user,grp,slurm_job,container,command)"

static const struct {
        const char *name;
        int columns;
} tables[] = {
    {"manifest", 2},        {"entity", 7 + ENTITY_TEXT_COUNT},
    {"series", 5},          {"tick", 5},
    {"block", 7},           {"mark", 11},
    {"host_series", 6},     {"host_tick", 5},
    {"host_block", 7},      {"host_gpu", 2},
    {"level_note", 4},      {FIRST_COLUMNS, 11},
    {"process_sample", 10}, {"process", 13},
    {"stack_text", 2},      {"stack_frame", 6},
    {"stack_node", 5},      {"stack_process", 10},
    {"stack_thread", 6},    {"stack_kind", 5},
    {"stack_window", 2},
};

struct bytes {
        const uint8_t *s;
        size_t n;
};

static uint64_t take(struct bytes *b, size_t n)
{
        uint64_t v = 0;
        for (size_t i = 0; i < n && b->n > 0; i++, b->s++, b->n--)
                v = v << 8 | *b->s;
        return v;
}

/* Numbers at which something ends. */
static const int64_t edges[] = {0,          -1,        1,         127,       128,
                                255,        65535,     65536,     INT32_MAX, INT32_MIN,
                                UINT32_MAX, 100000000, INT64_MAX, INT64_MIN, 4000000000000000000,
                                1LL << 53};

static const char *const words[] = {"begin",
                                    "end",
                                    "phase",
                                    "metric",
                                    "event",
                                    "start_ns",
                                    "stop_ns",
                                    "command",
                                    "interval_s",
                                    "ticks_asked",
                                    "memory_limit.process",
                                    "cpus.process",
                                    "host",
                                    "provenance",
                                    "\033[2J\033]0;x\a",
                                    "</script><b>&\"'",
                                    "=cmd|' /C calc'!A0",
                                    "exit_status",
                                    "inf",
                                    "nan",
                                    "-1e308",
                                    "1e400",
                                    "[\"a\",\"b\"]",
                                    "{\"k\":[1,2,{\"x\":null}]}",
                                    "\xff\xfe",
                                    "sm_active",
                                    "workload",
                                    "cpu",
                                    "util",
                                    "process",
                                    "system",
                                    "env.X",
                                    "mpi_rank",
                                    "0",
                                    "1/7",
                                    "command_seconds",
                                    "backend",
                                    "user",
                                    "slurm_job",
                                    "GPU-1234",
                                    "process(7)"};

static void bind_value(sqlite3_stmt *q, int at, struct bytes *b, int64_t row)
{
        switch (take(b, 1) % 9) {
        case 0:
                sqlite3_bind_null(q, at);
                break;
        case 1:
                sqlite3_bind_int64(q, at, (int8_t)take(b, 1));
                break;
        case 2:
                sqlite3_bind_int64(q, at, (int64_t)take(b, 8));
                break;
        case 3: {
                uint64_t bits = take(b, 8);
                double v;
                memcpy(&v, &bits, sizeof(v));
                sqlite3_bind_double(q, at, v);
                break;
        }
        case 4: {
                size_t said = (size_t)take(b, 1), n = MIN(said, b->n);
                sqlite3_bind_text(q, at, (const char *)b->s, (int)n, SQLITE_TRANSIENT);
                take(b, n);
                break;
        }
        case 5: {
                size_t said = (size_t)take(b, 1), n = MIN(said, b->n);
                sqlite3_bind_blob(q, at, b->s, (int)n, SQLITE_TRANSIENT);
                take(b, n);
                break;
        }
        case 6:
                sqlite3_bind_int64(q, at, edges[take(b, 1) % ARRAY_LEN(edges)]);
                break;
        case 7:
                sqlite3_bind_text(q, at, words[take(b, 1) % ARRAY_LEN(words)], -1, SQLITE_STATIC);
                break;
        default:
                sqlite3_bind_int64(q, at, row);
                break;
        }
}

static void put_row(sqlite3 *db, struct bytes *b, int64_t row)
{
        size_t t = take(b, 1) % ARRAY_LEN(tables);
        char sql[256];
        int n = snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES(", tables[t].name);
        for (int i = 0; i < tables[t].columns; i++)
                n += snprintf(sql + n, sizeof(sql) - (size_t)n, "?%s",
                              i + 1 < tables[t].columns ? "," : ")");
        sqlite3_stmt *q = NULL;
        if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
                abort(); /* the table above is wrong */
        for (int i = 0; i < tables[t].columns; i++)
                bind_value(q, i + 1, b, row);
        sqlite3_step(q);
        sqlite3_finalize(q);
}

/* Two GPUs, a host and a process over three seconds; every series is there. */
static const char small_run[] =
    "INSERT INTO manifest VALUES('start_ns','1700000000000000000'),('interval_s',0.1),"
    "('command','[\"train\"]'),('host','h'),('ticks_asked',30),('ticks_taken',30);"
    "INSERT INTO entity(id,kind,label,idx,gi,ci,flat) VALUES(1,0,'0',0,-1,-1,-1),"
    "(2,0,'1',1,-1,-1,-1);"
    "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i+1 FROM n WHERE i<29)"
    " INSERT INTO tick SELECT i, i*100000, 0, 100, 0 FROM n;"
    "INSERT INTO host_tick SELECT id, wall, skew, window, 2 FROM tick;"
    "INSERT INTO block SELECT 0, e.id, s.id, 0, 1 + s.id % 7, 0, NULL FROM entity e, series s;"
    "INSERT INTO host_block SELECT 0, 0, id, 0, 1 + id % 9, 0, NULL FROM host_series;"
    "INSERT INTO level_note VALUES(0,0,'python(7)',NULL),(0,4,'h',NULL);"
    "INSERT INTO host_gpu VALUES(0,'0'),(1,'1');"
    "INSERT INTO process VALUES(1,7,1,0,1,'0','u','g','','','python',0,'torch'),"
    "(2,8,7,0,1,'1','u','g','','','python',1,NULL);"
    "INSERT INTO process_sample VALUES(0,1,0,1,1,1,1,1,1,1),(0,2,0,1,1,1,1,1,1,1);"
    "INSERT INTO stack_text VALUES(1,'train.py'),(2,'main'),(3,'json/decoder.py'),(4,'read');"
    "INSERT INTO stack_frame VALUES(3,1,2,1,88,0),(4,3,2,1,353,2);"
    "INSERT INTO stack_node VALUES(1,0,3,3,0),(2,1,4,3,4);"
    "INSERT INTO stack_process VALUES(0,7,1,5,'CPython 3.11.7','readable',NULL,'python',9,0),"
    "(1,8,7,6,NULL,'denied','no','python',0,0);"
    "INSERT INTO stack_thread VALUES(0,7,5,7,2,1),(1,8,6,8,2,0);"
    "INSERT INTO stack_kind VALUES(0,0,2,0,5),(1,1,1,4,1);"
    "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i+1 FROM n WHERE i<3) INSERT INTO"
    " stack_window SELECT i, x'00000014040000000114ffff' FROM n;"
    "INSERT INTO mark(wall_ns,mono_ns,host,pid,type,name,seconds,value) VALUES"
    "(1700000000500000000,0,'h',7,'begin','epoch',NULL,NULL),"
    "(1700000002000000000,0,'h',7,'end','epoch',NULL,NULL),"
    "(1700000001000000000,0,'h',7,'metric','loss',NULL,0.5),"
    "(1700000001000000000,0,'h',7,'event','saved',NULL,NULL);";

static const char *const views[] = {
    "gpus",         "samples",  "verdicts",  "levels",     "level_gpus",  "system", "cores",
    "cell",         "evidence", "host_cell", "host_ticks", "processes",   "phases", "events",
    "user_metrics", "ticks",    "stacks",    "stack_cell", "stack_frames"};

#define ROWS_MAX 200

/* The tables and what every session has in them, made once. */
static sqlite3 *template_session(void)
{
        static sqlite3 *db;
        struct strbuf sql = {0};
        if (db)
                return db;
        session_schema(&sql);
        if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
            sqlite3_exec(db, strbuf_str(&sql), NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(db, small_run, NULL, NULL, NULL) != SQLITE_OK)
                abort();
        /* We read no views, and to parse them takes most of the time. */
        for (size_t i = 0; i < ARRAY_LEN(views); i++) {
                char drop[64];
                snprintf(drop, sizeof(drop), "DROP VIEW IF EXISTS %s", views[i]);
                sqlite3_exec(db, drop, NULL, NULL, NULL);
        }
        strbuf_finish(&sql);
        return db;
}

static void make_session(const char *path, struct bytes b)
{
        sqlite3 *db = template_session();
        sqlite3_int64 len = 0;
        sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
        for (int64_t i = 0; i < ROWS_MAX && b.n > 0; i++)
                put_row(db, &b, i);
        sqlite3_exec(db, "SAVEPOINT made", NULL, NULL, NULL);
        unsigned char *image = sqlite3_serialize(db, "main", &len, 0);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || !image || write(fd, image, (size_t)len) != len)
                abort();
        close(fd);
        sqlite3_free(image);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- what reads it ---- */

/* No byte of a file may do something to a terminal. */
static void check_text(const struct strbuf *out)
{
        for (size_t i = 0; i < out->len; i++) {
                uint8_t c = (uint8_t)out->s[i];
                if ((c < ' ' && c != '\n') || c == 0x7f)
                        abort();
        }
}

static void check_json(const struct strbuf *out)
{
        json_error_t why;
        json_t *json = json_loadb(out->s, out->len, 0, &why);
        if (!json) {
                fprintf(stderr, "%s: %.200s\n", why.text, out->s + MAX(why.position - 100, 0));
                abort();
        }
        json_decref(json);
}

/* Read once, as for the page, which shows the most; written in every form. */
static void report(const struct config *config, const char *path)
{
        static const char *const formats[] = {"html", "text", "json", "resource-summary"};
        struct run_summary *s = calloc(1, sizeof(*s));
        struct err err = {0};
        int r = run_summary_read(s, config, path, formats[0], &err);
        if (r < 0 && err.msg[0] == '\0')
                abort(); /* it says why */
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(formats); i++) {
                struct strbuf out = {0};
                if (run_summary_write(s, formats[i], &out, &err) < 0)
                        abort();
                if (i == 1)
                        check_text(&out);
                if (i > 1)
                        check_json(&out);
                strbuf_finish(&out);
        }
        run_summary_finish(s);
        free(s);
}

static void look_at_stacks(const char *path)
{
        struct stack_snapshot look = {0};
        struct strbuf out = {0};
        struct err err = {0};
        if (snapshot_recorded(path, -1, &look, &err) == 0) {
                if (snapshot_write_json(&look, "1", &out) < 0)
                        abort();
                check_json(&out);
                strbuf_clear(&out);
                if (snapshot_write_text(&look, true, &out) < 0)
                        abort();
        }
        strbuf_finish(&out);
        stack_snapshot_finish(&look);
}

static void draw_views(struct ui *ui, const struct ui_data *data, struct canvas *c)
{
        for (enum view_id v = 0; v < VIEW_COUNT; v++) {
                static const int sizes[][2] = {{200, 60}, {80, 24}, {40, 8}};
                ui_show(ui, v);
                ui->job.tree = v % 2 == 0 || !ui->job.tree;
                const int *size = sizes[(v + data->frame->tick) % ARRAY_LEN(sizes)];
                if (canvas_resize(c, size[0], size[1]) == 0)
                        ui_draw(ui, data, c);
        }
}

#define FRAMES_SHOWN 200

static void show(const struct config *config, const char *path)
{
        struct pipeline *p = NULL;
        struct err err = {0};
        char notice[SETUP_NOTICE_MAX];
        const struct frame *f;
        static struct ui ui;
        struct canvas c = {0};
        if (setup_open(config, path, false, 0, &p, notice, &err) < 0)
                return;
        pipeline_want_processes(p, true);
        struct history *history = history_open(120);
        struct host_play *host = host_play_open(path);
        ui_init(&ui);
        for (int i = 0; i < FRAMES_SHOWN && pipeline_next(p, &f, &err) > 0; i++) {
                history_push(history, f);
                struct ui_data data = {.frame = f,
                                       .trends = history_trends(history),
                                       .version = "1",
                                       .error = "",
                                       .hint = "",
                                       .state = SOURCE_RUNNING,
                                       .interval_ns = NS_PER_S / 10,
                                       .replay = true,
                                       .processes = &f->processes,
                                       .host = host ? host_play_at(host, f->wall_ns) : NULL};
                ui_update(&ui, &data);
                if (i == 0 || i == 25)
                        draw_views(&ui, &data, &c);
        }
        canvas_finish(&c);
        ui_finish(&ui);
        host_play_close(host);
        history_close(history);
        pipeline_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char path[64];
        struct config config = {0};
        if (!path[0])
                snprintf(path, sizeof(path), "/dev/shm/assay-fuzz-run-%d.assay", (int)getpid());
        make_session(path, (struct bytes){data, size});
        report(&config, path);
        fuzz_plot_run(&config, path);
        look_at_stacks(path);
        show(&config, path);
        unlink(path);
        return 0;
}
