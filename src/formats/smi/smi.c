/* What nvidia-smi writes: dmon, pmon, --query-gpu and --query-compute-apps logs. */
#include "base/clock.h"
#include "base/num.h"
#include "formats/format.h"
#include "formats/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What nvidia-smi writes where rows should be; rows may follow when the driver is back. */
static bool is_complaint(const char *s, size_t len)
{
        static const char *const starts[] = {"No devices were found", "NVIDIA-SMI has failed",
                                             "Failed to initialize NVML", "Unable to determine"};
        for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
                size_t n = strlen(starts[i]);
                if (len >= n && memcmp(s, starts[i], n) == 0)
                        return true;
        }
        return false;
}

/* What follows the # of a header; s is NULL when the line is not one. */
static struct line after_hash(const struct line *line)
{
        size_t n = 0;
        while (n < line->len && (line->s[n] == ' ' || line->s[n] == '\t'))
                n++;
        if (n == line->len || line->s[n] != '#')
                return (struct line){0};
        return (struct line){.s = line->s + n + 1, .len = line->len - n - 1};
}

/* Whether a line of the text starts with the words "# gpu" and has, or has not, the word pid. */
static bool has_gpu_header(const char *s, size_t len, bool with_pid)
{
        struct words words;
        for (const char *end = s + len; s < end;) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                struct line line = {.s = s, .len = (size_t)((nl ? nl : end) - s)};
                struct line rest = after_hash(&line);
                rows_split_blanks(&rest, &words);
                int gpu = rest.s ? rows_find(&words, "gpu") : -1;
                if (gpu >= 0 && gpu <= 2) /* "# gpu", "#Date Time gpu" */
                        return (rows_find(&words, "pid") >= 0) == with_pid;
                s = line.s + line.len + 1;
        }
        return false;
}

/* The two header lines say "# gpu pwr …" and "# Idx W …"; both may come again. */
struct smi_table {
        struct words names; /* into header, without the # */
        char header[4096];
        size_t header_len;
        int gpu, pid;   /* columns */
        int date, time; /* likewise, -1 without -o D and -o T */
        size_t n_seen;  /* processes of this round */
        struct {
                int32_t gpu;
                uint64_t pid;
        } seen[1024];
};

static int table_begin(struct capture *c)
{
        c->state = calloc(1, sizeof(struct smi_table));
        return c->state ? 0 : -ENOMEM;
}

static void table_end(struct capture *c)
{
        free(c->state);
}

/* True when the line is a header; *ret_changed when it names other columns than before. */
static bool table_header(struct smi_table *t, const struct line *line, bool *ret_changed)
{
        *ret_changed = false;
        struct line rest = after_hash(line);
        if (!rest.s)
                return false;
        rest.len = MIN(rest.len, sizeof(t->header));
        struct words words;
        rows_split_blanks(&rest, &words);
        int gpu = rows_find(&words, "gpu");
        if (gpu < 0 || (rest.len == t->header_len && memcmp(t->header, rest.s, rest.len) == 0))
                return true;
        memcpy(t->header, rest.s, rest.len);
        t->header_len = rest.len;
        rest.s = t->header;
        rows_split_blanks(&rest, &t->names);
        t->gpu = gpu;
        t->pid = rows_find(&t->names, "pid");
        t->date = rows_find(&t->names, "Date");
        t->time = rows_find(&t->names, "Time");
        *ret_changed = true;
        return true;
}

/* The last word of a row that was cut may be half a word. */
static size_t words_whole(const struct words *row, bool cut)
{
        return row->n - (cut && row->n > 0);
}

static bool row_index(const struct smi_table *t, const struct words *row, size_t whole,
                      struct entity_key *ret)
{
        uint64_t id;
        if (t->names.n == 0 || whole <= (size_t)t->gpu ||
            !num_parse_u64(row->w[t->gpu].s, row->w[t->gpu].len, &id) || id > UINT16_MAX)
                return false;
        *ret = (struct entity_key){
            .kind = ENTITY_GPU, .index = (int32_t)id, .gi = -1, .ci = -1, .flat = -1};
        return true;
}

/* "20260102" and "03:04:05", local time. Without a date there is no moment. */
static bool row_time(const struct smi_table *t, const struct words *row, int64_t *ret)
{
        if (t->date < 0 || t->time < 0 || (size_t)MAX(t->date, t->time) >= row->n)
                return false;
        const struct word *day = &row->w[t->date], *clock = &row->w[t->time];
        char text[32];
        if (day->len != 8 || clock->len != 8)
                return false;
        snprintf(text, sizeof(text), "%.4s/%.2s/%.2s %.8s", day->s, day->s + 4, day->s + 6,
                 clock->s);
        return rows_parse_time(text, strlen(text), ret);
}

static void dmon_new_columns(struct capture *c)
{
        struct smi_table *t = c->state;
        batcher_new_schema(&c->batcher);
        for (size_t i = 0; i < t->names.n; i++)
                batcher_add_field(&c->batcher, t->names.w[i].s, t->names.w[i].len);
}

static int dmon_row(struct capture *c, const struct line *line)
{
        struct smi_table *t = c->state;
        struct words row;
        struct entity_key key;
        rows_split_blanks(line, &row);
        if (row.n == 0)
                return 1;
        bool cut = line->cut && row.n < t->names.n;
        size_t whole = words_whole(&row, cut);
        if ((row.n != t->names.n && !cut) || !row_index(t, &row, whole, &key))
                return capture_bad_line(c, line), 1;
        if (batcher_find(&c->batcher, &key))
                return capture_hold(c, line), 0;
        int64_t wall;
        if (c->batcher.n == 0 && row_time(t, &row, &wall)) {
                c->has_times = true;
                c->wall_ns = wall;
        }
        struct raw *cells = batcher_add(&c->batcher, &key);
        if (!cells)
                return -ENOMEM;
        for (size_t i = 0; i < whole; i++)
                batcher_cell(&c->batcher, row.w[i].s, row.w[i].len, &cells[i]);
        for (size_t i = whole; i < t->names.n; i++)
                cells[i].state = STATE_ERROR;
        if (cut)
                capture_cut_row(c);
        return 1;
}

static int smi_dmon_round(struct capture *c)
{
        struct line line;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                bool changed;
                if (table_header(c->state, &line, &changed)) {
                        if (changed && c->batcher.n > 0)
                                return ((struct smi_table *)c->state)->header_len = 0,
                                                          capture_hold(c, &line), 1;
                        if (changed)
                                dmon_new_columns(c);
                        continue;
                }
                r = dmon_row(c, &line);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

static bool smi_dmon_probe(const char *s, size_t len)
{
        return has_gpu_header(s, len, false);
}

/* pmon and --query-compute-apps list processes. What they report a GPU is how many hold it. */
static int count_process(struct capture *c, const struct entity_key *key, bool is_process)
{
        struct raw *cells = batcher_find(&c->batcher, key);
        if (!cells)
                cells = batcher_add(&c->batcher, key);
        if (!cells)
                return -ENOMEM;
        cells[0].state = STATE_OK;
        cells[0].num += is_process;
        return 1;
}

/* A process that comes again on the same GPU, or a GPU of a lower number, starts the next round. */
static bool starts_round(const struct smi_table *t, const struct batcher *b, int32_t gpu,
                         uint64_t pid)
{
        for (size_t i = 0; i < t->n_seen; i++) {
                if (t->seen[i].gpu == gpu && t->seen[i].pid == pid)
                        return true;
        }
        return b->n > 0 && gpu < b->readings[b->n - 1].who.index;
}

static int pmon_row(struct capture *c, const struct line *line)
{
        struct smi_table *t = c->state;
        struct words row;
        struct entity_key key;
        uint64_t pid = 0;
        rows_split_blanks(line, &row);
        if (row.n == 0)
                return 1;
        if (!row_index(t, &row, row.n, &key) || row.n <= (size_t)t->pid)
                return capture_bad_line(c, line), 1;
        /* A GPU nobody uses is listed with "-" for the process. */
        bool is_process = num_parse_u64(row.w[t->pid].s, row.w[t->pid].len, &pid);
        if (starts_round(t, &c->batcher, key.index, pid)) {
                t->n_seen = 0;
                return capture_hold(c, line), 0;
        }
        if (t->n_seen < ARRAY_LEN(t->seen)) {
                t->seen[t->n_seen].gpu = key.index;
                t->seen[t->n_seen++].pid = pid;
        }
        return count_process(c, &key, is_process);
}

/* "00000000:00:06.0, 392, 1002, python3" */
static int apps_row(struct capture *c, const struct line *line)
{
        struct words row;
        rows_split_commas(line, &row);
        uint64_t pid;
        if (row.n < 2 || row.w[0].len < 7 || !num_parse_u64(row.w[1].s, row.w[1].len, &pid))
                return line->len > 0 ? capture_bad_line(c, line), 1 : 1;
        struct entity_key key = {.kind = ENTITY_GPU,
                                 .index = -1,
                                 .gi = -1,
                                 .ci = -1,
                                 .flat = -1,
                                 .uuid = row.w[0].s,
                                 .uuid_len = row.w[0].len};
        return count_process(c, &key, true);
}

static int process_begin(struct capture *c)
{
        batcher_add_field(&c->batcher, "processes", strlen("processes"));
        return table_begin(c);
}

static int smi_process_round(struct capture *c)
{
        struct smi_table *t = c->state;
        struct line line;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                bool changed;
                if (table_header(t, &line, &changed))
                        continue;
                r = t->names.n > 0 ? pmon_row(c, &line) : apps_row(c, &line);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

static bool is_pci_row(const char *s, size_t len)
{
        return len > 20 && s[8] == ':' && s[11] == ':' && s[14] == '.' && s[16] == ',';
}

static bool smi_process_probe(const char *s, size_t len)
{
        return has_gpu_header(s, len, true) || is_pci_row(s, len);
}

/* --query-gpu. Without a header the nine columns that hardware-monitor logs have. */
static const char *const nine_columns[] = {
    "timestamp",  "utilization.gpu", "utilization.memory", "memory.used",           "memory.total",
    "power.draw", "temperature.gpu", "clocks.current.sm",  "clocks.current.memory",
};

#define SAME_ROUND_NS (50 * NS_PER_MS) /* nvidia-smi writes all GPUs of a round within a few ms */

struct query {
        int timestamp, index, uuid; /* columns, or -1 */
        bool started;
};

static int query_begin(struct capture *c)
{
        c->state = calloc(1, sizeof(struct query));
        return c->state ? 0 : -ENOMEM;
}

/* "utilization.gpu [%]": the unit is not part of the name. */
static size_t name_len(const struct word *w)
{
        const char *unit = w->len > 0 ? memchr(w->s, ' ', w->len) : NULL;
        return unit ? (size_t)(unit - w->s) : w->len;
}

static void query_columns(struct capture *c, const struct words *names)
{
        struct query *q = c->state;
        *q = (struct query){.timestamp = -1, .index = -1, .uuid = -1, .started = true};
        batcher_new_schema(&c->batcher);
        for (size_t i = 0; i < names->n; i++) {
                size_t len = name_len(&names->w[i]);
                int at = batcher_add_field(&c->batcher, names->w[i].s, len);
                struct words one = {.n = 1, .w = {{names->w[i].s, len}}};
                if (rows_find(&one, "timestamp") == 0)
                        q->timestamp = at;
                else if (rows_find(&one, "index") == 0)
                        q->index = at;
                else if (rows_find(&one, "uuid") == 0 || rows_find(&one, "gpu_uuid") == 0)
                        q->uuid = at;
        }
}

static void query_nine_columns(struct capture *c)
{
        struct words names = {.n = ARRAY_LEN(nine_columns)};
        for (size_t i = 0; i < names.n; i++)
                names.w[i] = (struct word){nine_columns[i], strlen(nine_columns[i])};
        query_columns(c, &names);
}

/* A file without GPU numbers lists the GPUs in order. False when the row ends before it says whose
 * it is. */
static bool query_key(const struct capture *c, const struct words *row, size_t whole,
                      struct entity_key *ret)
{
        const struct query *q = c->state;
        struct entity_key key = {
            .kind = ENTITY_GPU, .index = (int32_t)c->batcher.n, .gi = -1, .ci = -1, .flat = -1};
        uint64_t id;
        if (MAX(q->index, q->uuid) >= (int)whole)
                return false;
        if (q->index >= 0 && num_parse_u64(row->w[q->index].s, row->w[q->index].len, &id))
                key.index = (int32_t)MIN(id, (uint64_t)UINT16_MAX);
        else if (q->uuid >= 0) {
                key.index = -1;
                key.uuid = row->w[q->uuid].s;
                key.uuid_len = row->w[q->uuid].len;
        }
        *ret = key;
        return true;
}

/* A set of bits, as the reasons of clocks are written: "0x0000000000000004". */
static bool query_bits(const struct word *w, double *ret)
{
        char text[19], *end;
        if (w->len < 3 || w->len >= sizeof(text) || memcmp(w->s, "0x", 2) != 0)
                return false;
        memcpy(text, w->s, w->len);
        text[w->len] = '\0';
        unsigned long long bits = strtoull(text + 2, &end, 16);
        bool plain = strspn(text + 2, "0123456789abcdefABCDEF") == w->len - 2;
        *ret = (double)bits;
        return plain && *end == '\0';
}

/* Numbers may carry their unit ("99 %", "1011 MiB") when the log was made without nounits. */
static void query_cell(struct capture *c, const struct word *w, struct raw *ret)
{
        double v;
        size_t k = num_parse(w->s, w->len, &v);
        if (query_bits(w, &v))
                *ret = (struct raw){.num = v, .state = STATE_OK};
        else if (k > 0 && k < w->len && w->s[k] == ' ')
                *ret = (struct raw){.num = v, .state = STATE_OK};
        else
                batcher_cell(&c->batcher, w->s, w->len, ret);
}

static int query_row(struct capture *c, const struct line *line, const struct words *row)
{
        struct query *q = c->state;
        size_t n = c->batcher.schema.n;
        int64_t wall = 0;
        bool cut = line->cut && row->n < n;
        size_t whole = words_whole(row, cut);
        bool timed = q->timestamp >= 0 && (size_t)q->timestamp < whole &&
                     rows_parse_time(row->w[q->timestamp].s, row->w[q->timestamp].len, &wall);
        struct entity_key key;
        if ((row->n != n && !cut) || (q->timestamp >= 0 && !timed) ||
            !query_key(c, row, whole, &key))
                return capture_bad_line(c, line), 1;
        bool later = timed && wall - c->wall_ns > SAME_ROUND_NS;
        if (c->batcher.n > 0 && (later || batcher_find(&c->batcher, &key)))
                return capture_hold(c, line), 0;
        struct raw *cells = batcher_add(&c->batcher, &key);
        if (!cells)
                return -ENOMEM;
        c->has_times = timed;
        if (c->batcher.n == 1)
                c->wall_ns = wall;
        for (size_t i = 0; i < whole; i++)
                query_cell(c, &row->w[i], &cells[i]);
        for (size_t i = whole; i < n; i++)
                cells[i].state = STATE_ERROR;
        if (cut)
                capture_cut_row(c);
        return 1;
}

/* Names of nvidia-smi's properties, with their units in brackets. A driver's warning is none. */
static bool is_query_header(const struct words *row)
{
        bool known = false;
        for (size_t i = 0; i < row->n; i++) {
                const struct word *w = &row->w[i];
                size_t len = name_len(w);
                if (len == 0 || (len < w->len && (w->len < len + 3 || w->s[len + 1] != '[')))
                        return false;
                struct words one = {.n = 1, .w = {{w->s, len}}};
                known |= rows_find(&one, "timestamp") == 0 || rows_find(&one, "index") == 0 ||
                         rows_find(&one, "uuid") == 0 || rows_find(&one, "name") == 0 ||
                         memchr(w->s, '.', len);
        }
        return known;
}

static int smi_query_round(struct capture *c)
{
        struct query *q = c->state;
        struct line line;
        struct words row;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                if (line.len == 0)
                        continue;
                if (is_complaint(line.s, line.len)) {
                        capture_bad_line(c, &line);
                        continue;
                }
                rows_split_commas(&line, &row);
                int64_t wall;
                bool starts_with_time = rows_parse_time(row.w[0].s, row.w[0].len, &wall);
                if (!starts_with_time && is_query_header(&row)) {
                        if (c->batcher.n > 0)
                                return capture_hold(c, &line), 1;
                        query_columns(c, &row);
                        continue;
                }
                if (!q->started)
                        query_nine_columns(c);
                r = query_row(c, &line, &row);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

static bool has_queried_columns(const struct words *row)
{
        static const char *const starts[] = {"utilization.", "memory.", "power."};
        for (size_t i = 0; i < row->n; i++) {
                for (size_t k = 0; k < ARRAY_LEN(starts); k++) {
                        size_t n = strlen(starts[k]);
                        if (row->w[i].len > n && memcmp(row->w[i].s, starts[k], n) == 0)
                                return true;
                }
        }
        return false;
}

/* By its header, or by the first line of nine columns. What comes before, such as a driver's
 * warning or a line that was cut, is a bad line. */
static bool smi_query_probe(const char *s, size_t len)
{
        for (const char *end = s + len; s < end;) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                struct line line = {.s = s, .len = (size_t)((nl ? nl : end) - s)};
                struct words row;
                int64_t wall;
                rows_split_commas(&line, &row);
                if (is_query_header(&row) && has_queried_columns(&row))
                        return true;
                bool nine = row.n == ARRAY_LEN(nine_columns);
                if (nine && rows_parse_time(row.w[0].s, row.w[0].len, &wall))
                        return true;
                if (nine && row.w[0].len > 0 && isalpha((unsigned char)row.w[0].s[0]))
                        return false; /* another tool's header */
                s = line.s + line.len + 1;
        }
        return false;
}

const struct format_ops format_smi_dmon = {
    .name = "nvidia-smi dmon log",
    .dialect = DIALECT_SMI_DMON,
    .probe = smi_dmon_probe,
    .begin = table_begin,
    .end = table_end,
    .round = smi_dmon_round,
};

const struct format_ops format_smi_process = {
    .name = "nvidia-smi process list",
    .dialect = DIALECT_CANON,
    .probe = smi_process_probe,
    .begin = process_begin,
    .end = table_end,
    .round = smi_process_round,
};

const struct format_ops format_smi_query = {
    .name = "nvidia-smi query log",
    .dialect = DIALECT_SMI_QUERY,
    .probe = smi_query_probe,
    .begin = query_begin,
    .end = table_end,
    .round = smi_query_round,
};
