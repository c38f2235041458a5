/*
 * Events in the format of Chrome's tracing, which ui.perfetto.dev, chrome://tracing and others
 * open: a JSON object whose traceEvents are slices, counters, marks and names. Times are
 * microseconds since the run began.
 */
#pragma once

#include "base/jsonw.h"

struct chrome_trace {
        struct jsonw j;
};

/* version is the program's; title: what ran. */
void chrome_begin(struct chrome_trace *t, const char *title, const char *version,
                  struct strbuf *out);
void chrome_end(struct chrome_trace *t);
/* Processes are shown in the order of pid. */
void chrome_name_process(struct chrome_trace *t, int pid, const char *name);
void chrome_name_thread(struct chrome_trace *t, int pid, int tid, const char *name);
/* A slice; those of one thread follow each other or lie in each other. args: a JSON object, or
 * NULL.
 */
void chrome_slice(struct chrome_trace *t, int pid, int tid, const char *category, const char *name,
                  double begin_s, double seconds, const char *args);
/* One that may overlap others of its kind; id is its own. */
void chrome_span(struct chrome_trace *t, int pid, const char *category, const char *name, size_t id,
                 double begin_s, double end_s, const char *args);
void chrome_counter(struct chrome_trace *t, int pid, const char *name, const char *unit,
                    double at_s, double value);
void chrome_instant(struct chrome_trace *t, int pid, int tid, const char *name, double at_s,
                    const char *args);
