#include "compute/ceilings.h"

#include "base/attr.h"
#include "compute/peaks.h"
#include "model/throttle.h"

#include <string.h>

double pcie_bytes_per_s(double generation, double lanes)
{
        static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
        if (!(generation >= 1) || generation >= (double)ARRAY_LEN(lane) || !(lanes > 0))
                return 0;
        return lane[(size_t)generation] * lanes;
}

static void set_ceiling(struct ceilings *c, enum ceiling at, struct value v)
{
        if (value_is_set(v))
                ceiling_set(c, at, v.v);
}

static void take_share(struct ceilings *c, enum ceiling at, struct value v, double of)
{
        if (value_is_set(v) && of > 0)
                ceiling_set(c, at, v.v / of);
}

double link_speed(const struct sample *s, const struct peak *peak)
{
        const struct value *m = s->m;
        double gen = value_or(m[METRIC_PCIE_GEN],
                              value_or(m[METRIC_PCIE_GEN_MAX], peak ? peak->pcie_gen : 0));
        double lanes = value_or(m[METRIC_PCIE_WIDTH],
                                value_or(m[METRIC_PCIE_WIDTH_MAX], peak ? peak->pcie_lanes : 0));
        return pcie_bytes_per_s(gen, lanes);
}

static void take_links(const struct sample *s, const struct peak *peak, struct ceilings *c)
{
        const struct value *m = s->m;
        double pcie = link_speed(s, peak);
        take_share(c, CEILING_PCIE_IN, m[METRIC_PCIE_RX], pcie);
        take_share(c, CEILING_PCIE_OUT, m[METRIC_PCIE_TX], pcie);
        if (pcie == 0 && (value_is_set(m[METRIC_PCIE_RX]) || value_is_set(m[METRIC_PCIE_TX])))
                ceiling_set(c, CEILING_PCIE_RATE,
                            MAX(value_or(m[METRIC_PCIE_RX], 0), value_or(m[METRIC_PCIE_TX], 0)));
        double nvlink = peak ? peak->nvlink : 0;
        take_share(c, CEILING_NVLINK_IN, m[METRIC_NVLINK_RX], nvlink);
        take_share(c, CEILING_NVLINK_OUT, m[METRIC_NVLINK_TX], nvlink);
}

static void take_clocks(const struct value *m, const struct peak *peak, struct ceilings *c)
{
        struct value reasons = m[METRIC_THROTTLE_REASONS];
        take_share(c, CEILING_CLOCK, m[METRIC_SM_CLOCK],
                   value_or(m[METRIC_SM_CLOCK_MAX], peak ? peak->boost : 0));
        /* With counters nothing is decided by a limit that the source does not report. */
        double shipped = peak && !(c->present & CEILINGS_PROFILING) ? peak->power_limit : 0;
        take_share(c, CEILING_POWER, m[METRIC_POWER], value_or(m[METRIC_POWER_LIMIT], shipped));
        if (!value_is_set(reasons))
                return;
        ceiling_set(c, CEILING_HELD_POWER, ((uint64_t)reasons.v & THROTTLE_BY_POWER) != 0);
        ceiling_set(c, CEILING_HELD_THERMAL,
                    ((uint64_t)reasons.v & THROTTLE_BY_HEAT_OR_HARDWARE) != 0);
}

void ceilings_take(const struct sample *s, const struct peak *peak, struct ceilings *ret)
{
        static const struct {
                enum ceiling to;
                enum metric from;
        } same[] = {
            {CEILING_SM, METRIC_SM_ACTIVE},
            {CEILING_OCCUPANCY, METRIC_SM_OCCUPANCY},
            {CEILING_TENSOR, METRIC_TENSOR_ACTIVE},
            {CEILING_FP64, METRIC_FP64_ACTIVE},
            {CEILING_FP32, METRIC_FP32_ACTIVE},
            {CEILING_FP16, METRIC_FP16_ACTIVE},
            {CEILING_INT, METRIC_INT_ACTIVE},
            {CEILING_DRAM, METRIC_DRAM_ACTIVE},
            {CEILING_MEMORY, METRIC_FB_USED},
            {CEILING_HOLDERS, METRIC_PROCESSES},
            {CEILING_CONTROLLER, METRIC_MEM_COPY_UTIL},
            {CEILING_DECODER, METRIC_DEC_UTIL},
            {CEILING_ENCODER, METRIC_ENC_UTIL},
            {CEILING_JPEG, METRIC_JPG_UTIL},
        };
        struct value gr = s->m[METRIC_GR_ACTIVE];
        *ret = (struct ceilings){0};
        set_ceiling(ret, CEILING_ENGINE, value_is_set(gr) ? gr : s->m[METRIC_GPU_UTIL]);
        for (size_t i = 0; i < ARRAY_LEN(same); i++)
                set_ceiling(ret, same[i].to, s->m[same[i].from]);
        take_links(s, peak, ret);
        take_clocks(s->m, peak, ret);
}

static void take_sum(struct ceilings *c, enum ceiling at, struct value a, struct value b)
{
        if (value_is_set(a) || value_is_set(b))
                ceiling_set(c, at, value_or(a, 0) + value_or(b, 0));
}

/* What the ranks of one machine report each other over its loopback is network traffic, too. */
static void take_network(struct ceilings *c, const struct value *e)
{
        double cards = value_or(e[EVIDENCE_NET_RX], 0) + value_or(e[EVIDENCE_NET_TX], 0);
        if (value_is_set(e[EVIDENCE_NET_RX]) || value_is_set(e[EVIDENCE_NET_TX]))
                ceiling_set(c, CEILING_NETWORK, cards + value_or(e[EVIDENCE_NET_LOOPBACK], 0));
}

void ceilings_add_host(const struct host_evidence *evidence, struct ceilings *c)
{
        if (!evidence)
                return;
        const struct value *e = evidence->e;
        struct value main = e[EVIDENCE_CPU_MAIN], children = e[EVIDENCE_CPU_CHILDREN];
        if (value_is_set(e[EVIDENCE_HOLDERS]))
                ceiling_set(c, CEILING_HOLDERS, e[EVIDENCE_HOLDERS].v);
        set_ceiling(c, CEILING_CPU_MAIN, main);
        set_ceiling(c, CEILING_CPU_THREAD, e[EVIDENCE_CPU_THREAD]);
        set_ceiling(c, CEILING_CPU_FIRST, e[EVIDENCE_CPU_FIRST]);
        set_ceiling(c, CEILING_CPU_CHILDREN, children);
        set_ceiling(c, CEILING_CPU_QUEUED, e[EVIDENCE_CPU_QUEUED]);
        set_ceiling(c, CEILING_IO_WAIT, e[EVIDENCE_IO_WAIT]);
        take_sum(c, CEILING_STORAGE, e[EVIDENCE_READ], e[EVIDENCE_WRITE]);
        set_ceiling(c, CEILING_WRITTEN, e[EVIDENCE_WRITE]);
        set_ceiling(c, CEILING_CHILDREN, e[EVIDENCE_CHILDREN]);
        set_ceiling(c, CEILING_WORKERS, e[EVIDENCE_WORKERS]);
        take_network(c, e);
        if (value_is_set(main))
                take_share(c, CEILING_CPU, value_ok(main.v + value_or(children, 0)),
                           value_or(e[EVIDENCE_CPUS], 0));
}

enum framework evidence_framework(const struct host_evidence *evidence)
{
        double v = value_or(evidence->e[EVIDENCE_FRAMEWORK], FRAMEWORK_NONE);
        return v >= 1 && v < FRAMEWORK_COUNT ? (enum framework)v : FRAMEWORK_NONE;
}

/* ---- recordings without evidence ---- */

/* The CPU time of the processes on a GPU, as far as it is known. */
static struct value holders_cpu(const char *label, const struct process_list *p, double *ret_n)
{
        struct value sum = value_missing(STATE_NONE);
        *ret_n = 0;
        for (size_t i = 0; p && i < p->n; i++) {
                if (strcmp(p->list[i].gpu, label) != 0)
                        continue;
                *ret_n += 1;
                if (value_is_set(p->list[i].cpu))
                        sum = value_ok(value_or(sum, 0) + p->list[i].cpu.v);
        }
        return sum;
}

static void take_machine(const struct host *h, struct value *e)
{
        struct value wait = h->system[SYSTEM_IOWAIT], cpus = h->system[SYSTEM_CPUS_ONLINE];
        if (value_is_set(wait) && value_is_set(cpus))
                e[EVIDENCE_IO_WAIT] = value_ok(wait.v * cpus.v);
        e[EVIDENCE_NET_RX] = h->system[SYSTEM_NET_RX];
        e[EVIDENCE_NET_TX] = h->system[SYSTEM_NET_TX];
        e[EVIDENCE_NET_LOOPBACK] = h->system[SYSTEM_NET_LOOPBACK];
}

/* The processes on a GPU are examined every second or so, the tree at every tick. */
static void take_tree(const struct level_state *tree, struct value main, double holders,
                      struct value *e)
{
        const struct value *f = tree->f;
        bool alive = tree->asked && tree->present && value_is_set(f[FIGURE_CPU]) &&
                     !(value_is_set(f[FIGURE_PROCESSES]) && f[FIGURE_PROCESSES].v == 0);
        if (!alive) {
                e[EVIDENCE_CPU_MAIN] = main;
                return;
        }
        double all = f[FIGURE_CPU].v;
        bool alone = value_is_set(f[FIGURE_PROCESSES]) && f[FIGURE_PROCESSES].v <= MAX(holders, 1);
        double own = alone || !value_is_set(main) ? all : MIN(main.v, all);
        e[EVIDENCE_CPU_MAIN] = value_ok(own);
        e[EVIDENCE_CPU_CHILDREN] = value_ok(all - own);
        e[EVIDENCE_CPUS] = f[FIGURE_CPUS];
        e[EVIDENCE_READ] = f[FIGURE_READ];
        e[EVIDENCE_WRITE] = f[FIGURE_WRITE];
}

static bool has_evidence(const struct host *h, size_t at)
{
        return at < HOST_GPUS_MAX && value_is_set(h->evidence[at].e[EVIDENCE_CPU_MAIN]);
}

bool evidence_needs_processes(const struct host *h)
{
        for (size_t i = 0; i < h->n_gpus; i++) {
                if (!has_evidence(h, i))
                        return true;
        }
        return false;
}

void evidence_take(const struct host *h, const char *label, const struct process_list *processes,
                   struct host_evidence *ret)
{
        size_t at = host_find_gpu(h, label);
        double holders;
        memset(ret, 0, sizeof(*ret));
        if (has_evidence(h, at)) {
                *ret = h->evidence[at];
                return;
        }
        struct value main = holders_cpu(label, processes, &holders);
        take_tree(&h->levels[LEVEL_PROCESS], main, holders, ret->e);
        if (value_is_set(ret->e[EVIDENCE_CPU_MAIN]))
                take_machine(h, ret->e);
}
