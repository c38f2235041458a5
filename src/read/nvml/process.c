#include "read/nvml/process.h"

#include "base/attr.h"

#include <string.h>

void nvml_process_finish(struct nvml_process_list *p)
{
        free(p->list);
        free(p->infos);
        free(p->samples);
        free(p->shares);
        *p = (struct nvml_process_list){0};
}

static bool make_room(struct nvml_process_list *p)
{
        if (!p->list)
                p->list = calloc(NVML_PROCESSES_MAX, sizeof(*p->list));
        if (!p->infos)
                p->infos = calloc(NVML_PROCESSES_MAX, sizeof(*p->infos));
        if (!p->samples)
                p->samples = calloc(NVML_PROCESSES_MAX, sizeof(*p->samples));
        if (!p->shares)
                p->shares = calloc(NVML_PROCESSES_MAX, sizeof(*p->shares));
        return p->list && p->infos && p->samples && p->shares;
}

static struct nvml_process *process_find(struct nvml_process_list *p, uint32_t pid)
{
        for (size_t i = 0; i < p->n; i++) {
                if (p->list[i].pid == pid)
                        return &p->list[i];
        }
        return NULL;
}

static int32_t instance_id(uint32_t id)
{
        return id == UINT32_MAX ? -1 : (int32_t)id;
}

/* A process may compute and draw: it is one process. */
static void merge_processes(struct nvml_process_list *p, size_t n, enum nvml_process_type type)
{
        for (size_t i = 0; i < n; i++) {
                const struct nvml_process_info *info = &p->infos[i];
                struct nvml_process *found = process_find(p, info->pid);
                if (found) {
                        found->types |= type;
                        continue;
                }
                if (p->n == NVML_PROCESSES_MAX)
                        return;
                p->list[p->n++] = (struct nvml_process){.pid = info->pid,
                                                        .types = type,
                                                        .gi = instance_id(info->gi),
                                                        .ci = instance_id(info->ci),
                                                        .memory = info->used_memory,
                                                        .util_state = STATE_NONE};
        }
}

/* INSUFFICIENT_SIZE: there are more than anybody shows; what fits was not written. */
static int list_of(struct nvml_process_list *p, int(*call) NVML_ARGS_PROCESSES, nvml_device dev,
                   enum nvml_process_type type)
{
        unsigned n = NVML_PROCESSES_MAX;
        int rc = call ? call(dev, &n, p->infos) : NVML_FUNCTION_NOT_FOUND;
        if (rc == 0)
                merge_processes(p, n < NVML_PROCESSES_MAX ? n : NVML_PROCESSES_MAX, type);
        return rc;
}

/* Several samples of a process may come at once: the newest counts. */
static void apply_samples(struct nvml_process_list *p, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                const struct nvml_process_sample *s = &p->samples[i];
                struct nvml_process *to = process_find(p, s->pid);
                if (s->time_us > p->since_us)
                        p->since_us = s->time_us;
                if (!to || s->time_us < to->sampled_us || s->sm > 100 || s->mem > 100)
                        continue;
                to->util_state = STATE_OK;
                to->sampled_us = s->time_us;
                to->sm = s->sm;
                to->mem = s->mem;
                to->enc = s->enc;
                to->dec = s->dec;
        }
}

/* The same samples by the newer call. */
static int read_shares(struct nvml_process_list *p, const struct nvml_lib *lib, nvml_device dev,
                       unsigned *ret_n)
{
        struct nvml_process_shares ask = {.version = NVML_PROCESS_SHARES_V1,
                                          .n = NVML_PROCESSES_MAX,
                                          .since_us = p->since_us,
                                          .list = p->shares};
        int rc = NVML_CALL(lib, processes_utilization, dev, &ask);
        *ret_n = rc == 0 ? MIN(ask.n, (unsigned)NVML_PROCESSES_MAX) : 0;
        for (unsigned i = 0; i < *ret_n; i++) {
                const struct nvml_process_share *s = &p->shares[i];
                p->samples[i] = (struct nvml_process_sample){.pid = s->pid,
                                                             .time_us = s->time_us,
                                                             .sm = s->sm,
                                                             .mem = s->mem,
                                                             .enc = s->enc,
                                                             .dec = s->dec};
        }
        return rc;
}

static void read_util(struct nvml_process_list *p, const struct nvml_lib *lib, nvml_device dev)
{
        unsigned n = NVML_PROCESSES_MAX;
        p->util_rc = NVML_CALL(lib, process_utilization, dev, p->samples, &n, p->since_us);
        if (lib->processes_utilization &&
            (p->util_rc == NVML_FUNCTION_NOT_FOUND || p->util_rc == NVML_NOT_SUPPORTED))
                p->util_rc = read_shares(p, lib, dev, &n);
        bool none = p->util_rc == NVML_NOT_FOUND; /* nothing ran since then */
        for (size_t i = 0; i < p->n; i++)
                p->list[i].util_state = (uint8_t)(none ? STATE_OK : nvml_state(p->util_rc));
        if (p->util_rc == 0)
                apply_samples(p, n < NVML_PROCESSES_MAX ? n : NVML_PROCESSES_MAX);
}

int nvml_process_read(struct nvml_process_list *p, const struct nvml_lib *lib, nvml_device dev,
                      bool with_util)
{
        p->n = 0;
        if (!make_room(p))
                return NVML_MEMORY;
        int rc = list_of(p, lib->compute_processes, dev, NVML_PROCESS_COMPUTE);
        if (rc != 0)
                return rc;
        list_of(p, lib->graphics_processes, dev, NVML_PROCESS_GRAPHICS);
        list_of(p, lib->mps_processes, dev, NVML_PROCESS_MPS);
        if (with_util)
                read_util(p, lib, dev);
        return 0;
}
