/* What the loads work with; for the files of this folder only. */
#pragma once

#include "selftest/loads.h"

#define LOADS_BLOCK_BYTES ((size_t)1 << 30) /* of a, b and c each: many times the caches */

/* Numbers of cuBLAS' header. */
enum { R_32F = 0, R_64F = 1, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77 };
#define GEMM_DEFAULT (-1)

struct loads {
        const struct cuda_api *cuda;
        const struct blas_api *blas;
        int device;
        void *context, *stream, *handle, *host;
        cuda_pointer a, b, c;
};

/* 0, or -EIO with CUDA's own words. */
int loads_check(const struct loads *l, int code, const char *what, struct err *err);
