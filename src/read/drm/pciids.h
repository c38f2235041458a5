/* Names of GPUs, from the lists that distributions ship: libdrm's amdgpu.ids, and pci.ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pci_name {
        uint16_t vendor, device;
        uint8_t revision;
        char name[80]; /* filled in where it is empty and the lists have one */
};

/* Fills the names of n devices in one pass over each list found below root. */
void pciids_fill(const char *root, struct pci_name *names, size_t n);
