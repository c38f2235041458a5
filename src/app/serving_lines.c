#include "app/serving_lines.h"

#include "app/stack_snapshot.h"
#include "base/attr.h"
#include "compute/where.h"

#include <errno.h>
#include <stdlib.h>

static bool is_of_host(const struct serving_total *t, const struct stack_window *w)
{
        return t->front > 0 && w->mono_ns + STACK_WINDOW_NS > t->host_from_ns &&
               w->mono_ns < t->host_to_ns;
}

static int add_windows(struct session_reader *r, const struct stack_log *log,
                       const struct serving_totals *servings, struct where_process *finders,
                       struct err *err)
{
        struct stack_window w;
        int got = 1, code = 0;
        while (code == 0 && (got = session_next_stacks(r, &w, err)) > 0) {
                for (size_t i = 0; i < servings->n && code == 0; i++) {
                        if (is_of_host(&servings->list[i], &w))
                                code = where_process_add(&finders[i], log, &w);
                }
        }
        return code < 0 ? code : got;
}

static bool any_of_host(const struct serving_totals *servings)
{
        for (size_t i = 0; i < servings->n; i++) {
                if (servings->list[i].front > 0)
                        return true;
        }
        return false;
}

int serving_lines_find(const char *path, struct serving_totals *servings, struct err *err)
{
        struct session_reader *r = NULL;
        const struct stack_log *log;
        struct err unused = {0};
        if (!any_of_host(servings) || stacks_open(path, &r, &log, &unused) < 0)
                return 0;
        CLEANUP(freep) struct where_process *finders = calloc(servings->n, sizeof(*finders));
        int code = finders ? 0 : -ENOMEM;
        for (size_t i = 0; code == 0 && i < servings->n; i++)
                code = where_process_begin(&finders[i], servings->list[i].front);
        if (code == 0)
                code = add_windows(r, log, servings, finders, err);
        for (size_t i = 0; finders && i < servings->n; i++) {
                int ended = where_process_end(&finders[i], log, &servings->list[i].where);
                code = code < 0 ? code : ended;
        }
        session_reader_close(r);
        return code == -ENOMEM ? err_set(err, code, "out of memory") : code;
}
