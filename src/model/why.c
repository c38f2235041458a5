#include "model/why.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

const struct why_cause_info *why_cause_info(enum why_cause cause)
{
        enum { LIKELY, SURE };
        static const struct why_cause_info table[] = {
#define WHY(id, name, sure, words, advice) {name, words, advice, (sure) == SURE},
#include "model/why.def"
        };
        return &table[cause];
}

const char *why_doing_name(enum why_doing doing)
{
        static const char *const names[WHY_DOING_COUNT] = {"unknown", "moves", "idle",
                                                           "waits",   "spins", "halted"};
        return names[doing < WHY_DOING_COUNT ? doing : WHY_UNKNOWN];
}

const char *why_outcome_name(enum why_outcome outcome)
{
        static const char *const names[] = {"fine", "found", "not_known"};
        return names[outcome];
}

void why_finish(struct why *w)
{
        free(w->ranks);
        free(w->findings);
        *w = (struct why){0};
}

static bool is_users(const struct stack_table *t, uint32_t stack)
{
        return stack_frame(t, stack_node(t, stack)->frame)->whose == STACK_USER;
}

bool why_line(const struct stack_snapshot *l, uint32_t thread, struct code_line *ret_own,
              struct code_line *ret_inner)
{
        if (thread == WHY_NONE || l->threads[thread].stack == STACK_EMPTY)
                return false;
        const struct snapshot_thread *t = &l->threads[thread];
        struct stack_place place = stack_find_place(l->table, t->stack);
        uint32_t steady = stack_find_place(l->table, t->steady).own;
        if (t->places > 1 && steady != STACK_EMPTY && is_users(l->table, steady))
                place.own = steady;
        where_fill_line(l->table, stack_node(l->table, place.own)->frame, ret_own);
        where_fill_line(l->table, stack_node(l->table, place.inner)->frame, ret_inner);
        return ret_own->file[0] != '\0';
}

bool why_is_collective(const char *function)
{
        static const char *const names[] = {
#define COLLECTIVE(name) #name,
#include "model/collectives.def"
        };
        const char *dot = strrchr(function, '.');
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(names[i], dot ? dot + 1 : function) == 0)
                        return true;
        }
        return false;
}
