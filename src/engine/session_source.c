/*
 * Plays a session, ours or a notebook monitor's, as a source. It stands here because it joins two
 * layers: what store/ reads is given in the form that read/ promises.
 */
#include "engine/session_source.h"

#include "formats/notebook/notebook.h"
#include "life/pace.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct source {
        struct session_reader *reader; /* or a notebook's session */
        struct notebook *notebook;
        struct pace pace;
        struct schema schema;
        struct reading *readings;
        struct raw *cells; /* schema.n a reading */
        size_t cap;
        char provenance[ENTITY_TEXT_MAX];
        const struct frame *now; /* the tick that was given last */
        const struct host *next; /* the host's sample that lies ahead; NULL for none */
        struct host *host;       /* a copy of the one before it */
        bool asked_host, knows_host;
};

static void session_source_close(struct source *s)
{
        if (!s)
                return;
        session_reader_close(s->reader);
        notebook_close(s->notebook);
        free(s->host);
        pace_finish(&s->pace);
        free(s->readings);
        free(s->cells);
        free(s);
}

/* Every metric, then every fact about the entity: the same for all sessions. */
static void fill_schema(struct schema *schema)
{
        schema->dialect = DIALECT_CANON;
        schema->revision = 1;
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                snprintf(schema->names[schema->n++], FIELD_NAME_MAX, "%s", metric_info(m)->name);
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++)
                snprintf(schema->names[schema->n++], FIELD_NAME_MAX, "%s", entity_text_name(t));
}

static int session_source_open(const struct source_config *config, struct source **ret,
                               struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        pace_init(&s->pace, config->speed);
        fill_schema(&s->schema);
        bool ours = session_is_one(config->location);
        int r = ours ? session_open(config->location, &s->reader, err)
                     : notebook_open(config->location, &s->notebook, err);
        if (r == 0) {
                size_t n = ours ? session_entities(s->reader) : notebook_gpus(s->notebook);
                s->cap = MAX(n, (size_t)1);
                s->readings = calloc(s->cap, sizeof(*s->readings));
                s->cells = calloc(s->cap * s->schema.n, sizeof(*s->cells));
                if (!s->readings || !s->cells)
                        r = err_set(err, -ENOMEM, "out of memory");
        }
        if (r < 0) {
                session_source_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

static void fill_reading(struct source *s, size_t i, const struct sample *sample)
{
        const struct entity *e = sample->who;
        struct raw *cells = &s->cells[i * s->schema.n];
        for (size_t m = 0; m < METRIC_COUNT; m++)
                cells[m] = (struct raw){.num = sample->m[m].v, .state = sample->m[m].state};
        for (size_t t = 0; t < ENTITY_TEXT_COUNT; t++) {
                size_t len = strlen(e->text[t]);
                cells[METRIC_COUNT + t] =
                    len == 0
                        ? (struct raw){.state = STATE_NONE}
                        : (struct raw){.text = e->text[t], .len = (uint16_t)len, .state = STATE_OK};
        }
        const char *host = e->text[ENTITY_TEXT_HOST], *uuid = e->text[ENTITY_TEXT_UUID];
        s->readings[i] = (struct reading){.who = {.kind = e->kind,
                                                  .index = e->index,
                                                  .gi = e->gi,
                                                  .ci = e->ci,
                                                  .flat = e->flat,
                                                  .host = host,
                                                  .host_len = strlen(host),
                                                  .uuid = uuid,
                                                  .uuid_len = strlen(uuid)},
                                          .values = cells};
}

static int session_source_next(struct source *s, struct batch *ret, struct err *err)
{
        const struct frame *f;
        int r = s->reader ? session_next(s->reader, &f, err) : notebook_next(s->notebook, &f);
        if (r <= 0)
                return r;
        s->now = f;
        for (size_t i = 0; i < f->n; i++)
                fill_reading(s, i, &f->rows[i].sample);
        snprintf(s->provenance, sizeof(s->provenance), "%s", f->provenance);
        *ret = (struct batch){.schema = &s->schema,
                              .wall_ns = f->wall_ns,
                              .mono_ns = f->mono_ns,
                              .window_ns = f->window_ns,
                              .stale = f->stale,
                              .readings = s->readings,
                              .n = f->n};
        return pace_wait(&s->pace, ret->wall_ns) ? 1 : 0;
}

static size_t session_source_processes(struct source *s, struct process *ret, size_t max)
{
        if (!s->now || !s->now->knows_processes)
                return PROCESSES_UNKNOWN;
        size_t n = MIN(s->now->processes.n, max);
        if (n > 0)
                memcpy(ret, s->now->processes.list, n * sizeof(*ret));
        return n;
}

static void next_host(struct source *s)
{
        const struct host *h;
        int got = s->reader ? session_next_host(s->reader, &h, NULL) : 0;
        s->next = got > 0 ? h : NULL;
}

/* The sample that lies ahead is valid until the next is asked for, so the one before is copied. */
static const struct host *session_source_host(struct source *s)
{
        if (!s->asked_host)
                next_host(s);
        s->asked_host = true;
        while (s->now && s->next && s->next->wall_ns <= s->now->wall_ns) {
                if (!s->host)
                        s->host = malloc(sizeof(*s->host));
                if (!s->host)
                        return NULL;
                *s->host = *s->next;
                s->knows_host = true;
                next_host(s);
        }
        return s->knows_host && host_is_of(s->host, s->now->wall_ns) ? s->host : NULL;
}

static const char *session_source_provenance(const struct source *s)
{
        return s->provenance[0] ? s->provenance : "session";
}

static const char *session_source_recorded_host(struct source *s)
{
        const char *host = s->reader ? session_text(s->reader, "host") : NULL;
        return host ? host : "";
}

static void session_source_interrupt(struct source *s)
{
        pace_interrupt(&s->pace);
}

const struct source_ops source_session = {
    .name = "session",
    .help = "a recorded session",
    .finite = true,
    .open = session_source_open,
    .next = session_source_next,
    .provenance = session_source_provenance,
    .processes = session_source_processes,
    .host = session_source_host,
    .recorded_host = session_source_recorded_host,
    .interrupt = session_source_interrupt,
    .close = session_source_close,
};
