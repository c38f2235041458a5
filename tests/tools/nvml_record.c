/*
 * Asks the real NVML everything the nvml source may ask and writes the answers as a scenario for
 * the fake library (the format is described in tests/fakes/nvml/README.md).
 *
 *   nvml_record [--lib PATH]              the scenario, to standard output
 *   nvml_record --time [ROUNDS [MS]]      what each call costs, MS apart (50): elapsed and CPU time
 *   nvml_record --spacing                 which distances of two GPM samples give a window
 */
#include "base/attr.h"
#include "base/clock.h"
#include "read/nvml/lib.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const unsigned gpm_ids[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 60, 61};
#define PROCESSES_MAX 256

static struct nvml_lib lib;
static nvml_gpm_sample sample_a, sample_b;
static struct nvml_gpm_metrics get;

static void pause_ns(int64_t ns)
{
        struct timespec ts = {ns / NS_PER_S, ns % NS_PER_S};
        nanosleep(&ts, NULL);
}

/* One writer a shape. */

static void put_U32(FILE *f, const char *name, int(*call) NVML_ARGS_U32, nvml_device dev)
{
        unsigned v = 0;
        int rc = call(dev, &v);
        fprintf(f, "%s = %d %u\n", name, rc, v);
}

static void put_U64(FILE *f, const char *name, int(*call) NVML_ARGS_U64, nvml_device dev)
{
        uint64_t v = 0;
        int rc = call(dev, &v);
        fprintf(f, "%s = %d %llu\n", name, rc, (unsigned long long)v);
}

static void put_TEXT(FILE *f, const char *name, int(*call) NVML_ARGS_TEXT, nvml_device dev)
{
        char s[NVML_TEXT_MAX] = "";
        int rc = call(dev, s, sizeof(s));
        fprintf(f, "%s = %d %s\n", name, rc, s);
}

static void put_ARG_U32(FILE *f, const char *name, int(*call) NVML_ARGS_ARG_U32, nvml_device dev)
{
        for (int kind = 0; kind < 4; kind++) {
                unsigned v = 0;
                int rc = call(dev, kind, &v);
                if (rc != NVML_INVALID_ARGUMENT)
                        fprintf(f, "%s/%d = %d %u\n", name, kind, rc, v);
        }
}

static void put_U32_U32(FILE *f, const char *name, int(*call) NVML_ARGS_U32_U32, nvml_device dev)
{
        unsigned a = 0, b = 0;
        int rc = call(dev, &a, &b);
        fprintf(f, "%s = %d %u %u\n", name, rc, a, b);
}

static void put_PCI(FILE *f, const char *name, int(*call) NVML_ARGS_PCI, nvml_device dev)
{
        struct nvml_pci p = {0};
        int rc = call(dev, &p);
        fprintf(f, "%s = %d %.32s\n", name, rc, p.bus_id);
}

static void put_UTILIZATION(FILE *f, const char *name, int(*call) NVML_ARGS_UTILIZATION,
                            nvml_device dev)
{
        struct nvml_utilization u = {0};
        int rc = call(dev, &u);
        fprintf(f, "%s = %d %u %u\n", name, rc, u.gpu, u.memory);
}

static void put_MEMORY(FILE *f, const char *name, int(*call) NVML_ARGS_MEMORY, nvml_device dev)
{
        struct nvml_memory m = {0};
        int rc = call(dev, &m);
        fprintf(f, "%s = %d %llu %llu %llu\n", name, rc, (unsigned long long)m.total,
                (unsigned long long)m.free, (unsigned long long)m.used);
}

static void put_MEMORY_V2(FILE *f, const char *name, int(*call) NVML_ARGS_MEMORY_V2,
                          nvml_device dev)
{
        struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
        int rc = call(dev, &m);
        fprintf(f, "%s = %d %llu %llu %llu %llu\n", name, rc, (unsigned long long)m.total,
                (unsigned long long)m.reserved, (unsigned long long)m.free,
                (unsigned long long)m.used);
}

static void put_BAR1(FILE *f, const char *name, int(*call) NVML_ARGS_BAR1, nvml_device dev)
{
        struct nvml_bar1 m = {0};
        int rc = call(dev, &m);
        fprintf(f, "%s = %d %llu %llu %llu\n", name, rc, (unsigned long long)m.total,
                (unsigned long long)m.free, (unsigned long long)m.used);
}

static void put_ECC(FILE *f, const char *name, int(*call) NVML_ARGS_ECC, nvml_device dev)
{
        for (int kind = 0; kind < 2; kind++) {
                uint64_t v = 0;
                int rc = call(dev, kind, NVML_ECC_VOLATILE, &v);
                fprintf(f, "%s/%d = %d %llu\n", name, kind, rc, (unsigned long long)v);
        }
}

static void put_REMAPPED(FILE *f, const char *name, int(*call) NVML_ARGS_REMAPPED, nvml_device dev)
{
        unsigned v[4] = {0};
        int rc = call(dev, &v[0], &v[1], &v[2], &v[3]);
        fprintf(f, "%s = %d %u %u %u %u\n", name, rc, v[0], v[1], v[2], v[3]);
}

static void put_RETIRED(FILE *f, const char *name, int(*call) NVML_ARGS_RETIRED, nvml_device dev)
{
        uint64_t pages[64];
        for (int cause = 0; cause < 2; cause++) {
                unsigned n = ARRAY_LEN(pages);
                int rc = call(dev, cause, &n, pages);
                fprintf(f, "%s/%d = %d %u\n", name, cause, rc, rc ? 0 : n);
        }
}

static void put_FIELDS(FILE *f, const char *name, int(*call) NVML_ARGS_FIELDS, nvml_device dev)
{
        for (unsigned id = 1; id < NVML_FI_SLOTS; id++) {
                struct nvml_field_value v = {.id = id, .scope = UINT32_MAX};
                if (id != NVML_FI_NVLINK_TX && id != NVML_FI_NVLINK_RX)
                        v.scope = 0;
                int rc = call(dev, 1, &v);
                if (rc == 0 && v.rc != NVML_INVALID_ARGUMENT && v.rc != NVML_NOT_SUPPORTED)
                        fprintf(f, "%s/%u = %d %.17g %u\n", name, id, v.rc,
                                v.rc ? 0 : nvml_field_number(&v), v.type);
        }
}

static void put_PROCESSES(FILE *f, const char *name, int(*call) NVML_ARGS_PROCESSES,
                          nvml_device dev)
{
        struct nvml_process_info p[PROCESSES_MAX];
        unsigned n = PROCESSES_MAX;
        int rc = call(dev, &n, p);
        fprintf(f, "%s = %d", name, rc);
        for (unsigned i = 0; rc == 0 && i < n && i < PROCESSES_MAX; i++)
                fprintf(f, " %u:%llu", p[i].pid, (unsigned long long)p[i].used_memory);
        fputc('\n', f);
}

static void put_PROCESS_SAMPLES(FILE *f, const char *name, int(*call) NVML_ARGS_PROCESS_SAMPLES,
                                nvml_device dev)
{
        struct nvml_process_sample p[PROCESSES_MAX];
        unsigned n = 0;
        int rc = call(dev, NULL, &n, 0);
        fprintf(f, "# %s: first answer %d, %u samples\n", name, rc, n);
        n = PROCESSES_MAX;
        rc = call(dev, p, &n, 0);
        fprintf(f, "%s = %d", name, rc);
        for (unsigned i = 0; rc == 0 && i < n && i < PROCESSES_MAX; i++)
                fprintf(f, " %u:%u:%u:%u:%u", p[i].pid, p[i].sm, p[i].mem, p[i].enc, p[i].dec);
        fputc('\n', f);
}

static void put_PROCESS_SHARES(FILE *f, const char *name, int(*call) NVML_ARGS_PROCESS_SHARES,
                               nvml_device dev)
{
        struct nvml_process_share p[PROCESSES_MAX];
        struct nvml_process_shares ask = {
            .version = NVML_PROCESS_SHARES_V1, .n = PROCESSES_MAX, .list = p};
        int rc = call(dev, &ask);
        fprintf(f, "%s = %d", name, rc);
        for (unsigned i = 0; rc == 0 && i < ask.n && i < PROCESSES_MAX; i++)
                fprintf(f, " %u:%u:%u:%u:%u", p[i].pid, p[i].sm, p[i].mem, p[i].enc, p[i].dec);
        fputc('\n', f);
}

static void put_GPM_SUPPORT(FILE *f, const char *name, int(*call) NVML_ARGS_GPM_SUPPORT,
                            nvml_device dev)
{
        struct nvml_gpm_support s = {.version = NVML_GPM_VERSION};
        int rc = call(dev, &s);
        fprintf(f, "%s = %d %u\n", name, rc, s.supported);
}

/* Shapes that are no plain question to a device. */
#define NOT_A_QUESTION(shape)                                                                      \
        static void put_##shape(FILE *f UNUSED, const char *name UNUSED,                           \
                                int(*call) NVML_ARGS_##shape UNUSED, nvml_device dev UNUSED)       \
        {                                                                                          \
        }
NOT_A_QUESTION(VOID)
NOT_A_QUESTION(SYSTEM_TEXT)
NOT_A_QUESTION(SYSTEM_U32)
NOT_A_QUESTION(BY_INDEX)
NOT_A_QUESTION(BY_TEXT)
NOT_A_QUESTION(MIG_BY_INDEX)
NOT_A_QUESTION(GPM_ALLOC)
NOT_A_QUESTION(GPM_FREE)
NOT_A_QUESTION(GPM_SAMPLE)
NOT_A_QUESTION(GPM_MIG_SAMPLE)
NOT_A_QUESTION(GPM_METRICS)
NOT_A_QUESTION(EVENT_CREATE)
NOT_A_QUESTION(EVENT_FREE)
NOT_A_QUESTION(EVENT_REGISTER)
NOT_A_QUESTION(EVENT_WAIT)

static int window(nvml_device dev, int64_t ns)
{
        get = (struct nvml_gpm_metrics){
            .version = NVML_GPM_VERSION, .n = ARRAY_LEN(gpm_ids), .from = sample_a, .to = sample_b};
        for (size_t i = 0; i < ARRAY_LEN(gpm_ids); i++)
                get.metric[i].id = gpm_ids[i];
        int rc = NVML_CALL(&lib, gpm_sample, dev, sample_a);
        pause_ns(ns);
        if (rc == 0)
                rc = NVML_CALL(&lib, gpm_sample, dev, sample_b);
        return rc ? rc : NVML_CALL(&lib, gpm_metrics, &get);
}

static void put_gpm(FILE *f, nvml_device dev)
{
        if (!sample_a || window(dev, 500 * NS_PER_MS) != 0)
                return;
        for (size_t i = 0; i < ARRAY_LEN(gpm_ids); i++)
                fprintf(f, "gpm/%u = %d %.17g\n", get.metric[i].id, get.metric[i].rc,
                        get.metric[i].value);
}

static void put_device(FILE *f, nvml_device dev)
{
#define NVML_SYMBOL(member, shape, name, older)                                                    \
        if (lib.member)                                                                            \
                put_##shape(f, name, lib.member, dev);
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
}

static void put_slices(FILE *f, nvml_device dev)
{
        unsigned max = 0, gi = 0, ci = 0;
        NVML_CALL(&lib, mig_count_max, dev, &max);
        for (unsigned i = 0; i < max; i++) {
                nvml_device mig;
                if (NVML_CALL(&lib, mig_by_index, dev, i, &mig) != 0)
                        continue;
                NVML_CALL(&lib, gpu_instance, mig, &gi);
                NVML_CALL(&lib, compute_instance, mig, &ci);
                fprintf(f, "\n[mig %u %u]\n", gi, ci);
                put_device(f, mig);
        }
}

static void record(FILE *f, unsigned n)
{
        char text[NVML_TEXT_MAX] = "";
        int rc = NVML_CALL(&lib, driver_version, text, sizeof(text));
        fprintf(f, "nvmlSystemGetDriverVersion = %d %s\n", rc, text);
        rc = NVML_CALL(&lib, nvml_version, text, sizeof(text));
        fprintf(f, "nvmlSystemGetNVMLVersion = %d %s\n", rc, text);
#define NVML_SYMBOL(member, shape, name, older)                                                    \
        if (!lib.member)                                                                           \
                fprintf(f, "# this library has no %s\n", name);
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        for (unsigned i = 0; i < n; i++) {
                nvml_device dev;
                if (NVML_CALL(&lib, handle_by_index, i, &dev) != 0)
                        continue;
                fprintf(f, "\n[gpu]\n");
                put_device(f, dev);
                put_gpm(f, dev);
                put_slices(f, dev);
        }
}

/* What a call costs: the first time, then ten times a second. */
struct cost {
        double first, sum, max, cpu;
};
static struct cost costs[256];

static int64_t cpu_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void note(size_t i, int64_t started, int64_t cpu_started, int round)
{
        double us = (double)(clock_mono_ns() - started) / 1000;
        if (round == 0) {
                costs[i].first = us;
                return;
        }
        costs[i].sum += us;
        costs[i].cpu += (double)(cpu_ns() - cpu_started) / 1000;
        costs[i].max = MAX(costs[i].max, us);
}

static size_t time_round(FILE *sink, nvml_device dev, nvml_event_set set, int round)
{
        size_t i = 0;
        int64_t t, c;
        struct nvml_event event;
        unsigned count;
#define NVML_SYMBOL(member, shape, name, older)                                                    \
        c = cpu_ns();                                                                              \
        t = clock_mono_ns();                                                                       \
        if (lib.member && strcmp(name, "nvmlDeviceGetFieldValues") != 0)                           \
                put_##shape(sink, name, lib.member, dev);                                          \
        note(i++, t, c, round);
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        struct nvml_field_value v = {.id = NVML_FI_MEMORY_TEMP};
        c = cpu_ns();
        t = clock_mono_ns();
        NVML_CALL(&lib, field_values, dev, 1, &v);
        note(i++, t, c, round);
        c = cpu_ns();
        t = clock_mono_ns();
        NVML_CALL(&lib, gpm_sample, dev, round % 2 ? sample_b : sample_a);
        note(i++, t, c, round);
        c = cpu_ns();
        t = clock_mono_ns();
        NVML_CALL(&lib, gpm_metrics, &get);
        note(i++, t, c, round);
        c = cpu_ns();
        t = clock_mono_ns();
        NVML_CALL(&lib, event_wait, set, &event, 0);
        note(i++, t, c, round);
        c = cpu_ns();
        t = clock_mono_ns();
        NVML_CALL(&lib, device_count, &count);
        note(i++, t, c, round);
        return i;
}

static void time_calls(nvml_device dev, int rounds, int ms)
{
        static const char *const names[] = {
#define NVML_SYMBOL(member, shape, name, older) name,
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
            "field 82", "nvmlGpmSampleGet", "nvmlGpmMetricsGet", "nvmlEventSetWait_v2 0 ms",
            "nvmlDeviceGetCount_v2"};
        FILE *sink = fopen("/dev/null", "w");
        nvml_event_set set = NULL;
        size_t n = 0;
        NVML_CALL(&lib, event_create, &set);
        printf("event registration: %d\n",
               NVML_CALL(&lib, event_register, dev, NVML_EVENT_XID, set));
        window(dev, 200 * NS_PER_MS);
        for (int round = 0; sink && round <= rounds; round++) {
                n = time_round(sink, dev, set, round);
                pause_ns(ms * NS_PER_MS);
        }
        printf("%-45s %10s %10s %10s %10s\n", "us", "first", "mean", "max", "mean CPU");
        for (size_t i = 0; i < n; i++) {
                if (costs[i].first > 0.5 || costs[i].max > 0.5)
                        printf("%-45s %10.1f %10.1f %10.1f %10.1f\n", names[i], costs[i].first,
                               costs[i].sum / rounds, costs[i].max, costs[i].cpu / rounds);
        }
        NVML_CALL(&lib, event_free, set);
        if (sink)
                fclose(sink);
}

static void try_spacings(nvml_device dev)
{
        static const int ms[] = {10, 50, 80, 90, 95, 98, 99, 100, 101, 102, 105, 110, 150, 200};
        printf("%6s %8s %8s %8s\n", "ms", "windows", "nan", "all zero");
        for (size_t k = 0; k < ARRAY_LEN(ms); k++) {
                int nan = 0, zero = 0, n = 20;
                for (int i = 0; i < n; i++) {
                        bool any = false, bad = false;
                        window(dev, ms[k] * NS_PER_MS);
                        for (size_t j = 0; j < ARRAY_LEN(gpm_ids); j++) {
                                bad |= !isfinite(get.metric[j].value);
                                any |= get.metric[j].value != 0 && isfinite(get.metric[j].value);
                        }
                        nan += bad;
                        zero += !any;
                        pause_ns(7 * NS_PER_MS);
                }
                printf("%6d %8d %8d %8d\n", ms[k], n, nan, zero);
        }
}

int main(int argc, char **argv)
{
        const char *mode = argc > 1 ? argv[1] : "", *path = NULL;
        struct err err;
        unsigned n = 0;
        nvml_device dev;
        if (argc > 2 && strcmp(mode, "--lib") == 0)
                path = argv[2];
        if (nvml_lib_load(&lib, path, dlsym, &err) < 0) {
                fprintf(stderr, "nvml_record: %s\n", err.msg);
                return 3;
        }
        int rc = lib.init ? lib.init() : NVML_FUNCTION_NOT_FOUND;
        if (rc != 0 || NVML_CALL(&lib, device_count, &n) != 0 ||
            NVML_CALL(&lib, handle_by_index, 0, &dev) != 0) {
                fprintf(stderr, "nvml_record: NVML gives no GPU (%d)\n", rc);
                return 3;
        }
        NVML_CALL(&lib, gpm_alloc, &sample_a);
        NVML_CALL(&lib, gpm_alloc, &sample_b);
        if (strcmp(mode, "--time") == 0)
                time_calls(dev, argc > 2 ? atoi(argv[2]) : 50, argc > 3 ? atoi(argv[3]) : 50);
        else if (strcmp(mode, "--spacing") == 0)
                try_spacings(dev);
        else
                record(stdout, n);
        if (lib.shutdown)
                lib.shutdown();
        return 0;
}
