/*
 * What GPUs can do at most, by model. FLOP/s = activity × SMs × FLOP per clock and SM × clock,
 * dense. A GPU that is not in peaks.def is unknown.
 */
#pragma once

#include "model/frame.h"

/* FLOPS_TYPE(id, name, tensor): types whose rate can be asked for; tensor: counted by that pipe. */
#define FLOPS_TYPES(FLOPS_TYPE)                                                                    \
        FLOPS_TYPE(FP8, "fp8", true)                                                               \
        FLOPS_TYPE(FP16, "fp16", true)                                                             \
        FLOPS_TYPE(BF16, "bf16", true)                                                             \
        FLOPS_TYPE(INT8, "int8", true)                                                             \
        FLOPS_TYPE(TF32, "tf32", true)                                                             \
        FLOPS_TYPE(FP64_TENSOR, "fp64-tensor", true)                                               \
        FLOPS_TYPE(FP32, "fp32", false)                                                            \
        FLOPS_TYPE(FP64, "fp64", false)

enum flops_type {
#define FLOPS_TYPE(id, name, tensor) FLOPS_##id,
        FLOPS_TYPES(FLOPS_TYPE)
#undef FLOPS_TYPE
            FLOPS_COUNT
};

struct peak {
        const char *model;
        double sms;
        double boost, tensor_clock;    /* Hz, of the data sheet */
        double per_clock[FLOPS_COUNT]; /* an SM; 0 where there is no such unit */
        double memory, nvlink;         /* bytes a second; NVLink in one direction */
        double pcie_gen;               /* of 16 lanes */
        double sheet_tensor;           /* FLOP/s */
};

/* The row of a GPU by the driver's name for it; NULL when it is not known. */
const struct peak *peak_find(const char *model);
/* The i-th row, NULL beyond the last. */
const struct peak *peak_at(size_t i);
/* FLOPS_COUNT when there is no such type. */
enum flops_type flops_find(const char *name);
const char *flops_name(enum flops_type type);

/* Whether a type is counted by the tensor pipe; false for FLOPS_COUNT, which is none. */
bool flops_tensor(enum flops_type type);
/* FLOP/s of the data sheet, dense; 0 when the GPU has no such unit. */
double peak_flops(const struct peak *peak, enum flops_type type);

struct flops {
        bool known;
        double lo, hi; /* FLOP/s; equal when the effective clock is known */
};

/* The same from means: activity of the type's pipe, NVML's clock in Hz, the least that the real
 * clock may be of it. */
struct flops flops_at(const struct peak *peak, enum flops_type type, double activity, double hz,
                      double least);
/* What NVML's clock stands for at least while the tensor pipe is busy and clocks are free. */
#define FLOPS_CLOCK_LEAST 0.9

/*
 * What a GPU computes, if all of it is of one type. effective_hz is the clock counted from elapsed
 * cycles, missing where the driver does not count them: then NVML's clock stands for 0.9 to 1.0 of
 * itself while the tensor pipe is busy and clocks are free.
 */
struct flops flops_of(const struct sample *s, enum flops_type type, struct value effective_hz);
