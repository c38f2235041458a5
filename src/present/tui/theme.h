/* How inks look on a terminal: 24-bit, 256, 16, 8 colours or none, on dark or light ground. */
#pragma once

#include "present/tui/ink.h"

#include <stdbool.h>
#include <stdint.h>

enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_MONO, THEME_COUNT };

enum depth { DEPTH_MONO, DEPTH_8, DEPTH_16, DEPTH_256, DEPTH_TRUE };

struct appearance {
        int32_t colour; /* 0xRRGGBB in DEPTH_TRUE, else a palette number; -1: the terminal's own */
        uint8_t attr;   /* enum attr, for terminals without colours */
};

/* "auto", "dark", "light", "mono". */
const char *theme_name(enum theme theme);
/* THEME_AUTO when there is no such theme. */
enum theme theme_find(const char *name);
/* What auto means here: COLORFGBG reports the ground where a terminal sets it; else dark. */
enum theme theme_settle(enum theme theme, const char *colorfgbg);
struct appearance theme_appearance(enum theme theme, enum depth depth, enum ink ink);
/* NO_COLOR, COLORTERM and the number of colours terminfo gives. */
enum depth theme_depth(int colours, const char *no_color, const char *colorterm);
