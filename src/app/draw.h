/* A recorded run as a chart, for `assay plot` and the library. */
#pragma once

#include "base/strbuf.h"
#include "config/config.h"
#include "present/chart/plot.h"

/* The format that a file's name ends in. 0, or ERR_USAGE. */
int draw_format(const char *path, enum plot_format *ret, struct err *err);
/* Called with every tick that is read. */
struct draw_watch {
        void (*fn)(void *arg);
        void *arg;
};
/*
 * Draws the run at path into out, as the options say (metrics, phase, last, level, size, title).
 * What is worth reporting is added to notices; watch may be NULL. 0, or a negative code with err.
 */
int draw_file(const struct config *config, const char *path, enum plot_format format,
              const struct draw_watch *watch, struct strbuf *out, struct strbuf *notices,
              struct err *err);
/* Several runs over each other, each from its own start. */
int draw_files(const struct config *config, const char *const *paths, size_t n,
               enum plot_format format, const struct draw_watch *watch, struct strbuf *out,
               struct strbuf *notices, struct err *err);
