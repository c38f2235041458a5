/* What the numbers mean: workload class, health, and the evidence for each. */
#pragma once

#include "model/metric.h"
#include "model/value.h"

/* The classes, in the order in which they are tried. */
enum workload {
#define CLASS(id, ...) WORKLOAD_##id,
#include "model/classes.def"
#undef CLASS
        WORKLOAD_COUNT
};

enum bottleneck {
        BOTTLENECK_UNKNOWN,
        BOTTLENECK_IDLE,
        BOTTLENECK_COMPUTE,
        BOTTLENECK_MEMORY,
        BOTTLENECK_IO,
        BOTTLENECK_MIXED,
};

const char *workload_status(enum workload workload);
/* The status where there is room for it, else its brief form ("tensor+", "I/O"), else "". Half a
 * word helps nobody. */
#define CLASS_BRIEF_W 8
const char *workload_words(enum workload workload, size_t columns);
enum bottleneck workload_bottleneck(enum workload workload);
const char *bottleneck_name(enum bottleneck bottleneck);
/* The rule in words, as the documents state it: "tensor >= 50 and sm >= 60". */
const char *workload_rule(enum workload workload);

/* What rules look at. REAL is Real Utilization, GR the engine's activity or what stands in for it.
 */
enum class_input {
        CLASS_INPUT_REAL,
        CLASS_INPUT_SM,
        CLASS_INPUT_TENSOR,
        CLASS_INPUT_DRAM,
        CLASS_INPUT_GR,
        CLASS_INPUT_FP64,
        CLASS_INPUT_COPY,
        CLASS_INPUT_PCIE_RX,
        CLASS_INPUT_PCIE_TX,
        CLASS_INPUT_COUNT,
};

struct class_condition {
        enum class_test {
                CLASS_TEST_END, /* after the last condition of a class */
                CLASS_TEST_AT_LEAST,
                CLASS_TEST_BELOW,
                CLASS_TEST_IO,
                CLASS_TEST_NOT_IO,
                CLASS_TEST_ALWAYS,
                CLASS_TEST_NEVER,
        } test;
        enum class_input input;
        double threshold; /* percent, or bytes per second */
};

#define CLASS_CONDITIONS_MAX 5
/* The conditions of a class, up to CLASS_TEST_END. */
const struct class_condition *workload_conditions(enum workload workload);
/* Those of which one is I/O: each "at least"; up to CLASS_TEST_END. */
const struct class_condition *workload_io_signs(void);

/* A set of metrics, one bit each. */
__extension__ typedef unsigned __int128 metric_set;
_Static_assert(METRIC_COUNT <= 128, "metric_set needs more bits");
#define METRIC_BIT(id) ((metric_set)1 << METRIC_##id)

/* The smallest change of one input that would change the class. */
struct margin {
        enum workload other; /* WORKLOAD_UNKNOWN when no single input decides */
        enum metric metric;
        double change; /* in the metric's unit, signed */
};

struct verdict {
        enum workload workload;
        uint8_t rule;          /* 1 to 12; the rule that could not be decided when unknown */
        bool without_counters; /* idle was concluded from utilization, processes and power alone */
        metric_set inputs;     /* what the rule was decided by */
        metric_set missing;    /* what was needed and is missing */
        struct margin margin;  /* filled only when asked for */
};

enum health_state {
        HEALTH_UNKNOWN,
        HEALTH_OK,
        HEALTH_HOT,
        HEALTH_WARN,
        HEALTH_CRIT,
};

/* Why: the rows of findings.def, the worst first. */
enum health_reason {
#define FINDING(id, name, state, metric, test, number, before, text, remedy) HEALTH_REASON_##id,
#include "model/findings.def"
#undef FINDING
        HEALTH_REASON_COUNT
};
_Static_assert(HEALTH_REASON_COUNT <= 32, "a set of reasons needs more bits");

/* What makes a reason of a metric's value; findings.def explains them. */
enum health_test {
        HEALTH_TEST_ABOVE,
        HEALTH_TEST_IS,
        HEALTH_TEST_BELOW,
        HEALTH_TEST_RISES,
        HEALTH_TEST_XID,
        HEALTH_TEST_LINK,
        HEALTH_TEST_WARM,
        HEALTH_TEST_HEAT,
};

/* What to do about it; the words are in present/. */
enum remedy {
        REMEDY_OUT_OF_SERVICE,
        REMEDY_LINK,
        REMEDY_RESET,
        REMEDY_PROGRAM,
        REMEDY_COOLING,
        REMEDY_COUNT
};

struct health_reason_info {
        const char *name, *text;
        enum health_state state;
        enum metric metric;
        enum health_test test;
        double number;
        bool before; /* the dashboard before us had it too */
        enum remedy remedy;
};

struct health {
        enum health_state state;
        uint32_t findings; /* one bit an enum health_reason */
        /* The newest XID after which the GPU needs a reset or a repair, and the newest that a
         * program caused; 0 for none. */
        uint32_t grave_xid, program_xid;
};

/* A slice is no healthier than its GPU: findings of both, the worse state. */
void health_join(struct health *slice, const struct health *gpu);
const char *health_name(enum health_state state);
/* "link_narrow": for programs and labels; it stays. */
const struct health_reason_info *health_reason_info(enum health_reason reason);
const char *health_reason_name(enum health_reason reason);
const char *health_reason_text(enum health_reason reason);
/* The reason's text, with the XID where one is the reason: "XID 79: the GPU has fallen off the
 * bus". Into ret, unless it is the reason's own text. */
const char *health_reason_words(const struct health *h, enum health_reason reason, char *ret,
                                size_t size);
#define HEALTH_WORDS_MAX 128
enum health_state health_reason_state(enum health_reason reason);
