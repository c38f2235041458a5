#include "engine/stack_beat.h"

#include "base/clock.h"
#include "read/stacks/sampler.h"

#include <errno.h>

#define TAKE_MAX 1024
#define DESCRIBE_EVERY_NS NS_PER_S

struct stack_beat {
        struct sampler *sampler;
        struct session *session;     /* NULL: nothing is recorded */
        struct stack_recent *recent; /* NULL: nobody shows it */
        int64_t described_ns;
        struct host_server servers[STACK_PROCESSES_MAX];
        struct sampler_target targets[STACK_PROCESSES_MAX];
        struct stack_process processes[STACK_PROCESSES_MAX];
        struct stack_sample samples[TAKE_MAX];
};

int stack_beat_open(double hz, struct session *session, struct stack_recent *recent,
                    struct stack_beat **ret, struct err *err)
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
        b->session = session;
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
                if (b->session)
                        session_add_stacks(b->session, sampler_table(b->sampler), b->samples, n);
                if (b->recent)
                        stack_recent_add(b->recent, b->samples, n);
        }
}

static void keep_processes(struct stack_beat *b)
{
        size_t n = sampler_describe(b->sampler, b->processes, STACK_PROCESSES_MAX);
        for (size_t i = 0; b->session && i < n; i++)
                session_add_stack_process(b->session, &b->processes[i]);
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
        if (b->session)
                session_end_stacks(b->session);
        sampler_close(b->sampler);
        free(b);
}
