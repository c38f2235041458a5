/* Phases and findings of a session that is played, read on a thread of their own. */
#pragma once

#include "config/config.h"
#include "present/tui/ui.h"

struct scan;

/* NULL when the file is not a session, or when it cannot be started. config must outlive the
 * program's last use of it: a thread that still reads is left behind. */
struct scan *scan_start(const struct config *config, const char *path);
/* Fills phases, findings and, where nobody knows it better, the duration, once they are present. */
void scan_fill(struct scan *s, struct ui_data *data);
/* Whether more is to come. */
bool scan_reads(struct scan *s);
/* Returns at once. NULL is allowed. */
void scan_close(struct scan *s);
