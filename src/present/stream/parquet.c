#include "present/stream/parquet.h"

#include "base/attr.h"
#include "base/jsonw.h"
#include "base/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PARQUET_MAGIC "PAR1"

/* ---- Thrift's compact protocol, in which all that is not a value is written ---- */

enum {
        THRIFT_TRUE = 1,
        THRIFT_I32 = 5,
        THRIFT_I64 = 6,
        THRIFT_BINARY = 8,
        THRIFT_LIST = 9,
        THRIFT_STRUCT = 12
};

struct thrift {
        struct strbuf *out;
        int last; /* field of the struct that is being written */
};

static void put_varint(struct strbuf *out, uint64_t v)
{
        for (; v >= 0x80; v >>= 7)
                strbuf_putc(out, (char)(v | 0x80));
        strbuf_putc(out, (char)v);
}

static void put_zigzag(struct strbuf *out, int64_t v)
{
        put_varint(out, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

/* Fields come in order of their ids, which differ by less than 16. */
static void put_field(struct thrift *t, int id, int type)
{
        strbuf_putc(t->out, (char)((id - t->last) << 4 | type));
        t->last = id;
}

static void put_i32(struct thrift *t, int id, int32_t v)
{
        put_field(t, id, THRIFT_I32);
        put_zigzag(t->out, v);
}

static void put_i64(struct thrift *t, int id, uint64_t v)
{
        put_field(t, id, THRIFT_I64);
        put_zigzag(t->out, (int64_t)v);
}

static void put_binary(struct strbuf *out, const char *s)
{
        put_varint(out, strlen(s));
        strbuf_puts(out, s);
}

static void put_string(struct thrift *t, int id, const char *s)
{
        put_field(t, id, THRIFT_BINARY);
        put_binary(t->out, s);
}

static void put_list(struct thrift *t, int id, int type, size_t n)
{
        put_field(t, id, THRIFT_LIST);
        strbuf_putc(t->out, (char)(MIN(n, (size_t)15) << 4 | (size_t)type));
        if (n >= 15)
                put_varint(t->out, n);
}

static struct thrift open_struct(struct thrift *t, int id)
{
        put_field(t, id, THRIFT_STRUCT);
        return (struct thrift){.out = t->out};
}

static void close_struct(struct thrift *t)
{
        strbuf_putc(t->out, '\0');
}

/* ---- pages ---- */

/* Parquet's numbers for what each kind is. */
static const struct {
        int32_t type, converted; /* converted: -1 for none */
} kinds[] = {
    [PARQUET_NUMBER] = {5, -1}, /* DOUBLE */
    [PARQUET_TIME] = {2, 10},   /* INT64, TIMESTAMP_MICROS */
    [PARQUET_TEXT] = {6, 0},    /* BYTE_ARRAY, UTF8 */
};

enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3 };

static void put_little(struct strbuf *out, uint64_t v, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++)
                strbuf_putc(out, (char)(v >> (8 * i)));
}

static void end_run(struct parquet_page *page)
{
        if (page->run == 0)
                return;
        put_varint(&page->levels, page->run << 1);
        strbuf_putc(&page->levels, page->run_has);
        page->run = 0;
}

int parquet_begin(struct parquet *p, const struct parquet_column *columns, size_t n,
                  struct strbuf *out)
{
        *p = (struct parquet){.columns = columns, .n = n, .out = out};
        p->pages = calloc(n, sizeof(*p->pages));
        if (!p->pages)
                return -ENOMEM;
        strbuf_puts(out, PARQUET_MAGIC);
        p->offset = strlen(PARQUET_MAGIC);
        return out->failed ? -ENOMEM : 0;
}

void parquet_put_number(struct parquet *p, size_t column, double v)
{
        struct parquet_page *page = &p->pages[column];
        uint64_t bits;
        if (page->has || !isfinite(v))
                return;
        memcpy(&bits, &v, sizeof(bits));
        put_little(&page->values, bits, sizeof(bits));
        page->has = true;
}

void parquet_put_time(struct parquet *p, size_t column, int64_t wall_ns)
{
        struct parquet_page *page = &p->pages[column];
        if (page->has)
                return;
        put_little(&page->values, (uint64_t)(wall_ns / 1000), sizeof(wall_ns));
        page->has = true;
}

void parquet_put_text(struct parquet *p, size_t column, const char *s)
{
        struct parquet_page *page = &p->pages[column];
        if (page->has || !s || !s[0])
                return;
        put_little(&page->values, strlen(s), 4);
        strbuf_puts(&page->values, s);
        page->has = true;
}

static void put_page_header(struct strbuf *out, uint64_t rows, size_t size)
{
        struct thrift t = {.out = out};
        put_i32(&t, 1, 0); /* DATA_PAGE */
        put_i32(&t, 2, (int32_t)size);
        put_i32(&t, 3, (int32_t)size);
        struct thrift data = open_struct(&t, 5);
        put_i32(&data, 1, (int32_t)rows);
        put_i32(&data, 2, ENCODING_PLAIN);
        put_i32(&data, 3, ENCODING_RLE);
        put_i32(&data, 4, ENCODING_RLE);
        close_struct(&data);
        close_struct(&t);
}

/* One page a column and group. */
static int write_chunk(struct parquet *p, struct parquet_page *page, struct parquet_chunk *ret)
{
        struct strbuf head = {0};
        end_run(page);
        put_page_header(&head, p->group_rows, 4 + page->levels.len + page->values.len);
        put_little(&head, page->levels.len, 4);
        uint64_t size = head.len + page->levels.len + page->values.len;
        bool failed = head.failed || page->levels.failed || page->values.failed;
        strbuf_put(p->out, head.s, head.len);
        strbuf_put(p->out, page->levels.s, page->levels.len);
        strbuf_put(p->out, page->values.s ? page->values.s : "", page->values.len);
        strbuf_finish(&head);
        strbuf_clear(&page->levels);
        strbuf_clear(&page->values);
        *ret = (struct parquet_chunk){p->offset, size};
        p->offset += size;
        return failed || p->out->failed ? -ENOMEM : 0;
}

static int end_group(struct parquet *p)
{
        int r = 0;
        if (p->group_rows == 0)
                return 0;
        if (!LIST_ROOM(p->rows_of_group, p->n_groups, p->cap_groups) ||
            !LIST_RESERVE(p->chunks, (p->n_groups + 1) * p->n, p->cap_chunks))
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = write_chunk(p, &p->pages[i], &p->chunks[p->n_groups * p->n + i]);
        p->rows_of_group[p->n_groups++] = p->group_rows;
        p->rows += p->group_rows;
        p->group_rows = 0;
        return r;
}

int parquet_end_row(struct parquet *p)
{
        for (size_t i = 0; i < p->n; i++) {
                struct parquet_page *page = &p->pages[i];
                if (page->run > 0 && page->run_has != page->has)
                        end_run(page);
                page->run_has = page->has;
                page->run++;
                page->has = false;
        }
        return ++p->group_rows == PARQUET_GROUP_ROWS ? end_group(p) : 0;
}

/* ---- the end of the file ---- */

/* A time is UTC, in microseconds. */
static void put_logical_type(struct thrift *t, enum parquet_kind kind)
{
        if (kind == PARQUET_NUMBER)
                return;
        struct thrift logical = open_struct(t, 10);
        struct thrift own = open_struct(&logical, kind == PARQUET_TEXT ? 1 : 8);
        if (kind == PARQUET_TIME) {
                put_field(&own, 1, THRIFT_TRUE);
                struct thrift unit = open_struct(&own, 2);
                struct thrift micros = open_struct(&unit, 2);
                close_struct(&micros);
                close_struct(&unit);
        }
        close_struct(&own);
        close_struct(&logical);
}

static void put_schema(struct thrift *t, const struct parquet *p)
{
        put_list(t, 2, THRIFT_STRUCT, p->n + 1);
        struct thrift root = {.out = t->out};
        put_string(&root, 4, "schema");
        put_i32(&root, 5, (int32_t)p->n);
        close_struct(&root);
        for (size_t i = 0; i < p->n; i++) {
                const struct parquet_column *c = &p->columns[i];
                struct thrift e = {.out = t->out};
                put_i32(&e, 1, kinds[c->kind].type);
                put_i32(&e, 3, 1); /* OPTIONAL */
                put_string(&e, 4, c->name);
                if (kinds[c->kind].converted >= 0)
                        put_i32(&e, 6, kinds[c->kind].converted);
                put_logical_type(&e, c->kind);
                close_struct(&e);
        }
}

static void put_chunk(struct strbuf *out, const struct parquet_column *c,
                      const struct parquet_chunk *chunk, uint64_t rows)
{
        struct thrift t = {.out = out};
        put_i64(&t, 2, chunk->offset);
        struct thrift meta = open_struct(&t, 3);
        put_i32(&meta, 1, kinds[c->kind].type);
        put_list(&meta, 2, THRIFT_I32, 2);
        put_zigzag(out, ENCODING_PLAIN);
        put_zigzag(out, ENCODING_RLE);
        put_list(&meta, 3, THRIFT_BINARY, 1);
        put_binary(out, c->name);
        put_i32(&meta, 4, 0); /* UNCOMPRESSED */
        put_i64(&meta, 5, rows);
        put_i64(&meta, 6, chunk->size);
        put_i64(&meta, 7, chunk->size);
        put_i64(&meta, 9, chunk->offset);
        close_struct(&meta);
        close_struct(&t);
}

static void put_group(struct strbuf *out, const struct parquet *p, size_t at)
{
        const struct parquet_chunk *chunks = &p->chunks[at * p->n];
        struct thrift t = {.out = out};
        uint64_t size = 0;
        put_list(&t, 1, THRIFT_STRUCT, p->n);
        for (size_t i = 0; i < p->n; i++) {
                put_chunk(out, &p->columns[i], &chunks[i], p->rows_of_group[at]);
                size += chunks[i].size;
        }
        put_i64(&t, 2, size);
        put_i64(&t, 3, p->rows_of_group[at]);
        close_struct(&t);
}

/* {"power":"W",…} */
static void put_units(struct thrift *t, const struct parquet *p)
{
        struct strbuf units = {0};
        struct jsonw j = {.out = &units};
        jsonw_object(&j, NULL);
        for (size_t i = 0; i < p->n; i++) {
                if (p->columns[i].kind == PARQUET_NUMBER)
                        jsonw_text(&j, p->columns[i].name, unit_name(p->columns[i].unit));
        }
        jsonw_end(&j);
        put_list(t, 5, THRIFT_STRUCT, 1);
        struct thrift pair = {.out = t->out};
        put_string(&pair, 1, "units");
        put_string(&pair, 2, strbuf_str(&units));
        close_struct(&pair);
        t->out->failed |= units.failed;
        strbuf_finish(&units);
}

int parquet_end(struct parquet *p, const char *producer)
{
        int r = end_group(p);
        struct strbuf foot = {0};
        struct thrift t = {.out = &foot};
        put_i32(&t, 1, 1); /* the format's version */
        put_schema(&t, p);
        put_i64(&t, 3, p->rows);
        put_list(&t, 4, THRIFT_STRUCT, p->n_groups);
        for (size_t i = 0; i < p->n_groups; i++)
                put_group(&foot, p, i);
        put_units(&t, p);
        put_string(&t, 6, producer);
        close_struct(&t);
        strbuf_put(p->out, foot.s ? foot.s : "", foot.len);
        put_little(p->out, foot.len, 4);
        strbuf_puts(p->out, PARQUET_MAGIC);
        if (foot.failed || p->out->failed)
                r = -ENOMEM;
        strbuf_finish(&foot);
        return r;
}

void parquet_finish(struct parquet *p)
{
        for (size_t i = 0; p->pages && i < p->n; i++) {
                strbuf_finish(&p->pages[i].values);
                strbuf_finish(&p->pages[i].levels);
        }
        free(p->pages);
        free(p->chunks);
        free(p->rows_of_group);
        *p = (struct parquet){0};
}
