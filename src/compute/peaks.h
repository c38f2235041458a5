/*
 * What GPUs can do at most, by model. FLOP/s = activity × SMs × FLOP per clock and SM × clock,
 * dense. A GPU that is not in peaks.def is unknown, and works by what it says of itself.
 */
#pragma once

#include "model/flops.h"
#include "model/frame.h"

/* Everywhere 0 where nobody says. */
struct peak {
        const char *model;
        const double *per_clock;    /* by enum flops_type, an SM */
        double sms;                 /* compute units and Xe cores likewise */
        double boost, tensor_clock; /* Hz, of the data sheet */
        double memory, nvlink;      /* bytes a second; NVLink in one direction */
        double pcie_gen, pcie_lanes;
        double power_limit;      /* W, as shipped */
        double rest_lo, rest_hi; /* W that cards showed while nothing ran, at whatever clocks */
        double sheet_tensor;     /* FLOP/s */
        const char *source;
};

/* The row of a GPU by the driver's name for it; NULL when it is not known. */
const struct peak *peak_find(const char *model);
/* The i-th row, NULL beyond the last. */
const struct peak *peak_at(size_t i);
/* What a link of that speed brings, of what device memory can move; 0 when either is unknown. */
double peak_link_traffic(const struct peak *peak, double link);
/* FLOP/s of the data sheet, dense; 0 when the GPU has no such unit. */
double peak_flops(const struct peak *peak, enum flops_type type);

/* Cycles a second in which a pipe of each SM worked. */
struct pipe_rate {
        bool known;
        double lo, hi;
};

/* From the pipe's activity and the clock: the one that cycles were counted for, else NVML's. */
void pipe_rates(const struct sample *s, struct pipe_rate ret[FLOPS_PIPE_COUNT]);
/* What such a rate of the type's pipe amounts to, if all of it is of the type. */
struct flops flops_from(const struct peak *peak, enum flops_type type, double lo, double hi);
/* The same of one tick; peak may be NULL. */
struct flops flops_of(const struct sample *s, const struct peak *peak, enum flops_type type);
/* The same for all types. */
void flops_take(const struct sample *s, const struct peak *peak, struct flops_rates *ret);

/*
 * The clock that cycles were counted for, from a count whose unit the driver's documents leave
 * open: cycles a second of one SM, or of all of them. It is taken only when one of the two lies
 * near NVML's clock and not above it; else it stays missing.
 */
struct value effective_clock(struct value cycles_per_s, struct value nvml_hz,
                             const struct peak *peak);
