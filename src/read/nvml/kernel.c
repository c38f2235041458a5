#include "read/nvml/kernel.h"

#include "base/attr.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "/proc/driver/nvidia/gpus"
#define MODELS_MAX 8

struct models {
        char name[MODELS_MAX][64];
        size_t count[MODELS_MAX], n;
};

static DIR *open_folder(const char *root)
{
        char path[300];
        snprintf(path, sizeof(path), "%s" FOLDER, root);
        return opendir(path);
}

size_t nvml_kernel_count(const char *root)
{
        size_t n = 0;
        DIR *folder = open_folder(root);
        if (!folder)
                return 0;
        for (struct dirent *e; (e = readdir(folder));)
                n += e->d_name[0] != '.';
        closedir(folder);
        return n;
}

/* The line "Model: \t\t NVIDIA H200". */
static bool read_model(const char *root, const char *gpu, char *ret, size_t size)
{
        char path[600], line[128];
        bool found = false;
        snprintf(path, sizeof(path), "%s" FOLDER "/%s/information", root, gpu);
        FILE *f = fopen(path, "re");
        while (f && !found && fgets(line, sizeof(line), f)) {
                if (strncmp(line, "Model:", 6) != 0)
                        continue;
                const char *name = line + 6 + strspn(line + 6, " \t");
                snprintf(ret, size, "%.*s", (int)strcspn(name, "\n"), name);
                found = ret[0] != '\0';
        }
        if (f)
                fclose(f);
        return found;
}

static void add_model(struct models *m, const char *name)
{
        size_t i = 0;
        while (i < m->n && strcmp(m->name[i], name) != 0)
                i++;
        if (i == MODELS_MAX)
                return;
        if (i == m->n)
                snprintf(m->name[m->n++], sizeof(m->name[0]), "%s", name);
        m->count[i]++;
}

void nvml_kernel_names(const char *root, char *buf, size_t size)
{
        struct models models = {.n = 0};
        char name[64];
        size_t len = 0;
        DIR *folder = open_folder(root);
        buf[0] = '\0';
        if (!folder)
                return;
        for (struct dirent *e; (e = readdir(folder));) {
                if (e->d_name[0] != '.' && read_model(root, e->d_name, name, sizeof(name)))
                        add_model(&models, name);
        }
        closedir(folder);
        for (size_t i = 0; i < models.n && len < size; i++)
                len += (size_t)snprintf(buf + len, size - len, "%s%zu %s", i > 0 ? ", " : "",
                                        models.count[i], models.name[i]);
}
