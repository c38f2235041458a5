#include "doctor/probe_nvml.h"

#include "base/attr.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define PATIENCE_NS (5 * NS_PER_S)

/* NVML's ABI as far as it is used here. */
typedef void *device;
struct gpm_support {
        unsigned version, supported;
};
struct pci_info {
        char legacy[16];
        unsigned domain, bus, slot, id, subsystem;
        char bus_id[32];
};
#define GPM_SUPPORT_VERSION 1

typedef int fn_nvmlInit_v2(void);
typedef const char *fn_nvmlErrorString(int);
typedef int fn_nvmlSystemGetDriverVersion(char *, unsigned);
typedef int fn_nvmlSystemGetNVMLVersion(char *, unsigned);
typedef int fn_nvmlDeviceGetCount_v2(unsigned *);
typedef int fn_nvmlDeviceGetHandleByIndex_v2(unsigned, device *);
typedef int fn_nvmlDeviceGetName(device, char *, unsigned);
typedef int fn_nvmlDeviceGetUUID(device, char *, unsigned);
typedef int fn_nvmlDeviceGetPciInfo_v3(device, struct pci_info *);
typedef int fn_nvmlGpmQueryDeviceSupport(device, struct gpm_support *);
typedef int fn_nvmlGpmSampleAlloc(void **);
typedef int fn_nvmlGpmSampleGet(device, void *);
typedef int fn_nvmlGpmSampleFree(void *);
typedef int fn_nvmlDeviceGetMigMode(device, unsigned *, unsigned *);
typedef int fn_nvmlDeviceGetPersistenceMode(device, int *);

struct nvml {
        void *handle;
        struct nvml_probe *probe;
};

/* Looks a symbol up and notes its name, so that a call that hangs can be reported. */
static void *probe_nvml_find(const struct nvml *n, const char *name)
{
        snprintf(n->probe->call, sizeof(n->probe->call), "%s", name);
        return dlsym(n->handle, name);
}

/* Calls a function of the library if it has it; NVML_UNKNOWN when not. args are in parentheses. */
#define CALL(n, name, args)                                                                        \
        __extension__({                                                                            \
                fn_##name *function_;                                                              \
                void *symbol_ = probe_nvml_find(n, #name);                                         \
                memcpy(&function_, &symbol_, sizeof(function_));                                   \
                function_ ? function_ args : NVML_UNKNOWN;                                         \
        })

static void probe_gpm(const struct nvml *n, device dev, struct nvml_probe_gpu *gpu)
{
        struct gpm_support support = {.version = GPM_SUPPORT_VERSION};
        void *sample = NULL;
        if (CALL(n, nvmlGpmQueryDeviceSupport, (dev, &support)) != NVML_OK)
                return;
        gpu->gpm = support.supported != 0;
        if (!gpu->gpm || CALL(n, nvmlGpmSampleAlloc, (&sample)) != NVML_OK)
                return;
        gpu->gpm_sample = CALL(n, nvmlGpmSampleGet, (dev, sample));
        CALL(n, nvmlGpmSampleFree, (sample));
}

static void probe_gpu(const struct nvml *n, unsigned index, struct nvml_probe_gpu *gpu)
{
        device dev = NULL;
        struct pci_info pci = {0};
        unsigned mode = 0, pending = 0;
        int persistence = 0;
        *gpu = (struct nvml_probe_gpu){.gpm = NVML_UNKNOWN,
                                       .gpm_sample = NVML_UNKNOWN,
                                       .mig = NVML_UNKNOWN,
                                       .persistence = NVML_UNKNOWN};
        gpu->handle = CALL(n, nvmlDeviceGetHandleByIndex_v2, (index, &dev));
        if (gpu->handle != NVML_OK)
                return;
        CALL(n, nvmlDeviceGetName, (dev, gpu->name, sizeof(gpu->name)));
        CALL(n, nvmlDeviceGetUUID, (dev, gpu->uuid, sizeof(gpu->uuid)));
        if (CALL(n, nvmlDeviceGetPciInfo_v3, (dev, &pci)) == NVML_OK)
                memcpy(gpu->pci, pci.bus_id, sizeof(pci.bus_id) - 1);
        if (CALL(n, nvmlDeviceGetMigMode, (dev, &mode, &pending)) == NVML_OK)
                gpu->mig = mode != 0;
        if (CALL(n, nvmlDeviceGetPersistenceMode, (dev, &persistence)) == NVML_OK)
                gpu->persistence = persistence != 0;
        probe_gpm(n, dev, gpu);
}

static void name_error(const struct nvml *n, int code, char *ret, size_t size)
{
        fn_nvmlErrorString *name;
        void *symbol = dlsym(n->handle, "nvmlErrorString");
        memcpy(&name, &symbol, sizeof(name));
        const char *text = name ? name(code) : NULL;
        if (text)
                snprintf(ret, size, "%s", text);
        else
                snprintf(ret, size, "NVML error %d", code);
}

static void query_driver(const char *library, struct nvml_probe *p)
{
        struct nvml n = {.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), .probe = p};
        if (!n.handle) {
                const char *why = dlerror();
                snprintf(p->problem, sizeof(p->problem), "%s", why ? why : "it cannot be loaded");
                return;
        }
        p->loaded = true;
        p->init = CALL(&n, nvmlInit_v2, ());
        CALL(&n, nvmlSystemGetNVMLVersion, (p->library, sizeof(p->library)));
        if (p->init != NVML_OK) {
                name_error(&n, p->init, p->error, sizeof(p->error));
                return;
        }
        CALL(&n, nvmlSystemGetDriverVersion, (p->driver, sizeof(p->driver)));
        unsigned count = 0;
        CALL(&n, nvmlDeviceGetCount_v2, (&count));
        p->count = MIN(count, (unsigned)NVML_PROBE_GPUS);
        for (unsigned i = 0; i < p->count; i++)
                probe_gpu(&n, i, &p->gpus[i]);
}

static void wait_for(pid_t pid)
{
        int64_t until = clock_mono_ns() + PATIENCE_NS;
        struct timespec nap = {.tv_nsec = 2000000};
        while (waitpid(pid, NULL, WNOHANG) == 0) {
                if (clock_mono_ns() >= until) {
                        /* One that sleeps in the driver dies when it wakes: not waited for. */
                        kill(pid, SIGKILL);
                        nanosleep(&nap, NULL);
                        waitpid(pid, NULL, WNOHANG);
                        return;
                }
                nanosleep(&nap, NULL);
        }
}

void nvml_probe(const char *library, struct nvml_probe *ret)
{
        *ret = (struct nvml_probe){.init = NVML_UNKNOWN};
        struct nvml_probe *shared =
            mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
                return;
        *shared = *ret;
        pid_t pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                query_driver(library ? library : NVML_PROBE_LIBRARY, shared);
                shared->done = true;
                _exit(0);
        }
        if (pid > 0)
                wait_for(pid);
        *ret = *shared;
        munmap(shared, sizeof(*shared));
        if (pid < 0)
                snprintf(ret->problem, sizeof(ret->problem), "%s", strerror(errno));
}
