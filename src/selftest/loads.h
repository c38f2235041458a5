/* The loads of a self-test: each does one thing for a while and counts what it did. */
#pragma once

#include "model/metric.h"
#include "selftest/cuda.h"

#include <stdbool.h>

/* LOAD(id, words, unit of what it counts, counter that shows it, needs a BLAS) */
#define LOADS(LOAD)                                                                                \
        LOAD(COPY, "copy in GPU memory", "GB/s", DRAM_ACTIVE, false)                               \
        LOAD(TO_DEVICE, "copy to the GPU", "GB/s", PCIE_RX, false)                                 \
        LOAD(TO_HOST, "copy from the GPU", "GB/s", PCIE_TX, false)                                 \
        LOAD(GEMM_BF16, "BF16 matrix product", "TFLOP/s", TENSOR_ACTIVE, true)                     \
        LOAD(GEMM_TF32, "TF32 matrix product", "TFLOP/s", TENSOR_ACTIVE, true)                     \
        LOAD(GEMM_FP32, "FP32 matrix product", "TFLOP/s", FP32_ACTIVE, true)                       \
        LOAD(GEMM_FP64, "FP64 matrix product", "TFLOP/s", TENSOR_ACTIVE, true)

enum load {
#define LOAD(id, words, unit, metric, blas) LOAD_##id,
        LOADS(LOAD)
#undef LOAD
            LOAD_COUNT
};

struct load_info {
        const char *words, *unit;
        enum metric metric;
        bool blas;
};

const struct load_info *load_info(enum load load);

/* What the loads work with: a GPU's context, its memory, pinned memory. */
struct loads;

/* On the GPU of this UUID ("GPU-…"). blas may be NULL. 0, or a negative code with err. */
int loads_open(const struct cuda_api *cuda, const struct blas_api *blas, const char *uuid,
               struct loads **ret, struct err *err);
void loads_close(struct loads *l);
/* Makes the context current in this thread, which is the one that runs loads from now on. */
int loads_attach(struct loads *l, struct err *err);
/*
 * Does it for a moment, until clocks and counters have settled, then for so long, and gives bytes
 * or floating-point operations a second of that time. *begun_ns is when it began, by the monotonic
 * clock.
 */
int loads_run(struct loads *l, enum load load, int64_t settle_ns, int64_t ns,
              _Atomic int64_t *begun_ns, double *ret_per_s, struct err *err);

/*
 * STEP(id, words, needs a BLAS): work that is waited for step by step, as a server waits for each
 * token and a training for each optimizer step: what a reader of counters may slow down.
 */
#define STEPS(STEP)                                                                                \
        STEP(DECODE, "decode-like", false)                                                         \
        STEP(TRAIN, "training-like", true)

enum load_step {
#define STEP(id, words, blas) STEP_##id,
        STEPS(STEP)
#undef STEP
            STEP_COUNT
};

struct load_step_info {
        const char *words;
        bool blas;
};

const struct load_step_info *load_step_info(enum load_step step);
/* Whether the libraries that the step needs are present. */
bool loads_can_step(const struct loads *l, enum load_step step);
/* Does one step and waits for its end. */
int loads_step(struct loads *l, enum load_step step, struct err *err);
