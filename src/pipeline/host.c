#include "pipeline/host.h"

#include "compute/levels.h"

#include <errno.h>
#include <string.h>

struct host_view {
        struct host_reader *reader;
        struct host hosts[2]; /* this tick's and the one before */
        unsigned now;
        bool started;
};

int host_view_open(const struct host_config *config, struct host_view **ret, struct err *err)
{
        struct host_view *v = calloc(1, sizeof(*v));
        if (!v)
                return err_set(err, -ENOMEM, "out of memory");
        int r = host_open(config, &v->reader, err);
        if (r < 0) {
                host_view_close(v);
                return r;
        }
        *ret = v;
        return 0;
}

void host_view_close(struct host_view *v)
{
        if (!v)
                return;
        host_close(v->reader);
        free(v);
}

int host_view_tick(struct host_view *v, struct host **ret, struct err *err)
{
        const struct host *before = v->started ? &v->hosts[v->now] : NULL;
        struct host *now = &v->hosts[!v->now];
        int r = host_read(v->reader, now, err);
        if (r < 0)
                return r;
        levels_compute(before, now);
        v->now = !v->now;
        v->started = true;
        *ret = now;
        return 0;
}

void host_view_join(struct host *h, const struct frame *frame)
{
        for (size_t i = 0; i < frame->n; i++) {
                const struct sample *s = &frame->rows[i].sample;
                if (s->who->kind != ENTITY_GPU)
                        continue;
                size_t gpu = levels_add_gpu(h, s->who->label);
                if (gpu == HOST_GPUS_MAX)
                        return;
                levels_set_device(h, gpu,
                                  (struct level_gpu){.util = s->m[METRIC_GPU_UTIL],
                                                     .band = s->m[METRIC_MEM_COPY_UTIL],
                                                     .memory = s->m[METRIC_FB_USED]});
        }
}

unsigned host_view_levels_of(const struct host_view *v, int32_t pid)
{
        return host_levels_of(v->reader, pid);
}

static size_t find_gpu(const struct host *h, const char *label)
{
        size_t i = 0;
        while (i < h->n_gpus && strcmp(h->gpus[i], label) != 0)
                i++;
        return i;
}

void host_view_join_processes(const struct host_view *v, struct host *h, const struct frame *frame)
{
        for (size_t i = 0; i < frame->processes.n; i++) {
                const struct process *p = &frame->processes.list[i];
                size_t gpu = find_gpu(h, p->gpu);
                /* What the whole device does stands for the system level already. */
                unsigned levels =
                    host_view_levels_of(v, p->pid) & ~LEVEL_BIT((unsigned)LEVEL_SYSTEM);
                if (gpu < h->n_gpus)
                        levels_add_process(h, levels, gpu,
                                           (struct level_gpu){.util = p->sm_util,
                                                              .band = p->mem_util,
                                                              .memory = p->gpu_memory});
        }
}
