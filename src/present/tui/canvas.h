/* A grid of cells that views draw into. Nothing here knows a terminal, so screens are tested as
 * text. */
#pragma once

#include "base/attr.h"
#include "present/tui/ink.h"

#include <stdbool.h>
#include <stdint.h>

#define CANVAS_WIDTH_MAX 1000
#define CANVAS_HEIGHT_MAX 500

enum attr {
        ATTR_BOLD = 1,
        ATTR_UNDERLINE = 2,
        ATTR_REVERSE = 4,
};

/* One place on the screen; 8 bytes, so that two are compared at once. */
struct cell {
        char ch[4];     /* UTF-8, padded with zeros; one column wide */
        uint8_t fg, bg; /* enum ink */
        uint8_t attr;   /* enum attr */
        uint8_t unused;
};
_Static_assert(sizeof(struct cell) == 8, "a cell is compared as one word");

struct canvas {
        int w, h;
        bool ascii; /* what is not ASCII is drawn by its nearest likeness */
        struct cell *cells;
        size_t cap;
};

struct style {
        uint8_t fg, bg, attr; /* INK_NONE as bg leaves what is present */
};

struct area {
        int x, y, w, h;
};

/* Gives the canvas that size, all blank. 0 or -ENOMEM; sizes are cut to the maxima. */
int canvas_resize(struct canvas *c, int w, int h);
void canvas_finish(struct canvas *c);
void canvas_clear(struct canvas *c);
static inline struct cell *canvas_at(const struct canvas *c, int x, int y)
{
        return &c->cells[(size_t)y * (size_t)c->w + (size_t)x];
}

/* Everything below is cut at the canvas' edges. Text is UTF-8; a character that is not one column
 * wide, or a control character, is drawn as '?'. */

/* One code point. */
void canvas_char(struct canvas *c, int x, int y, struct style style, uint32_t code);
/* At most w columns; cut text ends in an ellipsis. Returns the columns taken. */
int canvas_text(struct canvas *c, int x, int y, int w, struct style style, const char *text);
int canvas_textf(struct canvas *c, int x, int y, int w, struct style style, const char *fmt, ...)
    PRINTF_LIKE(6, 7);
/* The text ends at x + w; the columns before it are left alone. */
void canvas_right(struct canvas *c, int x, int y, int w, struct style style, const char *text);
/* A row of one code point. */
void canvas_line(struct canvas *c, int x, int y, int w, struct style style, uint32_t code);
/* Gives an area a background without touching its text. */
void canvas_paint(struct canvas *c, struct area area, uint8_t bg);
/* Changes the ink of what is present: a stale card is dimmed as a whole. */
void canvas_tint(struct canvas *c, struct area area, uint8_t fg);

/* Columns a text takes. */
int text_width(const char *text);
