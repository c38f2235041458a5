/*
 * The floor of the nvml source's cost: a bare loop that makes the same calls into NVML as often,
 * and does nothing with the answers but add them up.  nvml_floor POLL_SECONDS SECONDS
 */
#include "base/attr.h"
#include "base/clock.h"
#include "read/nvml/lib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static const unsigned gpm_ids[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 60, 61};

static struct nvml_lib lib;
static nvml_device dev;
static nvml_gpm_sample sample[2];
static struct nvml_gpm_metrics get;
static nvml_event_set set;
static double sum;

static void each_tick(unsigned tick)
{
        struct nvml_utilization u = {0};
        struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
        unsigned v = 0;
        uint64_t reasons = 0;
        lib.gpm_sample(dev, sample[tick % 2]);
        get.from = sample[(tick + 1) % 2];
        get.to = sample[tick % 2];
        lib.gpm_metrics(&get);
        for (size_t i = 0; i < ARRAY_LEN(gpm_ids); i++)
                sum += get.metric[i].value;
        lib.utilization(dev, &u);
        lib.memory_v2(dev, &m);
        lib.power(dev, &v);
        sum += v + u.gpu + (double)m.used;
        lib.clock(dev, NVML_CLOCK_SM, &v);
        lib.clock(dev, NVML_CLOCK_MEM, &v);
        lib.clock_reasons(dev, &reasons);
        lib.temperature(dev, NVML_TEMPERATURE_GPU, &v);
        lib.pcie_replay(dev, &v);
}

static void each_half_second(void)
{
        struct nvml_event event;
        lib.event_wait(set, &event, 0);
}

static void each_second(void)
{
        unsigned v, period;
        struct nvml_field_value field = {.id = NVML_FI_MEMORY_TEMP};
        static struct nvml_process_info processes[1024];
        lib.encoder(dev, &v, &period);
        lib.decoder(dev, &v, &period);
        lib.jpeg(dev, &v, &period);
        lib.ofa(dev, &v, &period);
        lib.field_values(dev, 1, &field);
        lib.pcie_gen(dev, &v);
        lib.pcie_width(dev, &v);
        v = ARRAY_LEN(processes);
        lib.compute_processes(dev, &v, processes);
        v = ARRAY_LEN(processes);
        lib.graphics_processes(dev, &v, processes);
        v = ARRAY_LEN(processes);
        lib.mps_processes(dev, &v, processes);
}

static void each_two_seconds(void)
{
        unsigned mode, pending;
        lib.mig_mode(dev, &mode, &pending);
}

static void each_five_seconds(void)
{
        unsigned v[4];
        struct nvml_bar1 bar1;
        uint64_t ecc, energy;
        lib.energy(dev, &energy);
        lib.power_limit(dev, v);
        lib.bar1(dev, &bar1);
        lib.ecc_errors(dev, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &ecc);
        lib.ecc_errors(dev, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &ecc);
        lib.remapped_rows(dev, &v[0], &v[1], &v[2], &v[3]);
        lib.device_count(v);
}

static void once(void)
{
        unsigned v;
        char text[NVML_TEXT_MAX];
        struct nvml_pci pci;
        lib.name(dev, text, sizeof(text));
        lib.uuid(dev, text, sizeof(text));
        lib.serial(dev, text, sizeof(text));
        lib.pci_info(dev, &pci);
        lib.minor_number(dev, &v);
        for (int kind = 0; kind < 4; kind += kind == 1 ? 2 : 1)
                lib.threshold(dev, kind, &v);
        lib.clock_max(dev, NVML_CLOCK_SM, &v);
        lib.clock_max(dev, NVML_CLOCK_MEM, &v);
        lib.pcie_gen_max(dev, &v);
        lib.pcie_width_max(dev, &v);
        v = 0;
        lib.retired_pages(dev, NVML_RETIRED_DBE, &v, NULL);
        lib.retired_pending(dev, &v);
        for (size_t i = 0; i < ARRAY_LEN(gpm_ids); i++)
                get.metric[i].id = gpm_ids[i];
        get.version = NVML_GPM_VERSION;
        get.n = ARRAY_LEN(gpm_ids);
}

static bool start(void)
{
        bool all = true;
        if (nvml_lib_load(&lib, getenv("ASSAY_NVML_LIB"), dlsym, NULL) < 0)
                return false;
#define NVML_SYMBOL(member, shape, name, older) all &= lib.member != NULL;
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        return all && lib.init() == 0 && lib.handle_by_index(0, &dev) == 0 &&
               lib.gpm_alloc(&sample[0]) == 0 && lib.gpm_alloc(&sample[1]) == 0 &&
               lib.event_create(&set) == 0 && lib.event_register(dev, NVML_EVENT_XID, set) == 0;
}

int main(int argc, char **argv)
{
        double poll = argc > 1 ? atof(argv[1]) : 0.1, length = argc > 2 ? atof(argv[2]) : 10;
        if (!start()) {
                fprintf(stderr, "nvml_floor: no GPU with GPM, or an old library\n");
                return 3;
        }
        once();
        int64_t began = clock_mono_ns();
        long done[4] = {-1, -1, -1, -1};
        static const double periods[] = {0.5, 1, 2, 5};
        static void (*const lanes[])(void) = {each_half_second, each_second, each_two_seconds,
                                              each_five_seconds};
        for (unsigned tick = 0; (double)tick * poll < length; tick++) {
                int64_t due = began + clock_from_seconds(tick * poll);
                struct timespec ts = {due / NS_PER_S, due % NS_PER_S};
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
                each_tick(tick);
                for (size_t i = 0; i < ARRAY_LEN(lanes); i++) {
                        long period = (long)(tick * poll / periods[i] + 1e-6);
                        if (period != done[i])
                                lanes[i]();
                        done[i] = period;
                }
        }
        struct rusage r;
        getrusage(RUSAGE_SELF, &r);
        printf("%.6f s user, %.6f s system, %ld KiB, sum %g\n",
               (double)r.ru_utime.tv_sec + (double)r.ru_utime.tv_usec / 1e6,
               (double)r.ru_stime.tv_sec + (double)r.ru_stime.tv_usec / 1e6, r.ru_maxrss, sum);
        return 0;
}
