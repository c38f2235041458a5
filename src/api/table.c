#include "api/table.h"

#include "base/list.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHUNK 65536
#define FIRST_ROWS 256

struct text_chunk {
        struct text_chunk *next;
        size_t used, size;
        char s[];
};

size_t table_add_column(struct assay_table *t, const char *name, bool is_text)
{
        if (!LIST_ONE_MORE(t->columns, t->n)) {
                t->failed = true;
                return t->n;
        }
        t->columns[t->n] = (struct table_column){.is_text = is_text};
        snprintf(t->columns[t->n].name, TABLE_NAME_MAX, "%s", name);
        return t->n++;
}

static bool grow_column(struct table_column *c, size_t cap)
{
        if (c->is_text)
                return LIST_RESIZE(c->texts, cap);
        return !c->numbers || LIST_RESIZE(c->numbers, cap);
}

static bool reserve_rows(struct assay_table *t)
{
        if (t->rows < t->cap)
                return true;
        size_t cap = t->cap ? t->cap * 2 : FIRST_ROWS;
        for (size_t i = 0; i < t->n; i++) {
                if (!grow_column(&t->columns[i], cap))
                        return false;
        }
        t->cap = cap;
        return true;
}

void table_add_row(struct assay_table *t)
{
        if (t->failed || !reserve_rows(t)) {
                t->failed = true;
                return;
        }
        for (size_t i = 0; i < t->n; i++) {
                struct table_column *c = &t->columns[i];
                if (c->is_text)
                        c->texts[t->rows] = NULL;
                else if (c->numbers)
                        c->numbers[t->rows] = NAN;
        }
        t->rows++;
}

static bool begin_numbers(struct assay_table *t, struct table_column *c)
{
        c->numbers = malloc(t->cap * sizeof(*c->numbers));
        for (size_t i = 0; c->numbers && i < t->rows; i++)
                c->numbers[i] = NAN;
        return c->numbers != NULL;
}

void table_put(struct assay_table *t, size_t column, double v)
{
        if (t->failed || column >= t->n || isnan(v))
                return;
        struct table_column *c = &t->columns[column];
        if (!c->numbers && !begin_numbers(t, c)) {
                t->failed = true;
                return;
        }
        c->numbers[t->rows - 1] = v;
}

void table_put_value(struct assay_table *t, size_t column, struct value v)
{
        if (value_is_set(v))
                table_put(t, column, v.v);
}

static const char *keep_text(struct assay_table *t, const char *s)
{
        size_t len = strlen(s) + 1;
        struct text_chunk *c = t->chunks;
        if (!c || c->size - c->used < len) {
                size_t size = MAX(len, (size_t)CHUNK);
                c = malloc(sizeof(*c) + size);
                if (!c)
                        return NULL;
                *c = (struct text_chunk){.next = t->chunks, .size = size};
                t->chunks = c;
        }
        char *to = c->s + c->used;
        memcpy(to, s, len);
        c->used += len;
        return to;
}

/* Rows of several GPUs take turns, so a few rows back is looked as well. */
#define LOOK_BEHIND 16

void table_put_text(struct assay_table *t, size_t column, const char *s)
{
        if (t->failed || column >= t->n)
                return;
        const char **texts = t->columns[column].texts;
        size_t row = t->rows - 1;
        for (size_t i = 1; i <= LOOK_BEHIND && i <= row; i++) {
                const char *before = texts[row - i];
                if (before && strcmp(before, s) == 0) {
                        texts[row] = before;
                        return;
                }
        }
        texts[row] = keep_text(t, s);
        t->failed |= !texts[row];
}

int table_end(struct assay_table *t)
{
        size_t kept = 0;
        for (size_t i = 0; i < t->n; i++) {
                struct table_column *c = &t->columns[i];
                /* A table without rows keeps its columns: it is empty, not shapeless. */
                if (t->rows > 0 && !c->is_text && !c->numbers)
                        continue;
                t->columns[kept++] = *c;
        }
        t->n = kept;
        return t->failed ? -ENOMEM : 0;
}

bool table_wants(struct table_job *job, int64_t wall_ns, int64_t moment_ns)
{
        if (wall_ns < job->from_ns || wall_ns > job->to_ns)
                return false;
        if (!config_is_set(job->config, OPT_PHASE))
                return true;
        phase_cursor_move(&job->cursor, &job->order, moment_ns, NULL, NULL);
        return job->cursor.active > 0;
}

/* ---- the interface ---- */

size_t assay_table_rows(const assay_table *t)
{
        return t ? t->rows : 0;
}

size_t assay_table_columns(const assay_table *t)
{
        return t ? t->n : 0;
}

const char *assay_table_name(const assay_table *t, size_t column)
{
        return t && column < t->n ? t->columns[column].name : NULL;
}

const double *assay_table_numbers(const assay_table *t, size_t column)
{
        return t && column < t->n ? t->columns[column].numbers : NULL;
}

const char *assay_table_text(const assay_table *t, size_t column, size_t row)
{
        if (!t || column >= t->n || row >= t->rows || !t->columns[column].is_text)
                return NULL;
        return t->columns[column].texts[row];
}

void assay_table_free(assay_table *t)
{
        if (!t)
                return;
        for (size_t i = 0; i < t->n; i++) {
                free(t->columns[i].numbers);
                free((void *)t->columns[i].texts);
        }
        for (struct text_chunk *c; (c = t->chunks);) {
                t->chunks = c->next;
                free(c);
        }
        free(t->columns);
        free(t);
}
