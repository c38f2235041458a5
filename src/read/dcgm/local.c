#include "read/dcgm/local.h"

#include "base/attr.h"
#include "base/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PATH_SIZE 4096

/* "Model:   NVIDIA H200" */
static bool take_value(const char *line, const char *name, char *ret)
{
        size_t n = strlen(name);
        if (strncmp(line, name, n) != 0)
                return false;
        line += n + strspn(line + n, " \t");
        snprintf(ret, ENTITY_TEXT_MAX, "%.*s",
                 (int)MIN(strcspn(line, "\n"), (size_t)ENTITY_TEXT_MAX - 1), line);
        return true;
}

static bool read_information(const char *path, struct local_gpu *ret)
{
        char line[256], minor[ENTITY_TEXT_MAX] = "";
        uint64_t number;
        FILE *f = fopen(path, "re");
        if (!f)
                return false;
        *ret = (struct local_gpu){.minor = -1};
        while (fgets(line, sizeof(line), f)) {
                if (!take_value(line, "Model:", ret->model) &&
                    !take_value(line, "GPU UUID:", ret->uuid) &&
                    !take_value(line, "Bus Location:", ret->pci))
                        take_value(line, "Device Minor:", minor);
        }
        fclose(f);
        if (num_parse_u64(minor, strlen(minor), &number) && number < 1024)
                ret->minor = (int32_t)number;
        if (strchr(ret->uuid, '?'))
                ret->uuid[0] = '\0'; /* "GPU-????????-…" until the GPU is first used */
        return true;
}

/* Only opening it shows: a device cgroup refuses what the permissions allow. */
static int try_device(const char *root, int32_t minor)
{
        char path[PATH_SIZE];
        snprintf(path, sizeof(path), "%s/dev/nvidia%d", root, minor);
        CLEANUP(closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? errno : 0;
}

static int compare_pci(const void *a, const void *b)
{
        const struct local_gpu *x = a, *y = b;
        return strcasecmp(x->pci, y->pci);
}

size_t local_gpus_list(const char *root, struct local_gpu *ret, size_t max)
{
        char folder[PATH_SIZE], path[PATH_SIZE + 300];
        size_t n = 0;
        snprintf(folder, sizeof(folder), "%s/proc/driver/nvidia/gpus", root);
        DIR *dir = opendir(folder);
        if (!dir)
                return 0;
        for (const struct dirent *e; n < max && (e = readdir(dir));) {
                if (e->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%s/%s/information", folder, e->d_name);
                if (!read_information(path, &ret[n]))
                        continue;
                if (ret[n].pci[0] == '\0')
                        snprintf(ret[n].pci, sizeof(ret[n].pci), "%.*s", ENTITY_TEXT_MAX - 1,
                                 e->d_name);
                ret[n].open_error = try_device(root, ret[n].minor);
                n++;
        }
        closedir(dir);
        qsort(ret, n, sizeof(*ret), compare_pci);
        return n;
}

/* "00000000:18:00.0" and "0000:18:00.0" are the same place. */
static bool same_pci(const char *a, const char *b)
{
        size_t an = strlen(a), bn = strlen(b), n = MIN(MIN(an, bn), (size_t)12);
        return n >= 7 && strcasecmp(a + an - n, b + bn - n) == 0;
}

static bool same_gpu(const struct dcgm_gpu *gpu, const struct local_gpu *local)
{
        if (gpu->uuid[0] && local->uuid[0])
                return strcmp(gpu->uuid, local->uuid) == 0;
        return same_pci(gpu->pci, local->pci);
}

void dcgm_number_locally(struct dcgm_inventory *inv, const char *root)
{
        struct local_gpu local[DCGM_GPUS_MAX];
        int32_t number[DCGM_GPUS_MAX], next = 0;
        size_t n = local_gpus_list(root, local, ARRAY_LEN(local));
        bool any = false;
        for (size_t i = 0; i < inv->n_gpus; i++)
                number[i] = -1;
        for (size_t k = 0; k < n; k++) {
                if (local[k].open_error != 0)
                        continue;
                for (size_t i = 0; i < inv->n_gpus; i++) {
                        if (same_gpu(&inv->gpus[i], &local[k])) {
                                number[i] = next;
                                any = true;
                        }
                }
                next++;
        }
        for (size_t i = 0; any && i < inv->n_gpus; i++)
                inv->gpus[i].local = number[i];
}

bool dcgm_host_is_local(const char *host)
{
        static const char *const local_hosts[] = {
            "localhost", "127.", "unix:", "[::1]", "::1", "/"};
        if (!host || !*host)
                return true;
        for (size_t i = 0; i < ARRAY_LEN(local_hosts); i++) {
                if (strncmp(host, local_hosts[i], strlen(local_hosts[i])) == 0)
                        return true;
        }
        return false;
}
