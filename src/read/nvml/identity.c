/* Who a GPU or a slice of one is: facts that are read once. */
#include "read/nvml/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static char *identity_text(struct nvml_row *row, enum nvml_text which)
{
        return row->text[which];
}

static void read_text(int(*call) NVML_ARGS_TEXT, nvml_device dev, char *to)
{
        char answer[NVML_TEXT_MAX] = "";
        if (call && call(dev, answer, sizeof(answer)) == 0)
                snprintf(to, ENTITY_TEXT_MAX, "%.*s", ENTITY_TEXT_MAX - 1, answer);
}

/* The driver writes the PCI domain with eight digits; everybody else, the file system too, with
 * four where they are enough. */
static void put_pci(const char *bus_id, char *to)
{
        bool long_zero = strlen(bus_id) > 12 && strncmp(bus_id, "0000", 4) == 0;
        snprintf(to, ENTITY_TEXT_MAX, "%.31s", bus_id + (long_zero ? 4 : 0));
}

/* The node whose cores are near the GPU, as the kernel knows it; NVML reports only on parts whose
 * own memory is a node. */
static bool put_numa(const char *root, const char *pci, char *to)
{
        char path[512];
        int node = -1;
        snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/numa_node", root, pci);
        for (char *c = path + strlen(root); *c; c++)
                *c = (char)tolower((unsigned char)*c);
        FILE *f = pci[0] ? fopen(path, "re") : NULL;
        bool found = f && fscanf(f, "%d", &node) == 1 && node >= 0;
        if (f)
                fclose(f);
        if (found)
                snprintf(to, ENTITY_TEXT_MAX, "%d", node);
        return found;
}

static void identify_gpu(struct nvml_device *d, struct nvml_row *row)
{
        const struct nvml_lib *lib = &d->env->lib;
        struct nvml_pci pci = {0};
        unsigned number;
        read_text(lib->serial, d->handle, identity_text(row, NVML_TEXT_SERIAL));
        read_text(lib->vbios, d->handle, identity_text(row, NVML_TEXT_VBIOS));
        if (NVML_CALL(lib, pci_info, d->handle, &pci) == 0)
                put_pci(pci.bus_id, identity_text(row, NVML_TEXT_PCI));
        if (NVML_CALL(lib, minor_number, d->handle, &number) == 0)
                snprintf(identity_text(row, NVML_TEXT_DEVICE), ENTITY_TEXT_MAX, "nvidia%u", number);
        if (!put_numa(d->env->root, identity_text(row, NVML_TEXT_PCI),
                      identity_text(row, NVML_TEXT_NUMA)) &&
            NVML_CALL(lib, numa_node, d->handle, &number) == 0)
                snprintf(identity_text(row, NVML_TEXT_NUMA), ENTITY_TEXT_MAX, "%u", number);
}

/* A slice is called "NVIDIA H100 80GB HBM3 MIG 1g.10gb". */
static void split_profile(struct nvml_row *row)
{
        char *name = identity_text(row, NVML_TEXT_NAME), *mig = strstr(name, " MIG ");
        if (!mig)
                return;
        snprintf(identity_text(row, NVML_TEXT_MIG_PROFILE), ENTITY_TEXT_MAX, "%s", mig + 5);
        *mig = '\0';
}

void nvml_identify(struct nvml_device *d, size_t i)
{
        struct nvml_row *row = &d->row[i];
        const struct nvml_lib *lib = &d->env->lib;
        read_text(lib->name, d->origin[i].handle, identity_text(row, NVML_TEXT_NAME));
        read_text(lib->uuid, d->origin[i].handle, identity_text(row, NVML_TEXT_UUID));
        snprintf(identity_text(row, NVML_TEXT_DRIVER), ENTITY_TEXT_MAX, "%s", d->env->driver);
        snprintf(identity_text(row, NVML_TEXT_HOST), ENTITY_TEXT_MAX, "%s", d->env->host);
        if (i == 0) {
                identify_gpu(d, row);
                return;
        }
        split_profile(row);
        snprintf(identity_text(row, NVML_TEXT_PCI), ENTITY_TEXT_MAX, "%s",
                 d->row[0].text[NVML_TEXT_PCI]);
        snprintf(identity_text(row, NVML_TEXT_DEVICE), ENTITY_TEXT_MAX, "%s",
                 d->row[0].text[NVML_TEXT_DEVICE]);
}
