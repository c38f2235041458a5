/* The pieces of the fleet view: summary, cards of two sizes, lines. */
#pragma once

#include "present/tui/ui.h"

void fleet_draw_summary(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                        struct area a);
/* At least 58×8. What is beyond eight lines holds a chart of the last minutes. */
void fleet_draw_large(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row, bool chosen);
/* SM, DRAM, tensor and what nvidia-smi shows, over the last minutes, with a legend above. */
void fleet_draw_chart(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row);
/* At least 40×5. What is beyond holds a small chart. */
void fleet_draw_small(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row, bool chosen);
/* One line of a.w columns: the columns of the table that fit, always the same for all lines. */
void fleet_draw_headings(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                         struct area a);
void fleet_draw_line(const struct ui_data *d, struct canvas *c, struct area a,
                     const struct row *row, bool chosen);
