#include "present/tui/theme.h"

#include "base/attr.h"
#include "present/tui/canvas.h"

#include <string.h>

static const struct {
        int32_t dark, light;
        int8_t sixteen, eight;
        uint8_t mono;
} inks[INK_COUNT] = {
#define INK(id, dark, light, sixteen, eight, mono) {dark, light, sixteen, eight, mono},
#include "present/tui/ink.def"
#undef INK
};

static const char *const names[THEME_COUNT] = {"auto", "dark", "light", "mono"};

const char *theme_name(enum theme theme)
{
        return names[theme];
}

enum theme theme_find(const char *name)
{
        for (size_t i = 0; i < THEME_COUNT; i++) {
                if (strcmp(names[i], name) == 0)
                        return (enum theme)i;
        }
        return THEME_AUTO;
}

enum theme theme_settle(enum theme theme, const char *colorfgbg)
{
        if (theme != THEME_AUTO)
                return theme;
        const char *ground = colorfgbg ? strrchr(colorfgbg, ';') : NULL;
        if (ground && (strcmp(ground, ";7") == 0 || strcmp(ground, ";15") == 0))
                return THEME_LIGHT;
        return THEME_DARK;
}

enum depth theme_depth(int colours, const char *no_color, const char *colorterm)
{
        if ((no_color && *no_color) || colours < 8)
                return DEPTH_MONO;
        if (colorterm && (strcmp(colorterm, "truecolor") == 0 || strcmp(colorterm, "24bit") == 0))
                return DEPTH_TRUE;
        if (colours > 256)
                return DEPTH_TRUE;
        return colours >= 256 ? DEPTH_256 : colours >= 16 ? DEPTH_16 : DEPTH_8;
}

static int square_of(int v)
{
        return v * v;
}

/* Nearest of xterm's palette: the 6×6×6 cube from 16 on, 24 greys from 232 on. */
static int32_t to_256(int32_t rgb)
{
        static const int steps[] = {0, 95, 135, 175, 215, 255};
        int part[3] = {rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff}, cube = 0, far = 0, grey = 0;
        for (int i = 0; i < 3; i++) {
                int best = 0;
                for (int k = 1; k < 6; k++) {
                        if (square_of(steps[k] - part[i]) < square_of(steps[best] - part[i]))
                                best = k;
                }
                cube = cube * 6 + best;
                far += square_of(steps[best] - part[i]);
                grey += part[i];
        }
        int level = MIN(MAX((grey / 3 - 3) / 10, 0), 23), apart = 0;
        for (int i = 0; i < 3; i++)
                apart += square_of(8 + 10 * level - part[i]);
        return apart < far ? 232 + level : 16 + cube;
}

struct appearance theme_appearance(enum theme theme, enum depth depth, enum ink ink)
{
        int32_t rgb = theme == THEME_LIGHT ? inks[ink].light : inks[ink].dark;
        if (theme == THEME_MONO)
                depth = DEPTH_MONO;
        switch (depth) {
        case DEPTH_MONO:
                return (struct appearance){-1, inks[ink].mono};
        case DEPTH_8:
                return (struct appearance){inks[ink].eight, 0};
        case DEPTH_16:
                /* The bright half of the sixteen is too pale on white. */
                if (theme == THEME_LIGHT && inks[ink].sixteen > 8)
                        return (struct appearance){inks[ink].sixteen - 8, 0};
                return (struct appearance){inks[ink].sixteen, 0};
        case DEPTH_256:
                return (struct appearance){rgb < 0 ? -1 : to_256(rgb), 0};
        case DEPTH_TRUE:
                return (struct appearance){rgb, 0};
        }
        return (struct appearance){-1, 0};
}
