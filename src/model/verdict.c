#include "model/verdict.h"

static const struct {
        const char *status;
        enum bottleneck bottleneck;
} workloads[WORKLOAD_COUNT] = {
#define WORKLOAD(id, status, bottleneck) {status, BOTTLENECK_##bottleneck},
    WORKLOADS(WORKLOAD)
#undef WORKLOAD
};

static const struct {
        const char *text;
        enum health_state state;
} findings[FINDING_COUNT] = {
#define FINDING(id, state, text) {text, HEALTH_##state},
    FINDINGS(FINDING)
#undef FINDING
};

const char *workload_status(enum workload workload)
{
        return workloads[workload].status;
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
        static const char *const rules[WORKLOAD_COUNT] = {
            [WORKLOAD_UNKNOWN] = "a rule needs counters that are missing",
            [WORKLOAD_IDLE] = "real < 5 and gr < 5 and dram < 5 and not io",
            [WORKLOAD_TENSOR_HEAVY] = "tensor >= 50 and sm >= 60",
            [WORKLOAD_TENSOR] = "tensor >= 15 and sm >= 40",
            [WORKLOAD_FP64] = "fp64 >= 20 and sm >= 50",
            [WORKLOAD_IO] = "(copy >= 40 or pcie >= 1 GB/s) and sm < 30",
            [WORKLOAD_MEMORY_BOUND] = "dram >= 50 and sm < 50",
            [WORKLOAD_COMPUTE_HEAVY] = "sm >= 80",
            [WORKLOAD_COMPUTE_ACTIVE] = "sm >= 50",
            [WORKLOAD_MEMORY_ACTIVE] = "dram >= 40",
            [WORKLOAD_BUSY_LOW_SM] = "gr >= 40 and sm < 25",
            [WORKLOAD_LOW] = "gr < 15 and sm < 15 and dram < 15",
            [WORKLOAD_MIXED] = "no other rule holds",
        };
        return rules[workload];
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
        if (gpu->state > slice->state)
                slice->state = gpu->state;
}

const char *finding_text(enum finding finding)
{
        return findings[finding].text;
}

enum health_state finding_state(enum finding finding)
{
        return findings[finding].state;
}
