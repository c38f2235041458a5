/* Keys and what they do. The rows are in keys.def. */
#pragma once

#define CTRL(c) ((c)&0x1f)

/* Beyond Unicode, so that they never meet a character. */
enum key {
        INPUT_NONE = 0,
        INPUT_ESCAPE = 0x110000,
        INPUT_BACKSPACE,
        INPUT_ENTER,
        INPUT_UP,
        INPUT_DOWN,
        INPUT_LEFT,
        INPUT_RIGHT,
        INPUT_PAGE_UP,
        INPUT_PAGE_DOWN,
        INPUT_HOME,
        INPUT_END,
        INPUT_INSERT,
        INPUT_DELETE,
        INPUT_BACK_TAB,
        INPUT_F1,
        INPUT_F9,
        INPUT_MOUSE,
        INPUT_UNKNOWN,
};

enum mouse_button { MOUSE_LEFT, MOUSE_OTHER, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

/* What the terminal sent. */
struct key_event {
        int key; /* enum key or a code point */
        enum mouse_button button;
        int x, y; /* of the mouse, from 0 */
};

enum action {
        ACTION_NONE,
#define KEY(action, key, other, where, help) ACTION_##action,
#include "present/tui/keys.def"
#undef KEY
        ACTION_COUNT
};

struct key_row {
        enum action action;
        int key, other;
        const char *where, *help;
};

/* The table. NULL at the end. */
const struct key_row *key_at(unsigned i);
enum action key_action(int key);
/* "q", "Esc", "PgUp", "^L" for the help. */
const char *key_label(int key, char buf[8]);
