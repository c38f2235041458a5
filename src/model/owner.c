#include "model/owner.h"

#include <string.h>

const char *owner_kind_name(enum owner_kind kind)
{
        static const char *const names[OWNER_KIND_COUNT] = {
            [OWNER_PROCESS] = "process",
            [OWNER_SLURM] = "slurm",
            [OWNER_KUBERNETES] = "kubernetes",
        };
        return names[kind];
}

/* Account and partition are learned by and by; they do not make another owner. */
bool owner_same(const struct owner *a, const struct owner *b)
{
        if (a->kind != b->kind)
                return false;
        switch (a->kind) {
        case OWNER_PROCESS:
                return strcmp(a->user, b->user) == 0;
        case OWNER_SLURM:
                return strcmp(a->job, b->job) == 0;
        case OWNER_KUBERNETES:
                return strcmp(a->namespace, b->namespace) == 0 && strcmp(a->pod, b->pod) == 0 &&
                       strcmp(a->container, b->container) == 0;
        case OWNER_KIND_COUNT:
                break;
        }
        return false;
}
