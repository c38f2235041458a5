#include "present/exposition/foreign.h"
#include "present/exposition/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- dcgm-exporter's families -------------------------------------------------------------- */

/* Domains have eight digits there, and letters are capitals. */
static void put_pci(struct strbuf *out, const char *pci)
{
        char text[ENTITY_TEXT_MAX + 8];
        const char *colon = strchr(pci, ':');
        size_t domain = colon ? (size_t)(colon - pci) : 0;
        bool has_domain = colon && strchr(colon + 1, ':');
        int missing = has_domain && domain < 8 ? 8 - (int)domain : 0;
        snprintf(text, sizeof(text), "%.*s%s", missing, "00000000", pci);
        for (char *c = text; *c; c++)
                *c = (char)toupper((unsigned char)*c);
        text_put_label_if(out, "pci_bus_id", text);
}

static bool owns_entity(const struct owner *o, const struct entity *e, const char *uuid)
{
        bool same = uuid[0] ? strcmp(o->uuid, uuid) == 0 : o->index == e->index;
        return same && o->gi == e->gi;
}

/* The first owner of each kind; a source that knows them itself has said so. */
static void put_owner_labels(struct strbuf *out, const struct exposition_input *in,
                             const struct entity *e, const char *uuid)
{
        const char *pod = e->text[ENTITY_TEXT_POD], *job = e->text[ENTITY_TEXT_JOB];
        const char *container = e->text[ENTITY_TEXT_CONTAINER];
        const char *namespace = e->text[ENTITY_TEXT_NAMESPACE];
        for (size_t i = 0; i < in->n_owners; i++) {
                const struct owner *o = &in->owners[i];
                if (!owns_entity(o, e, uuid))
                        continue;
                if (o->kind == OWNER_KUBERNETES && !pod[0]) {
                        pod = o->pod;
                        container = o->container;
                        namespace = o->namespace;
                } else if (o->kind == OWNER_SLURM && !job[0]) {
                        job = o->job;
                }
        }
        text_put_label_if(out, "container", container);
        text_put_label_if(out, "namespace", namespace);
        text_put_label_if(out, "pod", pod);
        text_put_label_if(out, "hpc_job", job);
}

/* This machine may have another name than its system says: a pod's is not its node's. */
static const char *host_label(const struct exposition_options *o, const char *host)
{
        return host[0] && strcmp(host, o->own_host) != 0 ? host : o->hostname;
}

static void make_dcgm_labels(const struct text *t, const struct entity *e,
                             enum exposition_dialect dialect, struct strbuf *out)
{
        static const char *const host_names[] = {"Hostname", "hostname"};
        static const char *const serial_names[] = {"DCGM_FI_DEV_SERIAL",
                                                   "DCGM_FI_DEV_BOARD_SERIAL"};
        static const char *const vbios_names[] = {"DCGM_FI_DEV_VBIOS_VERSION",
                                                  "DCGM_FI_DEV_VBIOS_VERSION"};
        static const char *const driver_names[] = {"DCGM_FI_DRIVER_VERSION",
                                                   "DCGM_FI_SYSTEM_DRIVER_VERSION"};
        const struct entity *parent = e->kind == ENTITY_GPU ? e : text_parent_of(t->in, e);
        const char *uuid = text_of_device(e, parent, ENTITY_TEXT_UUID);
        const char *host = text_of_device(e, parent, ENTITY_TEXT_HOST);
        char device[32];
        snprintf(device, sizeof(device), "nvidia%d", e->index);
        text_put_label_number(out, "gpu", e->index);
        text_put_label_if(out, "UUID", uuid);
        put_pci(out, text_of_device(e, parent, ENTITY_TEXT_PCI));
        const char *named = text_of_device(e, parent, ENTITY_TEXT_DEVICE);
        text_put_label(out, "device", named[0] ? named : device);
        text_put_label_if(out, "modelName", text_of_device(e, parent, ENTITY_TEXT_MODEL));
        if (e->kind == ENTITY_GPU_INSTANCE) {
                text_put_label_if(out, "GPU_I_PROFILE", e->text[ENTITY_TEXT_MIG_PROFILE]);
                text_put_label_number(out, "GPU_I_ID", e->gi);
        }
        if (!t->o->no_hostname)
                text_put_label_if(out, host_names[dialect], host_label(t->o, host));
        text_put_label_if(out, driver_names[dialect],
                          text_of_device(e, parent, ENTITY_TEXT_DRIVER));
        if (t->o->serial_label)
                text_put_label_if(out, serial_names[dialect],
                                  text_of_device(e, parent, ENTITY_TEXT_SERIAL));
        if (t->o->vbios_label)
                text_put_label_if(out, vbios_names[dialect],
                                  text_of_device(e, parent, ENTITY_TEXT_VBIOS));
        if (t->o->owner_labels)
                put_owner_labels(out, t->in, e, uuid);
}

/* Compute instances and other vendors' GPUs have no place in DCGM's vocabulary. */
static bool speaks_dcgm(const struct entity *e)
{
        return (e->kind == ENTITY_GPU || e->kind == ENTITY_GPU_INSTANCE) && e->index >= 0 &&
               (e->vendor == VENDOR_NVIDIA || e->vendor == VENDOR_UNKNOWN);
}

/* Their gauge of the last XID says what it means, too. */
static void put_xid_labels(struct strbuf *out, double code)
{
        static const struct {
                int xid;
                const char *text;
        } table[] = {
            {0, "No Error"},
            {13, "Graphics Engine Exception"},
            {31, "GPU memory page fault"},
            {43, "GPU stopped processing"},
            {45, "Preemptive cleanup, due to previous errors"},
            {48, "Double Bit ECC Error"},
            {62, "Internal micro-controller halt"},
            {63, "ECC page retirement or row remapping recording event"},
            {64, "ECC page retirement or row remapper recording failure"},
            {74, "NVLINK Error"},
            {79, "GPU has fallen off the bus"},
            {94, "Contained ECC error"},
            {95, "Uncontained ECC error"},
            {119, "GSP RPC Timeout"},
            {120, "GSP Error"},
        };
        const char *text = "Unknown Error";
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
                text = code == table[i].xid ? table[i].text : text;
        strbuf_putf(out, ",err_code=\"%.0f\",err_msg=\"%s\"", code, text);
}

static void put_dcgm_family(struct text *t, const struct chosen_family *c)
{
        const struct dcgm_family *f = dcgm_family_at(c->at);
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct exposed_gpu *g = &t->in->gpus[i];
                const struct strbuf *labels = &t->labels[i].dcgm[c->dialect];
                struct value v = g->row->sample.m[f->metric];
                if (!g->up || labels->len == 0 || !value_is_set(v))
                        continue;
                /* Their counters do not end in _total, as OpenMetrics wants them to. */
                if (!begun)
                        text_put_head(t, f->name[c->dialect], "",
                                      t->openmetrics && c->type == FAMILY_COUNTER
                                          ? "unknown"
                                          : family_type_name(c->type),
                                      c->help);
                begun = true;
                strbuf_puts(t->out, f->name[c->dialect]);
                strbuf_putc(t->out, '{');
                strbuf_put(t->out, labels->s, labels->len);
                if (f->metric == METRIC_XID_LAST)
                        put_xid_labels(t->out, v.v);
                strbuf_puts(t->out, "} ");
                text_put_decimal(t->out, v.v * f->factor[c->dialect],
                                 f->form[c->dialect] == FORM_INT ? 0 : 6);
                strbuf_putc(t->out, '\n');
        }
}

static const struct strbuf *dcgm_labels_of(const struct text *t, size_t gpu)
{
        const struct strbuf *classic = &t->labels[gpu].dcgm[DCGM_CLASSIC];
        return classic->len > 0 ? classic : &t->labels[gpu].dcgm[DCGM_NEW];
}

static void put_xid_line(struct text *t, const struct strbuf *labels, const char *xid, double n)
{
        strbuf_puts(t->out, DCGM_XID_WINDOW "{");
        strbuf_put(t->out, labels->s, labels->len);
        strbuf_putf(t->out, ",window_size_in_ms=\"%d\"%s} ", XID_WINDOW_S * 1000, xid);
        text_put_decimal(t->out, n, 0);
        strbuf_putc(t->out, '\n');
}

/* One line a number, or one of 0 without a number. */
static void put_xids_of(struct text *t, const struct strbuf *labels, const struct xid_events *x)
{
        struct integral_xid sums[INTEGRAL_XIDS_MAX];
        size_t n = 0;
        for (size_t i = 0; i < x->n; i++)
                integral_xids_add(sums, &n, x->list[i].xid, x->list[i].n);
        if (n == 0)
                put_xid_line(t, labels, "", 0);
        for (size_t i = 0; i < n; i++) {
                char xid[32];
                snprintf(xid, sizeof(xid), ",xid=\"%u\"", sums[i].xid);
                put_xid_line(t, labels, xid, sums[i].n);
        }
}

/* dcgm-exporter's own count: a gauge of a window that slides. */
static void put_xid_window(struct text *t)
{
        bool begun = false;
        for (size_t i = 0; i < t->in->n; i++) {
                const struct exposed_gpu *g = &t->in->gpus[i];
                const struct strbuf *labels = dcgm_labels_of(t, i);
                if (!g->up || !g->xids || !g->xids->counted || labels->len == 0)
                        continue;
                if (!begun)
                        text_put_head(t, DCGM_XID_WINDOW, "", "gauge",
                                      "XID errors in the last five minutes, by number.");
                begun = true;
                put_xids_of(t, labels, g->xids);
        }
}

/* ------------------------------------------------------------------------------------------- */

static void make_labels(struct text *t)
{
        bool dialects[DCGM_DIALECTS] = {false};
        for (size_t i = 0; i < t->o->n_chosen; i++)
                dialects[t->o->chosen[i].dialect] = true;
        dialects[DCGM_CLASSIC] |= t->o->xid_window && !dialects[DCGM_NEW];
        for (size_t i = 0; i < t->in->n; i++) {
                const struct entity *e = t->in->gpus[i].row->sample.who;
                own_make_labels(t, e, &t->labels[i].own);
                for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++) {
                        if (dialects[d] && speaks_dcgm(e))
                                make_dcgm_labels(t, e, d, &t->labels[i].dcgm[d]);
                }
        }
}

static void free_labels(struct text *t)
{
        for (size_t i = 0; i < t->in->n; i++) {
                strbuf_finish(&t->labels[i].own);
                for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++)
                        strbuf_finish(&t->labels[i].dcgm[d]);
        }
        free(t->labels);
}

void exposition_write(const struct exposition_options *o, const struct exposition_input *in,
                      bool openmetrics, struct strbuf *out)
{
        struct text t = {.o = o, .in = in, .openmetrics = openmetrics, .out = out};
        t.labels = calloc(in->n + 1, sizeof(*t.labels));
        if (!t.labels) {
                out->failed = true;
                return;
        }
        make_labels(&t);
        for (size_t i = 0; i < o->n_chosen; i++)
                put_dcgm_family(&t, &o->chosen[i]);
        if (o->xid_window)
                put_xid_window(&t);
        if (o->also)
                foreign_put_all(&t);
        if (o->own)
                own_put_all(&t);
        if (openmetrics)
                strbuf_puts(out, "# EOF\n");
        free_labels(&t);
}

int exposition_also(struct exposition_options *o, const char *list, struct err *err)
{
        return foreign_parse(list, &o->also, err);
}
