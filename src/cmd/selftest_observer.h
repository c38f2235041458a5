/* assay selftest --observer: what reading the counters costs the work that is observed. */
#pragma once

#include "cmd/command.h"
#include "selftest/loads.h"

/*
 * Runs each load on the GPU of that UUID in turns with and without reading, and writes what the
 * reading cost. No pipeline may be open meanwhile. blas may be NULL. 0 or a negative code with err.
 */
int observer_test(const struct config *config, const struct cuda_api *cuda,
                  const struct blas_api *blas, const char *uuid, struct strbuf *out,
                  struct err *err);
/* About how long that takes, in seconds. */
double observer_seconds(const struct config *config);
