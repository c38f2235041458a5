#include "session/schema.h"

#include "session/block.h"
#include "session/host_series.h"
#include "session/series.h"
#include "session/session.h"
#include "session/state.h"

#include <stdio.h>

#define ENTITY_TEXT(id, name) "," name " TEXT"
static const char tables[] =
    "CREATE TABLE manifest(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE entity(id INTEGER PRIMARY KEY, kind INTEGER, label TEXT, idx INTEGER,"
    " gi INTEGER, ci INTEGER, flat INTEGER" ENTITY_TEXTS(
        ENTITY_TEXT) ");"
                     "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT, unit TEXT, "
                     "step REAL, scale REAL);"
                     "CREATE TABLE word(kind TEXT, id INTEGER, text TEXT, PRIMARY KEY(kind, id)) "
                     "WITHOUT ROWID;"
                     /* wall: microseconds since start_ns; skew: what the monotonic clock says
                        beyond that. */
                     "CREATE TABLE tick(id INTEGER PRIMARY KEY, wall INTEGER, skew INTEGER, window "
                     "INTEGER,"
                     " stale INTEGER);"
                     "CREATE TABLE block(block INTEGER, entity INTEGER, series INTEGER, width "
                     "INTEGER,"
                     " base INTEGER, state INTEGER, data BLOB, PRIMARY KEY(block, entity, series)) "
                     "WITHOUT ROWID;"
                     "CREATE TABLE mark(id INTEGER PRIMARY KEY, wall_ns INTEGER, mono_ns INTEGER, "
                     "host TEXT,"
                     " pid INTEGER, type TEXT, name TEXT, seconds REAL, value REAL, data TEXT, "
                     "spool TEXT UNIQUE);"
                     "CREATE TABLE alphabet(bytes BLOB);";
#undef ENTITY_TEXT

static const char host_tables[] =
    "CREATE TABLE host_series(id INTEGER PRIMARY KEY, scope TEXT, name TEXT, unit TEXT, step REAL,"
    " scale REAL);"
    "CREATE TABLE host_tick(id INTEGER PRIMARY KEY, wall INTEGER, skew INTEGER, window INTEGER,"
    " cores INTEGER);"
    "CREATE TABLE host_block(block INTEGER, item INTEGER, series INTEGER, width INTEGER,"
    " base INTEGER, state INTEGER, data BLOB, PRIMARY KEY(block, item, series)) WITHOUT ROWID;"
    "CREATE TABLE host_gpu(id INTEGER PRIMARY KEY, label TEXT);"
    "CREATE TABLE level_note(tick INTEGER, level INTEGER, name TEXT, why TEXT,"
    " PRIMARY KEY(tick, level)) WITHOUT ROWID;"
    "CREATE TABLE serving_note(tick INTEGER, item INTEGER, engine TEXT, url TEXT, model TEXT,"
    " gpus TEXT, why TEXT, front INTEGER, PRIMARY KEY(tick, item)) WITHOUT ROWID;"
    "CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, start_ns INTEGER,"
    " type INTEGER, gpu TEXT, user TEXT, grp TEXT, slurm_job TEXT, container TEXT, command TEXT,"
    " child INTEGER, framework TEXT);"
    /* Figures are scaled; below zero they say why they are missing. */
    "CREATE TABLE process_sample(tick INTEGER, process INTEGER, gone INTEGER, gpu_memory INTEGER,"
    " gpu_util INTEGER, gpu_band INTEGER, gpu_encoder INTEGER, gpu_decoder INTEGER, cpu INTEGER,"
    " memory INTEGER, PRIMARY KEY(tick, process)) WITHOUT ROWID;";

/* A row of stack_window: how long each thread was seen doing what, STACK_ROW_BYTES each. */
static const char stack_tables[] =
    "CREATE TABLE stack_text(id INTEGER PRIMARY KEY, text TEXT);"
    "CREATE TABLE stack_frame(id INTEGER PRIMARY KEY, file INTEGER, function INTEGER,"
    " first_line INTEGER, line INTEGER, whose INTEGER);"
    /* own, inner: the frames that people act on, and that it is in. */
    "CREATE TABLE stack_node(id INTEGER PRIMARY KEY, parent INTEGER, frame INTEGER, own INTEGER,"
    " inner INTEGER);"
    "CREATE TABLE stack_process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER,"
    " start_ticks INTEGER, runtime TEXT, access TEXT, why TEXT, command TEXT, samples INTEGER,"
    " torn INTEGER);"
    "CREATE TABLE stack_thread(id INTEGER PRIMARY KEY, pid INTEGER, start_ticks INTEGER,"
    " tid INTEGER, name INTEGER, main INTEGER);"
    "CREATE TABLE stack_kind(id INTEGER PRIMARY KEY, thread INTEGER, stack INTEGER, call INTEGER,"
    " flags INTEGER);"
    "CREATE TABLE stack_window(id INTEGER PRIMARY KEY, data BLOB);";

static const char views[] =
    "CREATE VIEW c AS SELECT tick AS t, entity AS i, series AS s, stored AS v FROM cell;"
    "CREATE VIEW h AS SELECT tick AS t, item AS i, series AS s, stored AS v FROM host_cell;"

    "CREATE VIEW ticks AS SELECT t.id AS tick, (m.value + t.wall * 1000) / 1e9 AS time,"
    " (t.wall + coalesce(t.skew, 0)) / 1e6 AS elapsed, t.window / 1e3 AS window,"
    " t.stale AS stale FROM tick t, manifest m WHERE m.key = 'start_ns';"

    "CREATE VIEW samples AS SELECT t.tick, t.time, t.elapsed, e.label AS gpu, s.name AS metric,"
    " s.unit, c.stored * s.step / s.scale AS value, w.text AS missing"
    " FROM ticks t JOIN cell c ON c.tick = t.tick JOIN entity e ON e.id = c.entity"
    " JOIN series s ON s.id = c.series LEFT JOIN word w ON w.kind = 'state' AND w.id = c.state"
    " WHERE s.unit <> '';"

    "CREATE VIEW verdicts AS SELECT t.tick, t.time, t.elapsed, e.label AS gpu,"
    " w.text AS workload, c.stored AS rule, h.text AS health"
    " FROM ticks t JOIN entity e JOIN cell k ON k.tick = t.tick AND k.entity = e.id"
    " AND k.series = (SELECT id FROM series WHERE name = 'workload')"
    " JOIN word w ON w.kind = 'workload' AND w.id = k.stored"
    " LEFT JOIN cell c ON c.tick = t.tick AND c.entity = e.id"
    " AND c.series = (SELECT id FROM series WHERE name = 'rule')"
    " LEFT JOIN cell d ON d.tick = t.tick AND d.entity = e.id"
    " AND d.series = (SELECT id FROM series WHERE name = 'health')"
    " LEFT JOIN word h ON h.kind = 'health' AND h.id = d.stored;"

    "CREATE VIEW events AS SELECT wall_ns / 1e9 AS time, name AS event, data, host, pid FROM mark"
    " WHERE type = 'event' ORDER BY wall_ns, mono_ns;"
    "CREATE VIEW user_metrics AS SELECT wall_ns / 1e9 AS time, name, value, host, pid,"
    " json_extract(data, '$.unit') AS unit FROM mark"
    " WHERE type = 'metric' ORDER BY wall_ns, mono_ns;"
    "CREATE VIEW steps AS SELECT wall_ns / 1e9 AS time, name, coalesce(seconds,"
    " CASE WHEN mono_ns > 0 THEN (mono_ns - lag(mono_ns) OVER w) / 1e9 END) AS seconds,"
    " value AS waited, host, pid FROM mark WHERE type = 'step'"
    " WINDOW w AS (PARTITION BY host, pid, name ORDER BY mono_ns, wall_ns, id)"
    " ORDER BY wall_ns, mono_ns;";

/*
 * An end closes the last open phase of its name, of the same process where that marks both, else of
 * the same host: how deep the phases of a name are nested says which. The wall clock may be set
 * meanwhile: the other clock orders them, and says how long they took. Window functions do it in
 * one pass. A phase that nobody ended is ended by the last tick.
 */
static const char phase_view[] =
    "CREATE VIEW phases AS WITH own AS (SELECT *, CASE WHEN min(type) OVER p <> max(type) OVER p"
    " THEN pid END AS who FROM mark WHERE type IN ('begin', 'end')"
    " WINDOW p AS (PARTITION BY host, name, pid)),"
    " deep AS (SELECT *, sum(CASE type WHEN 'begin' THEN 1 ELSE -1 END)"
    " OVER (PARTITION BY host, name, who ORDER BY mono_ns, wall_ns, id) + (type = 'end') AS depth"
    " FROM own),"
    " ended AS (SELECT *, lead(wall_ns) OVER n AS end_ns, lead(mono_ns) OVER n AS end_mono,"
    " lead(data) OVER n AS end_data FROM deep"
    " WINDOW n AS (PARTITION BY host, name, who, depth ORDER BY mono_ns, wall_ns, id)),"
    " both AS (SELECT name, wall_ns / 1e9 - max(seconds, 0) AS start_time, wall_ns / 1e9 AS"
    " end_time, max(seconds, 0) AS took, 0 AS open, data, host, pid FROM mark"
    " WHERE type = 'phase' UNION ALL"
    " SELECT name, wall_ns / 1e9, coalesce(end_ns / 1e9,"
    " max(wall_ns / 1e9, coalesce((SELECT max(time) FROM ticks), 0))),"
    " CASE WHEN mono_ns > 0 AND end_mono > 0 THEN (end_mono - mono_ns) / 1e9 END, end_ns IS NULL,"
    " coalesce(json_patch(data, end_data), data, end_data), host, pid FROM ended WHERE type = "
    "'begin')"
    " SELECT name, start_time, end_time, coalesce(took, end_time - start_time) AS seconds, open,"
    " data, host, pid FROM both ORDER BY start_time;";

static const char host_views[] =
    "CREATE VIEW host_ticks AS SELECT t.id AS tick, (m.value + t.wall * 1000) / 1e9 AS time,"
    " (t.wall + coalesce(t.skew, 0)) / 1e6 AS elapsed, t.window / 1e3 AS window, t.cores"
    " FROM host_tick t, manifest m WHERE m.key = 'start_ns';"

    "CREATE VIEW cores AS SELECT t.tick, t.time, t.elapsed, c.item AS core,"
    " c.stored * s.step / s.scale AS util"
    " FROM host_ticks t JOIN host_series s ON s.scope = 'core' AND s.name = 'util'"
    " JOIN host_cell c ON c.tick = t.tick AND c.series = s.id WHERE c.item < t.cores;"

    "CREATE VIEW processes AS SELECT t.tick, t.time, t.elapsed, p.pid, p.start_ns / 1e9 AS started,"
    " p.user, p.command, p.gpu, s.gone,"
    " CASE WHEN s.gpu_util >= 0 THEN s.gpu_util / 1e3 END AS gpu_util,"
    " CASE WHEN s.gpu_band >= 0 THEN s.gpu_band / 1e3 END AS gpu_band,"
    " CASE WHEN s.gpu_encoder >= 0 THEN s.gpu_encoder / 1e3 END AS gpu_encoder,"
    " CASE WHEN s.gpu_decoder >= 0 THEN s.gpu_decoder / 1e3 END AS gpu_decoder,"
    " CASE WHEN s.gpu_memory >= 0 THEN s.gpu_memory * 65536 END AS gpu_memory,"
    " CASE WHEN s.cpu >= 0 THEN s.cpu / 1e3 END AS cpu,"
    " CASE WHEN s.memory >= 0 THEN s.memory * 65536 END AS memory,"
    " p.slurm_job, p.container, p.ppid, p.child, p.framework"
    " FROM process_sample s JOIN process p ON p.id = s.process JOIN ticks t ON t.tick = s.tick;";

/* The big-endian number of that many bytes of d from the bit that an expression names. SQL has no
 * other way to make a number of bytes; its operators work from left to right. */
static void put_bytes(struct strbuf *out, const char *bit, unsigned bytes)
{
        strbuf_putc(out, '(');
        for (unsigned k = 1; k <= bytes; k++)
                strbuf_putf(out, "%sinstr(y,substr(d,(%s>>3)+%u,1))-1", k > 1 ? "<<8|" : "", bit,
                            k);
        strbuf_putc(out, ')');
}

/* The big-endian number of some bytes of a packed row. */
static void put_packed_field(struct strbuf *out, const char *name, int from, int bytes)
{
        const char *gap = "";
        for (int i = 0; i < bytes; i++) {
                strbuf_putf(out, "%s(instr(a.bytes,substr(w.data,e.k*%d+%d,1))-1)*%d", gap,
                            STACK_ROW_BYTES, from + i + 1, 1 << 8 * (bytes - 1 - i));
                gap = "+";
        }
        strbuf_putf(out, " AS %s", name);
}

/* One row a second, thread and stack; and the frames of a stack, its innermost first. */
static void put_stack_views(struct strbuf *out)
{
        strbuf_putf(out,
                    "CREATE VIEW stack_cell AS WITH RECURSIVE e(id, k, n) AS (SELECT id, 0,"
                    " length(data) / %d FROM stack_window WHERE length(data) >= %d UNION ALL"
                    " SELECT id, k + 1, n FROM e WHERE k + 1 < n), p AS (SELECT e.id AS elapsed,",
                    STACK_ROW_BYTES, STACK_ROW_BYTES);
        put_packed_field(out, "kind,", 0, 3);
        put_packed_field(out, "looks,", 3, 1);
        put_packed_field(out, "ms", 4, 2);
        strbuf_puts(
            out, " FROM e JOIN stack_window w ON w.id = e.id JOIN alphabet a) SELECT p.elapsed,"
                 " x.thread, x.stack, x.call, x.flags, p.looks, p.ms FROM p"
                 " JOIN stack_kind x ON x.id = p.kind;"
                 "CREATE VIEW stacks AS SELECT c.elapsed, c.ms / 1e3 AS seconds, c.looks, t.pid,"
                 " t.tid, n.text AS thread, t.main, CASE c.flags & 3 WHEN 1 THEN 'running'"
                 " WHEN 2 THEN 'waiting' WHEN 3 THEN 'blocked' END AS state,"
                 " c.flags >> 2 & 1 AS gil, nullif(l.text, '') AS call, o.text AS file, f.line,"
                 " g.text AS function, p.text AS in_file, i.line AS in_line,"
                 " q.text AS in_function, c.stack FROM stack_cell c"
                 " JOIN stack_thread t ON t.id = c.thread"
                 " LEFT JOIN stack_text n ON n.id = t.name LEFT JOIN stack_text l ON l.id = c.call"
                 " LEFT JOIN stack_node s ON s.id = c.stack AND c.stack > 0"
                 " LEFT JOIN stack_frame f ON f.id = s.own AND s.own > 0"
                 " LEFT JOIN stack_text o ON o.id = f.file LEFT JOIN stack_text g ON g.id ="
                 " f.function LEFT JOIN stack_frame i ON i.id = s.inner AND s.inner > 0"
                 " LEFT JOIN stack_text p ON p.id = i.file"
                 " LEFT JOIN stack_text q ON q.id = i.function;"
                 "CREATE VIEW stack_frames AS WITH RECURSIVE up(stack, node, depth) AS (SELECT id,"
                 " id, 0 FROM stack_node UNION ALL SELECT up.stack, s.parent, up.depth + 1 FROM up"
                 " JOIN stack_node s ON s.id = up.node WHERE s.parent > 0 AND s.parent < s.id)"
                 " SELECT up.stack, up.depth, o.text AS file, f.line, g.text AS function,"
                 " CASE f.whose WHEN 0 THEN 'user' WHEN 1 THEN 'library' ELSE 'interpreter' END AS"
                 " whose FROM up JOIN stack_node s ON s.id = up.node"
                 " JOIN stack_frame f ON f.id = s.frame JOIN stack_text o ON o.id = f.file"
                 " JOIN stack_text g ON g.id = f.function;");
}

/*
 * The view that undoes block_encode: one row a tick, entity (or item) and series. In its innermost
 * query n is the bits of an offset, m whether its top codes are states, x the bits of a place (0:
 * in order), o where the tick's place begins; then p is the place and q where the offset begins.
 */
static void put_cells(struct strbuf *out, const char *prefix, const char *entity)
{
        strbuf_putf(out,
                    "CREATE VIEW %scell AS SELECT tick, %s, series,"
                    " CASE WHEN n = 0 THEN base WHEN m AND code > (1 << n) - 9 THEN NULL"
                    " ELSE base + code END AS stored,"
                    " CASE WHEN base IS NULL THEN state WHEN m AND n AND code > (1 << n) - 9"
                    " THEN (1 << n) - 1 - code END AS state"
                    " FROM (SELECT *, CASE WHEN n = 0 THEN 0 WHEN n < 10 THEN ",
                    prefix, entity);
        put_bytes(out, "q", 2);
        strbuf_puts(out, ">>16-n-(q&7) WHEN n < 18 THEN ");
        put_bytes(out, "q", 3);
        strbuf_puts(out, ">>24-n-(q&7) ELSE ");
        put_bytes(out, "q", 7);
        strbuf_puts(out, ">>56-n-(q&7) END&(1<<n)-1 AS code"
                         " FROM (SELECT *, n * CASE x WHEN 0 THEN i ELSE ");
        put_bytes(out, "o", 2);
        strbuf_putf(out,
                    ">>16-x-(o&7)&(1<<x)-1 END AS q FROM (SELECT *, (c*n+7>>3<<3)+i*x AS o"
                    " FROM (SELECT t.id AS tick, b.%s, b.series, b.base, b.state, b.data AS d,"
                    " a.bytes AS y, t.id&%d AS i, b.width>>7&7 AS x, b.width>>10 AS c,"
                    " b.width<8 OR b.width&1 AS m,"
                    " CASE WHEN b.width<8 THEN b.width*8 ELSE (b.width&127)-8>>1 END AS n"
                    " FROM %stick t JOIN %sblock b ON b.block = t.id >> %d JOIN alphabet a))));",
                    entity, BLOCK_TICKS - 1, prefix, prefix, BLOCK_SHIFT);
}

/* A column of a wide view: the stored number of a series, in SI units. c and h are short for the
 * two views of cells: the text of a hundred such columns is in every file. */
static void put_column(struct strbuf *out, char cells, const char *item, size_t series,
                       const struct metric_info *info)
{
        struct series_scale s = series_scale(info);
        strbuf_putf(out, ",(SELECT v FROM %c WHERE t=k AND i=%s AND s=%zu)", cells, item, series);
        if (s.scale == 1)
                strbuf_putf(out, "*%.0f.", s.step);
        else
                strbuf_putf(out, "/%.0f.", s.scale);
        strbuf_putf(out, " %s", info->name);
}

/* Columns of one scope's series, for the item that an expression names. */
static void put_host_columns(struct strbuf *out, enum metric_scope scope, const char *item)
{
        for (size_t i = 0; i < HOST_SERIES_COUNT; i++) {
                if (host_series_scope(i) == scope && host_series_kept(i) &&
                    i != HOST_SERIES_EVIDENCE + EVIDENCE_FRAMEWORK)
                        put_column(out, 'h', item, i, host_series_info(i));
        }
}

/* k is the tick's number for put_column. */
#define HOST_TICKS " FROM (SELECT *, tick AS k FROM host_ticks) t"
/* A level is present from the note on that says so, until the next one. */
#define LEVEL_JOIN                                                                                 \
        HOST_TICKS " JOIN word w ON w.kind = 'level' JOIN level_note n ON n.level = w.id"          \
                   " AND n.tick = (SELECT max(x.tick) FROM level_note x WHERE x.level = w.id"      \
                   " AND x.tick <= t.tick)"

static void put_host_wide(struct strbuf *out)
{
        strbuf_puts(out, "CREATE VIEW levels AS SELECT t.tick, t.time, t.elapsed, w.text AS level,"
                         " n.name, n.why AS absent");
        put_host_columns(out, METRIC_SCOPE_LEVEL, "w.id");
        strbuf_puts(out, LEVEL_JOIN ";CREATE VIEW level_gpus AS SELECT t.tick, t.time, t.elapsed,"
                                    " w.text AS level, n.name, g.label AS gpu");
        char item[64];
        snprintf(item, sizeof(item), "w.id*%d+g.id", HOST_GPUS_MAX);
        put_host_columns(out, METRIC_SCOPE_LEVEL_GPU, item);
        strbuf_puts(out, LEVEL_JOIN " JOIN host_gpu g;CREATE VIEW system AS SELECT t.tick, t.time,"
                                    " t.elapsed");
        put_host_columns(out, METRIC_SCOPE_SYSTEM, "0");
        strbuf_puts(out, HOST_TICKS ";");
}

static void put_evidence(struct strbuf *out)
{
        struct series_scale s =
            series_scale(host_series_info(HOST_SERIES_EVIDENCE + EVIDENCE_FRAMEWORK));
        strbuf_puts(out, "CREATE VIEW evidence AS SELECT t.tick, t.time, t.elapsed,"
                         " g.label AS gpu");
        put_host_columns(out, METRIC_SCOPE_EVIDENCE, "g.id");
        strbuf_putf(out,
                    ",(SELECT w.text FROM host_cell c JOIN word w ON w.kind='framework' AND"
                    " w.id=c.stored*%.1f/%.0f WHERE c.tick=t.tick AND c.item=g.id AND c.series=%d)"
                    " AS framework" HOST_TICKS " JOIN host_gpu g;",
                    s.step, s.scale, HOST_SERIES_EVIDENCE + EVIDENCE_FRAMEWORK);
}

/* What each server did at each tick, with what it is from the last note on. */
static void put_engines(struct strbuf *out)
{
        strbuf_puts(out, "CREATE VIEW IF NOT EXISTS engines AS SELECT t.tick, t.time, t.elapsed, "
                         "n.engine, n.url,"
                         " n.model, n.gpus, n.why AS absent");
        put_host_columns(out, METRIC_SCOPE_SERVING, "n.item");
        strbuf_puts(out, HOST_TICKS " JOIN serving_note n ON n.tick = (SELECT max(x.tick) FROM"
                                    " serving_note x WHERE x.item = n.item AND x.tick <= t.tick);");
}

/* All rows of a table are one statement: each one more would be parsed, planned and run alone. */
static void begin_rows(struct strbuf *out, const char *table)
{
        strbuf_putf(out, "INSERT INTO %s VALUES", table);
}

static void end_rows(struct strbuf *out)
{
        if (out->len > 0)
                out->s[out->len - 1] = ';'; /* where a comma stands */
}

static void put_host_series_of(struct strbuf *out, bool servings)
{
        for (size_t i = 0; i < HOST_SERIES_COUNT; i++) {
                struct series_scale s = series_scale(host_series_info(i));
                if (host_series_kept(i) &&
                    (host_series_scope(i) == METRIC_SCOPE_SERVING) == servings)
                        strbuf_putf(out, "(%zu,'%s','%s','%s',%.17g,%.17g),", i,
                                    metric_scope_name(host_series_scope(i)),
                                    host_series_info(i)->name, unit_name(host_series_info(i)->unit),
                                    s.step, s.scale);
        }
        end_rows(out);
}

static void put_host_series(struct strbuf *out)
{
        begin_rows(out, "host_series");
        put_host_series_of(out, false);
}

void session_schema_servings(struct strbuf *out)
{
        strbuf_puts(out, "INSERT OR IGNORE INTO host_series VALUES");
        put_host_series_of(out, true);
        put_engines(out);
}

/* One row a tick and GPU, one column a metric. A column that is not asked for costs nothing. */
static void put_wide(struct strbuf *out)
{
        strbuf_puts(out, "CREATE VIEW gpus AS SELECT t.tick, t.time, t.elapsed, e.label AS gpu,"
                         " e.model, e.uuid");
        for (size_t i = 0; i < METRIC_COUNT; i++)
                put_column(out, 'c', "e.id", i, series_info(i));
        strbuf_puts(out, " FROM (SELECT *, tick AS k FROM ticks) t JOIN entity e;");
}

static void put_series(struct strbuf *out)
{
        begin_rows(out, "series");
        for (size_t i = 0; i < SERIES_COUNT; i++) {
                struct series_scale s = series_scale(series_info(i));
                strbuf_putf(out, "(%zu,'%s','%s',%.17g,%.17g),", i, series_info(i)->name,
                            i < METRIC_COUNT ? unit_name(series_info(i)->unit) : "", s.step,
                            s.scale);
        }
        end_rows(out);
}

static void put_word(struct strbuf *out, const char *kind, int id, const char *text)
{
        strbuf_putf(out, "('%s',%d,'%s'),", kind, id, text);
}

static void put_words(struct strbuf *out)
{
        begin_rows(out, "word");
        for (enum state i = 0; i < STATE_COUNT; i++)
                put_word(out, "state", (int)i, state_name(i));
        for (enum workload i = 0; i < WORKLOAD_COUNT; i++)
                put_word(out, "workload", (int)i, workload_status(i));
        for (enum health_state i = HEALTH_UNKNOWN; i <= HEALTH_CRIT; i++)
                put_word(out, "health", (int)i, health_name(i));
        for (enum level i = 0; i < LEVEL_COUNT; i++)
                put_word(out, "level", (int)i, level_name(i));
        for (enum framework i = 0; i < FRAMEWORK_COUNT; i++)
                put_word(out, "framework", (int)i, framework_name(i));
        end_rows(out);
        strbuf_puts(out, "INSERT INTO alphabet VALUES(x'");
        for (unsigned i = 0; i < 256; i++)
                strbuf_putf(out, "%02x", i);
        strbuf_puts(out, "');");
}

void session_schema(struct strbuf *out)
{
        strbuf_putf(out, "BEGIN;PRAGMA application_id=%d;PRAGMA user_version=%d;",
                    SESSION_APPLICATION_ID, SESSION_SCHEMA_VERSION);
        strbuf_puts(out, tables);
        strbuf_puts(out, host_tables);
        strbuf_puts(out, stack_tables);
        put_cells(out, "", "entity");
        put_cells(out, "host_", "item");
        strbuf_puts(out, views);
        strbuf_puts(out, phase_view);
        strbuf_puts(out, host_views);
        put_wide(out);
        put_host_wide(out);
        put_evidence(out);
        put_stack_views(out);
        put_series(out);
        put_host_series(out);
        put_words(out);
        strbuf_puts(out, "COMMIT;");
}
