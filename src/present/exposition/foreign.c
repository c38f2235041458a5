#include "present/exposition/foreign.h"

#include "base/attr.h"

#include <stdio.h>
#include <string.h>

enum { SET_ROCM, SET_ALL_SMI, SET_NODE, SETS };

static const char *const set_names[SETS] = {
    [SET_ROCM] = "rocm", [SET_ALL_SMI] = "all-smi", [SET_NODE] = "node"};

struct foreign_row {
        unsigned set;
        const char *name, *label, *value;
        unsigned what; /* enum metric, or enum system_figure of the node's */
        enum family_type type;
        double factor;
        unsigned decimals;
        const char *help;
};

static const struct foreign_row gpu_rows[] = {
#define FOREIGN(set, name, label, value, metric, type, factor, decimals, help)                     \
        {SET_##set, name, label, value, METRIC_##metric, FAMILY_##type, factor, decimals, help},
#include "present/exposition/foreign.def"
#undef FOREIGN
};

static const struct foreign_row node_rows[] = {
#define FOREIGN_HOST(name, label, value, figure, type, decimals, help)                             \
        {SET_NODE, name, label, value, SYSTEM_##figure, FAMILY_##type, 1, decimals, help},
#include "present/exposition/foreign.def"
#undef FOREIGN_HOST
};

int foreign_parse(const char *list, unsigned *ret, struct err *err)
{
        unsigned sets = 0;
        for (const char *at = list; *at; at += strspn(at, ", ")) {
                size_t n = strcspn(at, ", "), i = 0;
                while (i < SETS && (strlen(set_names[i]) != n || strncmp(set_names[i], at, n) != 0))
                        i++;
                if (i == SETS) {
                        err_set(err, ERR_USAGE, "--also: unknown names '%.*s'", (int)MIN(n, 40UL),
                                at);
                        return err_hint(err, "there are rocm, all-smi and node");
                }
                sets |= 1u << i;
                at += n;
        }
        *ret = sets;
        return 0;
}

static const char *foreign_host_of(const struct text *t, const struct entity *e)
{
        const char *host = text_of_device(e, e, ENTITY_TEXT_HOST);
        return host[0] && strcmp(host, t->o->own_host) != 0 ? host : t->o->hostname;
}

static const struct owner *foreign_owner_of(const struct exposition_input *in,
                                            const struct entity *e)
{
        for (size_t i = 0; i < in->n_owners; i++) {
                const struct owner *o = &in->owners[i];
                if (o->gi < 0 && strcmp(o->uuid, e->text[ENTITY_TEXT_UUID]) == 0)
                        return o;
        }
        return NULL;
}

/* AMD's exporter has who holds the GPU on every series. */
static void put_rocm_labels(const struct text *t, const struct entity *e, struct strbuf *out)
{
        const struct owner *o = foreign_owner_of(t->in, e);
        text_put_label_number(out, "gpu_id", e->index);
        text_put_label_if(out, "gpu_uuid", e->text[ENTITY_TEXT_UUID]);
        text_put_label_if(out, "serial_number", e->text[ENTITY_TEXT_SERIAL]);
        text_put_label_if(out, "card_series", e->text[ENTITY_TEXT_MODEL]);
        text_put_label(out, "card_vendor", "AMD");
        text_put_label_if(out, "driver_version", e->text[ENTITY_TEXT_DRIVER]);
        text_put_label_if(out, "vbios_version", e->text[ENTITY_TEXT_VBIOS]);
        text_put_label_if(out, "hostname", foreign_host_of(t, e));
        if (o && o->kind == OWNER_SLURM) {
                text_put_label_if(out, "job_id", o->job);
                text_put_label_if(out, "job_user", o->user);
                text_put_label_if(out, "job_partition", o->partition);
        } else if (o && o->kind == OWNER_KUBERNETES) {
                text_put_label_if(out, "pod", o->pod);
                text_put_label_if(out, "namespace", o->namespace);
                text_put_label_if(out, "container", o->container);
        }
}

static void put_all_smi_labels(const struct text *t, const struct entity *e, struct strbuf *out)
{
        text_put_label_if(out, "gpu", e->text[ENTITY_TEXT_MODEL]);
        text_put_label_if(out, "instance", foreign_host_of(t, e));
        text_put_label_if(out, "gpu_uuid", e->text[ENTITY_TEXT_UUID]);
        text_put_label_number(out, "gpu_index", e->index);
}

/* Slices have no place in these vocabularies. */
static bool has_place(unsigned set, const struct entity *e)
{
        return e->kind == ENTITY_GPU && e->index >= 0 &&
               (set != SET_ROCM || e->vendor == VENDOR_AMD);
}

static void foreign_put_line(struct text *t, const struct foreign_row *r, struct strbuf *labels,
                             const char *before, double v)
{
        if (strcmp(before, r->name) != 0)
                text_put_head(t, r->name, "",
                              t->openmetrics && r->type == FAMILY_COUNTER
                                  ? "unknown"
                                  : family_type_name(r->type),
                              r->help);
        if (r->label[0])
                text_put_label(labels, r->label, r->value);
        strbuf_puts(t->out, r->name);
        if (labels->len > 0)
                strbuf_putf(t->out, "{%s}", strbuf_str(labels));
        strbuf_putc(t->out, ' ');
        text_put_decimal(t->out, v * r->factor, r->decimals);
        strbuf_putc(t->out, '\n');
        t->out->failed |= labels->failed;
}

/* Rows of one family follow each other, and so do their lines. */
static void foreign_put_gpus(struct text *t)
{
        const char *before = "";
        for (size_t k = 0; k < ARRAY_LEN(gpu_rows); k++) {
                const struct foreign_row *r = &gpu_rows[k];
                for (size_t i = 0; i < t->in->n && (t->o->also & (1u << r->set)); i++) {
                        const struct exposed_gpu *g = &t->in->gpus[i];
                        const struct entity *e = g->row->sample.who;
                        struct value v = g->row->sample.m[r->what];
                        struct strbuf labels = {0};
                        if (!g->up || !value_is_set(v) || !has_place(r->set, e))
                                continue;
                        if (r->set == SET_ROCM)
                                put_rocm_labels(t, e, &labels);
                        else
                                put_all_smi_labels(t, e, &labels);
                        foreign_put_line(t, r, &labels, before, v.v);
                        before = r->name;
                        strbuf_finish(&labels);
                }
        }
}

static void foreign_put_host(struct text *t)
{
        const char *before = "";
        for (size_t k = 0; k < ARRAY_LEN(node_rows); k++) {
                struct value v = t->in->host->system[node_rows[k].what];
                struct strbuf labels = {0};
                if (!value_is_set(v))
                        continue;
                foreign_put_line(t, &node_rows[k], &labels, before, v.v);
                before = node_rows[k].name;
                strbuf_finish(&labels);
        }
}

void foreign_put_all(struct text *t)
{
        foreign_put_gpus(t);
        if (t->in->host && (t->o->also & (1u << SET_NODE)))
                foreign_put_host(t);
}
