#include "engine/host.h"

#include "compute/levels.h"
#include "engine/evidence.h"
#include "engine/serving_beat.h"

#include <errno.h>
#include <string.h>

struct host_view {
        struct host_reader *reader;
        struct host hosts[2]; /* this tick's and the one before */
        unsigned now;
        bool started;
        struct evidence_join places;
        bool engines_only;
        struct serving_beat *serving; /* NULL where no model servers are asked */
};

/* Those that are searched for, and not named, are no reason to fail. */
static int open_serving(struct host_view *v, const struct host_config *config, struct err *err)
{
        const struct serving_config sc = {
            .engines = config->engines, .root = config->root, .listing = host_listing(v->reader)};
        struct err unused = {0};
        if (!config->engines || !config->engines[0])
                return 0;
        if (strcmp(config->engines, "auto") != 0)
                return serving_beat_start(&sc, &v->serving, err);
        serving_beat_start(&sc, &v->serving, &unused);
        return 0;
}

int host_view_open(const struct host_config *config, struct host_view **ret, struct err *err)
{
        struct host_view *v = calloc(1, sizeof(*v));
        if (!v)
                return err_set(err, -ENOMEM, "out of memory");
        v->engines_only = config->engines_only;
        int r = host_open(config, &v->reader, err);
        if (r == 0)
                r = open_serving(v, config, err);
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
        serving_beat_close(v->serving);
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

struct listing *host_view_listing(const struct host_view *v)
{
        return host_listing(v->reader);
}

bool host_view_settle(struct host_view *v, int64_t patience_ns)
{
        if (v->serving)
                serving_beat_settle(v->serving, patience_ns);
        return v->serving != NULL;
}

unsigned host_view_levels_of(const struct host_view *v, int32_t pid)
{
        return host_levels_of(v->reader, pid);
}

size_t host_view_servers(const struct host_view *v, struct host_server *list, size_t max)
{
        const struct host *now = &v->hosts[v->now];
        size_t n = host_servers(v->reader, list, max);
        for (size_t i = 0; i < now->n_servings && n < max; i++) {
                int32_t front = now->servings[i].front;
                bool is_new = front > 0;
                for (size_t k = 0; k < n && is_new; k++)
                        is_new = list[k].pid != front;
                if (is_new)
                        list[n++] = (struct host_server){.pid = front, .holds = true};
        }
        return n;
}

static size_t find_gpu(const struct gpu_use *u, int32_t index)
{
        size_t i = 0;
        while (i < u->n && u->indices[i] != index)
                i++;
        return i;
}

static void take_gpus(struct gpu_use *u, const struct frame *frame)
{
        u->n = 0;
        for (size_t i = 0; i < frame->n && u->n < HOST_GPUS_MAX; i++) {
                const struct sample *s = &frame->rows[i].sample;
                if (s->who->kind != ENTITY_GPU)
                        continue;
                memcpy(u->labels[u->n], s->who->label, sizeof(u->labels[0]));
                u->indices[u->n] = s->who->index;
                u->devices[u->n++] = (struct level_gpu){.util = s->m[METRIC_GPU_UTIL],
                                                        .mem_copy_util = s->m[METRIC_MEM_COPY_UTIL],
                                                        .memory = s->m[METRIC_FB_USED]};
        }
}

void gpu_use_take(struct gpu_use *u, const struct frame *frame)
{
        take_gpus(u, frame);
        u->knows_processes = frame->knows_processes;
        u->n_processes = 0;
        for (size_t i = 0; i < frame->processes.n; i++) {
                const struct process *p = &frame->processes.list[i];
                size_t gpu = find_gpu(u, p->on.index);
                if (p->child || gpu == u->n || u->n_processes == GPU_USE_PROCESSES_MAX)
                        continue;
                size_t at = u->n_processes++;
                u->processes[at].pid = p->pid;
                u->processes[at].gpu = (uint16_t)gpu;
                u->processes[at].use = (struct level_gpu){0};
                /* What is reported a slice is not a share of the GPU. */
                if (p->on.gi < 0)
                        u->processes[at].use = (struct level_gpu){.util = p->sm_util,
                                                                  .mem_copy_util = p->mem_copy_util,
                                                                  .memory = p->gpu_memory};
        }
}

void host_view_see(struct host_view *v, const struct gpu_use *u)
{
        evidence_publish(&v->places, u, v->reader);
}

void host_view_join(struct host_view *v, struct host *h, const struct gpu_use *u)
{
        size_t place[HOST_GPUS_MAX];
        if (v->serving)
                serving_beat_join(v->serving, u, h);
        if (v->engines_only)
                return;
        for (size_t i = 0; i < u->n; i++)
                place[i] = evidence_place(&v->places, u->labels[i]);
        for (size_t i = 0; i < v->places.n; i++)
                levels_add_gpu(h, v->places.gpus[i]);
        for (size_t i = 0; i < u->n; i++) {
                if (place[i] < HOST_GPUS_MAX)
                        levels_set_device(h, place[i], u->devices[i]);
        }
        for (size_t i = 0; i < u->n_processes; i++) {
                size_t gpu = place[u->processes[i].gpu];
                /* What the whole device does stands for the system level already. */
                unsigned levels = host_view_levels_of(v, u->processes[i].pid) &
                                  ~LEVEL_BIT((unsigned)LEVEL_SYSTEM);
                if (gpu < HOST_GPUS_MAX)
                        levels_add_process(h, levels, gpu, u->processes[i].use);
        }
}
