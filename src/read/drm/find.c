/* Discovery: the GPUs below /sys/class/drm, and who they are. */
#include "base/attr.h"
#include "base/text.h"
#include "read/drm/gpu.h"
#include "read/drm/pciids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CLASS_BRIDGE 0x0604
#define CLASS_ACCELERATOR 0x1200
#define CLASS_NO_DISPLAY 0x0380

/* The last part of what a link points to; "" when there is no such link. */
static void link_name(int folder, const char *name, char *buf, size_t size)
{
        char target[512];
        ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
        target[MAX(n, (ssize_t)0)] = '\0';
        const char *slash = strrchr(target, '/');
        snprintf(buf, size, "%.31s", slash ? slash + 1 : target);
}

static bool is_node(const char *name, const char *prefix)
{
        size_t n = strlen(prefix), digits = strspn(name + MIN(n, strlen(name)), "0123456789");
        return strncmp(name, prefix, n) == 0 && digits > 0 && digits < 8 &&
               name[n + digits] == '\0';
}

static uint32_t hex_id(int folder, const char *name)
{
        struct raw v = drm_read_number(folder, name);
        return v.state == STATE_OK ? (uint32_t)v.num : 0;
}

static enum drm_kind kind_of(const char *driver)
{
        static const char *const names[] = {"amdgpu", "i915", "xe"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(driver, names[i]) == 0)
                        return (enum drm_kind)i;
        }
        return DRM_KIND_OTHER;
}

/*
 * Many boards carry a PCIe switch of their own, and the link to the GPU behind it says nothing
 * about the slot. The link that matters ends at the highest bridge of the same vendor below the
 * root port.
 */
static int open_link(const struct drm_gpu *gpu)
{
        char path[sizeof(gpu->path)];
        int best = drm_open_folder(AT_FDCWD, gpu->path);
        snprintf(path, sizeof(path), "%s", gpu->path);
        for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
                *slash = '\0';
                const char *name = strrchr(path, '/'), *above = NULL;
                for (const char *s = path; name && s < name; s++)
                        above = *s == '/' ? s : above;
                if (!above || strncmp(above, "/pci", 4) == 0)
                        break; /* the root port, or above it */
                CLEANUP(closep) int folder = drm_open_folder(AT_FDCWD, path);
                if (hex_id(folder, "vendor") != gpu->vendor ||
                    hex_id(folder, "class") >> 8 != CLASS_BRIDGE)
                        break;
                closep(&best);
                best = fcntl(folder, F_DUPFD_CLOEXEC, 0);
        }
        return best;
}

/* hwmon's channels are reported by their labels; a channel without one is the GPU's. */
static void find_temperatures(struct drm_gpu *gpu)
{
        for (unsigned i = 1; i <= 8; i++) {
                char name[32], label[32];
                snprintf(name, sizeof(name), "temp%u_input", i);
                if (faccessat(gpu->hwmon, name, F_OK, 0) != 0)
                        continue;
                snprintf(name, sizeof(name), "temp%u_label", i);
                if (drm_read_text(gpu->hwmon, name, label, sizeof(label)) < 0)
                        label[0] = '\0';
                if (strcmp(label, "junction") == 0)
                        gpu->temp_junction = (uint8_t)i;
                else if (strcmp(label, "mem") == 0 || strcmp(label, "vram") == 0)
                        gpu->temp_mem = (uint8_t)i;
                else if (!gpu->temp_gpu &&
                         (!label[0] || strcmp(label, "edge") == 0 || strcmp(label, "pkg") == 0))
                        gpu->temp_gpu = (uint8_t)i;
        }
        if (!gpu->temp_gpu)
                gpu->temp_gpu = gpu->temp_junction;
}

/* i915 has one for the card, "i915", and more for its tiles, "i915_gt0". */
static bool is_of_tile(int folder, const char *hwmon)
{
        char path[64], name[32];
        snprintf(path, sizeof(path), "%.31s/name", hwmon);
        return drm_read_text(folder, path, name, sizeof(name)) > 0 && strstr(name, "_gt");
}

/* The device's hwmon folder; the number in its name may be any. */
static int open_hwmon(int device)
{
        CLEANUP(closep) int folder = drm_open_folder(device, "hwmon");
        char first[32] = "";
        DIR *dir = folder < 0 ? NULL : fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
        for (const struct dirent *e; dir && (e = readdir(dir));) {
                if (is_node(e->d_name, "hwmon") && !is_of_tile(folder, e->d_name) &&
                    (!first[0] || strverscmp(e->d_name, first) < 0))
                        snprintf(first, sizeof(first), "%.31s", e->d_name);
        }
        if (dir)
                closedir(dir);
        return first[0] ? drm_open_folder(folder, first) : -1;
}

static int open_gt(const struct drm_gpu *gpu)
{
        if (gpu->kind == DRM_KIND_XE)
                return drm_open_folder(gpu->dir, "tile0/gt0");
        return gpu->kind == DRM_KIND_I915 ? drm_open_folder(gpu->card_dir, "gt/gt0") : -1;
}

static uint8_t count_tiles(const struct drm_gpu *gpu)
{
        char name[16];
        for (uint8_t n = 0;; n++) {
                snprintf(name, sizeof(name), "tile%u", n);
                if (n == UINT8_MAX || faccessat(gpu->dir, name, F_OK, 0) != 0)
                        return n;
        }
}

static void name_driver(struct drm_gpu *gpu, const char *driver)
{
        char version[24];
        snprintf(gpu->driver, sizeof(gpu->driver), "%.20s", driver);
        /* A module from outside the kernel has a version. */
        if (drm_read_text(gpu->dir, "driver/module/version", version, sizeof(version)) > 0)
                snprintf(gpu->driver, sizeof(gpu->driver), "%.20s %s", driver, version);
}

/* Opens what the driver has made. The device's own folder is open. */
static void open_folders(struct drm_gpu *gpu, const char *driver)
{
        char card[32];
        gpu->kind = kind_of(driver);
        name_driver(gpu, driver);
        snprintf(card, sizeof(card), "drm/%s", gpu->card);
        if (gpu->card[0])
                gpu->card_dir = drm_open_folder(gpu->dir, card);
        gpu->hwmon = open_hwmon(gpu->dir);
        gpu->link = open_link(gpu);
        gpu->gt = open_gt(gpu);
        gpu->tiles = gpu->kind == DRM_KIND_XE ? count_tiles(gpu) : 0;
        find_temperatures(gpu);
}

/* A driver that starts again may give other numbers to the nodes. */
static bool find_nodes(struct drm_gpu *gpu)
{
        int folder = drm_open_folder(gpu->dir, "drm");
        DIR *dir = folder < 0 ? NULL : fdopendir(folder);
        gpu->card[0] = gpu->render[0] = '\0';
        for (const struct dirent *e; dir && (e = readdir(dir));) {
                if (is_node(e->d_name, "card"))
                        snprintf(gpu->card, sizeof(gpu->card), "%.15s", e->d_name);
                else if (is_node(e->d_name, "renderD"))
                        snprintf(gpu->render, sizeof(gpu->render), "%.15s", e->d_name);
        }
        if (dir)
                closedir(dir);
        return gpu->render[0];
}

bool drm_reopen_gpu(struct drm_gpu *gpu)
{
        char driver[32];
        drm_forget_gpu(gpu);
        gpu->dir = drm_open_folder(AT_FDCWD, gpu->path);
        link_name(gpu->dir, "driver", driver, sizeof(driver));
        if (!driver[0] || hex_id(gpu->dir, "vendor") != gpu->vendor ||
            hex_id(gpu->dir, "device") != gpu->device || !find_nodes(gpu))
                return false;
        gpu->temp_gpu = gpu->temp_junction = gpu->temp_mem = 0;
        open_folders(gpu, driver);
        gpu->read_ns = gpu->slow_ns = 0;
        return true;
}

/* Where the search is. */
struct search {
        const char *root;
        int nodes; /* /dev/dri; -1 when there is none */
        struct drm_gpu *gpus;
        size_t max, n;
        struct drm_passed *passed;
};

static struct drm_gpu *gpu_at(struct search *s, const char *path)
{
        for (size_t i = 0; i < s->n; i++) {
                if (strcmp(s->gpus[i].path, path) == 0)
                        return &s->gpus[i];
        }
        if (s->n == s->max)
                return NULL;
        struct drm_gpu *gpu = &s->gpus[s->n++];
        *gpu = (struct drm_gpu){.dir = -1, .card_dir = -1, .hwmon = -1, .link = -1, .gt = -1};
        snprintf(gpu->path, sizeof(gpu->path), "%s", path);
        return gpu;
}

/* "card0" or "renderD128": both lead to the device they belong to. */
static void add_node(struct search *s, const char *name)
{
        char link[PATH_MAX], path[PATH_MAX];
        bool card = is_node(name, "card");
        if (!card && !is_node(name, "renderD"))
                return;
        snprintf(link, sizeof(link), "%s/sys/class/drm/%s/device", s->root, name);
        if (!realpath(link, path) || strlen(path) >= sizeof(s->gpus->path))
                return;
        struct drm_gpu *gpu = gpu_at(s, path);
        if (gpu)
                snprintf(card ? gpu->card : gpu->render, sizeof(gpu->card), "%.15s", name);
}

/* A container may have the node of one partition, and not the GPU's. */
static bool is_reachable(const struct search *s, const struct drm_gpu *gpu)
{
        return s->nodes < 0 || faccessat(s->nodes, gpu->render, F_OK, 0) == 0 ||
               (gpu->card[0] && faccessat(s->nodes, gpu->card, F_OK, 0) == 0) ||
               drm_has_partition_node(s->root, gpu, s->nodes);
}

/* Fills in a GPU of which path and nodes are known. False when it is not one to show. */
static bool complete_gpu(struct search *s, struct drm_gpu *gpu)
{
        char driver[32];
        gpu->dir = drm_open_folder(AT_FDCWD, gpu->path);
        link_name(gpu->dir, "driver", driver, sizeof(driver));
        /* Partitions of an AMD GPU have nodes of their own; their values are in the GPU's. */
        bool partition = strncmp(strrchr(gpu->path, '/') + 1, "amdgpu_xcp", 10) == 0;
        bool nvidia = strcmp(driver, "nvidia") == 0, display = !gpu->render[0];
        s->passed->nvidia += nvidia;
        s->passed->display += display && !nvidia;
        if (partition || nvidia || display || !driver[0])
                return false;
        snprintf(gpu->pci, sizeof(gpu->pci), "%.23s", strrchr(gpu->path, '/') + 1);
        if (!is_reachable(s, gpu)) {
                s->passed->unreachable++;
                return false;
        }
        gpu->vendor = (uint16_t)hex_id(gpu->dir, "vendor");
        gpu->device = (uint16_t)hex_id(gpu->dir, "device");
        gpu->revision = (uint8_t)hex_id(gpu->dir, "revision");
        uint32_t class = hex_id(gpu->dir, "class") >> 8;
        gpu->accelerator = class == CLASS_ACCELERATOR || class == CLASS_NO_DISPLAY;
        /* -1: the machine does not say. */
        if (drm_read_text(gpu->dir, "numa_node", gpu->numa, sizeof(gpu->numa)) < 0 ||
            gpu->numa[0] == '-')
                gpu->numa[0] = '\0';
        open_folders(gpu, driver);
        if (gpu->kind == DRM_KIND_AMDGPU)
                drm_identify_amdgpu(gpu);
        return true;
}

static const char *maker_of(const struct drm_gpu *gpu)
{
        static const struct {
                uint16_t vendor;
                const char *name;
        } makers[] = {{0x1002, "AMD"}, {0x8086, "Intel"}, {0x10de, "NVIDIA"}};
        for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
                if (makers[i].vendor == gpu->vendor)
                        return makers[i].name;
        }
        return "";
}

/* Lists of names leave the maker out: one fleet may have GPUs of several. Without a list, as in
 * small containers, the PCI ids stand for the name. */
static void set_model(struct drm_gpu *gpu, const char *name)
{
        const char *maker = maker_of(gpu);
        bool reported = !maker[0] || strncmp(name, maker, strlen(maker)) == 0;
        if (name[0])
                snprintf(gpu->model, sizeof(gpu->model), "%s%s%.70s", reported ? "" : maker,
                         reported ? "" : " ", name);
        else if (maker[0])
                snprintf(gpu->model, sizeof(gpu->model), "%s 0x%04x", maker, gpu->device);
        else if (gpu->vendor)
                snprintf(gpu->model, sizeof(gpu->model), "PCI %04x:%04x", gpu->vendor, gpu->device);
        text_clean(gpu->model); /* a board's memory may hold anything */
}

static void name_models(const char *root, struct drm_gpu *gpus, size_t n)
{
        struct pci_name names[DRM_GPUS_MAX];
        for (size_t i = 0; i < n; i++) {
                names[i] = (struct pci_name){.vendor = gpus[i].vendor,
                                             .device = gpus[i].device,
                                             .revision = gpus[i].revision};
                snprintf(names[i].name, sizeof(names[i].name), "%s", gpus[i].model);
        }
        pciids_fill(root, names, n);
        for (size_t i = 0; i < n; i++)
                set_model(&gpus[i], names[i].name);
}

static int compare_gpus(const void *a, const void *b)
{
        const struct drm_gpu *x = a, *y = b;
        return strcmp(x->pci, y->pci);
}

bool drm_has_gpu(const char *root)
{
        char path[PATH_MAX], driver[32];
        bool found = false;
        snprintf(path, sizeof(path), "%s/sys/class/drm", root);
        CLEANUP(closep) int folder = drm_open_folder(AT_FDCWD, path);
        DIR *dir = folder < 0 ? NULL : fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
        for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
                if (!is_node(e->d_name, "renderD"))
                        continue;
                snprintf(path, sizeof(path), "%.31s/device/driver", e->d_name);
                link_name(folder, path, driver, sizeof(driver));
                found = kind_of(driver) != DRM_KIND_OTHER || strcmp(driver, "nouveau") == 0;
        }
        if (dir)
                closedir(dir);
        return found;
}

int drm_find_gpus(const char *root, struct drm_gpu *gpus, size_t max, size_t *ret_n,
                  struct drm_passed *ret_passed)
{
        char path[PATH_MAX];
        struct search s = {.root = root, .gpus = gpus, .max = max, .passed = ret_passed};
        *ret_passed = (struct drm_passed){0};
        snprintf(path, sizeof(path), "%s/dev/dri", root);
        CLEANUP(closep) int nodes = drm_open_folder(AT_FDCWD, path);
        s.nodes = nodes;
        snprintf(path, sizeof(path), "%s/sys/class/drm", root);
        CLEANUP(closep) int folder = drm_open_folder(AT_FDCWD, path);
        DIR *dir = folder < 0 ? NULL : fdopendir(fcntl(folder, F_DUPFD_CLOEXEC, 0));
        if (!dir)
                return -errno;
        for (const struct dirent *e; (e = readdir(dir));)
                add_node(&s, e->d_name);
        closedir(dir);
        size_t kept = 0;
        for (size_t i = 0; i < s.n; i++) {
                if (complete_gpu(&s, &gpus[i]))
                        gpus[kept++] = gpus[i];
                else
                        drm_forget_gpu(&gpus[i]);
        }
        qsort(gpus, kept, sizeof(*gpus), compare_gpus);
        name_models(root, gpus, kept);
        *ret_n = kept;
        return 0;
}

void drm_forget_gpu(struct drm_gpu *gpu)
{
        int *folders[] = {&gpu->dir, &gpu->card_dir, &gpu->hwmon, &gpu->link, &gpu->gt};
        for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
                closep(folders[i]);
                *folders[i] = -1;
        }
}
