/* What the drm source knows beside its batches. */
#pragma once

#include "read/drm_scan.h"
#include "read/source.h"

/*
 * The processes on a GPU, by its index, as of the last tick; at most max. s is a source that
 * source_drm opened. Called from the thread that calls next.
 */
size_t drm_processes(const struct source *s, size_t gpu, struct scan_use *ret, size_t max);
