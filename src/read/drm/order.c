/* The numbers that the vendors' own tools give to GPUs, for the variables that hide GPUs. */
#include "base/attr.h"
#include "read/drm/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NODES_MAX 1024

/* As struct drm_node has it. */
#define PLACE(domain, location) ((uint64_t)(domain) << 32 | ((uint64_t)(location)&0xffff))

static enum vendor vendor_of(enum drm_kind kind)
{
        switch (kind) {
        case DRM_KIND_AMDGPU:
                return VENDOR_AMD;
        case DRM_KIND_I915:
        case DRM_KIND_XE:
                return VENDOR_INTEL;
        case DRM_KIND_OTHER:
                break;
        }
        return VENDOR_UNKNOWN;
}

static bool place_of(const struct drm_gpu *gpu, uint64_t *ret)
{
        unsigned domain, bus, device, function;
        if (sscanf(gpu->pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
                return false;
        *ret = PLACE(domain, bus << 8 | device << 3 | function);
        return true;
}

/* "key value" lines; a CPU has no SIMD units. */
bool drm_parse_node(char *text, struct drm_node *ret)
{
        unsigned long long units = 0, domain = 0, location = 0, render = 0;
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                if (sscanf(line, "simd_count %llu", &units) == 1 ||
                    sscanf(line, "domain %llu", &domain) == 1 ||
                    sscanf(line, "drm_render_minor %llu", &render) == 1)
                        continue;
                sscanf(line, "location_id %llu", &location);
        }
        *ret = (struct drm_node){PLACE(domain & 0xffffffff, location), (unsigned)render};
        return units > 0;
}

/*
 * The GPUs among the nodes of /sys/class/kfd, in their order: that is how ROCm counts. A divided
 * GPU has a node a partition; a node that a container may not use does not count. How many there
 * are; 0 without the driver.
 */
static size_t list_nodes(const char *root, struct drm_node *nodes)
{
        char path[PATH_MAX], text[DRM_TEXT_MAX];
        size_t n = 0;
        snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root);
        CLEANUP(closep) int folder = drm_open_folder(AT_FDCWD, path);
        for (unsigned i = 0; folder >= 0 && i < NODES_MAX; i++) {
                snprintf(path, sizeof(path), "%u/properties", i);
                ssize_t len = drm_read_text(folder, path, text, sizeof(text));
                if (len == -ENOENT)
                        break; /* no more nodes */
                n += len > 0 && drm_parse_node(text, &nodes[n]);
        }
        return n;
}

bool drm_has_partition_node(const char *root, const struct drm_gpu *gpu, int folder)
{
        struct drm_node nodes[NODES_MAX];
        char name[32];
        uint64_t own;
        size_t n = place_of(gpu, &own) ? list_nodes(root, nodes) : 0;
        for (size_t i = 0; i < n; i++) {
                snprintf(name, sizeof(name), "renderD%u", nodes[i].render);
                if (nodes[i].place == own && faccessat(folder, name, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

/* By the compute driver's order; false when it does not have this GPU. */
static bool number_by_nodes(struct drm_gpu *gpu, const struct drm_node *nodes, size_t n)
{
        uint64_t own;
        if (gpu->brand != VENDOR_AMD || !place_of(gpu, &own))
                return false;
        gpu->ordinals = 0;
        for (size_t i = 0; i < n; i++) {
                if (nodes[i].place != own)
                        continue;
                if (gpu->ordinals++ == 0)
                        gpu->ordinal = (int32_t)i;
        }
        return gpu->ordinals > 0;
}

/* How many numbers its vendor's tools give to a GPU. */
static int32_t count_of(const struct drm_gpu *gpu, bool intel_cards)
{
        uint64_t partitions = 1;
        if (gpu->has_table)
                gm_get(&gpu->table, GM_PARTITIONS, &partitions);
        if (gpu->brand == VENDOR_INTEL && !intel_cards)
                partitions = gpu->tiles;
        return (int32_t)MIN(MAX(partitions, (uint64_t)1), (uint64_t)64);
}

void drm_number_gpus(const char *root, bool intel_cards, struct drm_gpu *gpus, size_t n)
{
        struct drm_node nodes[NODES_MAX];
        size_t n_nodes = list_nodes(root, nodes);
        int32_t used[VENDOR_COUNT] = {[VENDOR_AMD] = (int32_t)n_nodes};
        for (size_t i = 0; i < n; i++) {
                struct drm_gpu *gpu = &gpus[i];
                gpu->brand = vendor_of(gpu->kind);
                if (number_by_nodes(gpu, nodes, n_nodes))
                        continue;
                gpu->ordinal = used[gpu->brand];
                gpu->ordinals = count_of(gpu, intel_cards);
                used[gpu->brand] += gpu->ordinals;
        }
}
