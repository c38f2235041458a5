#include "model/stack_sum.h"

#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void stack_sums_finish(struct stack_sums *s)
{
        free(s->list);
        lookup_finish(&s->by_key);
        *s = (struct stack_sums){0};
}

static bool is_same_key(const struct stack_sum *a, const struct stack_sum *b)
{
        return a->part == b->part && a->thread == b->thread && a->stack == b->stack &&
               a->call == b->call && a->state == b->state;
}

int stack_sums_add(struct stack_sums *s, uint32_t part, const struct stack_count *c)
{
        const struct stack_sum new = {part,     c->thread,    c->stack,  c->call,
                                      c->state, c->n_samples, c->seconds};
        const uint32_t key[5] = {part, c->thread, c->stack, c->call, c->state};
        uint32_t hash = hash_text((const char *)key, sizeof(key)), at;
        size_t step = 0;
        while ((at = lookup_next(&s->by_key, hash, &step)) != LOOKUP_END) {
                if (!is_same_key(&s->list[at], &new))
                        continue;
                s->list[at].n_samples += c->n_samples;
                s->list[at].seconds += c->seconds;
                return 0;
        }
        if (s->n == STACK_SUMS_MAX) {
                s->left_out_s += c->seconds;
                return 0;
        }
        if (!LIST_ROOM(s->list, s->n, s->cap) || !lookup_put(&s->by_key, hash, (uint32_t)s->n))
                return -ENOMEM;
        s->list[s->n++] = new;
        return 0;
}

#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static int compare_sums(const void *a, const void *b, void *arg)
{
        const struct stack_sum *x = a, *y = b;
        const struct stack_log *log = arg;
        int order = ORDER(log->threads[x->thread].process, log->threads[y->thread].process);
        order = order ? order : ORDER(x->thread, y->thread);
        order = order ? order : ORDER(x->part, y->part);
        order = order ? order : ORDER(y->seconds, x->seconds);
        order = order ? order : ORDER(x->stack, y->stack);
        order = order ? order : ORDER(x->call, y->call);
        return order ? order : ORDER(x->state, y->state);
}

void stack_sums_sort(struct stack_sums *s, const struct stack_log *log)
{
        if (s->n > 1)
                qsort_r(s->list, s->n, sizeof(*s->list), compare_sums, (void *)(uintptr_t)log);
        lookup_clear(&s->by_key);
}

void stack_sum_describe(const struct stack_sum *s, const struct stack_log *log, char *buf,
                        size_t size)
{
        const char *call = stack_text(log->table, s->call);
        buf[0] = '\0';
        if (s->state != STACK_RUNNING || s->stack == STACK_EMPTY)
                snprintf(buf, size, "[%s%s%s]", stack_state_name((enum stack_state)s->state),
                         call[0] ? " in " : "", call);
}
