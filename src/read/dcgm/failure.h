/* Why dcgmi failed, and what a person can do about it. The rows are in failures.def. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum dcgm_failure {
        DCGM_FINE,
#define DCGM_FAILURE(id, code, text, refused, message, hint) DCGM_##id,
#include "read/dcgm/failures.def"
#undef DCGM_FAILURE
        DCGM_FAILURE_COUNT
};

/* Judges by what dcgmi printed (both streams, len bytes) and its exit status. Never DCGM_FINE. */
enum dcgm_failure dcgm_failure_of(const char *said, size_t len, int status);

/* The counters were refused; device fields may still be had. */
bool dcgm_failure_is_refusal(enum dcgm_failure f);
/* It may pass without anybody changing how assay is called: the engine starts, or continues. */
bool dcgm_failure_may_pass(enum dcgm_failure f);
/* One line, lower case. */
const char *dcgm_failure_message(enum dcgm_failure f);
const char *dcgm_failure_hint(enum dcgm_failure f);

/* Fills err with message and hint. detail (may be "") is a few words on what it is about. root is
 * where /proc is, for what the driver says about permissions. Returns ERR_NO_SOURCE. */
int dcgm_failure_report(enum dcgm_failure f, const char *detail, const char *root, struct err *err);

/* Whether the driver keeps the counters for administrators. False when it does not say. */
bool dcgm_admin_only(const char *root);
