#include "compute/flame.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 0.0005   /* of a tree's time: less is folded away */
#define GROWN_MAX (1u << 20) /* nodes of a tree before that */

/* ---- adding up ---- */

static double length_of(const struct stretch *s)
{
        return s->end_s - s->begin_s;
}

/* The longest, in order of time. */
void flame_begin(struct flame_maker *m, const struct stretch_list *list)
{
        m->stretches[0] = SIZE_MAX;
        m->n_trees = 1;
        for (size_t i = 0; i < list->n; i++) {
                size_t longer = 0;
                for (size_t k = 0; k < list->n; k++) {
                        double by = length_of(&list->list[k]) - length_of(&list->list[i]);
                        longer += by > 0 || (by >= 0 && k < i);
                }
                if (longer < FLAME_STRETCHES_MAX)
                        m->stretches[m->n_trees++] = i;
                else
                        m->n_left_out++;
        }
}

/* A thread that holds the interpreter's lock runs the program, whatever the kernel says. */
static int add_to_tree(struct flame_maker *m, size_t tree, const struct stack_count *c)
{
        struct stack_count count = *c;
        if (c->holds_gil)
                count.state = STACK_RUNNING;
        if (count.state == STACK_RUNNING)
                count.call = STACK_TEXT_NONE;
        return stack_sums_add(&m->sums, (uint32_t)tree, &count);
}

int flame_add(struct flame_maker *m, struct where_finder *w, const struct stretch_list *list,
              const struct stack_log *log, double begin_s, const struct stack_window *window)
{
        double middle = begin_s + (double)STACK_WINDOW_NS / 2e9;
        int r = 0;
        for (size_t k = 0; r == 0 && k < window->n; k++)
                r = add_to_tree(m, 0, &window->counts[k]);
        for (size_t i = 1; r == 0 && i < m->n_trees; i++) {
                const struct stretch *s = &list->list[m->stretches[i]];
                if (middle < s->begin_s || middle >= s->end_s)
                        continue;
                for (size_t k = 0; r == 0 && k < window->n; k++) {
                        const struct stack_count *c = &window->counts[k];
                        r = where_serves(w, list, s, log, log->threads[c->thread].process);
                        if (r > 0)
                                r = add_to_tree(m, i, c);
                }
        }
        return r;
}

void flame_maker_finish(struct flame_maker *m)
{
        stack_sums_finish(&m->sums);
        *m = (struct flame_maker){0};
}

/* ---- trees ---- */

struct growing {
        struct flame_node *nodes;
        size_t n, cap, n_cut; /* n_cut: stacks that end early, as the tree is full */
        struct lookup by_key;
};

/* The child of a node; the node itself when the tree is full, SIZE_MAX when memory is short. */
static size_t child_of(struct growing *g, size_t parent, enum flame_kind kind, uint32_t what)
{
        uint32_t key[3] = {(uint32_t)parent, kind, what}, at;
        uint32_t hash = hash_text((const char *)key, sizeof(key));
        size_t step = 0;
        while ((at = lookup_next(&g->by_key, hash, &step)) != LOOKUP_END) {
                const struct flame_node *n = &g->nodes[at];
                if (n->parent == parent && n->kind == kind && n->what == what)
                        return at;
        }
        if (g->n == GROWN_MAX)
                return parent;
        if (!LIST_ROOM(g->nodes, g->n, g->cap) || !lookup_put(&g->by_key, hash, (uint32_t)g->n))
                return SIZE_MAX;
        g->nodes[g->n] =
            (struct flame_node){.parent = (uint32_t)parent, .kind = (uint8_t)kind, .what = what};
        return g->n++;
}

/* The way from the root to what the entry's thread was doing. */
struct way {
        size_t n;
        struct {
                enum flame_kind kind;
                uint32_t what;
        } steps[STACK_DEPTH_MAX + 4];
};

static void add_step(struct way *way, enum flame_kind kind, uint32_t what)
{
        if (way->n < ARRAY_LEN(way->steps)) {
                way->steps[way->n].kind = kind;
                way->steps[way->n++].what = what;
        }
}

static void find_way(const struct stack_log *log, const struct stack_sum *e, bool together,
                     struct way *ret)
{
        uint32_t frames[STACK_DEPTH_MAX + 1];
        size_t n = 0;
        ret->n = 0;
        if (!together) {
                add_step(ret, FLAME_PROCESS, log->threads[e->thread].process);
                add_step(ret, FLAME_THREAD, e->thread);
        }
        for (uint32_t s = e->stack; s != STACK_EMPTY && n < ARRAY_LEN(frames);
             s = stack_node(log->table, s)->parent)
                frames[n++] = stack_node(log->table, s)->frame;
        while (n > 0)
                add_step(ret, FLAME_FRAME, frames[--n]);
        if (e->call != STACK_TEXT_NONE)
                add_step(ret, FLAME_CALL, e->call);
}

static double running_seconds(const struct stack_sum *e)
{
        return e->state == STACK_RUNNING ? e->seconds : 0;
}

static void add_time(struct flame_node *n, const struct stack_sum *e)
{
        n->n_samples += (uint32_t)e->n_samples;
        n->seconds += e->seconds;
        n->running_s += running_seconds(e);
}

static int add_way(struct growing *g, const struct stack_log *log, const struct stack_sum *e,
                   bool together)
{
        struct way way;
        size_t at = 0;
        find_way(log, e, together, &way);
        add_time(&g->nodes[0], e);
        for (size_t i = 0; i < way.n; i++) {
                size_t child = child_of(g, at, way.steps[i].kind, way.steps[i].what);
                if (child == SIZE_MAX)
                        return -ENOMEM;
                if (child == at) {
                        g->n_cut++;
                        return 0;
                }
                at = child;
                add_time(&g->nodes[at], e);
        }
        return 0;
}

/* A child never has more time than its parent, so parents of what is seen are seen. */
static bool is_seen(const struct growing *g, const struct flame_node *n, double least)
{
        return (n->seconds > 0 && n->seconds >= least * g->nodes[0].seconds) ||
               (n->running_s > 0 && n->running_s >= least * g->nodes[0].running_s);
}

static double choose_least(const struct growing *g, size_t most)
{
        double least = LEAST_SHARE / 1.5;
        size_t seen = most + 1;
        while (seen > most) {
                least *= 1.5;
                seen = 0;
                for (size_t i = 0; i < g->n; i++)
                        seen += is_seen(g, &g->nodes[i], least);
        }
        return least;
}

static void fold_node(struct flame_tree *t, size_t parent, size_t *folded,
                      const struct flame_node *n)
{
        if (folded[parent] == 0) {
                folded[parent] = t->n++;
                t->nodes[folded[parent]] =
                    (struct flame_node){.parent = (uint32_t)parent, .kind = FLAME_FOLDED};
        }
        struct flame_node *to = &t->nodes[folded[parent]];
        to->n_samples += n->n_samples;
        to->seconds += n->seconds;
        to->running_s += n->running_s;
}

/* Keeps what is seen; the time of the rest goes into one node beside it. */
static int prune_tree(const struct growing *g, size_t most, struct flame_tree *ret)
{
        double least = choose_least(g, most);
        size_t *to = calloc(g->n, sizeof(*to)), *folded = calloc(2 * g->n, sizeof(*folded));
        int r = 0;
        ret->nodes = calloc(2 * g->n, sizeof(*ret->nodes));
        ret->n_folded = g->n_cut;
        if (!to || !folded || !ret->nodes)
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < g->n; i++) {
                const struct flame_node *n = &g->nodes[i];
                size_t parent = to[n->parent];
                if (i == 0 || is_seen(g, n, least)) {
                        to[i] = ret->n;
                        ret->nodes[ret->n] = *n;
                        ret->nodes[ret->n++].parent = (uint32_t)parent;
                        continue;
                }
                ret->n_folded++;
                to[i] = SIZE_MAX;
                if (parent != SIZE_MAX)
                        fold_node(ret, parent, folded, n);
        }
        free(to);
        free(folded);
        return r;
}

static int make_tree(const struct flame_maker *m, const struct stack_log *log, size_t tree,
                     struct flame_tree *ret)
{
        struct growing g = {0};
        int r = LIST_ROOM(g.nodes, g.n, g.cap) ? 0 : -ENOMEM;
        if (r == 0)
                g.nodes[g.n++] = (struct flame_node){.kind = FLAME_ALL};
        for (size_t i = 0; r == 0 && i < m->sums.n; i++) {
                if (m->sums.list[i].part == tree)
                        r = add_way(&g, log, &m->sums.list[i], ret->together);
        }
        ret->stretch = m->stretches[tree];
        if (r == 0)
                r = prune_tree(&g, tree == 0 ? FLAME_NODES_MAX : FLAME_NODES_EACH, ret);
        free(g.nodes);
        lookup_finish(&g.by_key);
        return r;
}

/* ---- processes ---- */

static int take_lines(const struct flame_maker *m, const struct stack_log *log, size_t process,
                      bool waits, struct line_tally *t)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < m->sums.n; i++) {
                const struct stack_sum *e = &m->sums.list[i];
                const struct stack_thread *thread = &log->threads[e->thread];
                double seconds = waits ? e->seconds : running_seconds(e);
                if (e->part != 0 || thread->process != process || (waits && !thread->is_main) ||
                    seconds <= 0)
                        continue;
                struct stack_place place = stack_find_place(log->table, e->stack);
                const struct line_samples s = {.own = stack_node(log->table, place.own)->frame,
                                               .inner = stack_node(log->table, place.inner)->frame,
                                               .called =
                                                   stack_node(log->table, place.called)->frame,
                                               .call = STACK_TEXT_NONE,
                                               .n_samples = (uint32_t)e->n_samples,
                                               .seconds = seconds};
                r = line_tally_add(t, &s);
        }
        return r;
}

static int find_lines(const struct flame_maker *m, const struct stack_log *log, bool waits,
                      struct flame_process *p)
{
        struct line_tally t = {0};
        int r = take_lines(m, log, p->process, waits, &t);
        if (r == 0)
                p->n = line_tally_places(&t, log->table, p->places);
        p->waits = waits;
        line_tally_finish(&t);
        return r;
}

static int compare_processes(const void *a, const void *b)
{
        const struct flame_process *x = a, *y = b;
        if (x->running_s != y->running_s)
                return x->running_s < y->running_s ? 1 : -1;
        return (x->process > y->process) - (x->process < y->process);
}

static void add_threads(const struct flame_maker *m, const struct stack_log *log,
                        struct flame_process *list)
{
        for (size_t i = 0; i < log->n_processes; i++)
                list[i].process = i;
        for (size_t i = 0; i < log->n_threads; i++) {
                if (log->threads[i].process < log->n_processes)
                        list[log->threads[i].process].n_threads++;
        }
        for (size_t i = 0; i < m->sums.n; i++) {
                const struct stack_sum *e = &m->sums.list[i];
                if (e->part == 0)
                        list[log->threads[e->thread].process].running_s += running_seconds(e);
        }
}

static int make_processes(const struct flame_maker *m, const struct stack_log *log,
                          struct flame *ret)
{
        int r = 0;
        if (log->n_processes == 0)
                return 0;
        ret->processes = calloc(log->n_processes, sizeof(*ret->processes));
        if (!ret->processes)
                return -ENOMEM;
        add_threads(m, log, ret->processes);
        qsort(ret->processes, log->n_processes, sizeof(*ret->processes), compare_processes);
        ret->n_processes = MIN(log->n_processes, (size_t)FLAME_PROCESSES_MAX);
        ret->n_more = log->n_processes - ret->n_processes;
        for (size_t i = 0; r == 0 && i < ret->n_processes; i++) {
                r = find_lines(m, log, false, &ret->processes[i]);
                if (r == 0 && ret->processes[i].n == 0)
                        r = find_lines(m, log, true, &ret->processes[i]);
        }
        return r;
}

/* A very short stretch may have no samples: it gets no tree. */
static int add_tree(const struct flame_maker *m, const struct stack_log *log, size_t tree,
                    bool together, struct flame *ret)
{
        struct flame_tree *t = &ret->trees[ret->n];
        t->together = together;
        int r = make_tree(m, log, tree, t);
        if (tree == 0 || t->nodes == NULL || t->nodes[0].n_samples > 0) {
                ret->n++;
                return r;
        }
        free(t->nodes);
        *t = (struct flame_tree){0};
        ret->n_left_out++;
        return r;
}

int flame_conclude(const struct flame_maker *m, const struct stack_log *log, struct flame *ret)
{
        int r = 0;
        *ret = (struct flame){
            .log = log, .n_left_out = m->n_left_out, .is_cut = m->sums.left_out_s > 0};
        ret->trees = calloc(m->n_trees + 1, sizeof(*ret->trees));
        if (!ret->trees)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < m->n_trees; i++) {
                r = add_tree(m, log, i, false, ret);
                if (r == 0 && i == 0)
                        r = add_tree(m, log, 0, true, ret);
        }
        return r == 0 ? make_processes(m, log, ret) : r;
}
