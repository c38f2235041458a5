/* Who holds a GPU: a batch job, a pod, or a user's processes. What is not known is empty. */
#pragma once

#include "model/value.h"

#include <stddef.h>

enum owner_kind { OWNER_PROCESS, OWNER_SLURM, OWNER_KUBERNETES, OWNER_KIND_COUNT };

#define OWNER_ID_MAX 80   /* a GPU's UUID */
#define OWNER_NAME_MAX 64 /* users, jobs, accounts, partitions, namespaces, containers */
#define OWNER_POD_MAX 256 /* as long as Kubernetes lets a pod's name be */
#define OWNERS_MAX 512    /* pairs of an owner and a GPU that are kept at a time */
#define OWNERS_GPU_MAX 64 /* of one GPU or slice, so that none takes the places of others */

/* OWNER_TEXT(id, name, size): labels of assay_gpu_owner_info, in their order. */
#define OWNER_TEXTS(OWNER_TEXT)                                                                    \
        OWNER_TEXT(job, "job", OWNER_NAME_MAX)                                                     \
        OWNER_TEXT(user, "user", OWNER_NAME_MAX)                                                   \
        OWNER_TEXT(account, "account", OWNER_NAME_MAX)                                             \
        OWNER_TEXT(partition, "partition", OWNER_NAME_MAX)                                         \
        OWNER_TEXT(namespace, "namespace", OWNER_NAME_MAX)                                         \
        OWNER_TEXT(pod, "pod", OWNER_POD_MAX)                                                      \
        OWNER_TEXT(container, "container", OWNER_NAME_MAX)

/* One owner of one GPU or slice. */
struct owner {
        enum owner_kind kind;
        char uuid[OWNER_ID_MAX]; /* of the GPU, the parent's for a slice */
        int32_t index;           /* of the GPU as shown */
        int32_t gi;              /* -1 for a whole GPU */
        int32_t slot;            /* whose counters are its own, from 1; 0 for none */
        bool gone;               /* it has let go, and is reported a little longer */
#define OWNER_TEXT(id, name, size) char id[size];
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        uint32_t processes;      /* on the GPU now; 0 when it holds the GPU without using it */
        struct value gpu_memory; /* bytes, of its processes there */
        struct value gpu_util;   /* of the GPU, by its processes: where several owners share it */
        /* Of a user's processes on the GPU that are of no job: CPU seconds while they were
         * examined, which only grow, and resident bytes. */
        struct value process_cpu_s, process_memory;
        /* Its control group: missing where it cannot be read or the owner has none. */
        struct value cpu_s, memory, memory_limit, read_bytes, written_bytes;
        struct value cpus; /* that the job was given on this node */
};

/* "process", "slurm", "kubernetes". */
const char *owner_kind_name(enum owner_kind kind);
/* Whether two are the same owner, on whatever GPU. */
bool owner_same(const struct owner *a, const struct owner *b);
