#include "store/session_schema.h"

#include "store/block.h"
#include "store/series.h"
#include "store/session.h"

#define ENTITY_TEXT(id, name) "," name " TEXT"
static const char tables[] =
    "CREATE TABLE manifest(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE entity(id INTEGER PRIMARY KEY, kind INTEGER, label TEXT, idx INTEGER,"
    " gi INTEGER, ci INTEGER, flat INTEGER" ENTITY_TEXTS(
        ENTITY_TEXT) ");"
                     "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT UNIQUE, unit TEXT, "
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

static const char views[] =
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
    "CREATE VIEW user_metrics AS SELECT wall_ns / 1e9 AS time, name, value, host, pid FROM mark"
    " WHERE type = 'metric' ORDER BY wall_ns, mono_ns;"

    /* A phase that nobody ended is ended by the last tick. */
    "CREATE VIEW phases AS SELECT name, start_time, end_time, end_time - start_time AS seconds,"
    " open, data, host, pid FROM"
    " (SELECT name, wall_ns / 1e9 - seconds AS start_time, wall_ns / 1e9 AS end_time, 0 AS open,"
    " data, host, pid FROM mark WHERE type = 'phase' UNION ALL"
    " SELECT b.name, b.wall_ns / 1e9, coalesce((SELECT min(e.wall_ns) FROM mark e"
    " WHERE e.type = 'end' AND e.name = b.name AND e.wall_ns >= b.wall_ns) / 1e9,"
    " max(b.wall_ns / 1e9, (SELECT max(time) FROM ticks))),"
    " NOT EXISTS (SELECT 1 FROM mark e WHERE e.type = 'end' AND e.name = b.name"
    " AND e.wall_ns >= b.wall_ns), b.data, b.host, b.pid FROM mark b WHERE b.type = 'begin')"
    " ORDER BY start_time;";

/* The value of the k-th byte of a tick's code. SQL has no other way to make a number of bytes. */
static void put_byte(struct strbuf *out, unsigned k)
{
        strbuf_putf(out, "(instr(a.bytes,substr(b.data,(t.id&%d)*b.width+%u,1))-1)",
                    BLOCK_TICKS - 1, k);
}

/* The view that undoes block_encode: one row a tick, entity and series. */
static void put_cells(struct strbuf *out)
{
        strbuf_puts(out, "CREATE VIEW cell AS SELECT tick, entity, series,"
                         " CASE WHEN width = 0 THEN base WHEN code > (1 << 8 * width) - 9 THEN NULL"
                         " ELSE base + code END AS stored,"
                         " CASE WHEN base IS NULL THEN state WHEN width > 0"
                         " AND code > (1 << 8 * width) - 9"
                         " THEN (1 << 8 * width) - 1 - code END AS state"
                         " FROM (SELECT t.id AS tick, b.entity, b.series, b.width, b.base, b.state,"
                         " CASE b.width");
        for (unsigned width = 1; width <= BLOCK_WIDTH_MAX; width++) {
                strbuf_putf(out, " WHEN %u THEN ", width);
                for (unsigned k = 1; k <= width; k++) {
                        put_byte(out, k);
                        if (k < width)
                                strbuf_putf(out, "*%llu+", 1ULL << (8 * (width - k)));
                }
        }
        strbuf_putf(out,
                    " ELSE 0 END AS code FROM tick t JOIN block b ON b.block = t.id >> %d"
                    " JOIN alphabet a);",
                    BLOCK_SHIFT);
}

/* One row a tick and GPU, one column a metric. A column that is not asked for costs nothing. */
static void put_wide(struct strbuf *out)
{
        strbuf_puts(out, "CREATE VIEW gpus AS SELECT t.tick, t.time, t.elapsed, e.label AS gpu,"
                         " e.model, e.uuid");
        for (size_t i = 0; i < METRIC_COUNT; i++)
                strbuf_putf(out,
                            ",(SELECT stored*%.1f FROM cell WHERE tick=t.tick AND entity=e.id AND"
                            " series=%zu)/%.0f AS %s",
                            series_scale(i).step, i, series_scale(i).scale, series_name(i));
        strbuf_puts(out, " FROM ticks t JOIN entity e;");
}

static void put_words(struct strbuf *out)
{
        for (size_t i = 0; i < SERIES_COUNT; i++)
                strbuf_putf(out, "INSERT INTO series VALUES(%zu,'%s','%s',%.17g,%.17g);", i,
                            series_name(i), i < METRIC_COUNT ? series_unit(i) : "",
                            series_scale(i).step, series_scale(i).scale);
        for (enum state i = 0; i < STATE_COUNT; i++)
                strbuf_putf(out, "INSERT INTO word VALUES('state',%d,'%s');", i, state_name(i));
        for (enum workload i = 0; i < WORKLOAD_COUNT; i++)
                strbuf_putf(out, "INSERT INTO word VALUES('workload',%d,'%s');", i,
                            workload_status(i));
        for (enum health_state i = HEALTH_UNKNOWN; i <= HEALTH_CRIT; i++)
                strbuf_putf(out, "INSERT INTO word VALUES('health',%d,'%s');", i, health_name(i));
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
        put_cells(out);
        strbuf_puts(out, views);
        put_wide(out);
        put_words(out);
        strbuf_puts(out, "COMMIT;");
}
