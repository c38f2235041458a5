#include "present/stream/chrome_trace.h"

#include <math.h>

static void put_microseconds(struct jsonw *j, const char *name, double seconds)
{
        jsonw_fixed(j, name, seconds * 1e6, 3);
}

static void begin_event(struct chrome_trace *t, const char *type, int pid, int tid,
                        const char *name)
{
        jsonw_line(&t->j);
        jsonw_object(&t->j, NULL);
        jsonw_text(&t->j, "ph", type);
        jsonw_whole(&t->j, "pid", pid);
        jsonw_whole(&t->j, "tid", tid);
        jsonw_text(&t->j, "name", name);
}

static void end_event(struct chrome_trace *t, const char *args)
{
        if (args) {
                jsonw_begin(&t->j, "args");
                strbuf_puts(t->j.out, args);
        }
        jsonw_end(&t->j);
}

void chrome_begin(struct chrome_trace *t, const char *title, const char *version,
                  struct strbuf *out)
{
        *t = (struct chrome_trace){.j.out = out};
        jsonw_object(&t->j, NULL);
        jsonw_text(&t->j, "displayTimeUnit", "ms");
        jsonw_object(&t->j, "otherData");
        jsonw_text(&t->j, "program", "assay");
        jsonw_text(&t->j, "version", version);
        jsonw_text(&t->j, "title", title);
        jsonw_end(&t->j);
        jsonw_array(&t->j, "traceEvents");
}

void chrome_end(struct chrome_trace *t)
{
        jsonw_end(&t->j);
        jsonw_end(&t->j);
        strbuf_putc(t->j.out, '\n');
}

static void put_metadata(struct chrome_trace *t, int pid, int tid, const char *kind,
                         const char *name)
{
        begin_event(t, "M", pid, tid, kind);
        jsonw_object(&t->j, "args");
        jsonw_text(&t->j, "name", name);
        jsonw_end(&t->j);
        jsonw_end(&t->j);
}

void chrome_name_process(struct chrome_trace *t, int pid, const char *name)
{
        put_metadata(t, pid, 0, "process_name", name);
        begin_event(t, "M", pid, 0, "process_sort_index");
        jsonw_object(&t->j, "args");
        jsonw_whole(&t->j, "sort_index", pid);
        jsonw_end(&t->j);
        jsonw_end(&t->j);
}

void chrome_name_thread(struct chrome_trace *t, int pid, int tid, const char *name)
{
        put_metadata(t, pid, tid, "thread_name", name);
}

void chrome_slice(struct chrome_trace *t, int pid, int tid, const char *category, const char *name,
                  double begin_s, double seconds, const char *args)
{
        begin_event(t, "X", pid, tid, name);
        jsonw_text(&t->j, "cat", category);
        put_microseconds(&t->j, "ts", begin_s);
        put_microseconds(&t->j, "dur", seconds > 0 ? seconds : 0);
        end_event(t, args);
}

void chrome_span(struct chrome_trace *t, int pid, const char *category, const char *name, size_t id,
                 double begin_s, double end_s, const char *args)
{
        for (int end = 0; end < 2; end++) {
                begin_event(t, end ? "e" : "b", pid, 0, name);
                jsonw_text(&t->j, "cat", category);
                jsonw_count(&t->j, "id", id);
                put_microseconds(&t->j, "ts", end ? fmax(end_s, begin_s) : begin_s);
                end_event(t, end ? NULL : args);
        }
}

void chrome_counter(struct chrome_trace *t, int pid, const char *name, const char *unit,
                    double at_s, double value)
{
        begin_event(t, "C", pid, 0, name);
        put_microseconds(&t->j, "ts", at_s);
        jsonw_object(&t->j, "args");
        jsonw_short(&t->j, unit, value, 6);
        jsonw_end(&t->j);
        jsonw_end(&t->j);
}

void chrome_instant(struct chrome_trace *t, int pid, int tid, const char *name, double at_s,
                    const char *args)
{
        begin_event(t, "i", pid, tid, name);
        jsonw_text(&t->j, "s", "p");
        put_microseconds(&t->j, "ts", at_s);
        end_event(t, args);
}
