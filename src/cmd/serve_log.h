/* What `assay serve` says on standard error: plain lines, or lines for programs. */
#pragma once

#include "base/attr.h"
#include "base/strbuf.h"

#include <stdint.h>

enum log_format { LOG_TEXT, LOG_LOGFMT, LOG_JSON };
enum log_level { LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_line {
        int64_t wall_ns;
        enum log_level level;
        const char *event; /* "serving", "source", "push", "reload", "health", "owner", … */
        const char *gpu;   /* its label; "" for the machine */
        const char *text;
};

/* LOG_TEXT for a name that is not known. */
enum log_format log_format_find(const char *name);
/* The same to standard error, in one write. */
void log_write(enum log_format format, const struct log_line *line);
