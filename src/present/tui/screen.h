/*
 * The terminal. The only file that knows terminfo: raw mode, colours, keys, mouse, and writing only
 * the cells that changed.
 */
#pragma once

#include "base/err.h"
#include "present/tui/canvas.h"
#include "present/tui/keys.h"
#include "present/tui/theme.h"

struct screen;

struct screen_config {
        int in, out;            /* descriptors of the terminal */
        const char *term;       /* $TERM; NULL for not set */
        enum depth depth_limit; /* fewer colours than the terminal has: DEPTH_MONO for NO_COLOR */
        const char *colorterm;
        enum theme theme; /* settled */
        bool mouse;
};

struct screen_counts {
        uint64_t frames; /* that wrote something */
        uint64_t bytes;
};

/* Takes over the terminal. On a crash it is given back before the program dies. */
int screen_open(const struct screen_config *config, struct screen **ret, struct err *err);
/* Gives the terminal back; one that does not read is waited for only a little. NULL is allowed. */
void screen_close(struct screen *s);
/* Gives the terminal back for a while (Ctrl-Z), and takes it again. */
void screen_leave(struct screen *s);
void screen_enter(struct screen *s);
void screen_size(const struct screen *s, int *ret_w, int *ret_h);
void screen_set_theme(struct screen *s, enum theme theme);
/* Nothing is known of what the terminal shows: the next flush writes everything. */
void screen_invalidate(struct screen *s);
/* Writes what changed, without ever waiting. False when the terminal has not taken all of it, or of
 * the frame before, in which case this one is left out: the next flush continues. */
bool screen_flush(struct screen *s, const struct canvas *c);
/* The next key, INPUT_NONE when there is none. Never waits, except 25 ms after a lone escape.
 * -EIO when the terminal is gone. */
int screen_key(struct screen *s, struct key_event *ret);
void screen_counts(const struct screen *s, struct screen_counts *ret);
