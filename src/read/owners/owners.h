/*
 * Who holds which GPU: processes by their control group and environment, jobs by a mapping folder,
 * pods by what the kubelet allocated. Everything is keyed by UUID and GPU instance.
 */
#pragma once

#include "model/process.h"

#include "read/owners/kubelet.h"
struct owners_config {
        const char *root;        /* of the file system; "" for the real one */
        struct listing *listing; /* of its processes; NULL: its own */
        const char *mapping_dir; /* "" for none */
        const char *kubelet;     /* its socket; "" for none */
};

struct owners;

/* NULL when memory is short. Text is copied. */
struct owners *owners_open(const struct owners_config *config);
void owners_close(struct owners *o);
/* What they may own, and who runs there. */
struct owners_view {
        const struct entity *const *gpus; /* and slices */
        size_t n;
        const struct process *processes;
        size_t n_processes;
        bool is_local; /* pids and jobs are this machine's */
};

/* All owners of this moment, at most max. */
size_t owners_find(struct owners *o, const struct owners_view *view, struct owner *ret, size_t max);

/* The parts, for tests and fuzzers: owner_names.c. */

#define OWNERS_UID_MAX 37

/* The pod's UID in a control group's path, with dashes; false when it is of no pod. */
bool owners_pod_uid(const char *cgroup, char *ret, size_t size);
/*
 * Whether a GPU is the one that the kubelet names: by UUID ("GPU-…", with "::2" when it is shared),
 * or as drivers of dynamic resources do: "gpu-0" by the minor number of its device,
 * "0000-03-00-0-…" by its PCI address. device is "nvidia0", pci "00000000:03:00.0"; either may be
 * "".
 */
bool owners_is_device(const char *id, const char *uuid, const char *device, const char *pci);
/* "NAMESPACE_NAME_UID": false when it is not of that form or of another UID. */
bool owners_pod_folder(const char *folder, const char *uid, struct owner *ret);
/* The value of a variable in the text of an environment; false when it is absent or too long. */
bool owners_variable(const char *buf, size_t n, const char *name, char *ret, size_t size);
/* "0" or "0.7": a file of the mapping folder. False for other names. */
bool owners_mapping_name(const char *name, int32_t *index, int32_t *gi);
/* SLURM_JOB_CPUS_PER_NODE: "16" or "16(x4)"; missing where nodes differ ("72(x2),36"). */
struct value owners_cpus(const char *text);
