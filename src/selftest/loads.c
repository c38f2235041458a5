#include "base/clock.h"
#include "selftest/loads_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES ((size_t)256 << 20)
#define AT_ONCE 8      /* enough that the GPU never waits for us */
#define SIDE 8192      /* of the matrices */
#define SIDE_FP64 4096 /* a product takes as long */

static const struct load_info infos[LOAD_COUNT] = {
#define LOAD(id, words, unit, metric, blas) {words, unit, METRIC_##metric, blas},
    LOADS(LOAD)
#undef LOAD
};

const struct load_info *load_info(enum load load)
{
        return &infos[load];
}

int loads_check(const struct loads *l, int code, const char *what, struct err *err)
{
        const char *words = NULL;
        if (code == 0)
                return 0;
        (void)l->cuda->words(code, &words);
        return err_set(err, -EIO, "%s failed: %s", what, words ? words : "unknown error");
}

static bool same_uuid(const struct cuda_uuid *u, const char *text)
{
        char hex[33];
        for (size_t i = 0; i < 16; i++)
                snprintf(hex + 2 * i, 3, "%02x", u->bytes[i]);
        size_t n = 0;
        if (strncmp(text, "GPU-", 4) != 0)
                return false;
        for (const char *s = text + 4; *s; s++) {
                if (*s == '-')
                        continue;
                if (n == 32 || strncasecmp(s, hex + n, 1) != 0)
                        return false;
                n++;
        }
        return n == 32;
}

static int find_device(struct loads *l, const char *uuid, struct err *err)
{
        int n = 0;
        int r = loads_check(l, l->cuda->count(&n), "counting CUDA devices", err);
        for (int i = 0; r == 0 && i < n; i++) {
                struct cuda_uuid u;
                int device;
                if (l->cuda->device(&device, i) != 0 || l->cuda->uuid(&u, device) != 0)
                        continue;
                if (!same_uuid(&u, uuid))
                        continue;
                l->device = device;
                return 0;
        }
        if (r < 0)
                return r;
        err_set(err, ERR_NO_SOURCE, "CUDA does not show the GPU %s", uuid);
        return err_hint(err, "check CUDA_VISIBLE_DEVICES; slices of a GPU have no self-test");
}

/* Random bf16 numbers between -2 and 2, which are also numbers as fp32 and fp64. */
static void loads_fill(uint16_t *at, size_t n)
{
        uint32_t x = 2463534242u;
        for (size_t i = 0; i < n; i++) {
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                at[i] = (uint16_t)(0x3f00u | (x & 0x80ffu));
        }
}

static int fill_device(struct loads *l, cuda_pointer to, struct err *err)
{
        int r = 0;
        for (size_t at = 0; r == 0 && at < LOADS_BLOCK_BYTES; at += HOST_BYTES)
                r = loads_check(l, l->cuda->to_device(to + at, l->host, HOST_BYTES, l->stream),
                                "copying to the GPU", err);
        return r;
}

static int loads_prepare(struct loads *l, struct err *err)
{
        const struct cuda_api *cuda = l->cuda;
        int r = loads_check(l, cuda->stream(&l->stream, 1), "making a CUDA stream", err);
        if (r == 0)
                r = loads_check(l, cuda->alloc_host(&l->host, HOST_BYTES), "pinning memory", err);
        cuda_pointer *all[] = {&l->a, &l->b, &l->c};
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(all); i++)
                r = loads_check(l, cuda->alloc(all[i], LOADS_BLOCK_BYTES), "taking GPU memory",
                                err);
        if (r < 0)
                return r;
        loads_fill(l->host, HOST_BYTES / 2);
        r = fill_device(l, l->a, err);
        if (r == 0)
                r = fill_device(l, l->b, err);
        if (r == 0)
                r = loads_check(l, cuda->wait(l->stream), "copying to the GPU", err);
        if (r == 0 && l->blas && l->blas->create(&l->handle) != 0)
                l->handle = NULL;
        if (l->handle)
                (void)l->blas->set_stream(l->handle, l->stream);
        return r;
}

int loads_open(const struct cuda_api *cuda, const struct blas_api *blas, const char *uuid,
               struct loads **ret, struct err *err)
{
        struct loads *l = calloc(1, sizeof(*l));
        if (!l)
                return err_set(err, -ENOMEM, "out of memory");
        l->cuda = cuda;
        l->blas = blas;
        l->device = -1;
        int r = find_device(l, uuid, err);
        if (r == 0)
                r = loads_check(l, cuda->retain(&l->context, l->device), "opening the GPU", err);
        if (r == 0)
                r = loads_attach(l, err);
        if (r == 0)
                r = loads_prepare(l, err);
        if (r < 0) {
                loads_close(l);
                return r;
        }
        *ret = l;
        return 0;
}

int loads_attach(struct loads *l, struct err *err)
{
        return loads_check(l, l->cuda->use(l->context), "opening the GPU", err);
}

void loads_close(struct loads *l)
{
        if (!l)
                return;
        const struct cuda_api *cuda = l->cuda;
        if (l->handle)
                (void)l->blas->destroy(l->handle);
        cuda_pointer all[] = {l->a, l->b, l->c};
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                if (all[i])
                        (void)cuda->free(all[i]);
        }
        if (l->host)
                (void)cuda->free_host(l->host);
        if (l->stream)
                (void)cuda->free_stream(l->stream);
        if (l->context)
                (void)cuda->release(l->device);
        free(l);
}

static int run_gemm(struct loads *l, int side, int type, int compute)
{
        static const float one = 1, zero = 0;
        static const double one64 = 1, zero64 = 0;
        bool wide = type == R_64F;
        const void *alpha = wide ? (const void *)&one64 : &one;
        const void *beta = wide ? (const void *)&zero64 : &zero;
        return l->blas->gemm(l->handle, 0, 0, side, side, side, alpha, l->a, type, side, l->b, type,
                             side, beta, l->c, type, side, compute, GEMM_DEFAULT);
}

/* Starts the load once more. 0, or an error of CUDA or its BLAS. */
static int start_once(struct loads *l, enum load load)
{
        switch (load) {
        case LOAD_COPY:
                return l->cuda->copy(l->b, l->a, LOADS_BLOCK_BYTES, l->stream);
        case LOAD_TO_DEVICE:
                return l->cuda->to_device(l->b, l->host, HOST_BYTES, l->stream);
        case LOAD_TO_HOST:
                return l->cuda->to_host(l->host, l->a, HOST_BYTES, l->stream);
        case LOAD_GEMM_BF16:
                return run_gemm(l, SIDE, R_16BF, COMPUTE_32F);
        case LOAD_GEMM_TF32:
                return run_gemm(l, SIDE, R_32F, COMPUTE_TF32);
        case LOAD_GEMM_FP32:
                return run_gemm(l, SIDE, R_32F, COMPUTE_32F);
        case LOAD_GEMM_FP64:
                return run_gemm(l, SIDE_FP64, R_64F, COMPUTE_64F);
        case LOAD_COUNT:
                break;
        }
        return -1;
}

/* Does it until then. times may be NULL. */
static int repeat_load(struct loads *l, enum load load, int64_t until_ns, double *times,
                       struct err *err)
{
        const char *words = infos[load].words;
        int r = 0;
        while (r == 0 && clock_mono_ns() < until_ns) {
                for (int i = 0; r == 0 && i < AT_ONCE; i++)
                        r = loads_check(l, start_once(l, load), words, err);
                if (r == 0)
                        r = loads_check(l, l->cuda->wait(l->stream), words, err);
                if (times)
                        *times += AT_ONCE;
        }
        return r;
}

/* What one time does: bytes moved, or floating-point operations. */
static double amount_of_work(enum load load)
{
        double side = load == LOAD_GEMM_FP64 ? SIDE_FP64 : SIDE;
        if (load == LOAD_COPY)
                return 2.0 * LOADS_BLOCK_BYTES;
        if (load == LOAD_TO_DEVICE || load == LOAD_TO_HOST)
                return HOST_BYTES;
        return 2 * side * side * side;
}

int loads_run(struct loads *l, enum load load, int64_t settle_ns, int64_t ns,
              _Atomic int64_t *begun_ns, double *ret_per_s, struct err *err)
{
        double times = 0;
        if (infos[load].blas && !l->handle)
                return err_set(err, ERR_NO_SOURCE, "%s: there is no cuBLAS", infos[load].words);
        int r = repeat_load(l, load, clock_mono_ns() + settle_ns, NULL, err);
        int64_t begun = clock_mono_ns();
        *begun_ns = begun;
        if (r == 0)
                r = repeat_load(l, load, begun + ns, &times, err);
        if (r == 0)
                *ret_per_s =
                    times * amount_of_work(load) / clock_to_seconds(clock_mono_ns() - begun);
        return r;
}
