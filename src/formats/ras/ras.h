/* What NCCL's service says of a job, as JSON or as text. It comes from another program: every count
 * and text is bounded, and what makes no sense is passed over or an error. */
#pragma once

#include "base/err.h"
#include "model/ras.h"

/* Of the JSON that NCCL writes since 2.28.7. 0, ERR_DATA with err, or -ENOMEM. */
int ras_parse_json(const char *text, size_t n, struct ras_report *ret, struct err *err);
/* Of the text that 'VERBOSE STATUS' gives; likewise. */
int ras_parse_text(const char *text, size_t n, struct ras_report *ret, struct err *err);
