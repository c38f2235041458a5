/*
 * Steps of a server and of a training. Decoding is many products of large weights with few columns:
 * launches, and device memory at its limit. Training is few large products.
 */
#include "selftest/loads_state.h"

#define WEIGHT_SIDE 4096
#define WEIGHT_BYTES ((size_t)WEIGHT_SIDE * WEIGHT_SIDE * 2) /* bf16 */
#define LAYERS 128                                           /* products a token: some 4 GB */
#define BATCH 8
#define ACTIVATION_BYTES ((size_t)WEIGHT_SIDE * BATCH * 2)

#define TRAIN_SIDE 8192
#define TRAIN_PRODUCTS 6

static const struct load_step_info step_infos[STEP_COUNT] = {
#define STEP(id, words, blas) {words, blas},
    STEPS(STEP)
#undef STEP
};

const struct load_step_info *load_step_info(enum load_step step)
{
        return &step_infos[step];
}

bool loads_can_step(const struct loads *l, enum load_step step)
{
        return l->handle || !step_infos[step].blas;
}

static int run_multiply(struct loads *l, int m, int n, int k, cuda_pointer a, cuda_pointer b,
                        cuda_pointer c)
{
        static const float one = 1, zero = 0;
        return l->blas->gemm(l->handle, 0, 0, m, n, k, &one, a, R_16BF, m, b, R_16BF, k, &zero, c,
                             R_16BF, m, COMPUTE_32F, GEMM_DEFAULT);
}

/* The weights of a layer: those of all layers do not fit into any cache. */
static cuda_pointer layer_weights(const struct loads *l, size_t layer)
{
        size_t at = (layer / 2 * WEIGHT_BYTES) % LOADS_BLOCK_BYTES;
        return (layer % 2 ? l->b : l->a) + at;
}

/* Without a BLAS each layer is a copy of the same size: as many launches, the same memory. */
static int start_layer(struct loads *l, size_t layer)
{
        cuda_pointer in = l->c + layer % 2 * ACTIVATION_BYTES;
        cuda_pointer out = l->c + (layer + 1) % 2 * ACTIVATION_BYTES;
        if (!l->handle)
                return l->cuda->copy(l->c, layer_weights(l, layer), WEIGHT_BYTES / 2, l->stream);
        return run_multiply(l, WEIGHT_SIDE, BATCH, WEIGHT_SIDE, layer_weights(l, layer), in, out);
}

static int start_token(struct loads *l)
{
        int r = l->cuda->copy(l->c, l->a, ACTIVATION_BYTES, l->stream);
        for (size_t i = 0; r == 0 && i < LAYERS; i++)
                r = start_layer(l, i);
        return r;
}

static int start_training(struct loads *l)
{
        int r = 0;
        for (int i = 0; r == 0 && i < TRAIN_PRODUCTS; i++)
                r = run_multiply(l, TRAIN_SIDE, TRAIN_SIDE, TRAIN_SIDE, l->a, l->b, l->c);
        return r;
}

int loads_step(struct loads *l, enum load_step step, struct err *err)
{
        const char *words = step_infos[step].words;
        if (!loads_can_step(l, step))
                return err_set(err, ERR_NO_SOURCE, "%s: there is no cuBLAS", words);
        int r =
            loads_check(l, step == STEP_DECODE ? start_token(l) : start_training(l), words, err);
        return r == 0 ? loads_check(l, l->cuda->wait(l->stream), words, err) : r;
}
