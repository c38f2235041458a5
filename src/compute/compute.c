#include "compute/compute.h"

#include "base/clock.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

void compute_init(struct compute *c, const struct compute_options *options)
{
        *c = (struct compute){.options = *options};
}

void compute_finish(struct compute *c)
{
        free(c->memory);
        free(c->live);
        free(c->live_scratch);
        free(c->live_out);
        free(c->live_late);
        *c = (struct compute){0};
}

static struct memory_of *memory_of_slot(struct compute *c, size_t slot)
{
        if (LIKELY(slot < c->n))
                return &c->memory[slot];
        return LIST_EXTEND(c->memory, c->n, MAX(slot + 1, c->n * 2)) ? &c->memory[slot] : NULL;
}

/* Why a result of two values is missing: the reason of the one that is. */
static enum state missing_state(struct value a, struct value b)
{
        return (enum state)(value_is_set(a) ? b.state : a.state);
}

static struct value sum_of_values(struct value a, struct value b)
{
        if (!value_is_set(a) || !value_is_set(b))
                return value_missing(missing_state(a, b));
        return (struct value){
            .v = a.v + b.v, .age_ms = MAX(a.age_ms, b.age_ms), .state = MAX(a.state, b.state)};
}

static void derive_memory(struct sample *s, bool as_older_tools)
{
        struct value *m = s->m;
        if (!value_is_set(m[METRIC_FB_TOTAL]) || as_older_tools) {
                struct value all = sum_of_values(
                    sum_of_values(m[METRIC_FB_USED], m[METRIC_FB_FREE]), m[METRIC_FB_RESERVED]);
                if (value_is_set(all))
                        m[METRIC_FB_TOTAL] = all;
        }
        struct value used = m[METRIC_FB_USED], total = m[METRIC_FB_TOTAL];
        if (value_is_set(used) && value_is_set(total) && total.v > 0)
                m[METRIC_FB_USED_RATIO] = (struct value){
                    .v = used.v / total.v, .age_ms = used.age_ms, .state = used.state};
        else
                m[METRIC_FB_USED_RATIO] = value_missing(value_is_set(used) && value_is_set(total)
                                                            ? STATE_ERROR
                                                            : missing_state(used, total));
}

/* Older tools show the NVLink gauge only; where it is missing the two directions add up to it. */
static void derive_nvlink(struct sample *s, bool as_older_tools)
{
        if (value_is_set(s->m[METRIC_NVLINK_TOTAL]) || as_older_tools)
                return;
        struct value both = sum_of_values(s->m[METRIC_NVLINK_RX], s->m[METRIC_NVLINK_TX]);
        if (value_is_set(both))
                s->m[METRIC_NVLINK_TOTAL] = both;
}

/* Flits and symbols are damaged on healthy links too and cost nothing: these cost time or data. */
static struct value nvlink_errors(const struct sample *s)
{
        static const enum metric counted[] = {
            METRIC_NVLINK_CRC_DATA_ERRORS,  METRIC_NVLINK_REPLAYS,
            METRIC_NVLINK_RECOVERIES,       METRIC_NVLINK_RECOVERIES_FAILED,
            METRIC_NVLINK_RX_ERRORS,        METRIC_NVLINK_INTEGRITY_ERRORS,
            METRIC_NVLINK_EFFECTIVE_ERRORS, METRIC_NVLINK_ECC_ERRORS,
        };
        struct value all = value_missing(STATE_NONE);
        for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
                struct value v = s->m[counted[i]];
                if (v.state == STATE_OK)
                        all = value_ok(all.v + v.v);
        }
        return all;
}

/* Our own CSV carries the rate and not the counter. */
static void derive_rates(struct memory_of *memory, int64_t mono_ns, struct sample *s)
{
        struct value replay = s->m[METRIC_PCIE_REPLAY];
        struct value ecc = s->m[METRIC_ECC_DBE_VOLATILE];
        double seconds = clock_to_seconds(mono_ns - memory->mono_ns);
        if (memory->seen && replay.state != STATE_NONE)
                s->m[METRIC_PCIE_REPLAY_RATE] = value_is_set(replay) && seconds > 0
                                                    ? value_rate(replay, memory->replay, seconds)
                                                    : value_missing(STATE_NONE);
        struct value nvlink = nvlink_errors(s);
        if (memory->seen && value_is_set(nvlink) && value_is_set(memory->nvlink_errors) &&
            seconds > 0)
                s->m[METRIC_NVLINK_ERROR_RATE] = value_rate(nvlink, memory->nvlink_errors, seconds);
        memory->nvlink_errors = nvlink;
        if (memory->seen && ecc.state == STATE_OK && memory->ecc_dbe.state == STATE_OK)
                memory->health.ecc_rose |= ecc.v > memory->ecc_dbe.v;
        memory->seen = true;
        memory->mono_ns = mono_ns;
        memory->replay = replay;
        memory->ecc_dbe = ecc;
}

/* Some sources report the model later. */
static const struct peak *peak_of(struct memory_of *m, const struct sample *s)
{
        const char *model = s->who->text[ENTITY_TEXT_MODEL];
        if (!m->looked_up && model[0]) {
                m->peak = peak_find(model);
                m->looked_up = true;
        }
        return m->peak;
}

int compute_row(struct compute *c, int64_t mono_ns, const struct sample *whole, struct row *row)
{
        struct sample *s = &row->sample;
        struct memory_of *memory = memory_of_slot(c, s->who->slot);
        if (!memory)
                return -ENOMEM;
        bool as_older_tools = c->options.missing_is_zero;
        derive_memory(s, as_older_tools);
        derive_nvlink(s, as_older_tools);
        derive_rates(memory, mono_ns, s);
        struct value *clock = &s->m[METRIC_SM_CLOCK_EFFECTIVE];
        if (value_is_set(*clock))
                *clock = effective_clock(*clock, s->m[METRIC_SM_CLOCK], peak_of(memory, s));
        row->verdict = assess(s, whole, &c->options, &s->m[METRIC_REAL_UTIL]);
        row->health = health_of(s, &memory->health, &c->options);
        row->clocks = clocks_of(s);
        row->hot = is_hot(row);
        row->late = 0;
        return 0;
}

void host_seen_take(struct host_seen *seen, const struct host *host,
                    const struct process_list *processes)
{
        seen->n = host->n_gpus;
        seen->n_servings = host->n_servings;
        memcpy(seen->servings, host->servings, host->n_servings * sizeof(host->servings[0]));
        for (size_t i = 0; i < host->n_gpus; i++) {
                memcpy(seen->labels[i], host->gpus[i], ENTITY_LABEL_MAX);
                evidence_take(host, host->gpus[i], processes, &seen->evidence[i]);
        }
}

/* A slice has its GPU's evidence where it has none of its own. */
static const struct host_evidence *evidence_of(const struct host_seen *seen, const char *label)
{
        size_t gpu = strcspn(label, "/");
        const struct host_evidence *found = NULL;
        for (size_t i = 0; i < seen->n; i++) {
                if (strcmp(seen->labels[i], label) == 0)
                        return &seen->evidence[i];
                if (strlen(seen->labels[i]) == gpu && memcmp(seen->labels[i], label, gpu) == 0)
                        found = &seen->evidence[i];
        }
        return found;
}

static size_t count_used(const struct compute *c, const struct frame *f)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++) {
                uint32_t slot = f->rows[i].sample.who->slot;
                n += slot < c->n && c->memory[slot].window.use.touched;
        }
        return n;
}

static bool reserve_live(struct compute *c, size_t n)
{
        if (LIKELY(n <= c->live_room))
                return true;
        c->live_room = 0;
        if (!LIST_RESIZE(c->live, n) || !LIST_RESIZE(c->live_scratch, LIVE_SCRATCH(n)) ||
            !LIST_RESIZE(c->live_out, n) || !LIST_RESIZE(c->live_late, n))
                return false;
        c->live_room = n;
        return true;
}

/* Slices have no clock of their own, and are nobody's rank. */
static void compare_live(struct compute *c, struct frame *f)
{
        for (size_t i = 0; i < f->n; i++)
                f->rows[i].late = 0;
        if (f->n < LIVE_LEAST || !reserve_live(c, f->n))
                return;
        for (size_t i = 0; i < f->n; i++) {
                struct row *row = &f->rows[i];
                bool whole = row->sample.who->kind == ENTITY_GPU;
                c->live[i] = whole ? &c->memory[row->sample.who->slot].live : NULL;
                if (whole)
                        live_rank_add(c->live[i], &row->sample, f->mono_ns);
        }
        live_find_late(c->live, f->n, c->live_scratch, c->live_out, c->live_late);
        for (size_t i = 0; i < f->n; i++)
                f->rows[i].late = c->live_late[i];
}

static void report_idle_power(const struct memory_of *m, struct sample *s)
{
        double learned = floor_to_keep(&m->window.floor, value_or(s->m[METRIC_POWER_LIMIT], 0));
        if (learned > 0)
                s->m[METRIC_POWER_AT_REST] = value_ok(learned);
}

void compute_learn(struct compute *c, struct frame *f)
{
        for (size_t i = 0; i < f->n; i++) {
                struct sample *s = &f->rows[i].sample;
                struct memory_of *m = memory_of_slot(c, s->who->slot);
                struct ceilings now;
                if (!m)
                        continue;
                ceilings_take(s, peak_of(m, s), &now);
                double passed = clock_to_seconds(f->mono_ns - m->window.now_ns);
                floor_learn(&m->window.floor, &now, m->window.seen ? passed : 0);
                m->window.seen = true;
                m->window.now_ns = f->mono_ns;
                report_idle_power(m, s);
        }
}

void compute_limits(struct compute *c, struct frame *f)
{
        size_t used = count_used(c, f);
        for (size_t i = 0; i < f->n; i++) {
                struct row *row = &f->rows[i];
                struct memory_of *m = memory_of_slot(c, row->sample.who->slot);
                struct ceilings now;
                if (!m)
                        continue; /* not after compute_row */
                const struct peak *peak = peak_of(m, &row->sample);
                flops_take(&row->sample, peak, &row->flops);
                row->flops.has_asked = c->options.has_flops;
                row->flops.asked = (uint8_t)c->options.flops;
                ceilings_take(&row->sample, peak, &now);
                const struct host_evidence *host = evidence_of(&c->host, row->sample.who->label);
                ceilings_add_host(host, &now);
                m->window.framework = host ? evidence_framework(host) : FRAMEWORK_NONE;
                bool was_used = m->window.use.touched;
                const struct limit_from_context context = {
                    .elsewhere = used > 0 && !m->window.use.touched,
                    .peers = f->n > 1,
                    .peers_used = used > m->window.use.touched,
                    .margins = c->options.margins,
                    .model = peak,
                    .power_limit = value_or(row->sample.m[METRIC_POWER_LIMIT], 0),
                    .at_rest = value_or(row->sample.m[METRIC_POWER_AT_REST], 0),
                    .link = link_speed(&row->sample, peak),
                };
                row->limit = limit_window_add(&m->window, &now, f->mono_ns, &context);
                report_idle_power(m, &row->sample);
                if (row->sample.who->kind == ENTITY_GPU && !row_is_stale(row))
                        row->sample.m[METRIC_STALLED] =
                            stall_add(&m->stall, &row->sample, host, f->mono_ns);
                used += m->window.use.touched && !was_used;
        }
        compare_live(c, f);
}
