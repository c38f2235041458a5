#include "engine/evidence.h"

#include <stdio.h>
#include <string.h>

size_t evidence_place(struct evidence_join *j, const char *label)
{
        for (size_t i = 0; i < j->n; i++) {
                if (strcmp(j->gpus[i], label) == 0)
                        return i;
        }
        if (j->n == HOST_GPUS_MAX)
                return HOST_GPUS_MAX;
        snprintf(j->gpus[j->n], sizeof(j->gpus[0]), "%s", label);
        return j->n++;
}

void evidence_publish(struct evidence_join *j, const struct gpu_use *u, struct host_reader *reader)
{
        struct host_holder holders[GPU_USE_PROCESSES_MAX];
        size_t place[HOST_GPUS_MAX], n = 0;
        for (size_t i = 0; i < u->n; i++)
                place[i] = evidence_place(j, u->labels[i]);
        for (size_t i = 0; i < u->n_processes; i++) {
                size_t at = place[u->processes[i].gpu];
                if (at < HOST_GPUS_MAX)
                        holders[n++] =
                            (struct host_holder){.pid = u->processes[i].pid, .gpu = (uint32_t)at};
        }
        host_hold(reader, j->n, u->knows_processes, holders, n);
}
