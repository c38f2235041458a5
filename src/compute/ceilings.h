/* From a sample and the host's evidence to shares of what the hardware can do. Pure, no I/O. */
#pragma once

#include "model/frame.h"
#include "model/host.h"
#include "model/limit.h"

struct peak;

/* What the GPU's own metrics report; a ceiling whose metric is missing is missing. peak: the row of
 * its model in peaks.def, NULL when it is not known. */
void ceilings_take(const struct sample *s, const struct peak *peak, struct ceilings *ret);
/* Adds what the host does for this GPU. evidence may be NULL: then nothing is added. */
void ceilings_add_host(const struct host_evidence *evidence, struct ceilings *c);
/*
 * What the host does for a GPU: its evidence. Recordings without evidence have levels and the
 * processes on the GPU; what follows from those is coarser: CPU time outside the holders is their
 * children's, the busiest thread is at most a core of a holder, I/O wait is the machine's.
 */
void evidence_take(const struct host *h, const char *label, const struct process_list *processes,
                   struct host_evidence *ret);
/* Whether processes would report more: evidence of some GPU is missing. */
bool evidence_needs_processes(const struct host *h);
/* FRAMEWORK_NONE also when nobody knows. */
enum framework evidence_framework(const struct host_evidence *evidence);

/* Links of GPUs whose captures do not report them: from 8 lanes of PCIe 3.0 to 16 of PCIe 5.0. */
#define PCIE_SLOWEST 7.88e9
#define PCIE_FASTEST 63e9
/* Bytes a second of a PCIe link in one direction; 0 for a generation that is not known. */
double pcie_bytes_per_s(double generation, double lanes);
/* The same of a GPU's link; as its model has it where the source does not report. 0: unknown. */
double link_speed(const struct sample *s, const struct peak *peak);
