#include "base/clock.h"
#include "present/exposition/own_put.h"

#include <stddef.h>
#include <stdio.h>

void own_make_labels(const struct text *t, const struct entity *e, struct strbuf *out)
{
        const struct entity *parent = e->kind == ENTITY_GPU ? e : text_parent_of(t->in, e);
        text_put_label_if(out, "uuid", text_of_device(e, parent, ENTITY_TEXT_UUID));
        if (e->index >= 0)
                text_put_label_number(out, "gpu", e->index);
        else
                text_put_label(out, "gpu", e->label);
        if (e->gi >= 0)
                text_put_label_number(out, "gi", e->gi);
        if (e->ci >= 0)
                text_put_label_number(out, "ci", e->ci);
        if (t->in->several_hosts)
                text_put_label_if(out, "hostname", text_of_device(e, parent, ENTITY_TEXT_HOST));
}

/* One sample; extra is a label more, NULL or "" for none. */
void own_put_sample(struct text *t, const char *name, const char *suffix,
                    const struct strbuf *labels, const char *extra, const char *value, double v,
                    unsigned decimals)
{
        strbuf_puts(t->out, name);
        strbuf_puts(t->out, suffix);
        bool has_extra = extra && extra[0], has_labels = labels && labels->len > 0;
        if (has_labels || has_extra) {
                strbuf_putc(t->out, '{');
                if (has_labels)
                        strbuf_put(t->out, labels->s, labels->len);
                if (has_extra) {
                        strbuf_puts(t->out, has_labels ? "," : "");
                        strbuf_puts(t->out, extra);
                        strbuf_puts(t->out, "=\"");
                        text_put_escaped(t->out, value);
                        strbuf_putc(t->out, '"');
                }
                strbuf_putc(t->out, '}');
        }
        strbuf_putc(t->out, ' ');
        text_put_decimal(t->out, v, decimals);
        strbuf_putc(t->out, '\n');
}

/* A counter with, in OpenMetrics, when it was 0. */
void own_put_counter(struct text *t, const char *name, const struct strbuf *labels,
                     const char *extra, const char *value, double v, unsigned decimals,
                     int64_t created_ns)
{
        own_put_sample(t, name, "_total", labels, extra, value, v, decimals);
        if (t->openmetrics && created_ns > 0)
                own_put_sample(t, name, "_created", labels, extra, value,
                               clock_to_seconds(created_ns), 3);
}

void own_put_head(struct text *t, const char *name, enum family_type type, const char *help)
{
        text_put_head(t, name, type == FAMILY_COUNTER && !t->openmetrics ? "_total" : "",
                      family_type_name(type), help);
}

/* Whether a GPU has a series of a row. */
static bool has_series(const struct exposed_gpu *g, const struct own_row *row)
{
        if (row->kind == OWN_KIND_INTEGRAL)
                return integral_is_set(g->in, (enum integral)row->what);
        return g->up && value_is_set(g->row->sample.m[row->what]);
}

static void put_own_series(struct text *t, const struct own_row *family, size_t first, size_t last)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct exposed_gpu *g = &t->in->gpus[i];
                for (size_t k = first; k < last; k++) {
                        const struct own_row *row = own_row_at(k);
                        if (!has_series(g, row))
                                continue;
                        if (!begun)
                                own_put_head(t, family->name, family->type, family->text);
                        begun = true;
                        if (row->kind == OWN_KIND_INTEGRAL)
                                own_put_counter(t, family->name, &t->labels[i].own, row->name,
                                                row->text, g->in->v[row->what], row->decimals,
                                                g->in->created_ns);
                        else
                                own_put_sample(t, family->name, "", &t->labels[i].own, row->name,
                                               row->text, g->row->sample.m[row->what].v,
                                               row->decimals);
                }
        }
}

static void put_own_table(struct text *t)
{
        const struct own_row *family;
        for (size_t at = 0, next; (family = own_row_at(at)); at = next) {
                next = at + 1;
                while (own_row_at(next) && own_row_at(next)->kind != OWN_KIND_FAMILY)
                        next++;
                put_own_series(t, family, at + 1, next);
        }
}

/* Time in each of n states; one that never occurred has no series. */
struct states {
        const char *family, *label, *help;
        size_t n;
        const double *(*seconds)(const struct integrals *in);
        const char *(*name)(unsigned state);
};

static const double *class_seconds(const struct integrals *in)
{
        return in->class_s;
}

static const double *health_seconds(const struct integrals *in)
{
        return in->health_s;
}

static const double *limiter_seconds(const struct integrals *in)
{
        return in->limiter_s;
}

static const double *finding_seconds(const struct integrals *in)
{
        return in->finding_s;
}

static const char *class_label(unsigned state)
{
        return workload_status((enum workload)state);
}

static const char *health_label(unsigned state)
{
        return health_name((enum health_state)state);
}

static const char *limiter_label(unsigned state)
{
        return limiter_name((enum limiter)state);
}

static const char *finding_label(unsigned state)
{
        return health_reason_name((enum health_reason)state);
}

static void put_states(struct text *t, const struct states *s)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct integrals *in = t->in->gpus[i].in;
                for (unsigned k = 0; k < s->n; k++) {
                        if (!(s->seconds(in)[k] > 0))
                                continue;
                        if (!begun)
                                own_put_head(t, s->family, FAMILY_COUNTER, s->help);
                        begun = true;
                        own_put_counter(t, s->family, &t->labels[i].own, s->label, s->name(k),
                                        s->seconds(in)[k], 6, in->created_ns);
                }
        }
}

static void put_all_states(struct text *t)
{
        static const struct states table[] = {
            {"assay_gpu_class_seconds", "class", "Time in each workload class.", WORKLOAD_COUNT,
             class_seconds, class_label},
            {"assay_gpu_limiter_seconds", "limiter",
             "Time in which each limiter held the GPU back.", LIMITER_COUNT, limiter_seconds,
             limiter_label},
            {"assay_gpu_health_seconds", "health", "Time in each state of health.", HEALTH_CRIT + 1,
             health_seconds, health_label},
            {"assay_gpu_finding_seconds", "finding",
             "Time in which something was wrong with the GPU, by what it was.", HEALTH_REASON_COUNT,
             finding_seconds, finding_label},
        };
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
                put_states(t, &table[i]);
}

static void put_xids(struct text *t)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct integrals *in = t->in->gpus[i].in;
                for (size_t k = 0; k < in->n_xids; k++) {
                        char xid[16];
                        snprintf(xid, sizeof(xid), "%u", in->xids[k].xid);
                        if (!begun)
                                own_put_head(t, "assay_gpu_xid", FAMILY_COUNTER,
                                             "XID errors by number; 0 is all beyond the first 15.");
                        begun = true;
                        own_put_counter(t, "assay_gpu_xid", &t->labels[i].own, "xid", xid,
                                        in->xids[k].n, 0, in->created_ns);
                }
        }
}

/* --- who it is, who holds it ---------------------------------------------------------------- */

static const char *vendor_label(enum vendor vendor)
{
        static const char *const names[VENDOR_COUNT] = {"", "nvidia", "amd", "intel"};
        return names[vendor];
}

/* What is wrong with a GPU that does not answer. */
static uint32_t problems_of_silence(void)
{
        uint32_t found = 0;
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++)
                found |= health_reason_info(i)->metric == METRIC_LOST ? 1u << i : 0;
        return found;
}

/* Those who read this text judge by it: a GPU that is silent has no other values to be judged by.
 */
static void put_problems(struct text *t)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct exposed_gpu *g = &t->in->gpus[i];
                uint32_t lost = g->up ? 0 : problems_of_silence();
                if (!g->up && !t->in->self.source_up)
                        continue;
                if (!begun)
                        own_put_head(t, "assay_gpu_problems", FAMILY_GAUGE,
                                     "What is wrong with the GPU now: the sum of 2^n of each "
                                     "problem n; 0 is nothing.");
                begun = true;
                own_put_sample(t, "assay_gpu_problems", "", &t->labels[i].own, NULL, NULL,
                               g->row->health.findings | lost, 0);
        }
}

static void put_info(struct text *t)
{
        own_put_head(t, "assay_gpu_info", FAMILY_GAUGE, "What the GPU is; always 1.");
        for (size_t i = 0; i < t->in->n; i++) {
                const struct entity *e = t->in->gpus[i].row->sample.who;
                const struct entity *parent = e->kind == ENTITY_GPU ? e : text_parent_of(t->in, e);
                struct strbuf labels = {0};
                strbuf_put(&labels, t->labels[i].own.s, t->labels[i].own.len);
                if (e->index >= 0)
                        text_put_label_number(&labels, "index", e->index);
                text_put_label_if(&labels, "pci", text_of_device(e, parent, ENTITY_TEXT_PCI));
                text_put_label_if(&labels, "model", text_of_device(e, parent, ENTITY_TEXT_MODEL));
                text_put_label_if(&labels, "vendor", vendor_label(e->vendor));
                text_put_label_if(&labels, "driver", text_of_device(e, parent, ENTITY_TEXT_DRIVER));
                text_put_label_if(&labels, "serial", text_of_device(e, parent, ENTITY_TEXT_SERIAL));
                text_put_label_if(&labels, "mig_profile", e->text[ENTITY_TEXT_MIG_PROFILE]);
                own_put_sample(t, "assay_gpu_info", "", &labels, NULL, NULL, 1, 0);
                strbuf_finish(&labels);
        }
        own_put_head(t, "assay_gpu_up", FAMILY_GAUGE, "Whether the GPU answers.");
        for (size_t i = 0; i < t->in->n; i++)
                own_put_sample(t, "assay_gpu_up", "", &t->labels[i].own, NULL, NULL,
                               t->in->gpus[i].up, 0);
        put_problems(t);
}

static void make_gpu_of(const struct owner *o, struct strbuf *out)
{
        text_put_label_if(out, "uuid", o->uuid);
        text_put_label_number(out, "gpu", o->index);
        if (o->gi >= 0)
                text_put_label_number(out, "gi", o->gi);
}

/* What holders did, by slots: who has a slot is in the owners' family alone. */
struct holding_family {
        const char *name, *help;
        size_t at; /* of the number, or of those by reason, in struct holding */
        bool by_reason;
        enum {
                HOLDING_NOTHING,
                HOLDING_HELD,
                HOLDING_OBSERVED,
                HOLDING_ITSELF,
                HOLDING_PROCESS
        } needs;
};

static void put_holding_series(struct text *t, const struct holding_family *f,
                               const struct integrals *in, const struct strbuf *gpu, unsigned slot,
                               bool *begun)
{
        const struct holding *h = &in->holdings[slot];
        const double *v = (const double *)(const void *)((const char *)h + f->at);
        struct strbuf labels = {0};
        strbuf_put(&labels, gpu->s, gpu->len);
        text_put_label_number(&labels, "slot", (int32_t)slot + 1);
        for (enum idle_reason i = 0; i < (f->by_reason ? IDLE_REASON_COUNT : 1); i++) {
                if (f->by_reason && !(v[i] > 0))
                        continue;
                if (!*begun)
                        own_put_head(t, f->name, FAMILY_COUNTER, f->help);
                *begun = true;
                own_put_counter(t, f->name, &labels, f->by_reason ? "reason" : NULL,
                                f->by_reason ? idle_reason_name(i) : NULL, v[i], 3, in->created_ns);
        }
        strbuf_finish(&labels);
}

/*
 * Slots that were used, and the next one: it is reported as 0 before it grows, so that any caller
 * that compares two scrapes knows what it began with.
 */
static unsigned slots_with_holders(const struct integrals *in)
{
        unsigned n = HOLDING_SLOTS;
        while (n > 0 && !(in->holdings[n - 1].held_s > 0))
                n--;
        return MIN(n + 1, (unsigned)HOLDING_SLOTS);
}

/* What counters never reported is unknown, not 0; idleness without them is said where there was
 * any. */
static bool has_holding(const struct holding_family *f, const struct holding *h)
{
        if (f->needs == HOLDING_OBSERVED)
                return h->observed_s > 0;
        if (f->needs == HOLDING_ITSELF)
                return h->idle_unobserved_s > 0;
        if (f->needs == HOLDING_PROCESS)
                return h->process_seen_s > 0;
        return f->needs == HOLDING_NOTHING || h->held_s > 0;
}

static void put_holdings(struct text *t)
{
        static const struct holding_family families[] = {
            {"assay_gpu_held_seconds",
             "Time in which the owner that has the slot held the GPU; assay_gpu_owner_info has it.",
             offsetof(struct holding, held_s), false, HOLDING_NOTHING},
            {"assay_gpu_held_observed_seconds",
             "Of the time held, that in which the GPU's counters were there.",
             offsetof(struct holding, observed_s), false, HOLDING_HELD},
            {"assay_gpu_held_idle_unobserved_seconds",
             "Of the time held, that without counters in which the driver told that the GPU was "
             "idle.",
             offsetof(struct holding, idle_unobserved_s), false, HOLDING_ITSELF},
            {"assay_gpu_held_real_utilization_seconds",
             "Real Utilization (0 to 1) × time while it was held.",
             offsetof(struct holding, real_s), false, HOLDING_OBSERVED},
            {"assay_gpu_held_process_seconds",
             "On a GPU that several owners hold: utilization by this owner's processes × time.",
             offsetof(struct holding, process_s), false, HOLDING_PROCESS},
            {"assay_gpu_held_process_seen_seconds",
             "On a GPU that several owners hold: time in which the use by processes was known.",
             offsetof(struct holding, process_seen_s), false, HOLDING_PROCESS},
            {"assay_gpu_wasted_seconds",
             "Time held and idle, judged on ten minutes at a time, by reason.",
             offsetof(struct holding, wasted_s), true, HOLDING_HELD},
        };
        for (size_t f = 0; f < ARRAY_LEN(families); f++) {
                bool begun = false;
                for (size_t i = 0; i < t->in->n; i++) {
                        const struct integrals *in = t->in->gpus[i].in;
                        for (unsigned slot = 0; slot < slots_with_holders(in); slot++) {
                                if (has_holding(&families[f], &in->holdings[slot]))
                                        put_holding_series(t, &families[f], in, &t->labels[i].own,
                                                           slot, &begun);
                        }
                }
        }
}

static void put_owners(struct text *t)
{
        size_t n = MAX(t->in->n_reported, t->in->n_owners);
        if (n > 0)
                own_put_head(t, "assay_gpu_owner_info", FAMILY_GAUGE,
                             "Who holds the GPU: 1 now, 0 for 15 minutes after it let go.");
        for (size_t i = 0; i < n; i++) {
                const struct owner *o = &t->in->owners[i];
                struct strbuf labels = {0};
                make_gpu_of(o, &labels);
                if (o->slot > 0)
                        text_put_label_number(&labels, "slot", o->slot);
                text_put_label(&labels, "kind", owner_kind_name(o->kind));
#define OWNER_TEXT(id, name, size) text_put_label_if(&labels, name, o->id);
                OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
                own_put_sample(t, "assay_gpu_owner_info", "", &labels, NULL, NULL, o->gone ? 0 : 1,
                               0);
                strbuf_finish(&labels);
        }
}

/* How much of the GPU's memory each owner's processes have. */
static void put_held_memory(struct text *t)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n_owners; i++) {
                const struct owner *o = &t->in->owners[i];
                struct strbuf labels = {0};
                if (o->slot < 1 || !value_is_set(o->gpu_memory))
                        continue;
                make_gpu_of(o, &labels);
                text_put_label_number(&labels, "slot", o->slot);
                if (!begun)
                        own_put_head(t, "assay_gpu_held_memory_bytes", FAMILY_GAUGE,
                                     "Device memory of the processes of the slot's owner.");
                begun = true;
                own_put_sample(t, "assay_gpu_held_memory_bytes", "", &labels, NULL, NULL,
                               o->gpu_memory.v, 0);
                strbuf_finish(&labels);
        }
}

static void put_process_figure(struct text *t, const char *name, enum family_type type,
                               const char *help, struct value (*figure)(const struct owner *o))
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n_owners; i++) {
                const struct owner *o = &t->in->owners[i];
                struct value v = figure(o);
                if (o->kind != OWNER_PROCESS || !value_is_set(v))
                        continue;
                struct strbuf labels = {0};
                make_gpu_of(o, &labels);
                text_put_label_if(&labels, "user", o->user);
                if (!begun)
                        own_put_head(t, name, type, help);
                begun = true;
                own_put_sample(t, name, type == FAMILY_COUNTER ? "_total" : "", &labels, NULL, NULL,
                               v.v, type == FAMILY_COUNTER ? 3 : 0);
                strbuf_finish(&labels);
        }
}

static struct value process_gpu_memory(const struct owner *o)
{
        return o->gpu_memory;
}

static struct value process_memory(const struct owner *o)
{
        return o->process_memory;
}

static struct value process_cpu(const struct owner *o)
{
        return o->process_cpu_s;
}

static void put_process_use(struct text *t)
{
        put_held_memory(t);
        put_process_figure(t, "assay_process_gpu_memory_bytes", FAMILY_GAUGE,
                           "Device memory of a user's processes outside of jobs.",
                           process_gpu_memory);
        put_process_figure(t, "assay_process_cpu_seconds", FAMILY_COUNTER,
                           "CPU time of a user's processes on the GPU outside of jobs.",
                           process_cpu);
        put_process_figure(t, "assay_process_memory_bytes", FAMILY_GAUGE,
                           "Resident memory of a user's processes on the GPU outside of jobs.",
                           process_memory);
}

/* A job with several GPUs has one control group. */
static bool was_held_before(const struct exposition_input *in, size_t i)
{
        for (size_t k = 0; k < i; k++) {
                if (owner_same(&in->owners[k], &in->owners[i]))
                        return true;
        }
        return false;
}

static void put_job_figure(struct text *t, const char *name, enum family_type type,
                           const char *direction, const char *help,
                           struct value (*figure)(const struct owner *o))
{
        bool begun = !help;
        for (size_t i = 0; i < t->in->n_owners; i++) {
                const struct owner *o = &t->in->owners[i];
                struct value v = figure(o);
                if (o->kind == OWNER_PROCESS || !value_is_set(v) || was_held_before(t->in, i))
                        continue;
                struct strbuf labels = {0};
                text_put_label(&labels, "kind", owner_kind_name(o->kind));
                text_put_label_if(&labels, "job", o->job);
                text_put_label_if(&labels, "namespace", o->namespace);
                text_put_label_if(&labels, "pod", o->pod);
                text_put_label_if(&labels, "container", o->container);
                if (!begun)
                        own_put_head(t, name, type, help);
                begun = true;
                own_put_sample(t, name, type == FAMILY_COUNTER ? "_total" : "", &labels,
                               direction ? "direction" : NULL, direction, v.v,
                               type == FAMILY_COUNTER && !direction ? 3 : 0);
                strbuf_finish(&labels);
        }
}

static struct value job_cpu(const struct owner *o)
{
        return o->cpu_s;
}

static struct value job_memory(const struct owner *o)
{
        return o->memory;
}

static struct value job_limit(const struct owner *o)
{
        return o->memory_limit;
}

static struct value job_read(const struct owner *o)
{
        return o->read_bytes;
}

static struct value job_written(const struct owner *o)
{
        return o->written_bytes;
}

static void put_jobs(struct text *t)
{
        put_job_figure(t, "assay_job_cpu_seconds", FAMILY_COUNTER, NULL,
                       "CPU time of the job's control group.", job_cpu);
        put_job_figure(t, "assay_job_memory_bytes", FAMILY_GAUGE, NULL,
                       "Memory of the job's control group.", job_memory);
        put_job_figure(t, "assay_job_memory_limit_bytes", FAMILY_GAUGE, NULL,
                       "Memory that the job's control group may use.", job_limit);
        put_job_figure(t, "assay_job_io_bytes", FAMILY_COUNTER, "read",
                       "Storage traffic of the job's control group.", job_read);
        put_job_figure(t, "assay_job_io_bytes", FAMILY_COUNTER, "write", NULL, job_written);
}

/* Numbers of the user's own (--collect). */
static void put_collected(struct text *t)
{
        struct strbuf labels = {0};
        if (t->in->n_collected > 0)
                own_put_head(t, "assay_collected_value", FAMILY_GAUGE,
                             "A number of the user's own, by its name and unit.");
        for (size_t i = 0; i < t->in->n_collected; i++) {
                const struct collected *c = &t->in->collected[i];
                strbuf_clear(&labels);
                text_put_label(&labels, "name", c->name);
                text_put_label_if(&labels, "unit", c->unit);
                own_put_sample(t, "assay_collected_value", "", &labels, NULL, NULL, c->value, 9);
        }
        t->out->failed |= labels.failed;
        strbuf_finish(&labels);
}

/* No series where nothing counts: 0 would be an answer. */
static void put_machine(struct text *t)
{
        static const char *const parts[MACHINE_PARTS] = {
            [MACHINE_CPU] = "cpu", [MACHINE_NODE] = "node"};
        const struct machine_use *m = &t->in->machine;
        unsigned powers = 0, energies = 0;
        for (enum machine_part i = 0; i < MACHINE_PARTS; i++) {
                if (!m->counted[i])
                        continue;
                if (energies++ == 0)
                        own_put_head(t, "assay_node_energy_joules", FAMILY_COUNTER,
                                     "Energy that the machine used while it was watched: its "
                                     "processors (cpu), and all of it by its power meter (node).");
                own_put_counter(t, "assay_node_energy_joules", NULL, "part", parts[i], m->joules[i],
                                3, t->in->self.created_ns);
        }
        for (enum machine_part i = 0; i < MACHINE_PARTS; i++) {
                if (!value_is_set(m->power[i]))
                        continue;
                if (powers++ == 0)
                        own_put_head(t, "assay_node_power_watts", FAMILY_GAUGE,
                                     "Power of the machine's processors (cpu), and of all of it by "
                                     "its power meter (node).");
                own_put_sample(t, "assay_node_power_watts", "", NULL, "part", parts[i],
                               m->power[i].v, 3);
        }
}

void own_put_all(struct text *t)
{
        put_own_table(t);
        put_all_states(t);
        put_xids(t);
        if (t->in->n > 0)
                put_info(t);
        put_owners(t);
        put_holdings(t);
        put_process_use(t);
        put_jobs(t);
        own_put_servings(t);
        put_machine(t);
        put_collected(t);
        own_put_self(t);
}
