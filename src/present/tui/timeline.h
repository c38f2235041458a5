/* The whole of a recording on a few lines: phases, findings, and where it is now. */
#pragma once

#include "present/tui/ui.h"

/* Lines it takes of a screen that is h high; 0 when there is nothing to show. */
int timeline_lines(const struct ui_data *d, int h);
void timeline_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a);
/* Asks for the beginning of the next or the last phase or finding; says so when there is none. */
void timeline_jump(struct ui *ui, const struct ui_data *d, bool on);
/* A click: asks for that time. False when it is not on the timeline. */
bool timeline_click(struct ui *ui, const struct ui_data *d, int x, int y);
