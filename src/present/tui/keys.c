#include "present/tui/keys.h"

#include "base/attr.h"

#include <stdio.h>

static const struct key_row table[] = {
#define KEY(action, key, other, where, help) {ACTION_##action, key, other, where, help},
#include "present/tui/keys.def"
#undef KEY
};

const struct key_row *key_at(unsigned i)
{
        return i < ARRAY_LEN(table) ? &table[i] : NULL;
}

enum action key_action(int key)
{
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (key != INPUT_NONE && (table[i].key == key || table[i].other == key))
                        return table[i].action;
        }
        return ACTION_NONE;
}

const char *key_label(int key, char buf[8])
{
        static const struct {
                int key;
                const char *name;
        } names[] = {
            {INPUT_ESCAPE, "Esc"},
            {INPUT_BACKSPACE, "Bksp"},
            {INPUT_ENTER, "Enter"},
            {INPUT_UP, "\u2191"},
            {INPUT_DOWN, "\u2193"},
            {INPUT_LEFT, "\u2190"},
            {INPUT_RIGHT, "\u2192"},
            {INPUT_PAGE_UP, "PgUp"},
            {INPUT_PAGE_DOWN, "PgDn"},
            {INPUT_HOME, "Home"},
            {INPUT_END, "End"},
            {INPUT_BACK_TAB, "S-Tab"},
            {INPUT_F1, "F1"},
            {INPUT_F9, "F9"},
            {'\t', "Tab"},
            {'\n', ""},
            {' ', "Space"},
        };
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (names[i].key == key)
                        return names[i].name;
        }
        if (key < 0x20)
                snprintf(buf, 8, "^%c", key + 0x40);
        else
                snprintf(buf, 8, "%c", (char)key);
        return buf;
}
