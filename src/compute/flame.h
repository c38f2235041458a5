/* Adds up the stacks of a run, window by window, in bounded memory. */
#pragma once

#include "compute/where.h"
#include "model/flame.h"
#include "model/stack_sum.h"

/* All zeros to begin with. */
struct flame_maker {
        size_t n_trees, n_left_out;
        size_t stretches[FLAME_STRETCHES_MAX + 1]; /* of each tree; the first is the whole run's */
        struct stack_sums sums;                    /* a part is a tree */
};

/* Chooses the stretches that get a tree, once they are known. */
void flame_begin(struct flame_maker *m, const struct stretch_list *list);
/* Adds a window, of which begin_s is the time since the first tick; who serves a stretch's GPUs, w
 * knows. 0 or -ENOMEM. */
int flame_add(struct flame_maker *m, struct where_finder *w, const struct stretch_list *list,
              const struct stack_log *log, double begin_s, const struct stack_window *window);
/* 0 or -ENOMEM; finish it either way. */
int flame_conclude(const struct flame_maker *m, const struct stack_log *log, struct flame *ret);
void flame_maker_finish(struct flame_maker *m);
