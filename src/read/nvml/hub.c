#include "read/nvml/hub.h"

#include "base/clock.h"
#include "life/thread.h"
#include "read/nvml/kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_WINDOW_NS (250 * NS_PER_MS)
#define FIRST_EVENTS_NS (50 * NS_PER_MS) /* in time for the first beat */
#define EVENT_PERIOD_NS (500 * NS_PER_MS)
#define COUNT_PERIOD_NS (5 * NS_PER_S)
#define INIT_PATIENCE_NS (10 * NS_PER_S) /* drivers without persistence need seconds */
#define ATTACH_PATIENCE_NS (2 * NS_PER_S)
#define PARK_PATIENCE_NS (2 * NS_PER_S)
#define CLOSE_PATIENCE_NS (100 * NS_PER_MS)

/* Lock held. Sleeps until then, or until NVML restarts; false when it is time to stop. */
static bool sleep_until(struct nvml_hub *hub, int64_t ns)
{
        struct timespec ts = {ns / NS_PER_S, ns % NS_PER_S};
        while (!hub->crew.stop && !hub->park && clock_mono_ns() < ns)
                pthread_cond_timedwait(&hub->sleep, &hub->crew.lock, &ts);
        return !hub->crew.stop;
}

static void free_hub(struct crew *crew)
{
        struct nvml_hub *hub = (struct nvml_hub *)crew;
        for (size_t i = 0; i < hub->n; i++) {
                free(hub->slot[i]->process);
                free(hub->slot[i]);
        }
        pthread_cond_destroy(&hub->sleep);
        free(hub);
}

struct nvml_hub *nvml_hub_new(void)
{
        struct nvml_hub *hub = calloc(1, sizeof(*hub));
        if (!hub)
                return NULL;
        crew_init(&hub->crew, free_hub);
        life_init_wake(&hub->sleep);
        return hub;
}

int64_t nvml_hub_beat_ns(const struct nvml_hub *hub, uint64_t beat)
{
        if (nvml_hub_is_preview(hub, beat))
                return 0;
        return hub->start_ns + (int64_t)(beat - hub->preview) * hub->env.poll_ns;
}

uint64_t nvml_hub_beat_at(const struct nvml_hub *hub, int64_t now_ns)
{
        int64_t since = now_ns - hub->start_ns;
        return since >= 0 ? (uint64_t)(since / hub->env.poll_ns) + hub->preview : 0;
}

bool nvml_hub_complete(const struct nvml_hub *hub, uint64_t beat)
{
        for (size_t i = 0; i < hub->n; i++) {
                const struct nvml_slot *s = hub->slot[i];
                if (!s->hidden && !s->late && s->seq <= beat)
                        return false;
        }
        return true;
}

/* The first list is for any caller that looks once; later ones only for callers that continue. */
static void publish_processes(struct nvml_slot *s)
{
        if (!s->hub->watch_processes && s->processes_seq > 0)
                return;
        s->processes_seq = s->seq;
        if (s->device.processes.n == 0 && !s->process)
                return;
        if (!s->process)
                s->process = calloc(NVML_PROCESSES_MAX, sizeof(*s->process));
        if (!s->process)
                return;
        s->n_processes = s->device.lost ? 0 : s->device.processes.n;
        if (s->n_processes > 0)
                memcpy(s->process, s->device.processes.list, s->n_processes * sizeof(*s->process));
}

/* Lock held. Whether a thread waits for no other GPU. */
static bool publish_row(struct nvml_slot *s, uint64_t beat)
{
        struct nvml_device *d = &s->device;
        s->n = d->n;
        memcpy(s->row, d->row, d->n * sizeof(*d->row));
        s->at_ns = clock_mono_ns();
        s->wall_ns = clock_wall_ns();
        s->window_ns = nvml_device_window_ns(d);
        s->has_gpm = d->has_gpm;
        s->handle = d->lost ? NULL : d->handle;
        s->seq = beat + 1;
        publish_processes(s);
        d->counts_processes_closely = s->hub->watch_process_use;
        return nvml_hub_complete(s->hub, s->hub->awaited);
}

/* Lock held. Whether this GPU can be used at all. */
static bool settle_slot(struct nvml_slot *s, int rc)
{
        s->device.lost = rc != 0;
        s->hidden = rc != 0 && !nvml_is_lost(rc);
        s->has_gpm = s->device.has_gpm;
        s->handle = rc == 0 ? s->device.handle : NULL;
        s->attached = true;
        crew_request_stop(&s->hub->crew);
        return !s->hidden;
}

/* Values that are read between beats, as long as there is time; at least one, so that all get
 * their turn. */
static void read_between(struct nvml_device *d, int64_t until_ns)
{
        do {
                if (!nvml_device_slow(d))
                        return;
        } while (clock_mono_ns() < until_ns);
}

/* The beat to wait for now. A thread that fell behind leaves out what it missed, and one for which
 * it would be late. */
static uint64_t beat_after(const struct nvml_hub *hub, uint64_t beat)
{
        bool late;
        int64_t behind_ns = clock_mono_ns() - nvml_hub_beat_ns(hub, beat + 1);
        uint64_t skipped = clock_skipped(behind_ns, hub->env.poll_ns, &late);
        return beat + 1 + skipped + late;
}

/* Lock held. Lets go of the GPU while NVML restarts; false when it is time to stop. */
static bool release_gpu(struct nvml_slot *s)
{
        struct nvml_hub *hub = s->hub;
        crew_unlock(&hub->crew);
        nvml_device_detach(&s->device);
        crew_lock(&hub->crew);
        hub->parked++;
        s->handle = NULL;
        crew_request_stop(&hub->crew);
        while (hub->park && !hub->crew.stop)
                pthread_cond_wait(&hub->sleep, &hub->crew.lock);
        if (hub->crew.stop)
                return false;
        crew_unlock(&hub->crew);
        int rc = nvml_device_attach(&s->device, &hub->env, s->device.index);
        crew_lock(&hub->crew);
        s->device.lost = rc != 0;
        return true;
}

static void give_preview(struct nvml_slot *s)
{
        nvml_device_preview(&s->device);
        crew_lock(&s->hub->crew);
        bool complete = publish_row(s, 0);
        crew_unlock(&s->hub->crew);
        if (complete)
                crew_request_stop(&s->hub->crew);
}

static void keep_beats(struct nvml_slot *s)
{
        struct nvml_hub *hub = s->hub;
        struct nvml_device *d = &s->device;
        if (hub->preview)
                give_preview(s);
        read_between(d, INT64_MAX);
        crew_lock(&hub->crew);
        for (uint64_t beat = hub->preview;; beat = beat_after(hub, beat)) {
                int64_t due = nvml_hub_beat_ns(hub, beat), ready = nvml_device_ready_ns(d);
                if (!sleep_until(hub, ready > due ? ready : due) || (hub->park && !release_gpu(s)))
                        break;
                crew_unlock(&hub->crew);
                nvml_device_tick(d);
                crew_lock(&hub->crew);
                bool complete = publish_row(s, beat);
                crew_unlock(&hub->crew);
                if (complete) /* without the lock, or the woken thread would wait for it */
                        crew_request_stop(&hub->crew);
                read_between(d, nvml_hub_beat_ns(hub, beat + 1) - hub->env.poll_ns / 4);
                crew_lock(&hub->crew);
        }
        crew_unlock(&hub->crew);
}

static void watch_gpu(void *arg)
{
        struct nvml_slot *s = arg;
        struct nvml_hub *hub = s->hub;
        int rc = nvml_device_attach(&s->device, &hub->env, s->device.index);
        crew_lock(&hub->crew);
        bool usable = settle_slot(s, rc);
        crew_unlock(&hub->crew);
        if (usable)
                keep_beats(s);
        nvml_device_finish(&s->device);
        crew_lock(&hub->crew);
        if (--hub->workers == 0)
                pthread_cond_broadcast(&hub->sleep);
        crew_unlock(&hub->crew);
}

static bool start_gpu(struct nvml_hub *hub, struct nvml_slot *s)
{
        crew_lock(&hub->crew);
        hub->workers++;
        crew_unlock(&hub->crew);
        bool started = crew_start(&hub->crew, watch_gpu, s) == 0;
        crew_lock(&hub->crew);
        if (started)
                hub->slot[hub->n++] = s;
        else
                hub->workers--;
        crew_unlock(&hub->crew);
        return started;
}

/* The first thread's: nobody else adds any. */
static void add_gpus(struct nvml_hub *hub, unsigned count)
{
        while (hub->n < count && hub->n < NVML_GPUS_MAX) {
                struct nvml_slot *s = calloc(1, sizeof(*s));
                if (!s)
                        return;
                s->hub = hub;
                s->device.index = (uint32_t)hub->n;
                s->device.xids = &s->xids;
                atomic_store(&s->xids.state, STATE_BLANK);
                if (!start_gpu(hub, s)) {
                        free(s);
                        return;
                }
        }
}

static int start_nvml(struct nvml_hub *hub, struct err *err)
{
        struct nvml_env *env = &hub->env;
        unsigned count = 0;
        int r = nvml_lib_load(&env->lib, hub->lib_path, dlsym, err);
        if (r < 0)
                return r;
        int rc = env->lib.init ? env->lib.init() : NVML_FUNCTION_NOT_FOUND;
        if (rc != 0)
                return nvml_lib_refuse(rc, err);
        rc = NVML_CALL(&env->lib, device_count, &count);
        if (rc != 0 || count == 0) {
                if (env->lib.shutdown)
                        env->lib.shutdown();
                return nvml_lib_refuse(rc ? rc : NVML_GPU_NOT_FOUND, err);
        }
        NVML_CALL(&env->lib, driver_version, env->driver, sizeof(env->driver));
        crew_lock(&hub->crew);
        hub->start_ns = clock_mono_ns() +
                        (env->poll_ns < FIRST_WINDOW_NS
                             ? (env->poll_ns > NVML_GPM_FLOOR_NS ? env->poll_ns : NVML_GPM_FLOOR_NS)
                             : FIRST_WINDOW_NS);
        crew_unlock(&hub->crew);
        add_gpus(hub, count);
        return 0;
}

/*
 * NVML finds GPUs when it starts, so one that was added is seen after a restart only. It happens
 * while no call is under way; where one hangs it does not happen.
 */
static void restart_nvml(struct nvml_hub *hub, struct nvml_events *events)
{
        struct nvml_lib *lib = &hub->env.lib;
        int64_t until = clock_mono_ns() + PARK_PATIENCE_NS;
        crew_lock(&hub->crew);
        hub->parked = 0;
        hub->park = true;
        pthread_cond_broadcast(&hub->sleep);
        while (hub->parked < hub->workers && !hub->crew.stop && crew_wait(&hub->crew, until))
                ;
        bool quiet = hub->parked == hub->workers && !hub->crew.stop && lib->shutdown;
        crew_unlock(&hub->crew);
        if (quiet) {
                nvml_events_close(events);
                lib->shutdown();
                lib->init();
                nvml_events_open(events, lib);
        }
        crew_lock(&hub->crew);
        hub->park = false;
        pthread_cond_broadcast(&hub->sleep);
        crew_unlock(&hub->crew);
}

/* Registers GPUs that are new or came back. Calls into the driver without the lock. */
static void watch_events(struct nvml_hub *hub, struct nvml_events *events,
                         nvml_device known[NVML_GPUS_MAX])
{
        for (size_t i = 0; i < NVML_GPUS_MAX; i++) {
                crew_lock(&hub->crew);
                struct nvml_slot *s = i < hub->n ? hub->slot[i] : NULL;
                nvml_device handle = s ? s->handle : NULL;
                crew_unlock(&hub->crew);
                if (!s)
                        return;
                if (handle == known[i] || !handle)
                        continue;
                nvml_events_watch(events, handle, &s->xids);
                known[i] = handle;
        }
}

/* Whether GPUs were added, and how many NVML knows now. */
static unsigned find_new_gpus(struct nvml_hub *hub, struct nvml_events *events, size_t *in_kernel,
                              nvml_device known[NVML_GPUS_MAX])
{
        unsigned count = 0;
        size_t now = nvml_kernel_count(hub->env.root);
        if (now > *in_kernel) {
                restart_nvml(hub, events);
                memset(known, 0, NVML_GPUS_MAX * sizeof(*known));
        }
        *in_kernel = now;
        return NVML_CALL(&hub->env.lib, device_count, &count) == 0 ? count : 0;
}

static void manage_driver(struct nvml_hub *hub, struct nvml_events *events)
{
        nvml_device known[NVML_GPUS_MAX] = {0};
        size_t in_kernel = nvml_kernel_count(hub->env.root);
        int64_t counted_ns = clock_mono_ns(), period = FIRST_EVENTS_NS;
        crew_lock(&hub->crew);
        for (; sleep_until(hub, clock_mono_ns() + period); period = EVENT_PERIOD_NS) {
                unsigned count = 0;
                crew_unlock(&hub->crew);
                watch_events(hub, events, known);
                nvml_events_poll(events);
                if (clock_mono_ns() - counted_ns >= COUNT_PERIOD_NS) {
                        counted_ns = clock_mono_ns();
                        count = find_new_gpus(hub, events, &in_kernel, known);
                }
                if (count > hub->n)
                        add_gpus(hub, count);
                crew_lock(&hub->crew);
        }
        while (hub->workers > 0)
                pthread_cond_wait(&hub->sleep, &hub->crew.lock);
        crew_unlock(&hub->crew);
}

static void run_hub(void *arg)
{
        struct nvml_hub *hub = arg;
        struct err err = {0};
        struct nvml_events events;
        int r = start_nvml(hub, &err);
        crew_lock(&hub->crew);
        hub->err = err;
        hub->started = true;
        crew_request_stop(&hub->crew);
        crew_unlock(&hub->crew);
        if (r == 0) {
                nvml_events_open(&events, &hub->env.lib);
                manage_driver(hub, &events);
                nvml_events_close(&events);
                if (hub->env.lib.shutdown)
                        hub->env.lib.shutdown();
        }
}

static bool all_attached(const struct nvml_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                if (!hub->slot[i]->attached)
                        return false;
        }
        return true;
}

static size_t count_usable(const struct nvml_hub *hub)
{
        size_t n = 0;
        for (size_t i = 0; i < hub->n; i++)
                n += hub->slot[i]->attached && !hub->slot[i]->hidden;
        return n;
}

int nvml_hub_open(struct nvml_hub *hub, struct err *err)
{
        int r = crew_start(&hub->crew, run_hub, hub);
        if (r < 0)
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        crew_lock(&hub->crew);
        int64_t until = clock_mono_ns() + INIT_PATIENCE_NS;
        while (!hub->started && crew_wait(&hub->crew, until))
                ;
        if (!hub->started) {
                r = nvml_lib_refuse(NVML_TIMEOUT, err);
        } else if (hub->err.code != 0) {
                *err = hub->err;
                r = err->code;
        }
        until = clock_mono_ns() + ATTACH_PATIENCE_NS;
        while (r == 0 && !all_attached(hub) && crew_wait(&hub->crew, until))
                ;
        /* One that answers is enough to continue; one that hangs at once is as good as none. */
        if (r == 0 && all_attached(hub) && count_usable(hub) == 0)
                r = nvml_lib_refuse(NVML_NO_PERMISSION, err);
        else if (r == 0 && count_usable(hub) == 0)
                r = nvml_lib_refuse(NVML_TIMEOUT, err);
        crew_unlock(&hub->crew);
        return r;
}

void nvml_hub_close(struct nvml_hub *hub)
{
        crew_lock(&hub->crew);
        hub->crew.stop = true;
        pthread_cond_broadcast(&hub->sleep);
        crew_unlock(&hub->crew);
        crew_leave(&hub->crew, CLOSE_PATIENCE_NS);
}
