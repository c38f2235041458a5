#include "read/drm/scan.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/drm/scan_table.h"
#include "read/numbered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define DENTS_SIZE 32768
/* The first frame does not wait longer than this for a machine with very many processes. */
#define FIRST_BUDGET_NS (80 * NS_PER_MS)
/*
 * A process without a GPU is looked through again after this long, as far as a scan's budget goes;
 * the others have their turn in the next. New ones are looked through at once, and as long as they
 * are young at every scan: programs open the GPU some time after they have started.
 */
#define RESCAN_NS (5 * NS_PER_S)
#define RESCAN_BUDGET_NS (10 * NS_PER_MS)
#define YOUNG_NS (30 * NS_PER_S)
/* A counter that stays below its highest value for that many scans has begun again. */
#define FALLS_MAX 3
#define NODE_FOLDER "/dev/dri/"
#define COMPUTE_NODE "/dev/kfd"

int drm_scan_init(struct drm_scan *s, const char *root, struct listing *listing)
{
        char path[4096];
        memset(s, 0, sizeof(*s));
        s->proc = -1;
        s->first_budget_ns = FIRST_BUDGET_NS;
        s->text = malloc(FDINFO_TEXT_MAX + DENTS_SIZE);
        if (!s->text)
                return -ENOMEM;
        snprintf(path, sizeof(path), "%s/proc", root);
        s->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        s->listing = listing ? listing_share(listing) : listing_open_root(root);
        return s->proc < 0 || !s->listing ? -errno : 0;
}

void drm_scan_finish(struct drm_scan *s)
{
        for (size_t i = 0; i < 2; i++) {
                scan_table_finish(&s->clients[i]);
                scan_table_finish(&s->processes[i]);
        }
        if (s->text)
                closep(&s->proc);
        listing_close(s->listing);
        listed_finish(&s->all);
        free(s->uses);
        free(s->text);
        memset(s, 0, sizeof(*s));
        s->proc = -1;
}

static enum scan_class class_of(const char *name)
{
        static const struct {
                const char *name;
                enum scan_class kind;
        } classes[] = {
            {"gfx", SCAN_RENDER}, {"compute", SCAN_RENDER}, {"render", SCAN_RENDER},
            {"rcs", SCAN_RENDER}, {"ccs", SCAN_RENDER},     {"gpu", SCAN_RENDER},
            {"enc", SCAN_ENCODE}, {"enc_1", SCAN_ENCODE},   {"dec", SCAN_DECODE},
            {"jpeg", SCAN_JPEG},
        };
        for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
                if (strcmp(classes[i].name, name) == 0)
                        return classes[i].kind;
        }
        return SCAN_OTHER;
}

/* The number of an engine's name; SCAN_ENGINE_NAMES_MAX when there are too many. */
static size_t intern_engine(struct drm_scan *s, const char *name)
{
        for (size_t i = 0; i < s->n_names; i++) {
                if (strcmp(s->names[i], name) == 0)
                        return i;
        }
        if (s->n_names == SCAN_ENGINE_NAMES_MAX)
                return SCAN_ENGINE_NAMES_MAX;
        snprintf(s->names[s->n_names], FDINFO_NAME_MAX, "%s", name);
        s->classes[s->n_names] = (uint8_t)class_of(name);
        return s->n_names++;
}

/* Nanoseconds where the driver has them; cycles need something to be compared with. */
static bool take_engine(struct drm_scan *s, const struct fdinfo_engine *from,
                        struct scan_engine *ret)
{
        size_t name = intern_engine(s, from->name);
        bool cycles = from->has_cycles && (from->has_total || from->max_hz > 0);
        if (name == SCAN_ENGINE_NAMES_MAX || (!from->has_ns && !cycles))
                return false;
        *ret = (struct scan_engine){.name = (uint8_t)name, .capacity = from->capacity};
        ret->busy = from->has_ns ? from->ns : from->cycles;
        if (!from->has_ns) {
                ret->has_total = from->has_total;
                ret->total = from->total_cycles;
                ret->max_hz = from->max_hz;
        }
        return true;
}

/* A counter may fall for a moment: the kernel asks to keep the larger value until it catches up. */
static void keep_larger(struct scan_engine *now, const struct scan_engine *before)
{
        if (now->busy >= before->busy)
                return;
        if (before->falls + 1 >= FALLS_MAX)
                return;
        now->busy = before->busy;
        now->falls = (uint8_t)(before->falls + 1);
}

/* The share of the time since the scan before in which the engines were busy. */
static struct value engine_share(const struct scan_engine *now, const struct scan_engine *before,
                                 int64_t elapsed_ns)
{
        double passed = (double)elapsed_ns;
        if (now->has_total)
                passed = (double)counter_growth(now->total, before->total);
        else if (now->max_hz > 0)
                passed = (double)elapsed_ns * (double)now->max_hz / 1e9;
        struct value v = counter_rate(now->busy, before->busy, passed);
        v.v /= now->capacity;
        return v;
}

static const struct scan_engine *same_engine(const struct scan_client *c, uint8_t name)
{
        for (size_t i = 0; c && i < c->n; i++) {
                if (c->engines[i].name == name)
                        return &c->engines[i];
        }
        return NULL;
}

/* Adds what each engine did to shares, by engine name. False when a counter was reset: what it did
 * is not known, and adds nothing. */
static bool account_client(const struct drm_scan *s, struct scan_client *c,
                           const struct scan_client *before, double shares[SCAN_ENGINE_NAMES_MAX])
{
        bool known = true;
        for (size_t i = 0; i < c->n; i++) {
                struct scan_engine *e = &c->engines[i];
                const struct scan_engine *old = same_engine(before, e->name);
                if (!old)
                        continue;
                keep_larger(e, old);
                struct value v = engine_share(e, old, s->now_ns - s->before_ns);
                shares[e->name] += value_or(v, 0);
                known &= v.state != STATE_ERROR;
        }
        return known;
}

static struct scan_use *use_of(struct drm_scan *s, uint32_t pid, uint16_t gpu)
{
        /* A process' uses stand together at the end. */
        for (size_t i = s->n_uses; i > 0 && s->uses[i - 1].pid == pid; i--) {
                if (s->uses[i - 1].gpu == gpu)
                        return &s->uses[i - 1];
        }
        if (s->n_uses == SCAN_CLIENTS_MAX || !LIST_ROOM(s->uses, s->n_uses, s->uses_cap))
                return NULL;
        struct scan_use *u = &s->uses[s->n_uses++];
        *u = (struct scan_use){
            .pid = pid, .gpu = gpu, .state = s->before_ns > 0 ? STATE_OK : STATE_BLANK};
        s->devices[gpu].processes++;
        return u;
}

/* One process' work of this scan, gathered per GPU and engine before it becomes utilization. */
struct gather {
        struct drm_scan *s;
        const struct scan_gpu *gpus;
        uint32_t pid;
        bool holds_gpu;
        bool computes;
        bool denied;
        bool failed;
        int64_t spent_ns; /* on processes that were looked through before */
        int64_t first_ns; /* on the others */
};

static double largest_share(const double shares[SCAN_ENGINE_NAMES_MAX], size_t n)
{
        double most = 0;
        for (size_t i = 0; i < n; i++)
                most = MAX(most, shares[i]);
        return MIN(most, 1.0);
}

/* Likewise among the engines of one class. */
static double class_share(const struct drm_scan *s, const double shares[SCAN_ENGINE_NAMES_MAX],
                          enum scan_class class)
{
        double most = 0;
        for (size_t i = 0; i < s->n_names; i++)
                most = s->classes[i] == class ? MAX(most, shares[i]) : most;
        return MIN(most, 1.0);
}

/* A client seen before in this scan is a shared or duplicated descriptor. */
static void take_client(struct gather *g, size_t gpu, const struct fdinfo *f)
{
        struct drm_scan *s = g->s;
        struct scan_table *now = &s->clients[s->round & 1];
        struct scan_use *use = use_of(s, g->pid, (uint16_t)gpu);
        if (!use || (f->has_client && scan_find_client(now, (uint16_t)gpu, f->client)))
                return;
        struct scan_client c = {.gpu = (uint16_t)gpu, .pid = g->pid, .id = f->client};
        for (size_t i = 0; i < f->n_engines; i++)
                c.n += take_engine(s, &f->engines[i], &c.engines[c.n]);
        const struct scan_client *before =
            f->has_client ? scan_find_client(&s->clients[~s->round & 1], c.gpu, c.id) : NULL;
        double shares[SCAN_ENGINE_NAMES_MAX] = {0};
        if (!account_client(s, &c, before, shares))
                use->state = STATE_ERROR;
        for (size_t i = 0; i < s->n_names; i++)
                s->shares[gpu][i] += shares[i];
        struct scan_device *d = &s->devices[gpu];
        for (size_t i = 0; i < c.n; i++)
                d->has[s->classes[c.engines[i].name]] = true;
        use->util = MIN(use->util + largest_share(shares, s->n_names), 1.0);
        use->encode = MIN(use->encode + class_share(s, shares, SCAN_ENCODE), 1.0);
        use->decode = MIN(use->decode + class_share(s, shares, SCAN_DECODE), 1.0);
        use->clients++;
        use->device_bytes += fdinfo_device_bytes(f);
        use->host_bytes += fdinfo_host_bytes(f);
        d->clients++;
        d->device_bytes += fdinfo_device_bytes(f);
        d->host_bytes += fdinfo_host_bytes(f);
        if (f->has_client && !scan_add_client(now, &c))
                g->failed = true;
}

/* The GPU a client belongs to; n when it is not one of our own. */
static size_t gpu_of(const struct gather *g, const char *node, const char *pdev)
{
        size_t n = g->s->n_gpus;
        for (size_t i = 0; i < n; i++) {
                const struct scan_gpu *gpu = &g->gpus[i];
                if (pdev ? pdev[0] && strcmp(gpu->pdev, pdev) == 0
                         : strcmp(gpu->render, node) == 0 || strcmp(gpu->card, node) == 0)
                        return i;
        }
        return n;
}

static void rename_video(struct fdinfo *f)
{
        for (size_t i = 0; i < f->n_engines; i++) {
                if (strcmp(f->engines[i].name, "enc") == 0)
                        snprintf(f->engines[i].name, FDINFO_NAME_MAX, "vcn");
        }
}

static void read_descriptor(struct gather *g, const char *fd, const char *node)
{
        struct drm_scan *s = g->s;
        char path[64];
        struct fdinfo f;
        size_t gpu = gpu_of(g, node, NULL);
        if (gpu < s->n_gpus && g->gpus[gpu].asleep) {
                g->holds_gpu = true;
                return;
        }
        snprintf(path, sizeof(path), "%u/fdinfo/%.20s", g->pid, fd);
        CLEANUP(closep) int file = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = file < 0 ? -1 : read(file, s->text, FDINFO_TEXT_MAX);
        if (n <= 0 || !fdinfo_parse(s->text, (size_t)n, &f))
                return;
        if (f.pdev[0])
                gpu = gpu_of(g, node, f.pdev);
        if (gpu == s->n_gpus)
                return;
        g->holds_gpu = true;
        if (g->gpus[gpu].one_video)
                rename_video(&f);
        take_client(g, gpu, &f);
}

/* Only what points below /dev/dri is opened: others' fdinfo can be slow, and reports us nothing. */
static void read_link_of_fd(struct gather *g, int folder, const char *fd)
{
        char target[64];
        ssize_t n = readlinkat(folder, fd, target, sizeof(target) - 1);
        size_t prefix = sizeof(NODE_FOLDER) - 1;
        target[MAX(n, (ssize_t)0)] = '\0';
        g->computes = g->computes || strcmp(target, COMPUTE_NODE) == 0;
        if (n <= (ssize_t)prefix || memcmp(target, NODE_FOLDER, prefix) != 0)
                return;
        read_descriptor(g, fd, target + prefix);
}

struct fd_visit {
        struct gather *gather;
        int folder;
};

static void visit_fd(void *arg, const struct numbered *entry)
{
        const struct fd_visit *v = arg;
        read_link_of_fd(v->gather, v->folder, entry->name);
}

static void read_folders(struct gather *g)
{
        struct drm_scan *s = g->s;
        char path[32];
        snprintf(path, sizeof(path), "%u/fd", g->pid);
        CLEANUP(closep) int folder = openat(s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct fd_visit v = {g, folder};
        s->visited++;
        int r = folder < 0
                    ? -errno
                    : numbered_each(folder, s->text + FDINFO_TEXT_MAX, DENTS_SIZE, visit_fd, &v);
        g->denied = r == -EACCES || r == -EPERM;
        /* A process' uses stand together at the end. */
        for (size_t i = s->n_uses; i > 0 && s->uses[i - 1].pid == g->pid; i--) {
                s->uses[i - 1].computes = g->computes;
                s->devices[s->uses[i - 1].gpu].computes |= g->computes;
        }
}

/* p is NULL for a new process. */
static bool is_due(const struct gather *g, const struct scan_visit *p)
{
        int64_t now = g->s->now_ns;
        if (!p || p->unseen)
                return g->first_ns < g->s->first_budget_ns;
        if (p->holds_gpu || (p->born_ns > 0 && now - p->born_ns < YOUNG_NS))
                return true;
        return now - p->checked_ns >= RESCAN_NS && g->spent_ns < RESCAN_BUDGET_NS;
}

/* Looks through a process and notes what that cost; processes with a GPU are on no budget. */
static void visit_now(struct gather *g, struct scan_visit *p, const struct scan_visit *old)
{
        int64_t start = clock_mono_ns();
        g->pid = p->pid;
        g->holds_gpu = g->computes = false;
        read_folders(g);
        p->holds_gpu = g->holds_gpu;
        p->denied = g->denied;
        int64_t spent = clock_mono_ns() - start;
        if (!old || old->unseen)
                g->first_ns += spent;
        else if (!old->holds_gpu)
                g->spent_ns += spent;
}

static void visit_process(struct gather *g, const struct listed *entry)
{
        struct drm_scan *s = g->s;
        uint32_t pid = (uint32_t)entry->pid;
        struct scan_visit p = {.pid = pid, .inode = entry->inode, .checked_ns = s->now_ns};
        const struct scan_visit *old = scan_find_process(&s->processes[~s->round & 1], pid);
        if (old && old->inode != p.inode)
                old = NULL; /* a pid that was used again has another inode */
        p.born_ns = old ? old->born_ns : s->before_ns > 0 ? s->now_ns : 0;
        if (!is_due(g, old)) {
                p.checked_ns = old ? old->checked_ns : 0;
                p.denied = old && old->denied;
                p.unseen = !old || old->unseen;
        } else {
                visit_now(g, &p, old);
        }
        s->unseen += p.unseen;
        s->denied += p.denied;
        if (!scan_add_process(&s->processes[s->round & 1], &p))
                g->failed = true;
}

static void finish_device(const struct drm_scan *s, const double shares[SCAN_ENGINE_NAMES_MAX],
                          struct scan_device *d)
{
        d->has_util = s->before_ns > 0 && s->whole_before && s->unseen == 0;
        d->busiest = largest_share(shares, s->n_names);
        for (size_t i = 0; i < s->n_names; i++) {
                double *util = &d->util[s->classes[i]];
                *util = MIN(MAX(*util, shares[i]), 1.0);
        }
}

int drm_scan_run(struct drm_scan *s, const struct scan_gpu *gpus, size_t n, int64_t now_ns)
{
        struct gather g = {.s = s, .gpus = gpus};
        s->n_gpus = MIN(n, (size_t)SCAN_GPUS_MAX);
        memset(s->shares, 0, s->n_gpus * sizeof(s->shares[0]));
        memset(s->devices, 0, s->n_gpus * sizeof(s->devices[0]));
        s->before_ns = s->now_ns;
        s->now_ns = now_ns;
        s->round++;
        s->whole_before = s->unseen == 0;
        s->n_uses = s->unseen = s->denied = s->visited = 0;
        scan_table_clear(&s->clients[s->round & 1]);
        scan_table_clear(&s->processes[s->round & 1]);
        if (!s->listing)
                return 0;
        if (listing_take(s->listing, &s->all) < 0)
                s->all.n = 0;
        for (size_t i = 0; i < s->all.n; i++)
                visit_process(&g, &s->all.list[i]);
        for (size_t i = 0; i < s->n_gpus; i++)
                finish_device(s, s->shares[i], &s->devices[i]);
        return g.failed ? -ENOMEM : 0;
}
