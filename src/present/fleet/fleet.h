/* What an engine reported a fleet, for people and for programs. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/fleet.h"

/* "24 h to 2026-11-16 12:00". */
void fleet_format_window(const struct fleet_report *r, char *buf, size_t size);
/* What is missing, a sentence without a full stop. */
void fleet_put_notice(const struct fleet_notice *n, struct strbuf *out);
/* In any format that documents have; docs/JSON.md has the members. 0, or a code with a hint. */
int fleet_write(const struct fleet_report *r, const char *format, size_t columns,
                struct strbuf *out, struct err *err);
