#include "model/verdict.h"

#include "model/xid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT_LEAST(input, threshold)                                                                 \
        {                                                                                          \
                CLASS_TEST_AT_LEAST, CLASS_INPUT_##input, threshold                                \
        }
#define BELOW(input, threshold)                                                                    \
        {                                                                                          \
                CLASS_TEST_BELOW, CLASS_INPUT_##input, threshold                                   \
        }
#define ALWAYS(input)                                                                              \
        {                                                                                          \
                CLASS_TEST_ALWAYS, CLASS_INPUT_##input, 0                                          \
        }
#define IO                                                                                         \
        {                                                                                          \
                CLASS_TEST_IO, CLASS_INPUT_COUNT, 0                                                \
        }
#define NOT_IO                                                                                     \
        {                                                                                          \
                CLASS_TEST_NOT_IO, CLASS_INPUT_COUNT, 0                                            \
        }
#define NEVER                                                                                      \
        {                                                                                          \
                CLASS_TEST_NEVER, CLASS_INPUT_COUNT, 0                                             \
        }
static const struct class_condition conditions[WORKLOAD_COUNT][CLASS_CONDITIONS_MAX] = {
#define CLASS(id, status, brief, bottleneck, words, ...) {__VA_ARGS__},
#include "model/classes.def"
#undef CLASS
};

static const struct class_condition io_signs[] = {
#define CLASS(...)
#define IO_SIGN(input, threshold) AT_LEAST(input, threshold),
#include "model/classes.def"
#undef IO_SIGN
#undef CLASS
    {CLASS_TEST_END, CLASS_INPUT_COUNT, 0},
};
#undef AT_LEAST
#undef BELOW
#undef ALWAYS
#undef IO
#undef NOT_IO
#undef NEVER

static const struct {
        const char *status, *brief, *rule;
        enum bottleneck bottleneck;
} workloads[WORKLOAD_COUNT] = {
#define CLASS(id, status, brief, bottleneck, words, ...)                                           \
        {status, brief, words, BOTTLENECK_##bottleneck},
#include "model/classes.def"
#undef CLASS
};

const struct class_condition *workload_conditions(enum workload workload)
{
        return conditions[workload];
}

const struct class_condition *workload_io_signs(void)
{
        return io_signs;
}

enum { SINCE, BEFORE };

static const struct health_reason_info reasons[HEALTH_REASON_COUNT] = {
#define FINDING(id, name, state, metric, test, number, before, text, remedy)                       \
        {name,   text,   HEALTH_##state, METRIC_##metric, HEALTH_TEST_##test,                      \
         number, before, REMEDY_##remedy},
#include "model/findings.def"
#undef FINDING
};

const char *workload_status(enum workload workload)
{
        return workloads[workload].status;
}

const char *workload_words(enum workload workload, size_t columns)
{
        const char *brief = workloads[workload].brief;
        if (strlen(workloads[workload].status) <= columns)
                return workloads[workload].status;
        return strlen(brief) <= columns ? brief : "";
}

enum bottleneck workload_bottleneck(enum workload workload)
{
        return workloads[workload].bottleneck;
}

const char *bottleneck_name(enum bottleneck bottleneck)
{
        switch (bottleneck) {
        case BOTTLENECK_UNKNOWN:
                return "unknown";
        case BOTTLENECK_IDLE:
                return "idle";
        case BOTTLENECK_COMPUTE:
                return "compute";
        case BOTTLENECK_MEMORY:
                return "memory";
        case BOTTLENECK_IO:
                return "io";
        case BOTTLENECK_MIXED:
                return "mixed";
        }
        return "?";
}

const char *workload_rule(enum workload workload)
{
        return workloads[workload].rule;
}

const char *health_name(enum health_state state)
{
        switch (state) {
        case HEALTH_UNKNOWN:
                return "unknown";
        case HEALTH_OK:
                return "OK";
        case HEALTH_HOT:
                return "HOT";
        case HEALTH_WARN:
                return "WARN";
        case HEALTH_CRIT:
                return "CRIT";
        }
        return "?";
}

void health_join(struct health *slice, const struct health *gpu)
{
        slice->findings |= gpu->findings;
        if (gpu->grave_xid)
                slice->grave_xid = gpu->grave_xid;
        if (gpu->program_xid)
                slice->program_xid = gpu->program_xid;
        if (gpu->state > slice->state)
                slice->state = gpu->state;
}

const struct health_reason_info *health_reason_info(enum health_reason reason)
{
        return &reasons[reason];
}

const char *health_reason_name(enum health_reason reason)
{
        return reasons[reason].name;
}

const char *health_reason_text(enum health_reason reason)
{
        return reasons[reason].text;
}

/* The XID behind a reason of this GPU; 0 for none. */
static uint32_t health_reason_xid(const struct health *h, enum health_reason reason)
{
        const struct health_reason_info *info = &reasons[reason];
        if (info->test != HEALTH_TEST_XID)
                return 0;
        return info->number == 1 ? h->grave_xid : h->program_xid;
}

const char *health_reason_words(const struct health *h, enum health_reason reason, char *ret,
                                size_t size)
{
        const struct xid_info *xid = xid_info(health_reason_xid(h, reason));
        if (!xid)
                return health_reason_text(reason);
        snprintf(ret, size, "XID %" PRIu32 ": %s", xid->number, xid->text);
        return ret;
}

enum health_state health_reason_state(enum health_reason reason)
{
        return reasons[reason].state;
}
