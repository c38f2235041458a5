#include "serve/api.h"

#include "base/clock.h"
#include "base/num.h"
#include "present/stream/collected.h"
#include "present/stream/columns.h"
#include "present/stream/host_json.h"
#include "present/stream/json.h"
#include "present/stream/serving_json.h"
#include "present/text/explain.h"

#include <stdio.h>

/* Events are one line each; strings have no line ends of their own. */
static void join_lines(struct strbuf *out, size_t from)
{
        for (size_t i = from; i < out->len; i++) {
                if (out->s[i] == '\n')
                        out->s[i] = ' ';
        }
}

/* --- now ------------------------------------------------------------------------------------- */

static void put_integrals(struct jsonw *j, const struct integrals *in)
{
        jsonw_object(j, "counters");
        jsonw_number(j, "created", clock_to_seconds(in->created_ns));
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (integral_is_set(in, i))
                        jsonw_number(j, integral_info(i)->name, in->v[i]);
        }
        jsonw_end(j);
}

static void put_limit_words(struct jsonw *j, const struct limit *l)
{
        char words[EXPLAIN_LIMIT_MAX];
        struct strbuf text = {0};
        explain_limit_words(l, words);
        strbuf_puts(&text, words);
        if (l->limiter == LIMITER_UNKNOWN && l->or_else != LIMITER_UNKNOWN) {
                strbuf_puts(&text, ": ");
                explain_candidates(l, &text);
        }
        jsonw_text(j, "limit_words", strbuf_str(&text));
        jsonw_text(j, "limiter_text",
                   limiter_sight((enum limiter)l->limiter, (enum basis)l->basis)->words);
        strbuf_finish(&text);
}

static void put_use(struct jsonw *j, const struct live_gpu *g)
{
        struct value held = row_held(&g->row, g->owned);
        jsonw_text(j, "use", row_use_name(g->up ? row_use(&g->row) : ROW_USE_UNKNOWN));
        if (g->up && value_is_set(held))
                jsonw_bool(j, "held", held.v > 0);
        else
                jsonw_null(j, "held");
}

/* Why the GPU is what it is, in the words of the table. */
static void put_why(struct jsonw *j, const struct row *row, bool up)
{
        struct strbuf why = {0};
        if (up)
                explain_verdict(row, &why);
        jsonw_text(j, "why", strbuf_str(&why));
        strbuf_clear(&why);
        explain_health(row, &why);
        jsonw_text(j, "health_text", strbuf_str(&why));
        put_limit_words(j, &row->limit);
        jsonw_text(j, "advice",
                   limiter_try(row->limit.limiter, &row->limit.ceilings, FRAMEWORK_NONE));
        strbuf_finish(&why);
}

/* What people call the GPU among those that are served. */
static void put_name(struct jsonw *j, const char *key, const struct live_moment *m,
                     const struct live_gpu *g)
{
        char name[GPU_NAME_MAX];
        naming_put_entity(&m->naming, &g->who, name, sizeof(name));
        jsonw_text(j, key, name);
}

/* The short form, for narrow places. */
static void put_model(struct jsonw *j, const struct entity *who)
{
        char model[64] = "";
        if (who->text[ENTITY_TEXT_MODEL][0])
                model_short_name(who->text[ENTITY_TEXT_MODEL], model, sizeof(model));
        jsonw_text(j, "model", model);
}

static void put_gpu(struct jsonw *j, const struct live_moment *m, const struct live_gpu *g)
{
        jsonw_object(j, NULL);
        jsonw_row(j, &m->frame, &g->row);
        put_name(j, "name", m, g);
        put_model(j, &g->who);
        jsonw_bool(j, "up", g->up);
        put_use(j, g);
        put_integrals(j, &g->in);
        put_why(j, &g->row, g->up);
        jsonw_end(j);
}

/* A source that knows no processes does not know that there are none. */
static void put_owner(struct jsonw *j, const struct owner *o, bool knows_processes)
{
        jsonw_object(j, NULL);
        jsonw_text(j, "kind", owner_kind_name(o->kind));
        jsonw_whole(j, "index", o->index);
        jsonw_whole(j, "gi", o->gi);
        if (knows_processes || o->processes > 0)
                jsonw_count(j, "processes", o->processes);
        else
                jsonw_null(j, "processes");
        jsonw_text(j, "uuid", o->uuid);
#define OWNER_TEXT(id, name, size)                                                                 \
        if (o->id[0])                                                                              \
                jsonw_text(j, name, o->id);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        jsonw_value(j, "gpu_memory", o->gpu_memory);
        jsonw_value(j, "cpu_s", o->cpu_s);
        jsonw_value(j, "memory", o->memory);
        jsonw_value(j, "memory_limit", o->memory_limit);
        jsonw_end(j);
}

void api_dump(struct jsonw *j, const char *name, const struct dump_status *d)
{
        jsonw_object(j, name);
        jsonw_fixed(j, "held_s", clock_to_seconds(d->kept_ns), 1);
        jsonw_bool(j, "busy", d->busy);
        jsonw_text(j, "error", d->err.code ? d->err.msg : "");
        if (d->file[0]) {
                jsonw_text(j, "file", d->file);
                jsonw_number(j, "time", clock_to_seconds(d->ended_wall_ns));
                jsonw_text(j, "cause", dump_cause_info(d->last.cause)->name);
                jsonw_text_or_null(j, "gpu", d->last.gpu);
                jsonw_text(j, "text", d->last.text);
                jsonw_count(j, "bytes", d->bytes);
        }
        jsonw_end(j);
}

static void put_status(struct jsonw *j, const struct live_status *s)
{
        jsonw_object(j, "status");
        jsonw_text(j, "source", s->source);
        jsonw_bool(j, "up", s->up);
        jsonw_bool(j, "capture", s->capture);
        jsonw_bool(j, "ended", s->ended);
        jsonw_count(j, "on_time", s->on_time);
        jsonw_count(j, "late", s->late);
        jsonw_count(j, "missed", s->missed);
        jsonw_text(j, "error", s->err.code ? s->err.msg : "");
        jsonw_text(j, "hint", s->err.code ? s->err.hint : "");
        if (s->keeps_flight)
                api_dump(j, "dump", &s->dump);
        jsonw_end(j);
}

void api_now(const struct live_moment *m, const char *version, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        size_t from = out->len;
        jsonw_object(&j, NULL);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", version);
        jsonw_number(&j, "time", clock_to_seconds(m->frame.wall_ns));
        collected_json_member(&j, m->collected, m->n_collected);
        jsonw_array(&j, "gpus");
        for (size_t i = 0; i < m->n; i++)
                put_gpu(&j, m, &m->gpus[i]);
        jsonw_end(&j);
        jsonw_array(&j, "owners");
        for (size_t i = 0; i < m->n_owners; i++)
                put_owner(&j, &m->owners[i], m->frame.knows_processes);
        jsonw_end(&j);
        jsonw_served(&j, m->frame.servings, m->frame.n_servings);
        put_status(&j, &m->status);
        if (m->host)
                host_json_member(&j, m->host);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
        join_lines(out, from);
}

/* --- processes ------------------------------------------------------------------------------- */

static bool may_name(const struct viewer *v, const struct process *p)
{
        return v->role == ROLE_ADMIN || (v->user[0] && strcmp(v->user, p->user) == 0);
}

void api_processes(const struct live_moment *m, const struct viewer *viewer, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_bool(&j, "known", m->frame.knows_processes);
        jsonw_array(&j, "processes");
        for (size_t i = 0; i < m->processes.n; i++) {
                const struct process *p = &m->processes.list[i];
                if (p->child)
                        continue;
                jsonw_line(&j);
                jsonw_object(&j, NULL);
                jsonw_whole(&j, "pid", p->pid);
                jsonw_text(&j, "gpu", p->gpu);
                jsonw_text(&j, "user", p->user);
                jsonw_text(&j, "job", p->slurm_job);
                jsonw_value(&j, "gpu_memory", p->gpu_memory);
                jsonw_value(&j, "sm_util", p->sm_util);
                jsonw_value(&j, "cpu", p->cpu);
                jsonw_value(&j, "rss", p->rss);
                jsonw_value(&j, "elapsed", p->elapsed);
                /* The program's name, never its folder or arguments: those are nobody's business.
                 */
                if (may_name(viewer, p))
                        jsonw_text(&j, "name", p->name);
                jsonw_end(&j);
        }
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

/* --- history --------------------------------------------------------------------------------- */

static void put_buckets(struct jsonw *j, const char *name, const struct bucket *buckets, size_t n,
                        size_t offset)
{
        jsonw_array(j, name);
        for (size_t i = 0; i < n; i++) {
                float v;
                memcpy(&v, (const char *)&buckets[i] + offset, sizeof(v));
                if (buckets[i].n > 0)
                        jsonw_short(j, NULL, (double)v, 5);
                else
                        jsonw_null(j, NULL);
        }
        jsonw_end(j);
}

static bool any_bucket_set(const struct bucket *buckets, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (buckets[i].n > 0)
                        return true;
        }
        return false;
}

static void put_series(struct jsonw *j, enum past_metric m, bool coarse,
                       const struct bucket *buckets, size_t n)
{
        if (!any_bucket_set(buckets, n))
                return;
        jsonw_line(j);
        jsonw_object(j, metric_info(past_metric(m))->name);
        put_buckets(j, "mean", buckets, n, offsetof(struct bucket, sum));
        if (coarse) {
                put_buckets(j, "least", buckets, n, offsetof(struct bucket, min));
                put_buckets(j, "most", buckets, n, offsetof(struct bucket, max));
        }
        jsonw_end(j);
}

/* The one of that name, else the first that somebody may call so. */
static const struct live_gpu *find_gpu(const struct live_moment *m, const char *name)
{
        char own[GPU_NAME_MAX];
        for (size_t i = 0; i < m->n; i++) {
                naming_put_entity(&m->naming, &m->gpus[i].who, own, sizeof(own));
                if (strcmp(own, name) == 0)
                        return &m->gpus[i];
        }
        for (size_t i = 0; i < m->n; i++) {
                if (naming_matches(&m->naming, &m->gpus[i].who, name))
                        return &m->gpus[i];
        }
        return NULL;
}

static void put_limiter_texts(struct jsonw *j, const bool met[LIMITER_COUNT])
{
        jsonw_object(j, "limiter_texts");
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                if (!met || met[l])
                        jsonw_text(j, limiter_name(l), limiter_phrase(l));
        }
        jsonw_end(j);
}

void api_limiter_texts(struct jsonw *j)
{
        put_limiter_texts(j, NULL);
}

/* Runs of buckets with one limiter, oldest first, and what the names mean. */
static void put_limiters(struct jsonw *j, const uint8_t *buckets, size_t n)
{
        bool met[LIMITER_COUNT] = {false};
        jsonw_line(j);
        jsonw_array(j, "limiters");
        for (size_t i = 0, end; i < n; i = end) {
                bool known = buckets[i] > 0 && buckets[i] <= LIMITER_COUNT;
                for (end = i + 1; end < n && buckets[end] == buckets[i]; end++)
                        ;
                jsonw_array(j, NULL);
                jsonw_text_or_null(j, NULL, known ? limiter_name(buckets[i] - 1) : NULL);
                jsonw_count(j, NULL, end - i);
                jsonw_end(j);
                if (known)
                        met[buckets[i] - 1] = true;
        }
        jsonw_end(j);
        put_limiter_texts(j, met);
}

bool api_history(const struct live_moment *m, struct past *past, const char *gpu, double span,
                 struct strbuf *out)
{
        static const double minute = 60;
        const struct live_gpu *g = find_gpu(m, gpu);
        bool coarse = span > PAST_FINE;
        double buckets_wanted = coarse ? span / minute : span;
        size_t n = buckets_wanted < 1 ? 1
                                      : MIN((size_t)buckets_wanted,
                                            coarse ? (size_t)PAST_COARSE : (size_t)PAST_FINE);
        struct bucket *buckets = g ? calloc(n, sizeof(*buckets)) : NULL;
        char key[STATE_KEY_MAX];
        struct jsonw j = {.out = out};
        if (!buckets)
                return false;
        live_key(&g->who, key);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "gpu", gpu);
        jsonw_whole(&j, "step", coarse ? 60 : 1);
        jsonw_number(&j, "end", clock_to_seconds(m->frame.wall_ns));
        jsonw_object(&j, "series");
        for (enum past_metric k = 0; k < PAST_COUNT; k++) {
                if (past_read(past, key, k, coarse, m->frame.mono_ns, buckets, n))
                        put_series(&j, k, coarse, buckets, n);
        }
        jsonw_end(&j);
        if (past_read_limiters(past, key, coarse, m->frame.mono_ns, (uint8_t *)buckets, n))
                put_limiters(&j, (const uint8_t *)buckets, n);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
        free(buckets);
        return true;
}

/* --- findings -------------------------------------------------------------------------------- */

void api_findings(const struct live_moment *m, struct journal *journal, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_array(&j, "now");
        for (size_t i = 0; i < m->n; i++) {
                const struct live_gpu *g = &m->gpus[i];
                for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                        if (!(g->row.health.findings & (1u << f)))
                                continue;
                        jsonw_line(&j);
                        jsonw_object(&j, NULL);
                        put_name(&j, "gpu", m, g);
                        jsonw_text(&j, "state", health_name(health_reason_state(f)));
                        char words[HEALTH_WORDS_MAX];
                        jsonw_text(&j, "text",
                                   health_reason_words(&g->row.health, f, words, sizeof(words)));
                        jsonw_end(&j);
                }
        }
        jsonw_end(&j);
        journal_write(journal, &j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
