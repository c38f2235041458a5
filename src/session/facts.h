/* What a report reports a run besides its frames: from the manifest, marks, other files. */
#pragma once

#include "model/summary.h"
#include "session/session.h"

void facts_init(struct run_facts *f, const char *input);
void facts_finish(struct run_facts *f);
/* From a session's manifest. */
void facts_from_session(struct run_facts *f, struct session_reader *r);
/* The metrics that the run itself marked. 0 or -ENOMEM. */
int facts_from_marks(struct run_facts *f, const struct mark *marks, size_t n);
