/*
 * The live screen of 'assay fleet': tabs of views above, tables below, as the dashboard has them.
 * Draws plain data; knows no engine and no terminal.
 */
#pragma once

#include "model/fleet.h"
#include "present/tui/canvas.h"
#include "present/tui/keys.h"

struct board {
        enum fleet_view view;
        size_t top; /* the first line that is shown */
        bool help;
};

struct board_data {
        const struct fleet_report *report; /* of this view; NULL before the first */
        const char *error, *hint;          /* why the last question failed; "" when it did not */
        bool asking;
        int64_t age_ns;      /* since the report came */
        int64_t interval_ns; /* between questions */
        int64_t window_ns;
};

/* What a key asks for, beyond what the board does itself. */
enum board_request {
        BOARD_NOTHING, /* the key has no meaning here */
        BOARD_QUIT,
        BOARD_ASK,     /* query the engine now: another view, or a reload */
        BOARD_LONGER,  /* a longer window */
        BOARD_SHORTER, /* a shorter window */
        BOARD_DRAW     /* only draw again */
};

enum board_request board_key(struct board *b, const struct key_event *key);
void board_draw(struct board *b, const struct board_data *d, struct canvas *c);
