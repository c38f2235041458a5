/* The sentences of 'assay why'. */
#pragma once

#include "base/strbuf.h"
#include "model/why.h"

/* "rank 2 (pid 4711) was stopped by a signal, state T, at train.py:88 step, for 41 s". */
void why_put_finding(const struct why *w, const struct why_finding *f, struct strbuf *out);
/* "train.py:88 step (in …)"; nothing where there are no lines. */
void why_put_line(const struct stack_snapshot *l, uint32_t thread, struct strbuf *out);
/* "0-4, 6" of the ranks of a group. */
void why_put_ranks(const struct why *w, uint32_t group, struct strbuf *out);
/* What a group does: "wait in recvfrom", "run without progress". */
void why_put_doing(const struct why *w, const struct why_rank *r, struct strbuf *out);
/* The first line of the page. */
void why_put_title(const struct why *w, struct strbuf *out);
