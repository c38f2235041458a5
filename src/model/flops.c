#include "model/flops.h"

#include <string.h>

static const struct {
        const char *name;
        enum flops_pipe pipe;
} types[FLOPS_COUNT] = {
#define FLOPS_TYPE(id, name, pipe) {name, FLOPS_PIPE_##pipe},
    FLOPS_TYPES(FLOPS_TYPE)
#undef FLOPS_TYPE
};

enum flops_type flops_find(const char *name)
{
        enum flops_type t = 0;
        while (t < FLOPS_COUNT && strcmp(types[t].name, name) != 0)
                t++;
        return t;
}

const char *flops_name(enum flops_type type)
{
        return types[type].name;
}

const char *flops_missing(enum flops_type type)
{
        if (type == FLOPS_INT8)
                return "the counters do not tell how much an active pipe does in INT8";
        return "the GPU's peak, its clock or the activity of that pipe is not known";
}

enum flops_pipe flops_pipe(enum flops_type type)
{
        return types[type].pipe;
}
