/* The library's functions, answered from the scenario. One function a shape, one row a symbol. */
#include "read/nvml/lib.h"

#include "fake.h"
#include "scenario.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_S 1000000000LL

static struct scenario scenario;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int64_t virtual_ns = -1;
static _Atomic int64_t started_ns;
static _Atomic double init_s;
static _Atomic int64_t live_samples, calls;
static pthread_mutex_t events = PTHREAD_MUTEX_INITIALIZER;

/* How often each function was called: in the file that FAKE_NVML_CALLS names, so that another
 * process may look at it at any time. */
enum {
#define NVML_SYMBOL(member, shape, name, older) COUNTED_##member,
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        COUNTED
};
static const char *const counted_names[COUNTED] = {
#define NVML_SYMBOL(member, shape, name, older) name,
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
};
static struct counted {
        char name[56];
        _Atomic int64_t n;
} * counted; /* NULL when nobody counts */

static void open_counts(void)
{
        const char *path = getenv("FAKE_NVML_CALLS");
        size_t size = COUNTED * sizeof(*counted);
        int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
                return;
        struct counted *c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (c == MAP_FAILED)
                return;
        for (size_t i = 0; i < COUNTED; i++)
                snprintf(c[i].name, sizeof(c[i].name), "%s", counted_names[i]);
        counted = c;
}

/* What a GPM sample remembers. */
struct taken {
        int64_t ns;
        int epoch;
        struct node *node;
};

EXPORT fake_nvml_set_clock_fn fake_nvml_set_clock;
EXPORT fake_nvml_load_fn fake_nvml_load;
EXPORT fake_nvml_count_fn fake_nvml_samples, fake_nvml_calls;

EXPORT void fake_nvml_set_clock(int64_t ns)
{
        atomic_store(&virtual_ns, ns);
}

EXPORT int64_t fake_nvml_samples(void)
{
        return atomic_load(&live_samples);
}

EXPORT int64_t fake_nvml_calls(void)
{
        return atomic_load(&calls);
}

static int64_t now_ns(void)
{
        struct timespec ts;
        int64_t v = atomic_load(&virtual_ns);
        if (v >= 0)
                return v;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void load(void)
{
        open_counts();
        scenario_load(&scenario, getenv("FAKE_NVML"));
        atomic_store(&started_ns, now_ns());
}

EXPORT void fake_nvml_load(const char *path)
{
        pthread_once(&once, load);
        scenario_free(&scenario);
        scenario_load(&scenario, path);
        atomic_store(&started_ns, now_ns());
}

static double seconds(void)
{
        return (double)(now_ns() - atomic_load(&started_ns)) / 1e9;
}

static void wait_ms(double ms)
{
        struct timespec ts = {(time_t)(ms / 1000), (long)(fmod(ms, 1000) * 1e6)};
        if (ms > 0 && atomic_load(&virtual_ns) < 0)
                nanosleep(&ts, NULL);
}

static struct node *node_of(nvml_device dev)
{
        return (struct node *)dev;
}

static void count_call(int which)
{
        pthread_once(&once, load);
        if (counted)
                atomic_fetch_add(&counted[which].n, 1);
}

/* Finds the answer, and does what it says: takes its time, hangs. NULL: not supported. */
static const struct answer *ask(const struct node *node, const char *name, int *rc)
{
        pthread_once(&once, load);
        atomic_fetch_add(&calls, 1);
        const struct answer *a = scenario_find(&scenario.system, name, seconds());
        if (!a || node == &scenario.system)
                a = scenario_find(node, name, seconds());
        *rc = a ? a->rc : NVML_NOT_SUPPORTED;
        if (!a)
                return NULL;
        for (bool hang = a->hang; hang;
             hang = true) /* the scenario may be gone before the call is */
                wait_ms(1000);
        wait_ms(a->delay_ms);
        if (a->crash == 's')
                *(volatile int *)(uintptr_t)a->rc = 0; /* which is 0 */
        if (a->crash == 'a')
                abort();
        if (a->crash == 'e')
                exit(3);
        return a;
}

/* Numbers of the answer, zero where it gives none. Returns the code. */
static int numbers(nvml_device dev, const char *name, double v[NUMBERS_MAX], int *n)
{
        int rc;
        memset(v, 0, NUMBERS_MAX * sizeof(*v));
        const struct answer *a = ask(node_of(dev), name, &rc);
        int count = a && rc == 0 ? scenario_numbers(a, v) : 0;
        if (n)
                *n = count;
        return rc;
}

static int numbers_of_kind(nvml_device dev, const char *name, int kind, double v[NUMBERS_MAX])
{
        char full[128];
        snprintf(full, sizeof(full), "%s/%d", name, kind);
        return numbers(dev, full, v, NULL);
}

static int text_of(const struct node *node, const char *name, char *ret, unsigned size)
{
        int rc;
        const struct answer *a = ask(node, name, &rc);
        if (rc == 0)
                snprintf(ret, size, "%s", a->text);
        return rc;
}

static int call_VOID(const char *name)
{
        int rc;
        pthread_once(&once, load);
        if (strcmp(name, "nvmlInit_v2") == 0)
                init_s = seconds();
        return ask(&scenario.system, name, &rc) ? rc : 0;
}

static int call_SYSTEM_TEXT(const char *name, char *ret, unsigned size)
{
        pthread_once(&once, load);
        return text_of(&scenario.system, name, ret, size);
}

/*
 * A line may say another number than there are sections: GPUs that come later. As in the real one,
 * GPUs are found when the library starts: "found" counts those of the last nvmlInit.
 */
static int call_SYSTEM_U32(const char *name, unsigned *ret)
{
        int rc;
        double v[NUMBERS_MAX];
        pthread_once(&once, load);
        const struct answer *a = ask(&scenario.system, name, &rc);
        const struct answer *found = scenario_find(&scenario.system, "found", init_s);
        *ret = a && scenario_numbers(a, v) > 0 ? (unsigned)v[0] : scenario.n;
        if (found)
                *ret = (unsigned)found->rc;
        return a ? rc : 0;
}

static int call_BY_INDEX(const char *name, unsigned index, nvml_device *ret)
{
        int rc;
        if (index >= scenario.n)
                return NVML_INVALID_ARGUMENT;
        *ret = (nvml_device)scenario.gpu[index];
        return ask(scenario.gpu[index], name, &rc) ? rc : 0;
}

static int call_BY_TEXT(const char *name, const char *text, nvml_device *ret)
{
        for (unsigned i = 0; i < scenario.n; i++) {
                char uuid[NVML_TEXT_MAX];
                int rc = text_of(scenario.gpu[i], "nvmlDeviceGetUUID", uuid, sizeof(uuid));
                if (rc == 0 && strcmp(uuid, text) == 0)
                        return call_BY_INDEX(name, i, ret);
        }
        return NVML_NOT_FOUND;
}

static int call_TEXT(const char *name, nvml_device dev, char *ret, unsigned size)
{
        return text_of(node_of(dev), name, ret, size);
}

/* A MIG device knows its numbers; the GPU counts its slices. */
static int call_U32(const char *name, nvml_device dev, unsigned *ret)
{
        double v[NUMBERS_MAX];
        const struct node *node = node_of(dev);
        int rc = numbers(dev, name, v, NULL);
        *ret = (unsigned)v[0];
        if (rc == 0)
                return 0;
        if (node->gi >= 0 && strcmp(name, "nvmlDeviceGetGpuInstanceId") == 0)
                *ret = (unsigned)node->gi;
        else if (node->gi >= 0 && strcmp(name, "nvmlDeviceGetComputeInstanceId") == 0)
                *ret = (unsigned)node->ci;
        else if (node->n_slices > 0 && strcmp(name, "nvmlDeviceGetMaxMigDeviceCount") == 0)
                *ret = (unsigned)node->n_slices;
        else
                return rc;
        return rc == NVML_NOT_SUPPORTED ? 0 : rc;
}

static int call_U64(const char *name, nvml_device dev, uint64_t *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers(dev, name, v, NULL);
        *ret = (uint64_t)v[0];
        return rc;
}

static int call_ARG_U32(const char *name, nvml_device dev, int kind, unsigned *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers_of_kind(dev, name, kind, v);
        *ret = (unsigned)v[0];
        return rc;
}

static int call_U32_U32(const char *name, nvml_device dev, unsigned *ret, unsigned *ret_second)
{
        double v[NUMBERS_MAX];
        int rc = numbers(dev, name, v, NULL);
        *ret = (unsigned)v[0];
        *ret_second = (unsigned)v[1];
        return rc;
}

static int call_PCI(const char *name, nvml_device dev, struct nvml_pci *ret)
{
        return text_of(node_of(dev), name, ret->bus_id, sizeof(ret->bus_id));
}

static int call_UTILIZATION(const char *name, nvml_device dev, struct nvml_utilization *ret)
{
        return call_U32_U32(name, dev, &ret->gpu, &ret->memory);
}

static int call_MEMORY(const char *name, nvml_device dev, struct nvml_memory *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers(dev, name, v, NULL);
        *ret = (struct nvml_memory){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2]};
        return rc;
}

static int call_MEMORY_V2(const char *name, nvml_device dev, struct nvml_memory_v2 *ret)
{
        double v[NUMBERS_MAX];
        if (ret->version != NVML_MEMORY_V2)
                return NVML_ARGUMENT_VERSION_MISMATCH;
        int rc = numbers(dev, name, v, NULL);
        *ret = (struct nvml_memory_v2){ret->version, (uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2],
                                       (uint64_t)v[3]};
        return rc;
}

static int call_BAR1(const char *name, nvml_device dev, struct nvml_bar1 *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers(dev, name, v, NULL);
        *ret = (struct nvml_bar1){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2]};
        return rc;
}

/* Errors of the GPU's life are those of kinds 10 and 11. */
static int call_ECC(const char *name, nvml_device dev, int kind, int counter, uint64_t *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers_of_kind(dev, name, counter == 0 ? kind : kind + 10, v);
        if (rc == 0)
                *ret = (uint64_t)v[0];
        return rc;
}

static int call_REMAPPED(const char *name, nvml_device dev, unsigned *ret_corrected,
                         unsigned *ret_uncorrected, unsigned *ret_pending, unsigned *ret_failed)
{
        double v[NUMBERS_MAX];
        int rc = numbers(dev, name, v, NULL);
        *ret_corrected = (unsigned)v[0];
        *ret_uncorrected = (unsigned)v[1];
        *ret_pending = (unsigned)v[2];
        *ret_failed = (unsigned)v[3];
        return rc;
}

static int call_RETIRED(const char *name, nvml_device dev, int cause, unsigned *count,
                        uint64_t *ret)
{
        double v[NUMBERS_MAX];
        int rc = numbers_of_kind(dev, name, cause, v);
        unsigned room = *count;
        *count = (unsigned)v[0];
        (void)ret;
        return rc == 0 && room < *count ? NVML_INSUFFICIENT_SIZE : rc;
}

static int call_FIELDS(const char *name, nvml_device dev, int n, struct nvml_field_value *values)
{
        double v[NUMBERS_MAX];
        for (int i = 0; i < n; i++) {
                values[i].rc = numbers_of_kind(dev, name, (int)values[i].id, v);
                values[i].type = NVML_VALUE_DOUBLE;
                values[i].value.d = v[0];
                if (nvml_is_lost(values[i].rc))
                        return values[i].rc;
        }
        return 0;
}

static int call_PROCESSES(const char *name, nvml_device dev, unsigned *count,
                          struct nvml_process_info *ret)
{
        double v[NUMBERS_MAX];
        int n, rc = numbers(dev, name, v, &n);
        unsigned room = *count;
        *count = (unsigned)n / 2;
        if (rc == 0 && room < *count)
                return NVML_INSUFFICIENT_SIZE;
        for (int i = 0; i + 1 < n; i += 2)
                ret[i / 2] = (struct nvml_process_info){(uint32_t)v[i], (uint64_t)v[i + 1],
                                                        UINT32_MAX, UINT32_MAX};
        return rc;
}

/* As the real one: too little room first, then samples newer than the time stamp. */
static int call_PROCESS_SAMPLES(const char *name, nvml_device dev, struct nvml_process_sample *ret,
                                unsigned *count, uint64_t since_us)
{
        double v[NUMBERS_MAX];
        int n, rc = numbers(dev, name, v, &n);
        unsigned room = *count;
        uint64_t now_us = (uint64_t)now_ns() / 1000;
        *count = (unsigned)n / 5;
        if (rc == 0 && room < *count)
                return NVML_INSUFFICIENT_SIZE;
        if (rc == 0 && (n == 0 || now_us <= since_us))
                return NVML_NOT_FOUND;
        for (int i = 0; rc == 0 && i + 4 < n; i += 5)
                ret[i / 5] = (struct nvml_process_sample){(uint32_t)v[i],     now_us,
                                                          (uint32_t)v[i + 1], (uint32_t)v[i + 2],
                                                          (uint32_t)v[i + 3], (uint32_t)v[i + 4]};
        return rc;
}

/* The newer call, over the same samples; a version that it does not know is refused. */
static int call_PROCESS_SHARES(const char *name, nvml_device dev, struct nvml_process_shares *ask)
{
        struct nvml_process_sample list[NUMBERS_MAX / 5];
        unsigned n = sizeof(list) / sizeof(list[0]);
        if (ask->version != NVML_PROCESS_SHARES_V1)
                return NVML_ARGUMENT_VERSION_MISMATCH;
        int rc = call_PROCESS_SAMPLES(name, dev, list, &n, ask->since_us);
        bool room = ask->list && ask->n >= n;
        ask->n = n;
        if (rc == 0 && !room)
                return NVML_INSUFFICIENT_SIZE;
        for (unsigned i = 0; rc == 0 && i < n; i++) {
                ask->list[i] = (struct nvml_process_share){.time_us = list[i].time_us,
                                                           .pid = list[i].pid,
                                                           .sm = list[i].sm,
                                                           .mem = list[i].mem,
                                                           .enc = list[i].enc,
                                                           .dec = list[i].dec};
        }
        return rc;
}

static int call_MIG_BY_INDEX(const char *name, nvml_device dev, unsigned index, nvml_device *ret)
{
        int rc;
        struct node *slice = node_of(dev)->slices;
        while (slice && index-- > 0)
                slice = slice->next;
        if (!slice)
                return NVML_NOT_FOUND;
        *ret = (nvml_device)slice;
        return ask(slice, name, &rc) ? rc : 0;
}

static int call_GPM_SUPPORT(const char *name, nvml_device dev, struct nvml_gpm_support *ret)
{
        return call_U32(name, dev, &ret->supported);
}

static int call_GPM_ALLOC(const char *name, nvml_gpm_sample *ret)
{
        int rc;
        if (ask(&scenario.system, name, &rc) && rc != 0)
                return rc;
        *ret = calloc(1, sizeof(struct taken));
        atomic_fetch_add(&live_samples, 1);
        return *ret ? 0 : NVML_MEMORY;
}

static int call_GPM_FREE(const char *name, nvml_gpm_sample sample)
{
        (void)name;
        free(sample);
        atomic_fetch_sub(&live_samples, 1);
        return 0;
}

static int take(const char *name, struct node *node, nvml_gpm_sample sample)
{
        int rc;
        const struct answer *a = ask(node, name, &rc);
        if (a && rc != 0)
                return rc;
        const struct answer *e = scenario_find(node, "gpm_epoch", seconds());
        *(struct taken *)sample = (struct taken){now_ns(), e ? e->rc : 0, node};
        return 0;
}

static int call_GPM_SAMPLE(const char *name, nvml_device dev, nvml_gpm_sample sample)
{
        return take(name, node_of(dev), sample);
}

static int call_GPM_MIG_SAMPLE(const char *name, nvml_device dev, unsigned gi,
                               nvml_gpm_sample sample)
{
        for (struct node *s = node_of(dev)->slices; s; s = s->next) {
                if (s->gi == (int)gi)
                        return take(name, s, sample);
        }
        return NVML_NOT_FOUND;
}

/* Counters are taken about every 90 ms; no news between two samples gives zeros and a NaN. */
#define COUNTERS_NS (90 * 1000000LL)

#define CYCLES 248
#define SINCE_NS (3600 * 1000000000LL)

static void measure(struct nvml_gpm_metric *m, const struct taken *from, const struct taken *to)
{
        double v[NUMBERS_MAX];
        m->rc = numbers_of_kind((nvml_device)to->node, "gpm", (int)m->id, v);
        m->value = v[0];
        if (m->id == CYCLES) /* a count, where the scenario has a rate */
                m->value *= (double)(to->ns - from->ns) / 1e9;
        if (m->id == CYCLES && m->rc != 0) {
                m->rc = numbers_of_kind((nvml_device)to->node, "gpm_since", CYCLES, v);
                m->value = v[0] * (double)(to->ns + SINCE_NS) / 1e9;
        }
        if (to->ns - from->ns < COUNTERS_NS)
                m->value = m->id == 10 ? NAN : 0;
        else if (to->epoch != from->epoch)
                m->value = m->id % 2 ? -4.2e9 : 1.8e13;
}

static int call_GPM_METRICS(const char *name, struct nvml_gpm_metrics *get)
{
        int rc;
        const struct taken *from = get->from, *to = get->to;
        if (get->version != NVML_GPM_VERSION || !from || !to || from->node != to->node)
                return NVML_INVALID_ARGUMENT;
        const struct answer *a = ask(to->node, name, &rc);
        if (a && rc != 0)
                return rc;
        const struct answer *refused = scenario_find(to->node, "refuse", seconds());
        for (uint32_t i = 0; refused && i < get->n; i++) {
                if ((int)get->metric[i].id == refused->rc)
                        return NVML_INVALID_ARGUMENT;
        }
        for (uint32_t i = 0; i < get->n; i++)
                measure(&get->metric[i], from, to);
        return 0;
}

static int call_EVENT_CREATE(const char *name, nvml_event_set *ret)
{
        int rc;
        *ret = &events;
        return ask(&scenario.system, name, &rc) ? rc : 0;
}

static int call_EVENT_FREE(const char *name, nvml_event_set set)
{
        (void)name;
        (void)set;
        return 0;
}

static int call_EVENT_REGISTER(const char *name, nvml_device dev, uint64_t types,
                               nvml_event_set set)
{
        int rc;
        (void)types;
        (void)set;
        return ask(node_of(dev), name, &rc) ? rc : 0;
}

/* The n-th event of a GPU, first to last, once its time has come. */
static const struct answer *event_of(const struct node *gpu, unsigned long n)
{
        const struct answer *found = NULL;
        unsigned long count = 0;
        for (const struct answer *a = gpu->answers; a; a = a->next)
                count += strcmp(a->name, "xid") == 0;
        for (const struct answer *a = gpu->answers; a && count > n; a = a->next) {
                if (strcmp(a->name, "xid") == 0 && --count == n)
                        found = a;
        }
        return found && found->from_s <= seconds() ? found : NULL;
}

static int call_EVENT_WAIT(const char *name, nvml_event_set set, struct nvml_event *ret,
                           unsigned timeout_ms)
{
        int rc;
        (void)set;
        if (ask(&scenario.system, name, &rc) && rc != 0)
                return rc;
        for (unsigned i = 0; i < scenario.n; i++) {
                const struct answer *a = event_of(scenario.gpu[i], scenario.gpu[i]->xids_taken);
                if (!a)
                        continue;
                scenario.gpu[i]->xids_taken++;
                *ret = (struct nvml_event){(nvml_device)scenario.gpu[i], NVML_EVENT_XID,
                                           (uint64_t)a->rc, UINT32_MAX, UINT32_MAX};
                return 0;
        }
        wait_ms(timeout_ms);
        return NVML_TIMEOUT;
}

/* The functions themselves: their arguments, and those of the function of the shape. */
#define PASS_VOID
#define PASS_SYSTEM_TEXT , ret, size
#define PASS_SYSTEM_U32 , ret
#define PASS_BY_INDEX , index, ret
#define PASS_BY_TEXT , text, ret
#define PASS_TEXT , dev, ret, size
#define PASS_U32 , dev, ret
#define PASS_U64 , dev, ret
#define PASS_ARG_U32 , dev, kind, ret
#define PASS_U32_U32 , dev, ret, ret_second
#define PASS_PCI , dev, ret
#define PASS_UTILIZATION , dev, ret
#define PASS_MEMORY , dev, ret
#define PASS_MEMORY_V2 , dev, ret
#define PASS_BAR1 , dev, ret
#define PASS_ECC , dev, kind, counter, ret
#define PASS_REMAPPED , dev, ret_corrected, ret_uncorrected, ret_pending, ret_failed
#define PASS_RETIRED , dev, cause, count, ret
#define PASS_FIELDS , dev, n, values
#define PASS_PROCESSES , dev, count, ret
#define PASS_PROCESS_SAMPLES , dev, ret, count, since_us
#define PASS_PROCESS_SHARES , dev, ask
#define PASS_MIG_BY_INDEX , dev, index, ret
#define PASS_GPM_SUPPORT , dev, ret
#define PASS_GPM_ALLOC , ret
#define PASS_GPM_FREE , sample
#define PASS_GPM_SAMPLE , dev, sample
#define PASS_GPM_MIG_SAMPLE , dev, gi, sample
#define PASS_GPM_METRICS , get
#define PASS_EVENT_CREATE , ret
#define PASS_EVENT_FREE , set
#define PASS_EVENT_REGISTER , dev, types, set
#define PASS_EVENT_WAIT , set, ret, timeout_ms

#define NVML_SYMBOL(member, shape, name, older)                                                    \
        EXPORT int fake_##member NVML_ARGS_##shape __asm__(name);                                  \
        EXPORT int fake_##member NVML_ARGS_##shape                                                 \
        {                                                                                          \
                count_call(COUNTED_##member);                                                      \
                return call_##shape(name PASS_##shape);                                            \
        }
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
