/* A run as a list of named numbers: what trackers of experiments keep. */
#pragma once

#include "present/report/report.h"

#define SCALARS_MAX 64

struct scalar {
        char name[96]; /* "assay/real_util", "assay/limiter/host.input", … */
        double v;
};

struct scalars {
        struct scalar list[SCALARS_MAX];
        size_t n;
};

/* Those that are known. docs/STEPS.md lists them. */
void report_take_scalars(const struct report *r, struct scalars *ret);
/* One object of JSON: the numbers, and "assay/findings", a list of texts. */
void report_scalars(const struct report *r, struct strbuf *out);
