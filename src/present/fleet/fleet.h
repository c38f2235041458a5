/* What an engine told of a fleet, for people and for programs. */
#pragma once

#include "base/strbuf.h"
#include "model/fleet.h"

#define FLEET_CELL_MAX 320

/* A cell for people: hours, percent, "--" for what is missing. Returns buf. */
const char *fleet_format_cell(const struct fleet_column *column, const struct fleet_cell *cell,
                              char buf[FLEET_CELL_MAX]);
/* "24 h to 2026-11-16 12:00". */
void fleet_format_window(const struct fleet_report *r, char *buf, size_t size);

void fleet_write_text(const struct fleet_report *r, struct strbuf *out);
/* One object with a line end: SI units, null for what is missing. docs/JSON.md has it. */
void fleet_write_json(const struct fleet_report *r, struct strbuf *out);
/* The largest table of the report, in the units of the JSON. */
void fleet_write_csv(const struct fleet_report *r, struct strbuf *out);
