/* A damaged session: read or refused, never more. */
#include "fuzz.h"

#include "session/phases.h"
#include "session/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void walk_stacks(struct session_reader *r)
{
        const struct stack_log *all;
        struct stack_window w;
        struct err err;
        session_stacks(r, &all, &err);
        for (int i = 0; i < 500 && session_next_stacks(r, &w, &err) > 0; i++) {
                for (size_t k = 0; k < w.n; k++) {
                        const struct stack_count *c = &w.counts[k];
                        if (c->thread >= all->n_threads ||
                            all->threads[c->thread].process >= all->n_processes)
                                abort();
                        stack_find_place(all->table, c->stack);
                        stack_text(all->table, c->call);
                }
        }
}

static void walk(struct session_reader *r)
{
        const struct frame *f;
        struct err err;
        struct mark *marks = NULL;
        struct phase *phases = NULL;
        size_t n = 0, n_phases = 0;
        for (int i = 0; i < 500 && session_next(r, &f, &err) > 0; i++) {
                for (size_t k = 0; k < f->n; k++) {
                        if (f->rows[k].verdict.workload >= WORKLOAD_COUNT)
                                abort();
                }
        }
        const struct host *h;
        for (int i = 0; i < 500 && session_next_host(r, &h, &err) > 0; i++) {
                if (h->n_gpus > HOST_GPUS_MAX || h->n_cores > HOST_CORES_MAX)
                        abort();
        }
        walk_stacks(r);
        session_levels(r);
        if (session_marks(r, &marks, &n, &err) == 0)
                phases_from_marks(marks, n, INT64_MAX, &phases, &n_phases);
        for (size_t i = 0; i < n; i++)
                mark_finish(&marks[i]);
        free(marks);
        free(phases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char path[64];
        struct session_reader *r = NULL;
        struct err err = {0};
        if (!path[0])
                snprintf(path, sizeof(path), "/dev/shm/assay-fuzz-%d.assay", (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, data, size) != (ssize_t)size)
                abort();
        close(fd);
        if (session_open(path, &r, &err) == 0)
                walk(r);
        session_reader_close(r);
        unlink(path);
        return 0;
}
