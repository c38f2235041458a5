/* What the page and other programs are reported, as JSON. docs/SERVE.md is the schema. */
#pragma once

#include "base/strbuf.h"
#include "serve/auth.h"
#include "serve/journal.h"
#include "serve/live.h"

/* Who asks. */
struct viewer {
        enum role role;
        char user[OWNER_NAME_MAX]; /* of this machine, when the socket reports it; else "" */
};

/* The newest moment: GPUs, owners, host, source. On one line. */
void api_now(const struct live_moment *m, const char *version, struct strbuf *out);
/* The flight recorder and its newest dump: an object, or with a name a member. */
void api_dump(struct jsonw *j, const char *name, const struct dump_status *d);
/* Processes on the GPUs; names only of one's own, or to an admin. */
void api_processes(const struct live_moment *m, const struct viewer *viewer, struct strbuf *out);
/* The member "limiter_texts": what the names of limiters mean. */
void api_limiter_texts(struct jsonw *j);
/* The past of one GPU by its name, or its label. False when there is no such GPU. span is in
 * seconds. */
bool api_history(const struct live_moment *m, struct past *past, const char *gpu, double span,
                 struct strbuf *out);
/* What is wrong now, and what happened lately. */
void api_findings(const struct live_moment *m, struct journal *journal, struct strbuf *out);
