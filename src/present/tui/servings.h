/* Model servers, above the processes of the job view. */
#pragma once

#include "present/tui/ui.h"

/* Draws what is known of them and gives what is left of the area. */
struct area servings_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a);
