#include "app/lines.h"

#include "base/clock.h"
#include "compute/line_maker.h"

#include <errno.h>

struct line_part {
        int64_t from_ns, to_ns; /* on the clock of the session */
        size_t gpu;
};

static bool is_counted(const struct stack_log *log, const struct where_person *person,
                       const struct stack_count *c, size_t gpu)
{
        if (gpu != WHERE_EVERY_GPU && person->gpu != WHERE_EVERY_GPU && person->gpu != gpu)
                return false;
        if (person->who == WHERE_HOLDERS)
                return log->threads[c->thread].is_main;
        return person->who == WHERE_WORKERS && c->state == STACK_RUNNING;
}

static int add_window(struct run_summary *r, const struct line_part *part,
                      const struct stack_window *w, struct line_maker *maker)
{
        double piece = (double)(part->to_ns - part->from_ns) / MAKER_BLOCKS;
        double at = (double)(w->mono_ns + STACK_WINDOW_NS / 2 - part->from_ns) / piece;
        int code = 0;
        for (size_t i = 0; code == 0 && i < w->n; i++) {
                const struct stack_count *c = &w->counts[i];
                const struct where_person *person;
                code = where_find_person(&r->where, &r->summary.limits, r->stacks,
                                         r->stacks->threads[c->thread].process, &person);
                if (code == 0 && is_counted(r->stacks, person, c, part->gpu))
                        code =
                            line_maker_add(maker, r->stacks->table, c, person->who == WHERE_WORKERS,
                                           MIN((size_t)MAX(at, 0), (size_t)MAKER_BLOCKS - 1));
        }
        return code;
}

int lines_take(struct run_summary *r, int64_t from_ns, int64_t to_ns, size_t gpu,
               struct line_profile *ret, struct err *err)
{
        /* Stacks are reported by the clock of the first tick. */
        int64_t ahead = r->stretches.first_ns - r->stretches.first_wall_ns;
        const struct line_part part = {from_ns + ahead, to_ns + ahead, gpu};
        struct line_maker maker = {0};
        struct stack_window w;
        int code = 0, got = 1;
        *ret = (struct line_profile){0};
        if (!r->stacks || part.to_ns <= part.from_ns)
                return 0;
        while (code == 0 && (got = session_next_stacks(r->in.session, &w, err)) > 0) {
                int64_t middle = w.mono_ns + STACK_WINDOW_NS / 2;
                if (middle >= part.from_ns && middle < part.to_ns)
                        code = add_window(r, &part, &w, &maker);
        }
        int made = line_maker_end(&maker, r->stacks->table, ret);
        code = code < 0 ? code : made;
        if (code < 0)
                return err_set(err, code, "out of memory");
        return got;
}
