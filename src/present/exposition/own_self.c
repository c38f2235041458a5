/* What the program says of itself: the sampler, the server, pushing, dumps. */
#include "base/clock.h"
#include "present/exposition/own_put.h"

static void put_plain(struct text *t, const char *name, enum family_type type, const char *help,
                      double v, unsigned decimals)
{
        own_put_head(t, name, type, help);
        if (type == FAMILY_COUNTER)
                own_put_counter(t, name, NULL, NULL, NULL, v, decimals, t->in->self.created_ns);
        else
                own_put_sample(t, name, "", NULL, NULL, NULL, v, decimals);
}

static void put_ticks(struct text *t)
{
        static const char *const results[TICK_RESULTS] = {"on_time", "late", "missed"};
        own_put_head(t, "assay_sampler_ticks", FAMILY_COUNTER, "Ticks of the sampler.");
        for (unsigned i = 0; i < TICK_RESULTS; i++)
                own_put_counter(t, "assay_sampler_ticks", NULL, "result", results[i],
                                t->in->self.ticks[i], 0, t->in->self.created_ns);
}

static void put_serving(struct text *t)
{
        const struct exposed_self *self = &t->in->self;
        put_plain(t, "assay_scrapes", FAMILY_COUNTER, "Scrapes answered before this one.",
                  self->scrapes, 0);
        put_plain(t, "assay_scrape_format_seconds", FAMILY_COUNTER,
                  "Time spent on the text of scrapes.", self->scrape_seconds, 6);
        put_plain(t, "assay_streams", FAMILY_GAUGE, "Live streams open.", self->streams, 0);
        put_plain(t, "assay_connections", FAMILY_GAUGE, "Connections open.", self->connections, 0);
}

static void put_pushing(struct text *t)
{
        static const char *const results[PUSH_RESULTS] = {"sent", "refused", "dropped"};
        const struct exposed_push *push = &t->in->self.push;
        own_put_head(t, "assay_push_batches", FAMILY_COUNTER,
                     "Batches that --push sent, that the engine refused, or that did not fit.");
        for (unsigned i = 0; i < PUSH_RESULTS; i++)
                own_put_counter(t, "assay_push_batches", NULL, "result", results[i],
                                push->batches[i], 0, t->in->self.created_ns);
        put_plain(t, "assay_push_waiting_batches", FAMILY_GAUGE, "Batches that wait to be pushed.",
                  push->waiting, 0);
        put_plain(t, "assay_push_waiting_bytes", FAMILY_GAUGE, "Bytes that wait to be pushed.",
                  push->waiting_bytes, 0);
}

/* The newest, so that an alert can name the file; then how many there were. */
static void put_dumps(struct text *t)
{
        const struct dump_status *d = t->in->self.dump;
        put_plain(t, "assay_flight_seconds", FAMILY_GAUGE,
                  "How much of the past the flight recorder holds.", clock_to_seconds(d->kept_ns),
                  1);
        own_put_head(t, "assay_dumps", FAMILY_COUNTER, "Dumps that were written, by cause.");
        for (enum dump_cause i = 0; i < DUMP_CAUSE_COUNT; i++)
                own_put_counter(t, "assay_dumps", NULL, "cause", dump_cause_info(i)->name,
                                (double)d->written[i], 0, t->in->self.created_ns);
        put_plain(t, "assay_dumps_failed", FAMILY_COUNTER, "Dumps that could not be written.",
                  (double)d->failed, 0);
        put_plain(t, "assay_dumps_held_back", FAMILY_COUNTER,
                  "Events without a dump, as there had just been one of the same.",
                  (double)d->held_back, 0);
        if (!d->file[0])
                return;
        struct strbuf labels = {0};
        text_put_label(&labels, "file", d->file);
        text_put_label(&labels, "cause", dump_cause_info(d->last.cause)->name);
        text_put_label(&labels, "gpu", d->last.gpu);
        own_put_head(t, "assay_dump_info", FAMILY_GAUGE,
                     "The newest dump: its file, and why it was written.");
        own_put_sample(t, "assay_dump_info", "", &labels, NULL, NULL, 1, 0);
        strbuf_finish(&labels);
        put_plain(t, "assay_dump_time_seconds", FAMILY_GAUGE,
                  "When the newest dump ended, since the Unix epoch.",
                  clock_to_seconds(d->ended_wall_ns), 3);
}

void own_put_self(struct text *t)
{
        const struct exposed_self *self = &t->in->self;
        own_put_head(t, "assay_up", FAMILY_GAUGE, "Whether the source delivers.");
        own_put_sample(t, "assay_up", "", NULL, "source", self->source, self->source_up, 0);
        own_put_head(t, "assay_build_info", FAMILY_GAUGE, "The program; always 1.");
        own_put_sample(t, "assay_build_info", "", NULL, "version", t->o->version, 1, 0);
        put_ticks(t);
        if (self->serves)
                put_serving(t);
        if (self->pushes)
                put_pushing(t);
        if (self->dump)
                put_dumps(t);
        put_plain(t, "process_resident_memory_bytes", FAMILY_GAUGE, "Memory of this program.",
                  self->rss_bytes, 0);
        put_plain(t, "process_cpu_seconds", FAMILY_COUNTER, "CPU time of this program.",
                  self->cpu_s, 3);
        put_plain(t, "process_start_time_seconds", FAMILY_GAUGE,
                  "When this program started, since the Unix epoch.", self->start_s, 3);
}
