/* One frame as a table: fit for a terminal and for a mail. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

struct table_options {
        const char *version; /* of the program, for the heading */
        unsigned width;      /* columns there are; what does not fit is left out */
        const char *host;    /* the GPUs are in; NULL or "" when not known */
        bool recorded;       /* it was recorded: a report may judge it otherwise */
        const char *focus;   /* a GPU's label: show every metric of that one; NULL for none */
};

void table_write(const struct frame *frame, const struct table_options *options,
                 struct strbuf *out);
