/* A list of runs as a document. */
#pragma once

#include "model/document.h"
#include "model/runs.h"

/*
 * One row a run: when, what, how long, on how many GPUs, what limited it, GPU-hours and how many of
 * them were wasted. folder: its name; NULL for files that were named one by one. sort: one of
 * --sort's choices; NULL for the newest first. Finish the document.
 */
void runs_document(const struct run_list *runs, const char *folder, const char *version,
                   const char *sort, struct document *ret);
