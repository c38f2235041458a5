#include "serve/records.h"

#include "base/beside.h"
#include "base/clock.h"
#include "present/stream/json.h"
#include "serve/counters.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDS_MAX 1000000 /* at about 1 kB each */
#define BUSY_MS 2000
#define TEXT_BYTES_MAX (1 << 20) /* a record's counters are a few kB */
#define NUMBER_MAX 1e15          /* seconds and bytes of one stay */
#define GPUS_MAX 65536

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

static int fail_db(sqlite3 *db, const char *what, struct err *err)
{
        return err_set(err, -EIO, "cannot %s the job records: %s", what,
                       db ? sqlite3_errmsg(db) : "out of memory");
}

/*
 * What reading may cost: steps of SQLite's machine, some to begin with and some a byte of the file.
 * A file that is made to take forever is given up.
 */
#define STEPS_FREE 100000000
#define STEPS_A_BYTE 20
#define STEPS_A_ROUND 1000000

struct patience {
        int64_t left;
};

static int count_steps(void *arg)
{
        struct patience *p = arg;
        p->left -= STEPS_A_ROUND;
        return p->left < 0;
}

/* The folder may be another user's, or a copy of one: the file runs nothing of its own. */
static void harden_db(sqlite3 *db)
{
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

/* A view could continue forever, a virtual table run other code, a computed column take its time.
 */
static int check_table(sqlite3 *db, struct err *err)
{
        static const char sql[] =
            "SELECT 1 FROM sqlite_master WHERE name = 'record' COLLATE NOCASE AND"
            " (type <> 'table' OR rootpage = 0 OR sql LIKE 'create virtual%')"
            " UNION ALL SELECT 1 FROM pragma_table_xinfo('record') WHERE hidden <> 0 LIMIT 1";
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
        code = code == SQLITE_OK ? sqlite3_step(s) : code;
        sqlite3_finalize(s);
        if (code == SQLITE_DONE)
                return 0;
        if (code != SQLITE_ROW)
                return fail_db(db, "read", err);
        err_set(err, ERR_DATA, "cannot read the job records: 'record' is not a plain table");
        return err_hint(err, "the file is damaged, or made to harm; do not trust its source");
}

/*
 * Links inside the folder are not followed; the folder itself may be one. A reader leaves nothing
 * in it: a server that runs has made what its log needs.
 */
static int open_plain(const char *path, int flags, sqlite3 **ret)
{
        char folder[PATH_MAX], local[PATH_MAX + NAME_MAX + 2], uri[3 * sizeof(local)];
        const char *slash = strrchr(path, '/');
        snprintf(local, sizeof(local), "%.*s", slash ? (int)(slash - path) + 1 : 2,
                 slash ? path : "./");
        if (!realpath(local, folder))
                return SQLITE_CANTOPEN;
        snprintf(local, sizeof(local), "%s/%s", folder, slash ? slash + 1 : path);
        bool alone = (flags & SQLITE_OPEN_READONLY) && beside_reading_uri(local, uri, sizeof(uri));
        int code =
            sqlite3_open_v2(alone ? uri : local, ret,
                            flags | SQLITE_OPEN_NOFOLLOW | (alone ? SQLITE_OPEN_URI : 0), NULL);
        if (code != SQLITE_OK)
                return code;
        sqlite3_busy_timeout(*ret, BUSY_MS);
        harden_db(*ret);
        int keep = (flags & SQLITE_OPEN_READONLY) != 0; /* a log in which nothing counts, too */
        sqlite3_file_control(*ret, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
        return alone ? sqlite3_exec(*ret, BESIDE_READING_SQL, NULL, NULL, NULL) : SQLITE_OK;
}

int records_open(const char *path, int64_t keep_ns, struct records **ret, struct err *err)
{
        struct records *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->keep_ns = keep_ns;
        mode_t mask = umask(0077);
        int code = open_plain(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &r->db);
        umask(mask);
        code = code == SQLITE_OK ? check_table(r->db, err) : fail_db(r->db, "open", err);
        if (code == 0 && sqlite3_exec(r->db, schema, NULL, NULL, NULL) != SQLITE_OK)
                code = fail_db(r->db, "open", err);
        if (code < 0) {
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
        record_put_use(record, &counters);
        int code = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL);
        if (code == SQLITE_OK) {
                bind_record(s, record, strbuf_str(&counters));
                code = sqlite3_step(s);
        }
        sqlite3_finalize(s);
        strbuf_finish(&counters);
        if (code != SQLITE_DONE)
                return fail_db(r->db, "write", err);
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

/* A number of seconds or bytes; false when it cannot be one. */
static bool read_number(sqlite3_stmt *s, int column, double *ret)
{
        *ret = sqlite3_column_double(s, column);
        return *ret >= 0 && *ret <= NUMBER_MAX;
}

/* A whole number; false when it is beyond. */
static bool read_whole(sqlite3_stmt *s, int column, int64_t most, int64_t *ret)
{
        *ret = sqlite3_column_int64(s, column);
        return *ret >= 0 && *ret <= most;
}

/* Columns in the order of the query below. False when it makes no sense. */
static bool read_record(sqlite3_stmt *s, struct record *r)
{
        char kind[16];
        int c = 0;
        int64_t n_gpus, final, findings;
        double peak;
        *r = (struct record){.id = sqlite3_column_int64(s, c++)};
        copy_column(s, c++, kind, sizeof(kind));
        r->who.kind = kind_of(kind);
#define OWNER_TEXT(id, name, size) copy_column(s, c++, r->who.id, size);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        copy_column(s, c++, r->gpus, sizeof(r->gpus));
        bool fine = read_whole(s, c++, GPUS_MAX, &n_gpus);
        fine &= read_whole(s, c++, INT64_MAX, &r->start_ns);
        fine &= read_whole(s, c++, INT64_MAX, &r->end_ns);
        fine &= read_whole(s, c++, 1, &final);
        fine &= read_number(s, c++, &r->gpu_s);
        fine &= read_number(s, c++, &r->wasted_s);
        fine &= read_whole(s, c++, UINT32_MAX, &findings);
        fine &= read_number(s, c++, &peak);
        r->n_gpus = (uint32_t)n_gpus;
        r->final = final;
        r->findings = (uint32_t)findings;
        const char *text = (const char *)sqlite3_column_text(s, c++);
        counters_parse(text ? text : "", &r->sum);
        record_parse_use(text ? text : "", r);
        r->sum.peak_memory = peak;
        return fine;
}

static const char *empty_is_null(const char *text)
{
        return text && text[0] ? text : NULL;
}

static int records_prepare(sqlite3 *db, const struct records_query *q, sqlite3_stmt **ret,
                           struct err *err)
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
                return fail_db(db, "read", err);
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

/* Opens the file for reading: nothing is written, whatever was left beside it. */
static int open_to_read(const char *path, struct patience *p, sqlite3 **ret, struct err *err)
{
        struct stat st;
        if (stat(path, &st) < 0) {
                err_set(err, -errno, "there are no job records: '%s': %s", path, strerror(errno));
                return err_hint(err, "'assay serve' writes them; --state DIR says where");
        }
        if (!S_ISREG(st.st_mode))
                return err_set(err, ERR_DATA, "'%s' is not a plain file", path);
        char beside[PATH_MAX + 16];
        const char *why = beside_why_not(path, beside, sizeof(beside));
        if (why) {
                err_set(err, -EPERM, "'%s' is in the way: %s", beside, why);
                return err_hint(err, BESIDE_HINT);
        }
        if (open_plain(path, SQLITE_OPEN_READONLY, ret) != SQLITE_OK)
                return fail_db(*ret, "open", err);
        /* Holes are no bytes. */
        p->left = STEPS_FREE + MIN((int64_t)st.st_size, (int64_t)st.st_blocks * 512) * STEPS_A_BYTE;
        sqlite3_progress_handler(*ret, STEPS_A_ROUND, count_steps, p);
        return check_table(*ret, err);
}

int records_each(const char *path, const struct records_query *q,
                 void (*each)(void *arg, const struct record *record), void *arg, struct err *err)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *s = NULL;
        struct patience patience;
        struct record *record = calloc(1, sizeof(*record));
        int r = record ? open_to_read(path, &patience, &db, err)
                       : err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = records_prepare(db, q, &s, err);
        int code = SQLITE_DONE;
        while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
                if (read_record(s, record))
                        each(arg, record);
                else if (q->senseless)
                        (*q->senseless)++;
        }
        if (r == 0 && code != SQLITE_DONE)
                r = fail_db(db, "read", err);
        sqlite3_finalize(s);
        sqlite3_close(db);
        free(record);
        return r;
}

/* --- JSON
 * -------------------------------------------------------------------------------------------- */

/* What the driver gives by itself is known all the time that the GPU was seen. */
static bool needs_counters(enum integral i)
{
        const struct integral_info *info = integral_info(i);
        return info->how != INTEGRAL_HOW_BITS && i != INTEGRAL_ACTIVE_GPU_UTIL;
}

struct value record_share(const struct record *r, enum integral i)
{
        enum integral of = needs_counters(i) ? INTEGRAL_OBSERVED : INTEGRAL_SEEN;
        /* Records of older programs have the one alone. */
        if (!integral_is_set(&r->sum, of))
                of = INTEGRAL_OBSERVED;
        double seconds = r->sum.v[of];
        if (!integral_is_set(&r->sum, i) || !(seconds > 0))
                return value_missing(STATE_NONE);
        /* Sums that were rounded may pass 1 a little; what is far beyond is not a share. */
        double share = r->sum.v[i] / seconds;
        return share < 1.01 ? value_ok(share) : value_missing(STATE_NONE);
}

struct value record_coverage(const struct record *r)
{
        double known = r->sum.v[INTEGRAL_OBSERVED] + r->sum.v[INTEGRAL_IDLE_UNOBSERVED];
        return r->gpu_s > 0 ? value_ok(MIN(known / r->gpu_s, 1.0)) : value_missing(STATE_NONE);
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
                if (integral_is_set(in, i))
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
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (r->findings & (1u << f))
                        jsonw_text(j, NULL, health_reason_text(f));
        }
        jsonw_end(j);
}

/* Of this node, and of each GPU in the order of "gpus". */
static void put_use_json(struct jsonw *j, const struct record *r)
{
        jsonw_object(j, "use");
        jsonw_value(j, "cpu_seconds", r->use.cpu_s);
        jsonw_value(j, "cpus", r->use.cpus);
        jsonw_value(j, "memory_peak", r->use.memory_peak);
        jsonw_value(j, "memory_limit", r->use.memory_limit);
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < r->n_each; i++) {
                jsonw_object(j, NULL);
                jsonw_value(j, "gpu_util", r->each[i].util);
                jsonw_value(j, "memory_peak", r->each[i].memory_peak);
                jsonw_value(j, "memory_total", r->each[i].memory_total);
                jsonw_end(j);
        }
        jsonw_end(j);
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
        if (r->n_stays > 1) {
                jsonw_number(j, "stays", r->n_stays);
                jsonw_number(j, "paused_seconds", r->paused_s);
        }
        jsonw_number(j, "gpu_seconds", r->gpu_s);
        jsonw_number(j, "wasted_seconds", r->wasted_s);
        jsonw_value(j, "coverage", record_coverage(r));
        jsonw_value(j, "real_util", record_share(r, INTEGRAL_REAL));
        jsonw_value(j, "sm_active", record_share(r, INTEGRAL_ACTIVE_SM));
        jsonw_value(j, "gpu_util", record_share(r, INTEGRAL_ACTIVE_GPU_UTIL));
        jsonw_number(j, "peak_memory", r->sum.peak_memory);
        put_use_json(j, r);
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
