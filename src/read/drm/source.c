/* GPUs of any vendor through the kernel: sysfs for the device, fdinfo for what runs on it. */
#include "base/clock.h"
#include "formats/batcher.h"
#include "life/thread.h"
#include "read/drm/gpu.h"
#include "read/drm/scan.h"
#include "read/join/joined.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

/* Rates need two readings; the first tick comes this long after the source was opened. */
#define SETTLE_NS (100 * NS_PER_MS)
/* A GPU at rest may say a little more than 0. */
#define BUSY_PERCENT 5

struct source {
        struct drm_gpu gpus[DRM_GPUS_MAX];
        struct scan_gpu scanned[DRM_GPUS_MAX];
        int awake[DRM_GPUS_MAX]; /* 1 awake, 0 suspended, negative errno when it is gone */
        size_t n;
        struct drm_scan scan;
        struct rocm *rocm; /* NULL where it is not needed */
        struct batcher batcher;
        int64_t poll_ns;
        int64_t due_ns;  /* of the next tick */
        int64_t read_ns; /* of the last reading */
        uint64_t rows;
        unsigned nvidia; /* GPUs left to another source */
        int wake;        /* an eventfd that ends a wait */
};

static void drm_close(struct source *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < s->n; i++)
                drm_forget_gpu(&s->gpus[i]);
        rocm_close(s->rocm);
        drm_scan_finish(&s->scan);
        batcher_finish(&s->batcher);
        closep(&s->wake);
        free(s);
}

static int no_gpu(int error, const struct drm_passed *passed, struct err *err)
{
        if (passed->unreachable > 0) {
                err_set(err, ERR_NO_SOURCE,
                        "the kernel has %u GPU%s, but no node of any is in '/dev/dri'",
                        passed->unreachable, passed->unreachable == 1 ? "" : "s");
                return err_hint(err, "start the container with --device /dev/dri, and be in the "
                                     "groups that own the nodes (video, render)");
        }
        if (passed->nvidia > 0) {
                err_set(err, ERR_NO_SOURCE,
                        "drm: all GPUs here are NVIDIA's, whose driver gives the kernel no values");
                return err_hint(err, "use --backend nvml");
        }
        err_set(err, ERR_NO_SOURCE, "no AMD or Intel GPU: the kernel shows %s",
                error < 0 ? "no '/sys/class/drm'" : "none with a render node in '/sys/class/drm'");
        return err_hint(err,
                        "load the driver ('modprobe amdgpu', i915 or xe; dmesg tells why it does "
                        "not start); in a container, mount /sys and pass /dev/dri");
}

static int add_fields(struct source *s, struct err *err)
{
        batcher_init(&s->batcher, DIALECT_DRM);
        for (enum drm_field f = 0; f < DRM_FIELD_COUNT; f++) {
                const char *name = drm_field_name(f);
                if (batcher_add_field(&s->batcher, name, strlen(name)) < 0)
                        return err_set(err, -ENOMEM, "out of memory");
        }
        return 0;
}

/* Finds out who sleeps, without waking anybody, and looks through the processes. */
static int sample_all(struct source *s, int64_t now_ns)
{
        for (size_t i = 0; i < s->n; i++) {
                struct drm_gpu *gpu = &s->gpus[i];
                int suspended = drm_is_suspended(gpu);
                if (suspended < 0 && drm_reopen_gpu(gpu))
                        suspended = drm_is_suspended(gpu);
                s->awake[i] = suspended < 0 ? suspended : !suspended;
                s->scanned[i] = (struct scan_gpu){.pdev = gpu->pci,
                                                  .card = gpu->card,
                                                  .render = gpu->render,
                                                  .one_video = gpu->one_video,
                                                  .asleep = s->awake[i] != 1};
        }
        return drm_scan_run(&s->scan, s->scanned, s->n, now_ns);
}

static void put_text(struct raw *cell, const char *text)
{
        if (text[0])
                *cell =
                    (struct raw){.text = text, .len = (uint16_t)strlen(text), .state = STATE_OK};
}

static void put_identity(const struct drm_gpu *gpu, struct raw *cells)
{
        put_text(&cells[DRM_MODEL], gpu->model);
        put_text(&cells[DRM_UUID], gpu->uuid);
        put_text(&cells[DRM_PCI], gpu->pci);
        put_text(&cells[DRM_SERIAL], gpu->serial);
        put_text(&cells[DRM_DRIVER], gpu->driver);
        put_text(&cells[DRM_DEVICE], gpu->render);
        put_text(&cells[DRM_NUMA], gpu->numa);
        put_text(&cells[DRM_PARTITION], gpu->partition);
}

/* Shares of engines of a class, where a client of the GPU has such. */
static struct raw class_share(const struct scan_device *d, enum scan_class class)
{
        if (!d->has[class])
                return drm_missing(STATE_UNSUPPORTED);
        return d->has_util ? drm_raw(d->util[class]) : drm_missing(STATE_BLANK);
}

/* Why what the clients do is not known: not all processes were looked through yet, or nobody was
 * seen and somebody is hidden, which is not nobody. STATE_OK when it is known. */
static enum state why_unknown(const struct drm_scan *scan, const struct scan_device *d)
{
        if (scan->unseen > 0)
                return STATE_BLANK;
        return d->clients == 0 && scan->denied > 0 ? STATE_DENIED : STATE_OK;
}

static void put_clients(const struct source *s, size_t i, struct raw *cells)
{
        const struct scan_device *d = &s->scan.devices[i];
        enum state why = why_unknown(&s->scan, d);
        cells[DRM_PROCESSES] = why != STATE_OK ? drm_missing(why) : drm_raw(d->processes);
        cells[DRM_FDINFO_ENCODE] = class_share(d, SCAN_ENCODE);
        cells[DRM_FDINFO_DECODE] = class_share(d, SCAN_DECODE);
        cells[DRM_FDINFO_JPEG] = class_share(d, SCAN_JPEG);
        if (s->gpus[i].kind == DRM_KIND_AMDGPU)
                return; /* it has counters of its own */
        if (why != STATE_OK)
                cells[DRM_FDINFO_BUSY] = drm_missing(why);
        else
                cells[DRM_FDINFO_BUSY] =
                    d->has_util ? drm_raw(d->busiest) : drm_missing(STATE_BLANK);
        cells[DRM_FDINFO_RENDER] = class_share(d, SCAN_RENDER);
        if (d->device_bytes > 0)
                cells[DRM_FDINFO_VRAM] =
                    why == STATE_OK ? drm_raw((double)d->device_bytes) : drm_missing(why);
}

/*
 * Whether it is kept awake anyway: by work, which may be that of processes we cannot see, or by a
 * screen. A client that only holds it open, as desktops do with every GPU, lets it sleep.
 */
static bool in_use(const struct source *s, size_t i)
{
        const struct drm_gpu *gpu = &s->gpus[i];
        const struct scan_device *d = &s->scan.devices[i];
        struct raw busy = gpu->last[DRM_GPU_BUSY];
        if (busy.state == STATE_OK && busy.num >= BUSY_PERCENT)
                return true;
        if (d->clients == 0)
                return false;
        return !d->has_util || d->busiest > 0 || d->computes || drm_shows_pictures(gpu);
}

/* An unused GPU that may fall asleep is left alone so long that it can; its values grow old. */
static bool leave_alone(struct source *s, size_t i, int64_t now_ns)
{
        struct drm_gpu *gpu = &s->gpus[i];
        if (gpu->read_ns == 0 || in_use(s, i))
                return false;
        int64_t delay = drm_suspend_delay_ns(gpu);
        return delay > 0 && now_ns - gpu->read_ns < delay + NS_PER_S;
}

static void put_values(struct source *s, size_t i, int64_t now_ns, struct raw *cells)
{
        struct drm_gpu *gpu = &s->gpus[i];
        if (!leave_alone(s, i, now_ns)) {
                memset(gpu->last, 0, sizeof(gpu->last));
                drm_read_gpu(gpu, now_ns, gpu->last);
                gpu->read_ns = now_ns;
        }
        memcpy(cells, gpu->last, sizeof(gpu->last));
        uint32_t age_ms = (uint32_t)((now_ns - gpu->read_ns) / NS_PER_MS);
        for (size_t f = 0; age_ms > 0 && f < DRM_FIELD_COUNT; f++) {
                cells[f].age_ms += age_ms;
                if (cells[f].state == STATE_OK)
                        cells[f].state = STATE_STALE;
        }
}

/* Compute partitions have a busy share of their own; the rest is the whole GPU's. */
static int put_partitions(struct source *s, size_t i, const struct entity_key *whole)
{
        const struct drm_gpu *gpu = &s->gpus[i];
        uint64_t n;
        if (!gpu->has_table || !gm_get(&gpu->table, GM_PARTITIONS, &n) || n < 2)
                return 0;
        for (size_t p = 0; p < MIN(n, (uint64_t)GM_PARTITIONS_MAX); p++) {
                struct entity_key key = {.kind = ENTITY_GPU_INSTANCE,
                                         .index = whole->index,
                                         .gi = (int32_t)p,
                                         .ci = -1,
                                         .flat = -1,
                                         .vendor = gpu->brand,
                                         .ordinal = gpu->ordinal + (int32_t)p,
                                         .ordinals = 1};
                struct raw *cells = batcher_add(&s->batcher, &key);
                double busy;
                if (!cells)
                        return -ENOMEM;
                put_text(&cells[DRM_MODEL], gpu->model);
                put_text(&cells[DRM_PCI], gpu->pci);
                put_text(&cells[DRM_DRIVER], gpu->driver);
                put_text(&cells[DRM_PARTITION], gpu->partition);
                cells[DRM_SUSPENDED] = drm_raw(0);
                cells[DRM_PARTITION_BUSY] = gm_partition_busy(&gpu->table, p, &busy)
                                                ? drm_raw(busy)
                                                : drm_missing(STATE_UNSUPPORTED);
        }
        return 0;
}

static int put_gpu(struct source *s, size_t i, int64_t now_ns)
{
        const struct drm_gpu *gpu = &s->gpus[i];
        struct entity_key key = {.kind = ENTITY_GPU,
                                 .index = (int32_t)i,
                                 .gi = -1,
                                 .ci = -1,
                                 .flat = -1,
                                 .vendor = gpu->brand,
                                 .ordinal = gpu->ordinal,
                                 .ordinals = gpu->ordinals,
                                 .uuid = gpu->uuid,
                                 .uuid_len = strlen(gpu->uuid)};
        struct raw *cells = batcher_add(&s->batcher, &key);
        if (!cells)
                return -ENOMEM;
        if (s->awake[i] == 1) {
                put_values(s, i, now_ns, cells);
                drm_rocm_put(s->rocm, &s->gpus[i], now_ns, cells);
                put_clients(s, i, cells);
        }
        put_identity(gpu, cells);
        if (s->awake[i] >= 0)
                cells[DRM_SUSPENDED] = drm_raw(s->awake[i] == 0);
        else
                cells[DRM_LOST] = drm_raw(1);
        return s->awake[i] == 1 ? put_partitions(s, i, &key) : 0;
}

static int read_all(struct source *s, int64_t now_ns)
{
        int r = sample_all(s, now_ns);
        batcher_clear(&s->batcher);
        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = put_gpu(s, i, now_ns);
        drm_rocm_query(s->rocm, s->gpus, s->n);
        s->read_ns = now_ns;
        return r;
}

static int drm_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct drm_passed passed;
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->scan.proc = -1;
        s->poll_ns = config->poll_ns;
        s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = drm_find_gpus(config->root, s->gpus, DRM_GPUS_MAX, &s->n, &passed);
        s->nvidia = passed.nvidia;
        if (r < 0 || s->n == 0)
                r = no_gpu(r, &passed, err);
        else if (drm_scan_init(&s->scan, config->root, config->listing) == -ENOMEM)
                r = err_set(err, -ENOMEM, "out of memory");
        else
                r = add_fields(s, err);
        if (r == 0 && (r = read_all(s, clock_mono_ns())) < 0)
                err_set(err, r, "cannot read the GPUs: %s", strerror(-r));
        if (r < 0) {
                drm_close(s);
                return r;
        }
        drm_number_gpus(config->root, config->ze_composite, s->gpus, s->n);
        s->rocm = drm_rocm_open(config->root, config->rocm_lib, s->gpus, s->n);
        s->due_ns = s->read_ns + MIN(SETTLE_NS, s->poll_ns);
        *ret = s;
        return 0;
}

/* Waits for the beat. False when interrupted. Beats that passed unused are not made up for. */
static bool wait_for_beat(struct source *s)
{
        int64_t now;
        while ((now = clock_mono_ns()) < s->due_ns) {
                int64_t left = s->due_ns - now;
                struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
                struct pollfd p = {.fd = s->wake, .events = POLLIN};
                if (ppoll(&p, 1, &ts, NULL) > 0)
                        return false;
        }
        s->due_ns = clock_last_beat(s->due_ns, s->poll_ns, now) + s->poll_ns;
        return true;
}

static int drm_next(struct source *s, struct batch *ret, struct err *err)
{
        if (!wait_for_beat(s))
                return 0;
        int64_t before = s->read_ns, wall_ns = clock_wall_ns();
        int r = read_all(s, clock_mono_ns());
        if (r < 0)
                return err_set(err, r, "cannot read the GPUs: %s", strerror(-r));
        batcher_give(&s->batcher, ret);
        ret->wall_ns = wall_ns;
        ret->mono_ns = s->read_ns;
        ret->window_ns = s->read_ns - before;
        s->rows += ret->n;
        return 1;
}

static const char *drm_provenance(const struct source *s UNUSED)
{
        return "drm";
}

/* The first table that could not be understood, or what else is worth knowing. */
static void drm_trouble(const struct source *s, struct source_trouble *ret)
{
        bool by_clients = false;
        *ret = (struct source_trouble){.rows = s->rows};
        for (size_t i = 0; i < s->n; i++) {
                const struct drm_gpu *gpu = &s->gpus[i];
                by_clients |= gpu->kind != DRM_KIND_AMDGPU;
                if (gpu->table_result != GM_FINE && !ret->notice[0])
                        snprintf(ret->notice, sizeof(ret->notice),
                                 "%s: gpu_metrics cannot be used, %s; its values are missing",
                                 gpu->pci, gm_result_text(gpu->table_result));
        }
        if (!ret->notice[0] && by_clients && s->scan.denied > 0)
                snprintf(
                    ret->notice, sizeof(ret->notice),
                    "%u processes of other users cannot be looked into; their use of Intel GPUs is "
                    "not counted",
                    s->scan.denied);
}

static void drm_interrupt(struct source *s)
{
        life_wake(s->wake);
}

static struct value share_of(const struct scan_use *use, double share)
{
        return use->state == STATE_OK ? value_ok(share) : value_missing((enum state)use->state);
}

/* What a program of ROCm computes goes past the engines that the kernel times: 0 would be wrong. */
static struct value util_of(const struct drm_gpu *gpu, const struct scan_use *use)
{
        if (gpu->kind == DRM_KIND_AMDGPU && use->computes)
                return value_missing(STATE_UNSUPPORTED);
        return share_of(use, use->util);
}

/* On a GPU without memory of its own, the host's is what its processes use. */
static size_t drm_processes(struct source *s, struct process *ret, size_t max)
{
        size_t n = 0;
        for (size_t i = 0; i < s->scan.n_uses && n < max; i++) {
                const struct scan_use *use = &s->scan.uses[i];
                const struct scan_device *d = &s->scan.devices[use->gpu];
                bool own = s->gpus[use->gpu].kind == DRM_KIND_AMDGPU || d->device_bytes > 0;
                struct process *p = &ret[n++];
                *p = (struct process){.pid = (int32_t)use->pid,
                                      .on = {use->gpu, -1},
                                      .sm_util = util_of(&s->gpus[use->gpu], use)};
                p->gpu_memory = value_ok((double)(own ? use->device_bytes : use->host_bytes));
                if (d->has[SCAN_ENCODE])
                        p->enc_util = share_of(use, use->encode);
                if (d->has[SCAN_DECODE])
                        p->dec_util = share_of(use, use->decode);
        }
        return n;
}

const struct source_ops drm_reader = {
    .name = "drm",
    .help = "reads on the thread of whoever asks",
    .local = true,
    .open = drm_open,
    .next = drm_next,
    .provenance = drm_provenance,
    .trouble = drm_trouble,
    .processes = drm_processes,
    .interrupt = drm_interrupt,
    .close = drm_close,
};

/* A sensor may hang as long as its driver does, so all is read on a thread of its own. */
static int open_apart(const struct source_config *config, struct source **ret, struct err *err)
{
        return joined_open_one(&drm_reader, config, ret, err);
}

const struct source_ops source_drm = {
    .name = "drm",
    .help = "AMD, Intel and other GPUs, through the Linux kernel",
    .local = true,
    .open = open_apart,
    .next = joined_next,
    .provenance = joined_provenance,
    .trouble = joined_trouble,
    .processes = joined_processes,
    .interrupt = joined_interrupt,
    .close = joined_close,
};
