/* A recorded run as a trace for ui.perfetto.dev and chrome://tracing. */
#pragma once

#include "base/strbuf.h"
#include "config/config.h"

/* 0 or a negative code with err; notices: a line each. */
int trace_export(const struct config *config, const char *path, struct strbuf *out,
                 struct strbuf *notices, struct err *err);
