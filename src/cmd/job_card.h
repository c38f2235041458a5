/* One record as text. */
#pragma once

#include "base/strbuf.h"
#include "serve/records.h"
#include "serve/sacct.h"

/* Everything, with what is known of the job's request; grams of CO2 only for a factor above 0. */
void job_card_put(struct strbuf *out, const struct record *r, const struct job_request *request,
                  double co2_g_per_kwh);
/* One line for a job's comment. */
void job_card_put_brief(struct strbuf *out, const struct record *r);
