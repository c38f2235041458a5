/* Our own CSV, which is also the dashboard's: a header of names, one row a GPU and tick. */
#include "base/clock.h"
#include "base/csvw.h"
#include "base/num.h"
#include "formats/format.h"
#include "formats/rows.h"

#include <errno.h>
#include <string.h>

struct csv {
        int timestamp, gpu_id; /* columns, or -1 */
        int uuid, host;
        bool started;
};

static bool split_header(const char *s, size_t len, struct words *ret)
{
        const char *nl = memchr(s, '\n', len);
        struct line line = {.s = s, .len = nl ? (size_t)(nl - s) : len};
        if (line.len > 0 && line.s[line.len - 1] == '\r')
                line.len--;
        rows_split_commas(&line, ret);
        return rows_find(ret, "gpu_id") >= 0;
}

static bool columns_probe(const char *s, size_t len)
{
        struct words names;
        return split_header(s, len, &names);
}

static int columns_begin(struct capture *c)
{
        c->state = calloc(1, sizeof(struct csv));
        return c->state ? 0 : -ENOMEM;
}

static void columns_end(struct capture *c)
{
        free(c->state);
}

static void read_header(struct capture *c, const struct words *names)
{
        struct csv *csv = c->state;
        batcher_new_schema(&c->batcher);
        for (size_t i = 0; i < names->n; i++)
                batcher_add_field(&c->batcher, names->w[i].s, names->w[i].len);
        *csv = (struct csv){.timestamp = rows_find(names, "timestamp"),
                            .gpu_id = rows_find(names, "gpu_id"),
                            .uuid = rows_find(names, "uuid"),
                            .host = rows_find(names, "hostname"),
                            .started = true};
}

/* "0", "1/7", "1/7/0", "GPU-I 7"; anything else is kept as a name. */
static struct entity_key key_of(const struct csv *csv, const struct words *row)
{
        struct word w = row->w[csv->gpu_id];
        struct entity_key key = {.kind = ENTITY_GPU, .index = -1, .gi = -1, .ci = -1, .flat = -1};
        int32_t *parts[] = {&key.index, &key.gi, &key.ci};
        size_t n = 0, i = 0;
        for (; n < ARRAY_LEN(parts) && i < w.len; n++) {
                const char *slash = memchr(w.s + i, '/', w.len - i);
                size_t end = slash ? (size_t)(slash - w.s) : w.len;
                uint64_t id;
                if (!num_parse_u64(w.s + i, end - i, &id) || id > UINT16_MAX)
                        break;
                *parts[n] = (int32_t)id;
                i = end + 1;
        }
        if (i < w.len)
                key.index = key.gi = key.ci = -1;
        if (key.index < 0 && entity_read_flat(w.s, w.len, &key)) {
                n = 0;
        } else if (key.index < 0) {
                key.uuid = w.s;
                key.uuid_len = w.len;
        } else if (n > 1) {
                key.kind = n == 2 ? ENTITY_GPU_INSTANCE : ENTITY_COMPUTE_INSTANCE;
        }
        if (csv->uuid >= 0 && key.kind == ENTITY_GPU && row->w[csv->uuid].len > 0) {
                key.uuid = row->w[csv->uuid].s;
                key.uuid_len = row->w[csv->uuid].len;
        }
        if (csv->host >= 0) {
                key.host = row->w[csv->host].s;
                key.host_len = row->w[csv->host].len;
        }
        return key;
}

static int read_row(struct capture *c, const struct line *line, const struct words *row)
{
        const struct csv *csv = c->state;
        size_t n = c->batcher.schema.n;
        double seconds = 0;
        bool timed = csv->timestamp >= 0 && row->n == n &&
                     num_parse_all(row->w[csv->timestamp].s, row->w[csv->timestamp].len, &seconds);
        if (row->n != n || (csv->timestamp >= 0 && !timed)) {
                if (line->cut)
                        capture_cut_row(c);
                else
                        capture_bad_line(c, line);
                return 1;
        }
        struct entity_key key = key_of(csv, row);
        int64_t wall = clock_from_seconds(seconds);
        if (c->batcher.n > 0 && ((timed && wall != c->wall_ns) || batcher_find(&c->batcher, &key)))
                return capture_hold(c, line), 0;
        struct raw *cells = batcher_add(&c->batcher, &key);
        if (!cells)
                return -ENOMEM;
        c->has_times = timed;
        c->wall_ns = wall;
        for (size_t i = 0; i < n; i++)
                batcher_cell(&c->batcher, row->w[i].s, row->w[i].len, &cells[i]);
        return 1;
}

/* What writing puts before names that a spreadsheet would take for formulas. */
static void take_guards_off(struct words *row)
{
        for (size_t i = 0; i < row->n; i++) {
                size_t guard = csvw_is_guarded(row->w[i].s, row->w[i].len);
                row->w[i].s += guard;
                row->w[i].len -= guard;
        }
}

static int columns_round(struct capture *c)
{
        struct csv *csv = c->state;
        struct line line;
        struct words row;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                if (line.len == 0)
                        continue;
                rows_split_commas(&line, &row);
                take_guards_off(&row);
                if (rows_find(&row, "gpu_id") >= 0) { /* two exports in one file */
                        if (c->batcher.n > 0)
                                return capture_hold(c, &line), 1;
                        read_header(c, &row);
                        continue;
                }
                r = csv->started ? read_row(c, &line, &row) : 1;
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

const struct format_ops format_columns = {
    .name = "assay CSV",
    .dialect = DIALECT_COLUMNS,
    .probe = columns_probe,
    .begin = columns_begin,
    .end = columns_end,
    .round = columns_round,
};
