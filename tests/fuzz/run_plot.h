/* The part of fuzz_run that draws charts: their inks and the dashboard's have one name. */
#pragma once

#include "config/config.h"

/* Draws the session at path; whatever is wrong with it, that ends. */
void fuzz_plot_run(const struct config *config, const char *path);
