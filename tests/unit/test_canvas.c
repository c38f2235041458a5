#include "test.h"

#include "base/attr.h"
#include "present/tui/canvas.h"
#include "present/tui/keys.h"
#include "present/tui/theme.h"
#include "present/tui/ui.h"

#include <stdio.h>
#include <string.h>

/* One row of the canvas as text. */
static void row_text(const struct canvas *c, int y, char *buf)
{
        for (int x = 0; x < c->w; x++) {
                const struct cell *cell = canvas_at(c, x, y);
                size_t n = strnlen(cell->ch, 4);
                memcpy(buf, cell->ch, n);
                buf += n;
        }
        *buf = '\0';
}

static void draws_text(void **state UNUSED)
{
        static const struct {
                const char *text;
                int x, w;
                bool ascii;
                const char *row;
                const char *why;
        } cases[] = {
            {"abc", 0, 8, false, "abc     ", "plain"},
            {"abc", 6, 8, false, "      ab", "cut at the edge"},
            {"abc", -2, 8, false, "c       ", "begins before the edge"},
            {"abcdef", 0, 4, false, "abc…    ", "cut text ends in an ellipsis"},
            {"abcdef", 0, 4, true, "abc~    ", "ASCII ellipsis"},
            {"abcd", 0, 4, false, "abcd    ", "exactly fits"},
            {"é°×", 0, 8, false, "é°×     ", "one column each"},
            {"°×µ", 0, 8, true, " xu     ", "likenesses"},
            {"日本", 0, 8, false, "??      ", "wide characters would move the line"},
            {"a\x1b[31m", 0, 8, false, "a?[31m  ", "no escape reaches the terminal"},
            {"e\xcc\x81x", 0, 8, false, "e?x     ", "a combining mark"},
            {"\xff\xc3.", 0, 8, false, "??.     ", "bytes that are not UTF-8"},
            {"\xed\xa0\x80z", 0, 8, false, "?z      ", "a surrogate"},
            {"\xc0\xaf", 0, 8, false, "?       ", "an overlong slash"},
            {"⣿⠉⣀", 0, 8, true, ":'.     ", "braille in ASCII keeps upper and lower half"},
            {"━╸─▁█", 0, 8, true, "=--_#   ", "bars in ASCII"},
        };
        struct canvas c = {0};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char row[64];
                assert_int_equal(canvas_resize(&c, 8, 2), 0);
                c.ascii = cases[i].ascii;
                canvas_text(&c, cases[i].x, 0, cases[i].w, (struct style){.fg = INK_TEXT},
                            cases[i].text);
                row_text(&c, 0, row);
                if (strcmp(row, cases[i].row) != 0)
                        fail_msg("%s: '%s', not '%s'", cases[i].why, row, cases[i].row);
                row_text(&c, 1, row);
                assert_string_equal(row, "        ");
        }
        canvas_finish(&c);
}

static void stays_inside(void **state UNUSED)
{
        struct canvas c = {0};
        assert_int_equal(canvas_resize(&c, 5, 3), 0);
        struct style style = {.fg = INK_TEXT, .bg = INK_BAR};
        for (int y = -3; y < 6; y++) {
                for (int x = -8; x < 10; x++) {
                        canvas_text(&c, x, y, 20, style, "abcdefgh");
                        canvas_right(&c, x, y, 3, style, "12345");
                        canvas_line(&c, x, y, 30, style, 0x2500);
                        canvas_paint(&c, (struct area){x, y, 7, 7}, INK_SELECT);
                        canvas_tint(&c, (struct area){x, y, 7, 7}, INK_DIM);
                }
        }
        canvas_finish(&c);
        assert_int_equal(canvas_resize(&c, 100000, 100000), 0);
        assert_int_equal(c.w, CANVAS_WIDTH_MAX);
        assert_int_equal(c.h, CANVAS_HEIGHT_MAX);
        canvas_finish(&c);
}

static void aligns_right(void **state UNUSED)
{
        struct canvas c = {0};
        char row[64];
        assert_int_equal(canvas_resize(&c, 8, 1), 0);
        canvas_right(&c, 1, 0, 5, (struct style){.fg = INK_TEXT}, "42°");
        row_text(&c, 0, row);
        assert_string_equal(row, "   42°  ");
        canvas_finish(&c);
}

static void keeps_background(void **state UNUSED)
{
        struct canvas c = {0};
        assert_int_equal(canvas_resize(&c, 4, 1), 0);
        canvas_paint(&c, (struct area){0, 0, 4, 1}, INK_SELECT);
        canvas_text(&c, 0, 0, 4, (struct style){.fg = INK_CRIT}, "a b");
        assert_int_equal(canvas_at(&c, 0, 0)->bg, INK_SELECT);
        assert_int_equal(canvas_at(&c, 0, 0)->fg, INK_CRIT);
        /* Blanks are equal whoever drew them: no byte is spent on their ink. */
        assert_memory_equal(canvas_at(&c, 1, 0), canvas_at(&c, 3, 0), sizeof(struct cell));
        canvas_finish(&c);
}

static void chooses_depth(void **state UNUSED)
{
        static const struct {
                int colours;
                const char *no_color, *colorterm;
                enum depth depth;
                const char *why;
        } cases[] = {
            {256, NULL, NULL, DEPTH_256, "what terminfo says"},
            {256, NULL, "truecolor", DEPTH_TRUE, "COLORTERM"},
            {8, NULL, "24bit", DEPTH_TRUE, "its other word"},
            {256, "1", "truecolor", DEPTH_MONO, "NO_COLOR wins"},
            {256, "", NULL, DEPTH_256, "an empty NO_COLOR does not count"},
            {16, NULL, NULL, DEPTH_16, "sixteen"},
            {8, NULL, "yes", DEPTH_8, "eight"},
            {-1, NULL, NULL, DEPTH_MONO, "a terminal without colours"},
            {16777216, NULL, NULL, DEPTH_TRUE, "xterm-direct"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                enum depth d = theme_depth(cases[i].colours, cases[i].no_color, cases[i].colorterm);
                if (d != cases[i].depth)
                        fail_msg("%s: %d", cases[i].why, (int)d);
        }
        assert_int_equal(theme_settle(THEME_AUTO, "0;15"), THEME_LIGHT);
        assert_int_equal(theme_settle(THEME_AUTO, "15;default;0"), THEME_DARK);
        assert_int_equal(theme_settle(THEME_AUTO, NULL), THEME_DARK);
        assert_int_equal(theme_settle(THEME_MONO, "0;15"), THEME_MONO);
}

static void looks_are_in_range(void **state UNUSED)
{
        static const int32_t most[] = {-1, 7, 15, 255, 0xffffff};
        for (enum theme t = THEME_DARK; t < THEME_COUNT; t++) {
                for (enum depth d = DEPTH_MONO; d <= DEPTH_TRUE; d++) {
                        for (enum ink i = 0; i < INK_COUNT; i++) {
                                struct appearance appearance = theme_appearance(t, d, i);
                                assert_in_range(appearance.colour + 1, 0,
                                                (t == THEME_MONO ? -1 : most[d]) + 1);
                        }
                }
        }
        /* The worst must be seen without colours too. */
        assert_true(theme_appearance(THEME_MONO, DEPTH_TRUE, INK_CRIT).attr & ATTR_REVERSE);
        assert_int_equal(theme_appearance(THEME_DARK, DEPTH_256, INK_COMPUTE).colour, 42);
}

static void keys_are_unique(void **state UNUSED)
{
        const struct key_row *a, *b;
        for (unsigned i = 0; (a = key_at(i)); i++) {
                assert_true(a->help[0] != '\0');
                assert_int_equal(key_action(a->key), a->action);
                for (unsigned k = 0; (b = key_at(k)); k++) {
                        if (i != k && (a->key == b->key || (a->other && a->other == b->key) ||
                                       (a->other && a->other == b->other)))
                                fail_msg("rows %u and %u share a key", i, k);
                }
        }
        assert_int_equal(key_action(INPUT_NONE), ACTION_NONE);
        assert_int_equal(key_action('Q'), ACTION_NONE);
}

static void views_are_found(void **state UNUSED)
{
        for (enum view_id i = 0; i < VIEW_COUNT; i++) {
                assert_int_equal(view_find(view_at(i)->name), i);
                assert_non_null(view_at(i)->draw);
                assert_non_null(view_at(i)->hints);
        }
        assert_int_equal(view_find("nothing"), VIEW_COUNT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(draws_text),      cmocka_unit_test(stays_inside),
            cmocka_unit_test(aligns_right),    cmocka_unit_test(keeps_background),
            cmocka_unit_test(chooses_depth),   cmocka_unit_test(looks_are_in_range),
            cmocka_unit_test(keys_are_unique), cmocka_unit_test(views_are_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
