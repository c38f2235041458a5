/* Documents for people and programs: one writer a format, any document in any of them. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/document.h"

#define DOC_CELL_MAX 512
#define DOC_COLUMNS 100 /* of a screen that says nothing of itself */

/* What the writers need to know of the reader. */
struct doc_view {
        size_t columns; /* of the screen; 0: DOC_COLUMNS */
};

struct doc_writer {
        const char *name;
        bool complete; /* folds nothing away: builders give it everything they have */
        void (*write)(const struct document *d, const struct doc_view *view, struct strbuf *out);
};

/* NULL when no writer has that name. */
const struct doc_writer *doc_writer_find(const char *format);
/* 0, or a code with a hint that lists the formats. */
int document_write(const struct document *d, const char *format, const struct doc_view *view,
                   struct strbuf *out, struct err *err);

/* ---- what the writers share ---- */

/* A cell for people: hours, percent, "--" for what is missing. Returns buf. */
const char *doc_format_cell(const struct doc_column *column, const struct doc_cell *cell,
                            char buf[DOC_CELL_MAX]);
/* What follows the number where no title says it: " GPU-hours". */
const char *doc_unit_after(const struct doc_column *column);
/* Whether it stands on the left. */
bool doc_is_words(const struct doc_column *column);
/* The cell of a row under a key; one that is missing when there is no such column. */
const struct doc_cell *doc_cell_of(const struct doc_part *part, size_t row, const char *key);
/* Whether people see a part, on whatever they read, or one of its columns. */
bool doc_shows_part(const struct doc_part *part);
bool doc_shows(const struct doc_part *part, size_t column);
