#include "engine/stack_beat.h"

#include "base/clock.h"
#include "read/stacks/sampler.h"

#include <errno.h>

#define TAKE_MAX 1024
#define DESCRIBE_EVERY_NS NS_PER_S

struct stack_beat {
        struct sampler *sampler;
        struct session *sessions[2]; /* that keep them */
        size_t n_sessions;
        struct stack_recent *recent; /* NULL: nobody shows it */
        int64_t described_ns;
        struct host_server servers[STACK_PROCESSES_MAX];
        struct sampler_target targets[STACK_PROCESSES_MAX];
        struct stack_process processes[STACK_PROCESSES_MAX];
        struct stack_sample samples[TAKE_MAX];
};

static void keep_in(struct stack_beat *b, struct session *s)
{
        if (s)
                b->sessions[b->n_sessions++] = s;
}

int stack_beat_open(double hz, struct session *session, struct session *flight,
                    struct stack_recent *recent, struct stack_beat **ret, struct err *err)
{
        const struct sampler_config config = {.hz = hz};
        struct stack_beat *b = calloc(1, sizeof(*b));
        if (!b)
                return err_set(err, -ENOMEM, "out of memory");
        int r = sampler_open(&config, &b->sampler, err);
        if (r < 0) {
                free(b);
                return r;
        }
        keep_in(b, session);
        keep_in(b, flight);
        b->recent = recent;
        *ret = b;
        return 0;
}

static void watch_servers(struct stack_beat *b, const struct host_view *view)
{
        size_t n = host_view_servers(view, b->servers, STACK_PROCESSES_MAX);
        for (size_t i = 0; i < n; i++)
                b->targets[i] =
                    (struct sampler_target){.pid = b->servers[i].pid, .first = b->servers[i].holds};
        sampler_watch(b->sampler, b->targets, n);
}

static void keep_samples(struct stack_beat *b)
{
        size_t n;
        while ((n = sampler_take(b->sampler, b->samples, TAKE_MAX)) > 0) {
                for (size_t i = 0; i < b->n_sessions; i++)
                        session_add_stacks(b->sessions[i], sampler_table(b->sampler), b->samples,
                                           n);
                if (b->recent)
                        stack_recent_add(b->recent, b->samples, n);
        }
}

static void keep_processes(struct stack_beat *b)
{
        size_t n = sampler_describe(b->sampler, b->processes, STACK_PROCESSES_MAX);
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < b->n_sessions; k++)
                        session_add_stack_process(b->sessions[k], &b->processes[i]);
        }
        b->described_ns = clock_mono_ns();
        if (b->recent)
                stack_recent_publish(b->recent, sampler_table(b->sampler), b->processes, n,
                                     b->described_ns);
}

void stack_beat_tick(struct stack_beat *b, const struct host_view *view)
{
        watch_servers(b, view);
        keep_samples(b);
        if (clock_mono_ns() - b->described_ns >= DESCRIBE_EVERY_NS)
                keep_processes(b);
}

void stack_beat_close(struct stack_beat *b)
{
        if (!b)
                return;
        for (size_t i = 0; i < b->n_sessions; i++)
                session_end_stacks(b->sessions[i]);
        sampler_close(b->sampler);
        free(b);
}
