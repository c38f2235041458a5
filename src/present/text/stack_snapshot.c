#include "present/text/stack_snapshot.h"

#include "base/attr.h"
#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"
#include "present/text/where.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THREAD_MAX 72
#define DOING_MAX 72
#define COMMAND_COLUMNS 72
#define INDENT "  "
#define NAMES_MAX 8 /* of a group whose processes have no ranks */

static void put_frame(const struct stack_snapshot *l, uint32_t stack, struct strbuf *out)
{
        struct code_line line;
        where_fill_line(l->table, stack_node(l->table, stack)->frame, &line);
        where_put_line(out, &line);
}

static void put_place(const struct stack_snapshot *l, struct stack_place place, struct strbuf *out)
{
        put_frame(l, place.own, out);
        if (place.inner == STACK_EMPTY)
                return;
        strbuf_puts(out, " (in ");
        put_frame(l, place.inner, out);
        strbuf_putc(out, ')');
}

/* ---- threads ---- */

static void put_doing(const struct stack_snapshot *l, const struct snapshot_thread *t, char *buf,
                      size_t size)
{
        const char *in = stack_text(l->table, t->call);
        if (in[0] == '\0')
                in = stack_text(l->table, t->channel);
        snprintf(buf, size, "%s%s%.40s%s", stack_state_name((enum stack_state)t->state),
                 in[0] ? " in " : "", in, t->holds_gil ? ", GIL" : "");
}

/* Threads that a reader need not see one by one. */
static bool is_alike(const struct snapshot_thread *a, const struct snapshot_thread *b)
{
        return !a->is_main && !b->is_main && a->stack == b->stack && a->state == b->state &&
               a->call == b->call && a->channel == b->channel && a->holds_gil == b->holds_gil &&
               (a->stack != STACK_EMPTY || a->name == b->name);
}

static size_t count_alike(const struct stack_snapshot *l, const struct snapshot_process *p,
                          size_t at, bool *ret_reported)
{
        const struct snapshot_thread *threads = &l->threads[p->first_thread];
        size_t n = 0;
        *ret_reported = false;
        for (size_t i = 0; i < p->n_threads; i++) {
                bool same = i == at || is_alike(&threads[i], &threads[at]);
                *ret_reported |= same && i < at;
                n += same;
        }
        return n;
}

static void put_all_frames(const struct stack_snapshot *l, uint32_t stack, struct strbuf *out)
{
        for (; stack != STACK_EMPTY; stack = stack_node(l->table, stack)->parent) {
                const struct stack_frame *f =
                    stack_frame(l->table, stack_node(l->table, stack)->frame);
                const char *function = stack_text(l->table, f->function);
                strbuf_putf(out, INDENT INDENT INDENT "%s", function[0] ? function : "?");
                strbuf_putf(out, "  %s", stack_text(l->table, f->file));
                if (f->line > 0)
                        strbuf_putf(out, ":%" PRIu32, f->line);
                strbuf_putc(out, '\n');
        }
}

static void put_thread(const struct stack_snapshot *l, const struct snapshot_thread *t,
                       size_t alike, bool all, struct strbuf *out)
{
        char who[THREAD_MAX], doing[DOING_MAX];
        const char *name = stack_text(l->table, t->name);
        if (t->is_main)
                snprintf(who, sizeof(who), "main");
        else if (alike > 1)
                snprintf(who, sizeof(who), "%zu threads %.40s", alike, name);
        else
                snprintf(who, sizeof(who), "%d %.40s", t->tid, name);
        put_doing(l, t, doing, sizeof(doing));
        strbuf_puts(out, INDENT INDENT);
        tablew_put(out, who, -24);
        strbuf_puts(out, INDENT);
        tablew_put(out, doing, -26);
        strbuf_puts(out, INDENT);
        if (t->stack != STACK_EMPTY)
                put_place(l, stack_find_place(l->table, t->stack), out);
        tablew_end_line(out);
        if (all)
                put_all_frames(l, t->stack, out);
}

/* Beside threads with lines those of native code are a number. */
static void put_native(const struct stack_snapshot *l, const struct snapshot_process *p,
                       struct strbuf *out)
{
        size_t n = 0, running = 0;
        for (size_t i = 0; i < p->n_threads; i++) {
                const struct snapshot_thread *t = &l->threads[p->first_thread + i];
                bool counts = t->stack == STACK_EMPTY && !t->is_main;
                n += counts;
                running += counts && t->state == STACK_RUNNING;
        }
        if (n > 0)
                strbuf_putf(out,
                            INDENT INDENT "%zu more thread%s without Python code, %zu running\n", n,
                            n == 1 ? "" : "s", running);
}

static void put_threads(const struct stack_snapshot *l, const struct snapshot_process *p, bool all,
                        struct strbuf *out)
{
        bool summed = !all && stack_snapshot_is_read(p);
        for (size_t i = 0; i < p->n_threads; i++) {
                const struct snapshot_thread *t = &l->threads[p->first_thread + i];
                bool reported = false;
                size_t alike = all ? 1 : count_alike(l, p, i, &reported);
                bool native = summed && t->stack == STACK_EMPTY && !t->is_main;
                if (!reported && !native)
                        put_thread(l, t, alike, all, out);
        }
        if (summed)
                put_native(l, p, out);
}

/* ---- processes ---- */

static void put_held_gpus(const struct stack_snapshot *l, const struct snapshot_process *p,
                          struct strbuf *out)
{
        char buf[FORMAT_MAX];
        for (size_t i = 0; i < p->n_gpus; i++) {
                const struct snapshot_gpu *g = &l->gpus[p->gpus[i]];
                strbuf_putf(out, ", GPU %s", g->label);
                if (!value_is_set(g->busy))
                        continue;
                strbuf_putf(out, " (%s busy", format_share(buf, g->busy.v));
                if (value_is_set(g->sm))
                        strbuf_putf(out, ", SM %s", format_share(buf, g->sm.v));
                strbuf_putc(out, ')');
        }
}

static void put_snapshot_process(const struct stack_snapshot *l, const struct snapshot_process *p,
                                 bool all, struct strbuf *out)
{
        const char *host = l->hosts[p->host].name;
        text_put(out, p->is.command[0] ? p->is.command : "?", COMMAND_COLUMNS);
        strbuf_putf(out, "\n" INDENT "%s%spid %d", host, host[0] ? ", " : "", p->is.pid);
        put_held_gpus(l, p, out);
        if (value_is_set(p->rank))
                strbuf_putf(out, ", rank %.0f", p->rank.v);
        if (p->is.runtime[0])
                strbuf_putf(out, ", %s", p->is.runtime);
        strbuf_putc(out, '\n');
        if (!stack_snapshot_is_read(p) && p->is.why[0])
                strbuf_putf(out, INDENT "no lines: %s\n", p->is.why);
        put_threads(l, p, all, out);
}

/* ---- those that are in the same place ---- */

/* "0-4, 6-62"; where there are no ranks, who they are. */
static void put_members(const struct stack_snapshot *l, const struct snapshot_group *g,
                        struct strbuf *out)
{
        bool more = false;
        for (size_t i = 0; i < g->n; i++) {
                const struct snapshot_process *p = &l->processes[g->processes[i]];
                if (!value_is_set(p->rank) && i >= NAMES_MAX) {
                        strbuf_puts(out, ", …");
                        break;
                }
                strbuf_puts(out, more ? ", " : "");
                more = true;
                if (!value_is_set(p->rank)) {
                        const char *host = l->hosts[p->host].name;
                        strbuf_putf(out, "%s%s%d", host, host[0] ? ":" : "", p->is.pid);
                        continue;
                }
                size_t end = i;
                double rank = p->rank.v;
                while (end + 1 < g->n && value_is_set(l->processes[g->processes[end + 1]].rank) &&
                       l->processes[g->processes[end + 1]].rank.v == rank + (double)(end + 1 - i))
                        end++;
                strbuf_putf(out, "%.0f", rank);
                if (end > i)
                        strbuf_putf(out, "-%.0f", rank + (double)(end - i));
                i = end;
        }
}

static void put_snapshot_group(const struct stack_snapshot *l, const struct snapshot_group *g,
                               struct strbuf *out)
{
        bool ranks = value_is_set(l->processes[g->processes[0]].rank);
        const char *many = ranks ? "ranks" : "processes", *one = ranks ? "rank" : "process";
        if (g->n == 1) {
                strbuf_putf(out, "%s ", one);
                put_members(l, g, out);
        } else {
                strbuf_putf(out, "%zu %s (", g->n, many);
                put_members(l, g, out);
                strbuf_putc(out, ')');
        }
        strbuf_puts(out, " at ");
        put_place(l, g->place, out);
        strbuf_putc(out, '\n');
}

/* Whether there is anything to compare. */
static bool has_groups(const struct snapshot_group *groups, size_t n)
{
        return n > 1 || (n == 1 && groups[0].n > 1);
}

static void put_hosts(const struct stack_snapshot *l, struct strbuf *out)
{
        for (size_t i = 0; i < l->n_hosts; i++) {
                if (l->hosts[i].why[0])
                        strbuf_putf(out, "%s: %s\n", l->hosts[i].name, l->hosts[i].why);
        }
}

/* Of many machines those that lead and could not be read are worth a line each. */
static void put_unread(const struct stack_snapshot *l, struct strbuf *out)
{
        for (size_t i = 0; i < l->n_processes; i++) {
                const struct snapshot_process *p = &l->processes[i];
                if (p->leads && !stack_snapshot_is_read(p) && p->is.why[0])
                        strbuf_putf(out, "%s: pid %d: no lines: %s\n", l->hosts[p->host].name,
                                    p->is.pid, p->is.why);
        }
}

int snapshot_write_text(const struct stack_snapshot *l, bool all, struct strbuf *out)
{
        struct snapshot_group *groups = NULL;
        size_t n = 0;
        bool many = l->n_hosts > 1;
        if (stack_snapshot_group(l, &groups, &n) < 0)
                return -ENOMEM;
        if (has_groups(groups, n) || many) {
                for (size_t i = 0; i < n; i++)
                        put_snapshot_group(l, &groups[i], out);
                put_hosts(l, out);
                if (many && !all)
                        put_unread(l, out);
                strbuf_puts(out, many && !all ? "" : "\n");
        }
        for (size_t i = 0; (!many || all) && i < l->n_processes; i++) {
                strbuf_puts(out, i > 0 ? "\n" : "");
                put_snapshot_process(l, &l->processes[i], all, out);
        }
        stack_snapshot_free_groups(groups, n);
        return out->failed ? -ENOMEM : 0;
}

#define MAIN_LINES_MAX 16

void snapshot_write_main(const struct stack_snapshot *l, struct strbuf *out)
{
        size_t n = 0;
        for (size_t i = 0; i < l->n_processes; i++) {
                const struct snapshot_process *p = &l->processes[i];
                const struct snapshot_thread *t = p->leads ? stack_snapshot_main(l, p) : NULL;
                char doing[DOING_MAX];
                if (!t || t->stack == STACK_EMPTY || n++ >= MAIN_LINES_MAX)
                        continue;
                if (n == 1)
                        strbuf_puts(out, l->is_recorded
                                             ? "\nmain threads, for most of that second\n"
                                             : "\nmain threads now: one look, no share "
                                               "of the time\n");
                put_doing(l, t, doing, sizeof(doing));
                strbuf_putf(out, INDENT "pid %-8d ", p->is.pid);
                tablew_put(out, doing, -26);
                strbuf_puts(out, INDENT);
                put_place(l, stack_find_place(l->table, t->stack), out);
                tablew_end_line(out);
        }
        if (n > MAIN_LINES_MAX)
                strbuf_putf(out, INDENT "and %zu more: 'assay stacks' shows them\n",
                            n - MAIN_LINES_MAX);
}
