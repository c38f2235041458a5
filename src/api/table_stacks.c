#include "api/table.h"
#include "base/clock.h"

#include <string.h>

enum stack_column {
        STACKS_ELAPSED,
        STACKS_SECONDS,
        STACKS_SAMPLES,
        STACKS_PID,
        STACKS_TID,
        STACKS_MAIN,
        STACKS_GIL,
        STACKS_LINE,
        STACKS_IN_LINE,
        STACKS_THREAD,
        STACKS_STATE,
        STACKS_CALL,
        STACKS_FILE,
        STACKS_FUNCTION,
        STACKS_IN_FILE,
        STACKS_IN_FUNCTION,
};

/* A text that is empty is missing. */
static void put_text(struct assay_table *t, size_t column, const struct stack_log *log,
                     uint32_t text)
{
        if (text != STACK_TEXT_NONE)
                table_put_text(t, column, stack_text(log->table, text));
}

/* The columns of a frame. */
static void put_frame(struct assay_table *t, const struct stack_log *log, uint32_t stack,
                      size_t file, size_t line, size_t function)
{
        const struct stack_frame *f = stack_frame(log->table, stack_node(log->table, stack)->frame);
        put_text(t, file, log, f->file);
        put_text(t, function, log, f->function);
        if (f->line > 0)
                table_put(t, line, f->line);
}

static void put_count(struct assay_table *t, const struct stack_log *log, double elapsed_s,
                      const struct stack_count *c)
{
        const struct stack_thread *thread = &log->threads[c->thread];
        struct stack_place place = stack_find_place(log->table, c->stack);
        table_add_row(t);
        table_put(t, STACKS_ELAPSED, elapsed_s);
        table_put(t, STACKS_SECONDS, c->seconds);
        table_put(t, STACKS_SAMPLES, c->n_samples);
        table_put(t, STACKS_PID, log->processes[thread->process].pid);
        table_put(t, STACKS_TID, thread->tid);
        table_put(t, STACKS_MAIN, thread->is_main);
        table_put(t, STACKS_GIL, c->holds_gil);
        put_text(t, STACKS_THREAD, log, thread->name);
        if (c->state != STACK_STATE_UNKNOWN)
                table_put_text(t, STACKS_STATE, stack_state_name((enum stack_state)c->state));
        put_text(t, STACKS_CALL, log, c->call);
        put_frame(t, log, place.own, STACKS_FILE, STACKS_LINE, STACKS_FUNCTION);
        put_frame(t, log, place.inner, STACKS_IN_FILE, STACKS_IN_LINE, STACKS_IN_FUNCTION);
}

int table_fill_stacks(struct assay_table *t, struct table_job *job, struct err *err)
{
        static const char *const names[] = {
            "elapsed", "seconds", "looks", "pid",  "tid",  "main",     "gil",     "line",
            "in_line", "thread",  "state", "call", "file", "function", "in_file", "in_function"};
        const struct stack_log *log = NULL;
        struct stack_window w;
        int got = job->in.session ? session_stacks(job->in.session, &log, err) : 0;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                table_add_column(t, names[i], i >= STACKS_THREAD);
        while (got >= 0 && log && !t->failed &&
               (got = session_next_stacks(job->in.session, &w, err)) > 0) {
                double elapsed = clock_to_seconds(w.mono_ns - session_start_ns(job->in.session));
                bool wanted = table_wants(job, w.mono_ns, w.mono_ns + STACK_WINDOW_NS / 2);
                for (size_t i = 0; wanted && i < w.n; i++)
                        put_count(t, log, elapsed, &w.counts[i]);
        }
        return got;
}
