/* Preferences written back to the config file. */
#pragma once

#include "config/config.h"

struct pref {
        enum option option;
        const char *value;
};

/*
 * Sets those options in the file and leaves every other line as it is; makes the file and its
 * folder when they are missing. The old file stays whole until the new one is on disk. 0 or a
 * negative code with err.
 */
int prefs_save(const char *path, const struct pref *prefs, size_t n, struct err *err);
