/* Every parser of /proc files, over the same bytes: none may read outside them or overflow. */
#include "read/host/procfs.h"
#include "read/host/sysfiles.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct device_io *d, void *arg)
{
        *(uint64_t *)arg += d->in ^ d->out ^ strlen(d->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *s = (const char *)data;
        static struct cpu_times cores[64];
        struct proc_stat stat;
        struct proc_io io;
        struct proc_schedstat schedstat;
        struct proc_status status;
        struct proc_smaps smaps;
        struct cpu_times total;
        struct meminfo mem;
        struct loadavg load;
        struct pressure psi;
        uint64_t v = 0;
        uint32_t cpus;
        size_t n;
        char text[32];
        if (procfs_stat(s, size, &stat) == 0 &&
            (stat.pid <= 0 || !memchr(stat.comm, 0, PROC_COMM_MAX)))
                abort();
        procfs_io(s, size, &io);
        procfs_schedstat(s, size, &schedstat);
        procfs_status(s, size, &status);
        procfs_limits(s, size, &v);
        procfs_smaps(s, size, &smaps);
        procfs_cpu_list(s, size, &cpus);
        if (procfs_environ(s, size, "SLURM_JOB_ID", text, sizeof(text)) &&
            !memchr(text, 0, sizeof(text)))
                abort();
        if (sysfiles_stat(s, size, &total, cores, 64, &n) == 0 && n > 64)
                abort();
        sysfiles_meminfo(s, size, &mem);
        sysfiles_loadavg(s, size, &load);
        sysfiles_pressure(s, size, &psi);
        sysfiles_number(s, size, &v);
        sysfiles_diskstats(s, size, use, &v);
        sysfiles_netdev(s, size, use, &v);
        return 0;
}
