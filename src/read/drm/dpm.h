/* amdgpu's pp_dpm_… files: one clock level a line, a star at the one in use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct dpm {
        bool has_now, has_max;
        double now_mhz; /* the level in use */
        double max_mhz; /* the highest level */
};

/*
 * Reads "0: 500Mhz", "1: 2482Mhz *", "S: 19Mhz *" (deep sleep). Lines that are not a level are
 * passed over; false when there is no level at all.
 */
bool dpm_parse(const char *text, size_t len, struct dpm *ret);
