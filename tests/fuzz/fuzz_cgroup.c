/* The parsers of control groups and of the paths in them. */
#include "read/host/cgroup.h"
#include "read/host/slurm.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct cgroup_io *io, void *arg)
{
        *(uint64_t *)arg += io->read ^ io->write;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *s = (const char *)data;
        static struct cgroup_paths paths;
        static struct cgroup_mounts mounts;
        char folder[768], id[80], job[SLURM_JOB_MAX];
        uint64_t v = 0;
        double cpus;
        cgroup_parse_mounts(s, size, &mounts);
        if (cgroup_parse_paths(s, size, &paths) == 0) {
                for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                        struct slurm_place place;
                        if (slurm_find(paths.path[k], &place) &&
                            place.folder_len > strlen(paths.path[k]))
                                abort();
                        cgroup_container(paths.path[k], id, sizeof(id));
                        cgroup_folder(&mounts, k, paths.path[k], folder, sizeof(folder));
                }
        }
        cgroup_parse_key(s, size, "usage_usec", &v);
        cgroup_parse_one(s, size, &v);
        cgroup_parse_cpu_max(s, size, &cpus);
        cgroup_parse_io(s, size, use, &v);
        slurm_job_of_environ(s, size, job);
        return 0;
}
