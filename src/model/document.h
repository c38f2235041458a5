/*
 * A document: what people read and what programs take from it, in parts. Every part is a table of
 * typed cells with SI units; its style says how people see it. The writers of present/document turn
 * any document into text, JSON, CSV, Markdown or a page. A cell that is missing has a value that is
 * missing, or no text.
 */
#pragma once

#include "model/unit.h"
#include "model/value.h"

#include <stddef.h>

enum doc_kind {
        DOC_TEXT,      /* words, or someone else's name */
        DOC_LIST,      /* several texts, see doc_cell_item */
        DOC_NUMBERS,   /* several whole numbers, likewise */
        DOC_NUMBER,    /* in the column's unit */
        DOC_COUNT,     /* of things */
        DOC_RATIO,     /* people read percent */
        DOC_GPU_HOURS, /* seconds of GPUs: people read hours */
        DOC_LENGTH,    /* seconds that something took */
        DOC_ENERGY,    /* joules: people read kWh */
        DOC_TIME,      /* seconds since the epoch: people read local time */
        DOC_FLAG,      /* true or false */
        DOC_CURVE,     /* ratios over equal parts of a time; not in JSON and CSV */
};

/* Who sees a column, or a part. */
#define DOC_MINOR 1u        /* not shown where no row has it, or where a screen is narrow */
#define DOC_MACHINE_ONLY 2u /* JSON and CSV only */
#define DOC_PEOPLE 4u       /* not in JSON and CSV */
#define DOC_OPTIONAL 8u     /* JSON: no member where it is missing, instead of null */
#define DOC_SCREEN 16u      /* in text only: how to continue */
#define DOC_SPARE 32u       /* not shown where a text would be cut to a few columns for it */
#define DOC_WHOLE 64u       /* words that are never cut */

struct doc_column {
        const char *key;   /* in JSON and CSV, with the unit in its name */
        const char *title; /* for people */
        enum doc_kind kind;
        int width; /* in text; 0: as wide as its cells */
        unsigned flags;
        enum unit unit;    /* of DOC_NUMBER */
        const char *group; /* JSON: the object that neighbours of this name share; may be NULL */
};

struct doc_cell {
        char *text; /* owned, cleaned; NULL for none. Of a number: what people read instead */
        struct value v;
        float *curve; /* owned; NAN where nothing is known */
        size_t n;     /* points of the curve */
        bool loud;    /* worth checking */
};

enum doc_style {
        DOC_ROWS,
        DOC_CARD,     /* one row, shown as lines; an object in JSON */
        DOC_FACTS,    /* one row; members of the document itself in JSON */
        DOC_FINDINGS, /* a row a finding: "text", and "try" where something helps */
        DOC_NOTES,    /* a row a note: texts */
};

struct doc_part {
        const char *name;  /* in JSON */
        const char *title; /* for people */
        enum doc_style style;
        unsigned flags;
        const struct doc_column *columns;
        size_t n_columns;
        struct doc_cell *cells; /* row after row; owned */
        size_t n_rows, cap;
        size_t left_out;  /* rows that there are and that were not asked for */
        const char *rest; /* "--all shows them": what brings the rows that were left out */
        double curve_s;   /* how long a time its curves show */
};

#define DOC_PARTS_MAX 12
#define DOC_TITLE_MAX 240

struct document {
        const char *what;          /* in errors: "a list of runs" */
        char title[DOC_TITLE_MAX]; /* the first line, cleaned */
        struct doc_part parts[DOC_PARTS_MAX];
        size_t n;
        bool failed; /* memory was short: it is not complete */
};

void document_finish(struct document *d);
void document_set_title(struct document *d, const char *text);
/* The next part. NULL when there are too many. */
struct doc_part *document_add(struct document *d, enum doc_style style, const char *name,
                              const char *title, const struct doc_column *columns, size_t n);
/* Adds a text to the notes that were added last; begins them where there are none, or for others
 * than those that flags say. */
void document_note(struct document *d, unsigned flags, const char *text);
/* What CSV has: the part with most columns. NULL when there is none. */
const struct doc_part *document_main(const struct document *d);

/* A new row, all of it missing; NULL when memory is short. Valid until the next one. */
struct doc_cell *doc_add_row(struct document *d, struct doc_part *part);
/* Copies a text of someone else's, cleaned; an empty one is none. */
void doc_cell_text(struct doc_cell *c, const char *text);
/* Adds a text to a list. */
void doc_cell_item(struct doc_cell *c, const char *text);
/* The next item of a list, which is copied into buf; *at starts at 0. False at the end. */
bool doc_cell_next(const struct doc_cell *c, size_t *at, char *buf, size_t size);
/* The row's cell in a column; its number is missing when there is none. */
const struct doc_cell *doc_at(const struct doc_part *part, size_t row, size_t column);
/*
 * Sorts by a column: the largest number first, texts from A to Z, what is missing last, equal ones
 * by the first column. Keeps at most n rows.
 */
void doc_sort(struct doc_part *part, size_t column, size_t n);
