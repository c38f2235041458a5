/*
 * CUDA's driver and its BLAS, loaded when a self-test is asked for. Declared here as the driver
 * API's documents have them: nothing of CUDA is needed to build.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cuda_pointer;
struct cuda_uuid {
        unsigned char bytes[16];
};

/* CUDA_FUNCTION(name, symbol, parameters): all return 0 when they succeed. */
#define CUDA_FUNCTIONS(CUDA_FUNCTION)                                                              \
        CUDA_FUNCTION(init, "cuInit", (unsigned flags))                                            \
        CUDA_FUNCTION(count, "cuDeviceGetCount", (int *ret))                                       \
        CUDA_FUNCTION(device, "cuDeviceGet", (int *ret, int ordinal))                              \
        CUDA_FUNCTION(uuid, "cuDeviceGetUuid_v2", (struct cuda_uuid * ret, int device))            \
        CUDA_FUNCTION(retain, "cuDevicePrimaryCtxRetain", (void **ret, int device))                \
        CUDA_FUNCTION(release, "cuDevicePrimaryCtxRelease_v2", (int device))                       \
        CUDA_FUNCTION(use, "cuCtxSetCurrent", (void *context))                                     \
        CUDA_FUNCTION(alloc, "cuMemAlloc_v2", (cuda_pointer * ret, size_t bytes))                  \
        CUDA_FUNCTION(free, "cuMemFree_v2", (cuda_pointer at))                                     \
        CUDA_FUNCTION(alloc_host, "cuMemAllocHost_v2", (void **ret, size_t bytes))                 \
        CUDA_FUNCTION(free_host, "cuMemFreeHost", (void *at))                                      \
        CUDA_FUNCTION(copy, "cuMemcpyDtoDAsync_v2",                                                \
                      (cuda_pointer to, cuda_pointer from, size_t bytes, void *stream))            \
        CUDA_FUNCTION(to_device, "cuMemcpyHtoDAsync_v2",                                           \
                      (cuda_pointer to, const void *from, size_t bytes, void *stream))             \
        CUDA_FUNCTION(to_host, "cuMemcpyDtoHAsync_v2",                                             \
                      (void *to, cuda_pointer from, size_t bytes, void *stream))                   \
        CUDA_FUNCTION(stream, "cuStreamCreate", (void **ret, unsigned flags))                      \
        CUDA_FUNCTION(free_stream, "cuStreamDestroy_v2", (void *stream))                           \
        CUDA_FUNCTION(wait, "cuStreamSynchronize", (void *stream))                                 \
        CUDA_FUNCTION(words, "cuGetErrorString", (int code, const char **ret))

/* BLAS_FUNCTION(name, symbol, parameters) */
#define BLAS_FUNCTIONS(BLAS_FUNCTION)                                                              \
        BLAS_FUNCTION(create, "cublasCreate_v2", (void **ret))                                     \
        BLAS_FUNCTION(destroy, "cublasDestroy_v2", (void *handle))                                 \
        BLAS_FUNCTION(set_stream, "cublasSetStream_v2", (void *handle, void *stream))              \
        BLAS_FUNCTION(gemm, "cublasGemmEx",                                                        \
                      (void *handle, int transa, int transb, int m, int n, int k,                  \
                       const void *alpha, cuda_pointer a, int a_type, int lda, cuda_pointer b,     \
                       int b_type, int ldb, const void *beta, cuda_pointer c, int c_type, int ldc, \
                       int compute, int algorithm))

struct cuda_api {
#define CUDA_FUNCTION(name, symbol, parameters) int(*name) parameters;
        CUDA_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

struct blas_api {
#define BLAS_FUNCTION(name, symbol, parameters) int(*name) parameters;
        BLAS_FUNCTIONS(BLAS_FUNCTION)
#undef BLAS_FUNCTION
};

/* Loads the driver's library and initialises it. 0, or ERR_NO_SOURCE with what to do. */
int cuda_load(const char *library, struct cuda_api *ret, struct err *err);
/*
 * Loads cuBLAS: the file that was given, else one that the loader finds, else one in CUDA's folder
 * or among the packages of the python3 on the path. 0, or ERR_NO_SOURCE.
 */
int blas_load(const char *library, const char *path, struct blas_api *ret, struct err *err);
