/*
 * Floating-point operations a second, dense. The type that a GPU works on is not visible: it is
 * named by the user, and the rate is an interval unless the real clock is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* TENSOR64 are the tensor cores when they work in double precision. */
enum flops_pipe {
        FLOPS_PIPE_TENSOR,
        FLOPS_PIPE_TENSOR64,
        FLOPS_PIPE_FP32,
        FLOPS_PIPE_FP64,
        FLOPS_PIPE_COUNT
};

/*
 * FLOPS_TYPE(id, name, pipe): types, and the pipe that does them. The rate of INT8 is not reported:
 * instructions that libraries use for it do from three fifths to all of what the pipe could do
 * while it is active.
 */
#define FLOPS_TYPES(FLOPS_TYPE)                                                                    \
        FLOPS_TYPE(FP8, "fp8", TENSOR)                                                             \
        FLOPS_TYPE(FP16, "fp16", TENSOR)                                                           \
        FLOPS_TYPE(BF16, "bf16", TENSOR)                                                           \
        FLOPS_TYPE(INT8, "int8", TENSOR)                                                           \
        FLOPS_TYPE(TF32, "tf32", TENSOR)                                                           \
        FLOPS_TYPE(FP64_TENSOR, "fp64-tensor", TENSOR64)                                           \
        FLOPS_TYPE(FP32, "fp32", FP32)                                                             \
        FLOPS_TYPE(FP64, "fp64", FP64)

enum flops_type {
#define FLOPS_TYPE(id, name, pipe) FLOPS_##id,
        FLOPS_TYPES(FLOPS_TYPE)
#undef FLOPS_TYPE
            FLOPS_COUNT
};

/* FLOPS_COUNT when there is no such type. */
enum flops_type flops_find(const char *name);
const char *flops_name(enum flops_type type);
/* Why nothing is known of it, where nothing is. */
const char *flops_missing(enum flops_type type);
enum flops_pipe flops_pipe(enum flops_type type);

/* At least lo, at most hi. */
struct flops {
        bool known;
        double lo, hi; /* FLOP/s */
};

/* What a GPU computes at one tick: for each type, if all its work was of that type. */
struct flops_rates {
        uint8_t known;  /* one bit an enum flops_type */
        bool has_asked; /* the user has named a type */
        uint8_t asked;  /* which */
        float lo[FLOPS_COUNT], hi[FLOPS_COUNT];
};
_Static_assert(FLOPS_COUNT <= 8, "the set of known types needs more bits");

static inline struct flops flops_rate(const struct flops_rates *r, enum flops_type type)
{
        bool known = type < FLOPS_COUNT && (r->known & (1u << type));
        return known ? (struct flops){true, (double)r->lo[type], (double)r->hi[type]}
                     : (struct flops){0};
}

/* The same over some time: a type that was declared. */
struct flops_rated {
        const char *type; /* "bf16"; NULL when none was declared or nothing is known */
        double lo, hi;
        const char *missing; /* why nothing is known of a type that was declared; else NULL */
};
