/* Model servers and the GPUs that are theirs. */
#include "compute/compute.h"

#include <string.h>

/* Those that the processes say; else, where there is one server, all GPUs that anybody uses. */
static bool is_its_gpu(const struct compute *c, const struct serving *s, const struct row *row)
{
        const struct entity *who = row->sample.who;
        if (who->kind != ENTITY_GPU)
                return false;
        if (s->gpus[0])
                return serving_has_gpu(s, who->label);
        return c->host.n_servings == 1 && row->limit.limiter != LIMITER_IDLE;
}

struct gpu_sum {
        struct value v;
        double n;
};

static void gpu_sum_add(struct gpu_sum *sum, struct value v)
{
        if (!value_is_set(v))
                return;
        sum->v = value_ok(sum->n > 0 ? sum->v.v + v.v : v.v);
        sum->n++;
}

static void moment_add_gpu(const struct compute *c, const struct row *row,
                           struct gpu_sum sums[SERVING_IN_COUNT], struct serving_moment *m)
{
        const struct value *v = row->sample.m;
        size_t slot = row->sample.who->slot;
        const struct peak *peak = slot < c->n ? c->memory[slot].peak : NULL;
        gpu_sum_add(&sums[SERVING_IN_BUSY],
                    value_is_set(v[METRIC_GR_ACTIVE]) ? v[METRIC_GR_ACTIVE] : v[METRIC_GPU_UTIL]);
        gpu_sum_add(&sums[SERVING_IN_SM], v[METRIC_SM_ACTIVE]);
        gpu_sum_add(&sums[SERVING_IN_TENSOR], v[METRIC_TENSOR_ACTIVE]);
        gpu_sum_add(&sums[SERVING_IN_DRAM], v[METRIC_DRAM_ACTIVE]);
        gpu_sum_add(&sums[SERVING_IN_POWER], v[METRIC_POWER]);
        gpu_sum_add(&sums[SERVING_IN_DRIVER], value_ok(row->limit.basis == BASIS_DRIVER));
        m->limiter[row->limit.limiter]++;
        m->gpus++;
        if (!peak)
                return;
        m->flops += peak_flops(peak, c->options.has_flops ? c->options.flops : FLOPS_BF16);
        m->memory += peak->memory;
}

/* The host's evidence is of each GPU, and mostly of the same processes: the most of them. */
static void take_evidence(const struct host_seen *host, const struct serving *s,
                          struct value input[SERVING_IN_COUNT])
{
        static const struct {
                enum serving_input to;
                enum evidence from;
        } taken[] = {{SERVING_IN_READ, EVIDENCE_READ}, {SERVING_IN_RECEIVED, EVIDENCE_NET_RX}};
        for (size_t gpu = 0; gpu < host->n; gpu++) {
                if (s->gpus[0] && !serving_has_gpu(s, host->labels[gpu]))
                        continue;
                for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
                        struct value v = host->evidence[gpu].e[taken[i].from];
                        if (value_is_set(v) && v.v >= value_or(input[taken[i].to], 0))
                                input[taken[i].to] = v;
                }
        }
}

static void take_serving_moment(const struct compute *c, const struct frame *frame,
                                const struct serving *s, struct serving_moment *ret)
{
        struct gpu_sum sums[SERVING_IN_COUNT] = {0};
        *ret = (struct serving_moment){.mono_ns = frame->mono_ns};
        for (size_t i = 0; i < frame->n; i++) {
                if (is_its_gpu(c, s, &frame->rows[i]))
                        moment_add_gpu(c, &frame->rows[i], sums, ret);
        }
        for (size_t i = 0; i < SERVING_IN_COUNT; i++) {
                ret->input[i] = sums[i].v;
                if (sums[i].n > 0 && i != SERVING_IN_POWER)
                        ret->input[i].v /= sums[i].n;
        }
        for (size_t i = 0; i < LIMITER_COUNT && ret->gpus > 0; i++)
                ret->limiter[i] /= ret->gpus;
        if (ret->gpus > 0) {
                ret->flops /= ret->gpus;
                ret->memory /= ret->gpus;
        }
        take_evidence(&c->host, s, ret->input);
}

void compute_servings(struct compute *c, struct frame *frame)
{
        frame->servings = c->served;
        frame->n_servings = frame->n_nodes > 0 ? 0 : c->host.n_servings;
        for (size_t i = 0; i < frame->n_servings; i++) {
                struct serving_moment now;
                const struct serving *s = &c->host.servings[i];
                take_serving_moment(c, frame, s, &now);
                serving_window_add(&c->servings[i], s, &now);
                serving_window_decide(&c->servings[i], s, &c->served[i]);
                c->served[i].s = *s;
        }
}
