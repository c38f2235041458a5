#include "app/stack_export.h"

#include "app/setup.h"
#include "app/stack_snapshot.h"
#include "base/clock.h"
#include "present/stream/stack_export.h"

#include <errno.h>
#include <string.h>

#define PIECES_MAX 2048 /* of a long recording, which are longer than a second then */
#define TREE_DEPTH_MAX 64

struct span {
        int64_t first_ns, last_ns; /* beginnings of its first and last second */
        bool found;
};

static const struct stack_process *find_process(const struct stack_log *log, int32_t pid)
{
        for (size_t i = 0; i < log->n_processes; i++) {
                if (log->processes[i].pid == pid)
                        return &log->processes[i];
        }
        return NULL;
}

static bool is_process_chosen(const struct stack_log *log, uint32_t process, int32_t pid)
{
        const struct stack_process *p = &log->processes[process];
        for (int depth = 0; p && depth < TREE_DEPTH_MAX; depth++) {
                if (pid == 0 || p->pid == pid)
                        return true;
                p = p->ppid > 0 ? find_process(log, p->ppid) : NULL;
        }
        return false;
}

/* The next second of those that are chosen: 1, 0 after the last, or a negative code. */
static int next_second(struct session_reader *r, const struct stack_choice *choice, uint64_t *taken,
                       struct stack_window *ret, struct err *err)
{
        int64_t from = session_start_ns(r) + clock_from_seconds(choice->at_s);
        int got;
        while ((got = session_next_stacks(r, ret, err)) > 0) {
                bool counts = ret->mono_ns + STACK_WINDOW_NS > from &&
                              (choice->seconds == 0 || *taken < choice->seconds);
                *taken += counts;
                if (counts)
                        return 1;
        }
        return got;
}

/* The sums need to know first how long it all is. */
static int measure_span(struct session_reader *r, const struct stack_choice *choice,
                        struct span *ret, struct err *err)
{
        struct stack_window w;
        uint64_t taken = 0;
        int got;
        while ((got = next_second(r, choice, &taken, &w, err)) > 0) {
                ret->first_ns = ret->found ? ret->first_ns : w.mono_ns;
                ret->last_ns = w.mono_ns;
                ret->found = true;
        }
        if (got == 0 && !ret->found) {
                err_set(err, ERR_USAGE, "--at %g is beyond the end of the recording's stacks",
                        choice->at_s);
                return err_hint(err, "'assay report' tells how long it is");
        }
        return got;
}

static int add_up(struct session_reader *r, const struct stack_log *log,
                  const struct stack_choice *choice, const struct span *span, int64_t piece_ns,
                  struct stack_sums *sums, struct err *err)
{
        struct stack_window w;
        uint64_t taken = 0;
        int got;
        while ((got = next_second(r, choice, &taken, &w, err)) > 0) {
                uint32_t piece =
                    piece_ns > 0 ? (uint32_t)((w.mono_ns - span->first_ns) / piece_ns) : 0;
                for (size_t i = 0; i < w.n; i++) {
                        uint32_t process = log->threads[w.counts[i].thread].process;
                        if (is_process_chosen(log, process, choice->pid) &&
                            stack_sums_add(sums, piece, &w.counts[i]) < 0)
                                return err_set(err, -ENOMEM, "out of memory");
                }
        }
        return got;
}

static int check_process(const struct stack_log *log, int32_t pid, const char *path,
                         struct err *err)
{
        if (pid == 0 || find_process(log, pid))
                return 0;
        err_set(err, ERR_USAGE, "'%s' has no stacks of a process %d", path, pid);
        return err_hint(err, "'assay stacks %s' shows which it has", path);
}

static int64_t piece_length(const struct span *span)
{
        int64_t seconds = (span->last_ns - span->first_ns) / STACK_WINDOW_NS + 1;
        return (seconds + PIECES_MAX - 1) / PIECES_MAX * STACK_WINDOW_NS;
}

static int export_from(struct session_reader *r, const struct stack_log *log, const char *path,
                       const struct stack_choice *choice, bool is_folded, struct strbuf *out,
                       struct strbuf *notices, struct err *err)
{
        struct stack_sums sums = {0};
        struct span span = {0};
        int code = check_process(log, choice->pid, path, err);
        if (code == 0)
                code = measure_span(r, choice, &span, err);
        int64_t piece_ns = code == 0 && !is_folded ? piece_length(&span) : 0;
        if (code == 0)
                code = add_up(r, log, choice, &span, piece_ns, &sums, err);
        if (code == 0) {
                const char *name = strrchr(path, '/');
                const struct stack_export e = {
                    .log = log,
                    .sums = &sums,
                    .name = name ? name + 1 : path,
                    .begin_s = clock_to_seconds(span.first_ns - session_start_ns(r)),
                    .piece_s = clock_to_seconds(piece_ns)};
                stack_sums_sort(&sums, log);
                if (is_folded)
                        stack_export_folded(&e, out);
                else
                        stack_export_speedscope(&e, program_version, out);
                code = out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
        }
        if (sums.left_out_s > 0)
                strbuf_putf(notices, "too many different stacks: %.0f s of threads are left out\n",
                            sums.left_out_s);
        stack_sums_finish(&sums);
        return code;
}

int stack_export(const char *path, const struct stack_choice *choice, const char *format,
                 struct strbuf *out, struct strbuf *notices, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log = NULL;
        int code = stacks_open(path, &r, &log, err);
        if (code == 0)
                code = export_from(r, log, path, choice, strcmp(format, "folded") == 0, out,
                                   notices, err);
        session_reader_close(r);
        return code;
}
