/* The doctor's checks on a thread of their own, because a hung driver may hold them up. */
#pragma once

#include "config/config.h"
#include "present/tui/ui.h"

struct checkup;
struct source_config;

/* What the checks are reported the options; the texts are the configuration's. */
void checkup_source(const struct config *config, struct source_config *ret);

/* The checks that a backend depends on, "auto" for all. NULL when it cannot be started. What it
 * needs of config is copied. */
struct checkup *checkup_start(const struct config *config, const char *backend);
/* What was found so far, and whether that is all. Text lives as long as the checkup. */
bool checkup_results(struct checkup *c, const struct ui_check **ret, size_t *ret_n);
/* Returns at once; a thread that still runs frees what there is. NULL is allowed. */
void checkup_close(struct checkup *c);
