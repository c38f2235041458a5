/* From any recording that can be read to any that can be written. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "config/config.h"

struct convert_job {
        const struct config *config; /* --to, --crlf, and which GPUs */
        const char *in, *out;
        int standard;               /* what an out of "-" means, a descriptor; -1: a file's name */
        void (*on_tick)(void *arg); /* called at each tick; may be NULL */
        void *arg;
        struct strbuf *notices; /* what is worth reporting is added here, a line each */
};

/* 0, or a negative code with err. What is present already is not overwritten. */
int convert_file(const struct convert_job *job, struct err *err);
