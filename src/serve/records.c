#include "serve/records.h"

#include "base/clock.h"
#include "present/stream/json.h"
#include "serve/counters.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDS_MAX 1000000 /* at about 1 kB each */
#define BUSY_MS 2000

struct records {
        sqlite3 *db;
        int64_t keep_ns;
};

/* Numbers are kept by the names of what they count, as text: later versions may count more. */
static const char schema[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                             "CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, kind TEXT "
                             "NOT NULL, job TEXT, user TEXT,"
                             " account TEXT, partition TEXT, namespace TEXT, pod TEXT, container "
                             "TEXT, gpus TEXT, n_gpus INTEGER,"
                             " start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, final INTEGER "
                             "NOT NULL, gpu_s REAL, wasted_s REAL,"
                             " findings INTEGER, peak_memory REAL, counters TEXT NOT NULL);"
                             "CREATE INDEX IF NOT EXISTS record_end ON record (end_ns);"
                             "PRAGMA user_version=1;"
                             "UPDATE record SET final=1 WHERE final=0;";

static int fail(sqlite3 *db, const char *what, struct err *err)
{
        return err_set(err, -EIO, "cannot %s the job records: %s", what,
                       db ? sqlite3_errmsg(db) : "out of memory");
}

int records_open(const char *path, int64_t keep_ns, struct records **ret, struct err *err)
{
        struct records *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->keep_ns = keep_ns;
        mode_t mask = umask(0077);
        int code = sqlite3_open(path, &r->db);
        umask(mask);
        sqlite3_busy_timeout(r->db, BUSY_MS);
        if (code != SQLITE_OK || sqlite3_exec(r->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
                code = fail(r->db, "open", err);
                records_close(r);
                return code;
        }
        *ret = r;
        return 0;
}

void records_close(struct records *r)
{
        if (!r)
                return;
        sqlite3_close(r->db);
        free(r);
}

/* --- writing
 * ----------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *s, const char *name, const char *text)
{
        sqlite3_bind_text(s, sqlite3_bind_parameter_index(s, name), text, -1, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *s, const char *name, double v)
{
        sqlite3_bind_double(s, sqlite3_bind_parameter_index(s, name), v);
}

static void bind_whole(sqlite3_stmt *s, const char *name, int64_t v)
{
        sqlite3_bind_int64(s, sqlite3_bind_parameter_index(s, name), v);
}

static void bind_record(sqlite3_stmt *s, const struct record *r, const char *counters)
{
        if (r->id > 0)
                bind_whole(s, ":id", r->id);
        bind_text(s, ":kind", owner_kind_name(r->who.kind));
#define OWNER_TEXT(id, name, size) bind_text(s, ":" name, r->who.id);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        bind_text(s, ":gpus", r->gpus);
        bind_whole(s, ":n_gpus", r->n_gpus);
        bind_whole(s, ":start_ns", r->start_ns);
        bind_whole(s, ":end_ns", r->end_ns);
        bind_whole(s, ":final", r->final);
        bind_number(s, ":gpu_s", r->gpu_s);
        bind_number(s, ":wasted_s", r->wasted_s);
        bind_whole(s, ":findings", r->findings);
        bind_number(s, ":peak_memory", r->sum.peak_memory);
        bind_text(s, ":counters", counters);
}

int records_put(struct records *r, struct record *record, struct err *err)
{
        static const char sql[] =
            "INSERT OR REPLACE INTO record (id, kind, job, user, account, partition, namespace, "
            "pod,"
            " container, gpus, n_gpus, start_ns, end_ns, final, gpu_s, wasted_s, findings,"
            " peak_memory, counters) VALUES (:id, :kind, :job, :user, :account, :partition,"
            " :namespace, :pod, :container, :gpus, :n_gpus, :start_ns, :end_ns, :final, :gpu_s,"
            " :wasted_s, :findings, :peak_memory, :counters)";
        sqlite3_stmt *s = NULL;
        struct strbuf counters = {0};
        counters_put(&record->sum, &counters);
        int code = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL);
        if (code == SQLITE_OK) {
                bind_record(s, record, strbuf_str(&counters));
                code = sqlite3_step(s);
        }
        sqlite3_finalize(s);
        strbuf_finish(&counters);
        if (code != SQLITE_DONE)
                return fail(r->db, "write", err);
        record->id = record->id > 0 ? record->id : sqlite3_last_insert_rowid(r->db);
        return 0;
}

void records_trim(struct records *r, int64_t now_ns)
{
        char sql[256];
        snprintf(sql, sizeof(sql),
                 "DELETE FROM record WHERE final=1 AND (end_ns < %lld OR id <= "
                 "(SELECT max(id) FROM record) - %d)",
                 (long long)(now_ns - r->keep_ns), RECORDS_MAX);
        sqlite3_exec(r->db, sql, NULL, NULL, NULL);
}

/* --- reading
 * ----------------------------------------------------------------------------------------- */

static void copy_column(sqlite3_stmt *s, int column, char *ret, size_t size)
{
        const char *text = (const char *)sqlite3_column_text(s, column);
        snprintf(ret, size, "%s", text ? text : "");
}

static enum owner_kind kind_of(const char *name)
{
        for (enum owner_kind k = 0; k < OWNER_KIND_COUNT; k++) {
                if (strcmp(owner_kind_name(k), name) == 0)
                        return k;
        }
        return OWNER_PROCESS;
}

/* Columns in the order of the query below. */
static void read_record(sqlite3_stmt *s, struct record *r)
{
        char kind[16];
        int c = 0;
        *r = (struct record){.id = sqlite3_column_int64(s, c++)};
        copy_column(s, c++, kind, sizeof(kind));
        r->who.kind = kind_of(kind);
#define OWNER_TEXT(id, name, size) copy_column(s, c++, r->who.id, size);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        copy_column(s, c++, r->gpus, sizeof(r->gpus));
        r->n_gpus = (uint32_t)sqlite3_column_int64(s, c++);
        r->start_ns = sqlite3_column_int64(s, c++);
        r->end_ns = sqlite3_column_int64(s, c++);
        r->final = sqlite3_column_int(s, c++);
        r->gpu_s = sqlite3_column_double(s, c++);
        r->wasted_s = sqlite3_column_double(s, c++);
        r->findings = (uint32_t)sqlite3_column_int64(s, c++);
        double peak = sqlite3_column_double(s, c++);
        const char *text = (const char *)sqlite3_column_text(s, c++);
        counters_parse(text ? text : "", &r->sum);
        r->sum.peak_memory = peak;
}

static const char *empty_is_null(const char *text)
{
        return text && text[0] ? text : NULL;
}

static int prepare(sqlite3 *db, const struct records_query *q, sqlite3_stmt **ret, struct err *err)
{
        static const char sql[] =
            "SELECT id, kind, job, user, account, partition, namespace, pod, container, gpus, "
            "n_gpus,"
            " start_ns, end_ns, final, gpu_s, wasted_s, findings, peak_memory, counters FROM record"
            " WHERE (:id = 0 OR id = :id) AND end_ns >= :since AND (:user IS NULL OR user = :user)"
            " AND (:name IS NULL OR job = :name OR pod = :name)"
            " AND (:wasted = 0 OR wasted_s > 0.1 * gpu_s) ORDER BY end_ns DESC, id DESC LIMIT "
            ":limit";
        if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK)
                return fail(db, "read", err);
        bind_whole(*ret, ":id", q->id);
        bind_whole(*ret, ":since", q->since_ns);
        if (empty_is_null(q->user))
                bind_text(*ret, ":user", q->user);
        if (empty_is_null(q->job))
                bind_text(*ret, ":name", q->job);
        bind_whole(*ret, ":wasted", q->wasted);
        bind_whole(*ret, ":limit", q->limit > 0 ? (int64_t)q->limit : -1);
        return 0;
}

int records_each(const char *path, const struct records_query *q,
                 void (*each)(void *arg, const struct record *record), void *arg, struct err *err)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *s = NULL;
        struct stat st;
        if (stat(path, &st) < 0) {
                err_set(err, -errno, "there are no job records: '%s': %s", path, strerror(errno));
                return err_hint(err, "'assay serve' writes them; --state DIR says where");
        }
        int r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
                    ? 0
                    : fail(db, "open", err);
        struct record *record = calloc(1, sizeof(*record));
        if (r == 0 && !record)
                r = err_set(err, -ENOMEM, "out of memory");
        if (r == 0) {
                sqlite3_busy_timeout(db, BUSY_MS);
                r = prepare(db, q, &s, err);
        }
        int code = SQLITE_DONE;
        while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
                read_record(s, record);
                each(arg, record);
        }
        if (r == 0 && code != SQLITE_DONE)
                r = fail(db, "read", err);
        sqlite3_finalize(s);
        sqlite3_close(db);
        free(record);
        return r;
}

/* --- JSON
 * -------------------------------------------------------------------------------------------- */

struct value record_share(const struct record *r, enum integral i)
{
        double observed = r->sum.v[INTEGRAL_OBSERVED];
        if (!integral_there(&r->sum, i) || !(observed > 0))
                return value_missing(STATE_NONE);
        return value_ok(r->sum.v[i] / observed);
}

struct value record_coverage(const struct record *r)
{
        return r->gpu_s > 0 ? value_ok(MIN(r->sum.v[INTEGRAL_OBSERVED] / r->gpu_s, 1.0))
                            : value_missing(STATE_NONE);
}

static void put_state(struct jsonw *j, const char *name, double seconds)
{
        if (seconds > 0)
                jsonw_number(j, name, seconds);
}

static void put_sums(struct jsonw *j, const struct record *r)
{
        const struct integrals *in = &r->sum;
        jsonw_object(j, "counters");
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (integral_there(in, i))
                        jsonw_number(j, integral_info(i)->name, in->v[i]);
        }
        jsonw_end(j);
        jsonw_object(j, "class_s");
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++)
                put_state(j, workload_status(w), in->class_s[w]);
        jsonw_end(j);
        jsonw_object(j, "limiter_s");
        for (enum limiter i = 0; i < LIMITER_COUNT; i++)
                put_state(j, limiter_name(i), in->limiter_s[i]);
        jsonw_end(j);
        jsonw_object(j, "health_s");
        for (enum health_state h = 0; h <= HEALTH_CRIT; h++)
                put_state(j, health_name(h), in->health_s[h]);
        jsonw_end(j);
        jsonw_array(j, "findings");
        for (enum finding f = 0; f < FINDING_COUNT; f++) {
                if (r->findings & (1u << f))
                        jsonw_text(j, NULL, finding_text(f));
        }
        jsonw_end(j);
}

void record_json(const struct record *r, struct jsonw *j)
{
        jsonw_object(j, NULL);
        jsonw_whole(j, "id", r->id);
        jsonw_text(j, "kind", owner_kind_name(r->who.kind));
#define OWNER_TEXT(id, name, size) jsonw_text(j, name, r->who.id);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        jsonw_text(j, "gpus", r->gpus);
        jsonw_number(j, "n_gpus", r->n_gpus);
        jsonw_number(j, "start", clock_to_seconds(r->start_ns));
        jsonw_number(j, "end", clock_to_seconds(r->end_ns));
        jsonw_bool(j, "final", r->final);
        jsonw_number(j, "gpu_seconds", r->gpu_s);
        jsonw_number(j, "wasted_seconds", r->wasted_s);
        jsonw_value(j, "coverage", record_coverage(r));
        jsonw_value(j, "real_util", record_share(r, INTEGRAL_REAL));
        jsonw_value(j, "sm_active", record_share(r, INTEGRAL_ACTIVE_SM));
        jsonw_value(j, "gpu_util", record_share(r, INTEGRAL_ACTIVE_GPU_UTIL));
        jsonw_number(j, "peak_memory", r->sum.peak_memory);
        put_sums(j, r);
        jsonw_end(j);
}

static void put_one(void *arg, const struct record *record)
{
        jsonw_line(arg);
        record_json(record, arg);
}

int records_json(const char *path, const struct records_query *query, struct jsonw *j,
                 struct err *err)
{
        jsonw_array(j, "jobs");
        int r = records_each(path, query, put_one, j, err);
        jsonw_end(j);
        return r;
}
