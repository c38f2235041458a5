/*
 * Plays a folder of sessions side by side: what lies within half an interval is one tick. A GPU
 * that several ranks recorded is the first one's. Times are those of the nodes' wall clocks.
 */
#include "engine/job_source.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "engine/folder.h"
#include "engine/session_source.h"
#include "life/pace.h"
#include "session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
        struct source *source;
        struct batch batch;
        bool present, ended, given;
        char node[ENTITY_TEXT_MAX];
};

/* A GPU of a node, and its number in the job. */
struct place {
        char host[ENTITY_TEXT_MAX];
        int32_t index;
};

struct source {
        struct folder files;
        struct place *places; /* by number */
        size_t n_places;
        struct part *parts;
        struct pace pace;
        struct reading *readings;
        size_t cap;
        int64_t interval_ns;
};

static void job_source_close(struct source *s)
{
        if (!s)
                return;
        for (size_t i = 0; s->parts && i < s->files.n; i++)
                source_session.close(s->parts[i].source);
        pace_finish(&s->pace);
        free(s->parts);
        free(s->readings);
        free(s->places);
        folder_finish(&s->files);
        free(s);
}

/* Where it ran, and how often it was sampled. */
static void take_facts(const char *path, struct part *p, int64_t *interval_ns)
{
        struct session_reader *r = NULL;
        if (session_open(path, &r, NULL) < 0)
                return;
        const char *node = session_text(r, "host");
        snprintf(p->node, sizeof(p->node), "%s", node ? node : "");
        int64_t interval = clock_from_seconds(session_number(r, "interval_s", 1));
        *interval_ns = *interval_ns ? MIN(*interval_ns, interval) : interval;
        session_reader_close(r);
}

static int job_source_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        size_t opened = 0;
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        pace_init(&s->pace, config->speed);
        int r = folder_read(config->location, &s->files);
        s->parts = calloc(s->files.n + 1, sizeof(*s->parts));
        if (r < 0 || !s->parts)
                r = err_set(err, -ENOMEM, "out of memory");
        else
                r = folder_check_related(&s->files, config->location, err);
        for (size_t i = 0; r == 0 && i < s->files.n; i++) {
                struct source_config one = {.location = s->files.paths[i]};
                struct part *p = &s->parts[i];
                int code = source_session.open(&one, &p->source, err);
                p->ended = code < 0;
                opened += code == 0;
                r = code == -ENOMEM ? code : 0;
                if (code == 0)
                        take_facts(s->files.paths[i], p, &s->interval_ns);
        }
        if (r == 0 && opened == 0)
                r = err->code ? err->code
                              : err_set(err, ERR_DATA, "no session in '%s'", config->location);
        if (r < 0) {
                job_source_close(s);
                return r;
        }
        *err = (struct err){0};
        *ret = s;
        return 0;
}

/* Every rank's next tick. A session that cannot be read on has ended. */
static int64_t earliest_part(struct source *s)
{
        int64_t first = INT64_MAX;
        for (size_t i = 0; i < s->files.n; i++) {
                struct part *p = &s->parts[i];
                if (p->given || (!p->present && !p->ended)) {
                        p->present = source_session.next(p->source, &p->batch, NULL) > 0;
                        p->ended = !p->present;
                        p->given = false;
                }
                if (p->present)
                        first = MIN(first, p->batch.wall_ns);
        }
        return first;
}

static bool is_known(const struct source *s, size_t n, const struct entity_key *k)
{
        for (size_t i = 0; i < n; i++) {
                const struct entity_key *o = &s->readings[i].who;
                if (o->kind == k->kind && o->index == k->index && o->gi == k->gi &&
                    o->ci == k->ci && o->flat == k->flat && o->host_len == k->host_len &&
                    memcmp(o->host, k->host, k->host_len) == 0)
                        return true;
        }
        return false;
}

/* -1 when memory is short. */
static int32_t job_number_of(struct source *s, const struct entity_key *k)
{
        for (size_t i = 0; i < s->n_places; i++) {
                if (s->places[i].index == k->index && strlen(s->places[i].host) == k->host_len &&
                    memcmp(s->places[i].host, k->host, k->host_len) == 0)
                        return (int32_t)i;
        }
        if (!LIST_ONE_MORE(s->places, s->n_places))
                return -1;
        s->places[s->n_places].index = k->index;
        snprintf(s->places[s->n_places].host, ENTITY_TEXT_MAX, "%.*s", (int)k->host_len, k->host);
        return (int32_t)s->n_places++;
}

static int add_part(struct source *s, struct part *p, size_t *n)
{
        size_t wanted = *n + p->batch.n;
        if (wanted > s->cap && !LIST_RESERVE(s->readings, 2 * wanted, s->cap))
                return -ENOMEM;
        for (size_t i = 0; i < p->batch.n; i++) {
                struct reading r = p->batch.readings[i];
                if (r.who.host_len == 0) {
                        r.who.host = p->node;
                        r.who.host_len = strlen(p->node);
                }
                if (r.who.index >= 0)
                        r.who.index = job_number_of(s, &r.who);
                if (!is_known(s, *n, &r.who))
                        s->readings[(*n)++] = r;
        }
        return 0;
}

static int job_source_next(struct source *s, struct batch *ret, struct err *err)
{
        int64_t first = earliest_part(s);
        const struct schema *schema = NULL;
        size_t n = 0;
        int r = 0;
        for (size_t i = 0; r == 0 && i < s->files.n; i++) {
                struct part *p = &s->parts[i];
                if (!p->present || p->batch.wall_ns > first + s->interval_ns / 2)
                        continue;
                schema = schema ? schema : p->batch.schema;
                p->given = true;
                r = add_part(s, p, &n);
        }
        if (r < 0)
                return err_set(err, r, "out of memory");
        if (!schema)
                return 0;
        *ret = (struct batch){
            .schema = schema, .wall_ns = first, .mono_ns = first, .readings = s->readings, .n = n};
        return pace_wait(&s->pace, first) ? 1 : 0;
}

static const char *job_source_provenance(const struct source *s UNUSED)
{
        return "sessions of ranks";
}

static void job_source_interrupt(struct source *s)
{
        pace_interrupt(&s->pace);
}

const struct source_ops source_job = {
    .name = "job",
    .help = "the recorded sessions of a job's ranks",
    .finite = true,
    .open = job_source_open,
    .next = job_source_next,
    .provenance = job_source_provenance,
    .interrupt = job_source_interrupt,
    .close = job_source_close,
};
