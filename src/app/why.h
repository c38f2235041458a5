/* Why a job does not continue: examines it, asks NCCL, and concludes. */
#pragma once

#include "app/stack_snapshot.h"
#include "model/why.h"

/* What is read; all zeros to begin with. */
struct why_reading {
        struct stack_snapshot snapshot;
        struct ras_report ras;
        bool ras_was_asked;
        struct why why;
};
void why_reading_finish(struct why_reading *r);
/* A process and what it started, or with 0 those that hold a GPU; or the hosts that the options
 * name. 0 or a negative code with err; finish it either way. */
int why_read_now(const struct config *config, int32_t pid, struct why_reading *ret,
                 struct strbuf *notices, struct err *err);
/* A session or a folder of them, up to a time after the start; the end below 0. Likewise. */
int why_read_recorded(const char *path, double at_s, double watch_s, struct why_reading *ret,
                      struct err *err);
