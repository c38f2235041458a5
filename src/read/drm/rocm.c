#include "read/drm/rocm.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/symbol.h"
#include "life/worker.h"
#include "read/drm/rocm_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_PATIENCE_NS (100 * NS_PER_MS)
#define DEVICES_MAX 1024
#define LINKS_MAX 6

struct rocm_lib {
#define RSMI(member, name, arguments) int(*member) arguments;
        RSMI_FUNCTIONS(RSMI)
#undef RSMI
};

/* The thread's view of a GPU. */
struct target {
        struct rocm_gpu gpu;
        uint32_t device; /* the library's number */
        bool found;
        enum state counting; /* STATE_OK when there are counters, or why there are none */
        size_t n_links;
        rsmi_counter links[LINKS_MAX];
};

struct rocm {
        struct crew crew;
        bool asked; /* under the lock */
        char *path;
        struct rocm_lib lib;
        size_t n;
        struct target *targets;     /* the worker's */
        struct rocm_values *values; /* under the lock */
};

static void free_rocm(struct crew *crew)
{
        struct rocm *r = (struct rocm *)crew;
        free(r->path);
        free(r->targets);
        free(r->values);
        free(r);
}

/* It stays loaded: other parts of ROCm may have come with it. */
static bool load_rocm(struct rocm_lib *lib, const char *path)
{
        static const char *const usual[] = {"librocm_smi64.so.1", "librocm_smi64.so.7",
                                            "librocm_smi64.so", "/opt/rocm/lib/librocm_smi64.so"};
        void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        for (size_t i = 0; !path && !handle && i < ARRAY_LEN(usual); i++)
                handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle)
                return false;
#define RSMI(member, name, arguments) symbol_find(handle, name, &lib->member);
        RSMI_FUNCTIONS(RSMI)
#undef RSMI
        return lib->init && lib->shut_down && lib->count && lib->pci;
}

static enum state state_of(int status)
{
        switch (status) {
        case RSMI_SUCCESS:
                return STATE_OK;
        case RSMI_NOT_SUPPORTED:
        case RSMI_INVALID_ARGS:
                return STATE_UNSUPPORTED;
        case RSMI_PERMISSION:
                return STATE_DENIED;
        case RSMI_BUSY:
                return STATE_BLANK;
        default:
                return STATE_ERROR;
        }
}

static bool place_of(const char *pci, uint64_t *ret)
{
        unsigned domain, bus, device, function;
        if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
                return false;
        *ret = (uint64_t)domain << 32 | bus << 8 | device << 3 | function;
        return true;
}

/* The library has a device a partition: the first one at the GPU's place is the GPU. */
static void find_device(const struct rocm_lib *lib, struct target *t)
{
        uint32_t n = 0;
        uint64_t own, place;
        if (!place_of(t->gpu.pci, &own) || lib->count(&n) != RSMI_SUCCESS)
                return;
        for (uint32_t i = 0; !t->found && i < MIN(n, (uint32_t)DEVICES_MAX); i++) {
                t->device = i;
                t->found = lib->pci(i, &place) == RSMI_SUCCESS && (place & RSMI_PCI_MASK) == own;
        }
}

static int add_link(const struct rocm_lib *lib, struct target *t, uint32_t event)
{
        rsmi_counter counter = 0;
        int rc = lib->counter_create(t->device, event, &counter);
        if (rc != RSMI_SUCCESS)
                return rc;
        rc = lib->counter_control(counter, RSMI_COUNTER_START, NULL);
        if (rc == RSMI_SUCCESS)
                t->links[t->n_links++] = counter;
        else if (lib->counter_destroy)
                lib->counter_destroy(counter);
        return rc;
}

/* Newer GPUs count each of six links, Vega 20 two. A GPU may have fewer links than there are
 * events. */
static enum state start_links(const struct rocm_lib *lib, struct target *t)
{
        static const uint32_t two[] = {RSMI_XGMI_0_BEATS_TX, RSMI_XGMI_1_BEATS_TX};
        if (!lib->counter_create || !lib->counter_control || !lib->counter_read ||
            !lib->group_supported)
                return STATE_UNSUPPORTED;
        bool six = lib->group_supported(t->device, RSMI_GROUP_XGMI_DATA_OUT) == RSMI_SUCCESS;
        if (!six && lib->group_supported(t->device, RSMI_GROUP_XGMI) != RSMI_SUCCESS)
                return STATE_UNSUPPORTED;
        int first = RSMI_SUCCESS;
        for (uint32_t i = 0; i < (six ? LINKS_MAX : ARRAY_LEN(two)); i++) {
                int rc = add_link(lib, t, six ? RSMI_XGMI_DATA_OUT_0 + i : two[i]);
                first = i == 0 ? rc : first;
        }
        return t->n_links > 0 ? STATE_OK : state_of(first);
}

static struct value read_links(const struct rocm_lib *lib, const struct target *t)
{
        double beats = 0;
        if (t->counting != STATE_OK)
                return value_missing(t->counting);
        for (size_t i = 0; i < t->n_links; i++) {
                struct rsmi_counter_value v = {0};
                int rc = lib->counter_read(t->links[i], &v);
                if (rc != RSMI_SUCCESS)
                        return value_missing(state_of(rc));
                bool shared = v.time_running > 0 && v.time_running < v.time_enabled;
                beats += (double)v.value *
                         (shared ? (double)v.time_enabled / (double)v.time_running : 1);
        }
        return value_ok(beats * RSMI_BEAT_BYTES);
}

static void read_partition(int (*get)(uint32_t, char *, uint32_t), const struct target *t,
                           char *ret)
{
        char text[ROCM_PARTITION_MAX] = "";
        if (get && get(t->device, text, sizeof(text)) == RSMI_SUCCESS)
                snprintf(ret, ROCM_PARTITION_MAX, "%.15s", text);
}

static void rocm_prepare(const struct rocm_lib *lib, struct target *t, struct rocm_values *ret)
{
        *ret = (struct rocm_values){0};
        find_device(lib, t);
        if (t->found && t->gpu.partitions) {
                read_partition(lib->compute_partition, t, ret->compute);
                read_partition(lib->memory_partition, t, ret->memory);
        }
        t->counting = t->found && t->gpu.links ? start_links(lib, t) : STATE_UNSUPPORTED;
        ret->sent = value_missing(t->counting);
}

static bool wait_for_question(struct rocm *r)
{
        crew_lock(&r->crew);
        while (!r->crew.stop && !r->asked)
                crew_wait(&r->crew, INT64_MAX);
        r->asked = false;
        bool go = !r->crew.stop;
        crew_unlock(&r->crew);
        return go;
}

static void publish_values(struct rocm *r, size_t i, const struct rocm_values *v)
{
        crew_lock(&r->crew);
        r->values[i] = *v;
        crew_unlock(&r->crew);
}

static void serve_request(struct rocm *r)
{
        struct rocm_values v;
        for (size_t i = 0; i < r->n; i++) {
                rocm_prepare(&r->lib, &r->targets[i], &v);
                publish_values(r, i, &v);
        }
        while (wait_for_question(r)) {
                for (size_t i = 0; i < r->n; i++) {
                        const struct target *t = &r->targets[i];
                        if (t->counting != STATE_OK)
                                continue;
                        rocm_get(r, i, &v);
                        v.sent = read_links(&r->lib, t);
                        v.mono_ns = clock_mono_ns();
                        publish_values(r, i, &v);
                }
        }
        for (size_t i = 0; i < r->n; i++) {
                for (size_t k = 0; r->lib.counter_destroy && k < r->targets[i].n_links; k++)
                        r->lib.counter_destroy(r->targets[i].links[k]);
        }
}

static void watch_links(void *arg)
{
        struct rocm *r = arg;
        if (load_rocm(&r->lib, r->path) && r->lib.init(0) == RSMI_SUCCESS) {
                serve_request(r);
                r->lib.shut_down();
        }
}

struct rocm *rocm_open(const char *path, const struct rocm_gpu *gpus, size_t n)
{
        struct rocm *r = calloc(1, sizeof(*r));
        if (!r)
                return NULL;
        crew_init(&r->crew, free_rocm);
        r->n = n;
        r->path = path ? strdup(path) : NULL;
        r->targets = calloc(n, sizeof(*r->targets));
        r->values = calloc(n, sizeof(*r->values));
        bool ready = (!path || r->path) && r->targets && r->values;
        for (size_t i = 0; ready && i < n; i++)
                r->targets[i].gpu = gpus[i];
        if (ready && crew_start(&r->crew, watch_links, r) == 0)
                return r;
        crew_leave(&r->crew, 0);
        return NULL;
}

void rocm_close(struct rocm *r)
{
        if (r)
                crew_leave(&r->crew, CLOSE_PATIENCE_NS);
}

void rocm_query(struct rocm *r)
{
        crew_lock(&r->crew);
        r->asked = true;
        crew_request_stop(&r->crew);
        crew_unlock(&r->crew);
}

void rocm_get(struct rocm *r, size_t i, struct rocm_values *ret)
{
        crew_lock(&r->crew);
        *ret = r->values[i];
        crew_unlock(&r->crew);
}
