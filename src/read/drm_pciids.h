/* Names of PCI devices, from the list that distributions ship as pci.ids. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pci_name {
        uint16_t vendor, device, subvendor, subdevice;
        char name[80]; /* filled in; empty when the list does not have it */
};

/* Fills the names of n devices in one pass over the first list found below root. */
void pciids_fill(const char *root, struct pci_name *names, size_t n);
