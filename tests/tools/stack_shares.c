/*
 * stack_shares SECONDS HZ BUDGET PID...: samples processes for so long, and says as JSON where
 * their time went and what that cost. A pid that begins with + comes first in turns.
 */
#include "base/clock.h"
#include "base/jsonw.h"
#include "read/stacks/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIDS_MAX 512
#define ENTRIES_MAX 65536

/* Samples of one thread in one stack and state. */
struct entry {
        struct stack_sample sample; /* the first of them */
        double seconds;
        uint64_t n;
};

static struct entry entries[ENTRIES_MAX];
static size_t n_entries;

static void add_sample(const struct stack_sample *s)
{
        size_t i = 0;
        for (; i < n_entries; i++) {
                const struct stack_sample *e = &entries[i].sample;
                if (e->pid == s->pid && e->tid == s->tid && e->stack == s->stack &&
                    e->state == s->state && e->holds_gil == s->holds_gil && e->call == s->call)
                        break;
        }
        if (i == ENTRIES_MAX)
                return;
        if (i == n_entries)
                entries[n_entries++].sample = *s;
        entries[i].seconds += clock_to_seconds(s->stands_for_ns);
        entries[i].n++;
}

static void take_all(struct sampler *s)
{
        static struct stack_sample list[512];
        size_t n;
        while ((n = sampler_take(s, list, 512)) > 0) {
                for (size_t i = 0; i < n; i++)
                        add_sample(&list[i]);
        }
}

static void put_frame(struct jsonw *j, const struct stack_table *t, uint32_t node)
{
        const struct stack_frame *f = stack_frame(t, stack_node(t, node)->frame);
        jsonw_object(j, NULL);
        jsonw_text(j, "file", stack_text(t, f->file));
        jsonw_text(j, "function", stack_text(t, f->function));
        jsonw_count(j, "line", f->line);
        jsonw_text(j, "whose", stack_whose_name((enum stack_whose)f->whose));
        jsonw_end(j);
}

static void put_entry(struct jsonw *j, const struct stack_table *t, const struct entry *e)
{
        struct stack_place place = stack_find_place(t, e->sample.stack);
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_whole(j, "pid", e->sample.pid);
        jsonw_whole(j, "tid", e->sample.tid);
        jsonw_text(j, "thread", stack_text(t, e->sample.thread));
        jsonw_text(j, "state", stack_state_name((enum stack_state)e->sample.state));
        jsonw_bool(j, "gil", e->sample.holds_gil);
        jsonw_text(j, "call", stack_text(t, e->sample.call));
        jsonw_text(j, "channel", stack_text(t, e->sample.channel));
        jsonw_number(j, "seconds", e->seconds);
        jsonw_count(j, "samples", e->n);
        jsonw_count(j, "own_line", stack_frame(t, stack_node(t, place.own)->frame)->line);
        jsonw_array(j, "stack"); /* the innermost first */
        for (uint32_t at = e->sample.stack; at != STACK_EMPTY; at = stack_node(t, at)->parent)
                put_frame(j, t, at);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_processes(struct jsonw *j, struct sampler *s)
{
        static struct stack_process list[PIDS_MAX];
        size_t n = sampler_describe(s, list, PIDS_MAX);
        jsonw_array(j, "processes");
        for (size_t i = 0; i < n; i++) {
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_whole(j, "pid", list[i].pid);
                jsonw_text(j, "access", stack_access_name(list[i].access));
                jsonw_text(j, "runtime", list[i].runtime);
                jsonw_text(j, "why", list[i].why);
                jsonw_count(j, "samples", list[i].samples);
                jsonw_count(j, "torn", list[i].torn);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_stats(struct jsonw *j, const struct sampler_stats *stats)
{
        jsonw_count(j, "looks", stats->rounds);
        jsonw_count(j, "samples", stats->samples);
        jsonw_count(j, "torn", stats->torn);
        jsonw_count(j, "reads", stats->reads);
        jsonw_count(j, "lost", stats->lost);
        jsonw_count(j, "table_lost", stats->table_lost);
        jsonw_number(j, "cpu", clock_to_seconds(stats->cpu_ns));
        jsonw_number(j, "elapsed", clock_to_seconds(stats->elapsed_ns));
        jsonw_number(j, "longest", clock_to_seconds(stats->longest_ns));
}

int main(int argc, char **argv)
{
        static struct sampler_target targets[PIDS_MAX];
        struct sampler *s = NULL;
        struct err err = {0};
        size_t n = 0;
        if (argc < 5)
                return 2;
        struct sampler_config config = {
            .hz = atof(argv[2]), .budget = atof(argv[3]), .any_user = true};
        for (int i = 4; i < argc && n < PIDS_MAX; i++)
                targets[n++] = (struct sampler_target){atoi(argv[i]), argv[i][0] == '+'};
        if (sampler_open(&config, &s, &err) < 0)
                return fprintf(stderr, "%s\n", err.msg), 1;
        sampler_watch(s, targets, n);
        int64_t until = clock_mono_ns() + clock_from_seconds(atof(argv[1]));
        while (clock_mono_ns() < until) {
                nanosleep(&(struct timespec){.tv_nsec = 50 * NS_PER_MS}, NULL);
                take_all(s);
        }
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        struct sampler_stats stats = sampler_stats(s);
        take_all(s);
        jsonw_object(&j, NULL);
        put_stats(&j, &stats);
        put_processes(&j, s);
        jsonw_array(&j, "entries");
        for (size_t i = 0; i < n_entries; i++)
                put_entry(&j, sampler_table(s), &entries[i]);
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(&out, '\n');
        strbuf_flush(&out, 1);
        strbuf_finish(&out);
        sampler_close(s);
        return 0;
}
