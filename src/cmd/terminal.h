/* What the live screens need of the terminal and its signals. */
#pragma once

#include "config/config.h"
#include "present/tui/screen.h"

#include <signal.h>

/* Whether the locale's letters are UTF-8. */
bool terminal_has_utf8(void);
/* Blocks the signals that end, stop or resize, and gives a descriptor that reports them. */
int terminal_open_signals(sigset_t *ret_before);
/* Takes over the terminal, with --theme. */
int terminal_open_screen(const struct config *config, int tty, struct screen **ret,
                         struct err *err);
/* Columns of the screen that the standard output is; 0 where it is not one. */
size_t terminal_columns(void);
