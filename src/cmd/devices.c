/* assay devices: who is present, and what can be reported each. */
#include "base/list.h"
#include "base/strbuf.h"
#include "base/tablew.h"
#include "base/text.h"
#include "cmd/command.h"
#include "present/stream/json.h"

#include <string.h>

/* Counters have no value in the first round of some sources. */
#define FRAMES_MAX 3
#define DEVICES_MAX 4096

struct device {
        struct entity who;
        uint8_t states[METRIC_COUNT]; /* the best each metric had: enum state */
};

struct devices {
        size_t n;
        struct device *list;
        char provenance[80];
};

static bool is_present(uint8_t state)
{
        return state == STATE_OK || state == STATE_STALE;
}

static struct device *devices_find(struct devices *d, const struct entity *e)
{
        for (size_t i = 0; i < d->n; i++) {
                if (d->list[i].who.slot == e->slot)
                        return &d->list[i];
        }
        if (d->n == DEVICES_MAX)
                return NULL;
        if (!LIST_ONE_MORE(d->list, d->n))
                return NULL;
        memset(&d->list[d->n], 0, sizeof(*d->list));
        return &d->list[d->n++];
}

static void note_frame(struct devices *d, const struct frame *frame)
{
        snprintf(d->provenance, sizeof(d->provenance), "%s", frame->provenance);
        for (size_t i = 0; i < frame->n; i++) {
                const struct sample *s = &frame->rows[i].sample;
                struct device *dev = devices_find(d, s->who);
                if (!dev)
                        return;
                dev->who = *s->who;
                for (size_t m = 0; m < METRIC_COUNT; m++) {
                        if (!is_present(dev->states[m]))
                                dev->states[m] = s->m[m].state;
                }
        }
}

static bool all_have_counters(const struct devices *d)
{
        for (size_t i = 0; i < d->n; i++) {
                if (!is_present(d->list[i].states[METRIC_SM_ACTIVE]))
                        return false;
        }
        return d->n > 0;
}

static int gather_devices(const struct config *config, struct pipeline *p, struct devices *d,
                          struct err *err)
{
        const struct frame *frame;
        int r = seek_start(config, p, &frame, err);
        for (int k = 1; r > 0; k++) {
                note_frame(d, frame);
                if (k == FRAMES_MAX || all_have_counters(d))
                        return 0;
                r = pipeline_next(p, &frame, err);
        }
        return r;
}

static size_t count_present(const struct device *dev)
{
        size_t n = 0;
        for (size_t m = 0; m < METRIC_COUNT; m++)
                n += is_present(dev->states[m]) && metric_info(m)->kind != METRIC_KIND_DERIVED;
        return n;
}

/* What people ask for first, and the metric that shows it. */
static const struct {
        const char *name;
        enum metric metric;
} abilities[] = {
    {"util", METRIC_GPU_UTIL},        {"sm", METRIC_SM_ACTIVE},   {"tensor", METRIC_TENSOR_ACTIVE},
    {"dram", METRIC_DRAM_ACTIVE},     {"memory", METRIC_FB_USED}, {"power", METRIC_POWER},
    {"temp", METRIC_GPU_TEMP},        {"pcie", METRIC_PCIE_RX},   {"nvlink", METRIC_NVLINK_RX},
    {"ecc", METRIC_ECC_DBE_VOLATILE},
};

static const char *text_or(const struct entity *e, enum entity_text text)
{
        return e->text[text][0] ? e->text[text] : "--";
}

/* All of them, or which. */
static void write_lacking(const struct devices *d, bool live, struct strbuf *out)
{
        size_t n = 0;
        for (size_t i = 0; i < d->n; i++)
                n += !is_present(d->list[i].states[METRIC_SM_ACTIVE]);
        const char *before = "GPU ";
        for (size_t i = 0; n < d->n && i < d->n; i++) {
                if (is_present(d->list[i].states[METRIC_SM_ACTIVE]))
                        continue;
                strbuf_putf(out, "%s%s", before, d->list[i].who.label);
                before = ", ";
        }
        strbuf_putf(out,
                    n < d->n ? " lack%s SM and tensor counters%s\n"
                             : "SM and tensor counters are missing%.0s%s\n",
                    n == 1 ? "s" : "", live ? ": 'assay doctor' tells why" : " there");
}

static void write_text(const struct devices *d, bool live, struct strbuf *out)
{
        size_t gpu = 3, model = 5, uuid = 4;
        for (size_t i = 0; i < d->n; i++) {
                const struct entity *e = &d->list[i].who;
                gpu = MAX(gpu, text_columns(e->label));
                model = MAX(model, text_columns(text_or(e, ENTITY_TEXT_MODEL)));
                uuid = MAX(uuid, text_columns(text_or(e, ENTITY_TEXT_UUID)));
        }
        const struct tablew_column columns[] = {{"GPU", -(int)gpu, 0},
                                                {"Model", -(int)model, 2},
                                                {"PCI", -16, 2},
                                                {"UUID", -(int)uuid, 2},
                                                {"Metrics", 0, 2}};
        struct tablew t = {.out = out, .columns = columns};
        tablew_head(&t, ARRAY_LEN(columns));
        for (size_t i = 0; i < d->n; i++) {
                const struct device *dev = &d->list[i];
                tablew_cell(&t, dev->who.label);
                tablew_cell(&t, text_or(&dev->who, ENTITY_TEXT_MODEL));
                tablew_cell(&t, text_or(&dev->who, ENTITY_TEXT_PCI));
                tablew_cell(&t, text_or(&dev->who, ENTITY_TEXT_UUID));
                tablew_cellf(&t, "%zu:", count_present(dev));
                for (size_t k = 0; k < ARRAY_LEN(abilities); k++) {
                        if (is_present(dev->states[abilities[k].metric]))
                                strbuf_putf(out, " %s", abilities[k].name);
                }
                tablew_end(&t);
        }
        strbuf_putf(out, "\nfrom %s\n", d->provenance);
        if (!all_have_counters(d))
                write_lacking(d, live, out);
}

static void put_device(struct jsonw *j, const struct device *dev)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_identity(j, &dev->who);
        jsonw_array(j, "metrics");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (is_present(dev->states[m]))
                        jsonw_text(j, NULL, metric_info(m)->name);
        }
        jsonw_end(j);
        jsonw_object(j, "missing");
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (!is_present(dev->states[m]))
                        jsonw_text(j, metric_info(m)->name, state_name((enum state)dev->states[m]));
        }
        jsonw_end(j);
        jsonw_end(j);
}

static void write_json(const struct devices *d, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_whole(&j, "schema", JSON_SCHEMA_VERSION);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", program_version);
        jsonw_text(&j, "source", d->provenance);
        jsonw_array(&j, "devices");
        for (size_t i = 0; i < d->n; i++)
                put_device(&j, &d->list[i]);
        jsonw_line(&j);
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

static int compare_devices(const void *a, const void *b)
{
        const struct device *x = a, *y = b;
        return entity_compare(&x->who, &y->who);
}

static int devices_run(const struct config *config)
{
        struct err err = {0};
        struct pipeline *p = NULL;
        struct devices d = {0};
        struct strbuf out = {0};
        int r = open_pipeline(config, false, &p, &err);
        if (r == 0)
                r = gather_devices(config, p, &d, &err);
        if (r == 0) {
                if (d.n > 1)
                        qsort(d.list, d.n, sizeof(*d.list), compare_devices);
                if (config_flag(config, OPT_JSON))
                        write_json(&d, &out);
                else
                        write_text(&d, pipeline_is_live(p), &out);
                print_text(&out);
                report_trouble(p);
        }
        pipeline_close(p);
        strbuf_finish(&out);
        free(d.list);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_devices = {
    .name = "devices",
    .args = "[FILE|URL]",
    .summary = "list GPUs and MIG slices, and what can be measured of each",
    .words = WORDS_SOURCE,
    .examples = {{"assay devices", "the GPUs of this machine"},
                 {"assay devices run.assay", "those of a recording"},
                 {"assay devices --json", "for a program"}},
    .run = devices_run,
};
