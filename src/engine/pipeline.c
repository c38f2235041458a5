#include "engine/pipeline.h"

#include "base/list.h"
#include "base/strbuf.h"
#include "compute/ceilings.h"
#include "engine/processes.h"
#include "engine/rest_book.h"
#include "engine/slices.h"
#include "read/join/late.h"
#include "read/listing.h"
#include "translate/translate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* GPUs and slices that one of several programs may name as time continues. */
#define NAMED_BY_ONE_MAX 1024

struct pipeline {
        struct pipeline_config config;
        const struct source_ops *ops; /* the configuration's, or one that waits for it */
        struct source *source;
        struct listing *listing; /* NULL where processes of this machine are not read */
        struct registry registry;
        struct binding bindings[BATCH_PARTS_MAX]; /* one a part of a tick */
        struct compute compute;
        struct rest_book *rest_book; /* NULL: nothing is kept */
        struct process_join *join;   /* made when processes are first asked for */
        atomic_bool want_processes;
        atomic_bool process_use; /* how much each uses is asked for, too */
        bool looks;              /* somebody examines processes, rather than keeps them */
        bool without_limits;
        char host[ENTITY_TEXT_MAX]; /* this machine's name, when several sources read it */
        struct frame frame;
        struct sample whole;                 /* scratch: the GPU of a group of slices */
        size_t cap;                          /* of frame.rows */
        size_t known;                        /* entities whose selection is decided */
        bool met;                            /* there was a GPU, selected or not */
        atomic_bool left_out;                /* there were more than the registry takes */
        atomic_bool greedy;                  /* one of several programs named more than it may */
        uint16_t named[READING_ORIGINS_MAX]; /* entities, by the first one that named them */
        uint64_t ticks;
        pthread_mutex_t lock;
        struct host_seen seen; /* under lock: what the host's thread has reported */
        bool news;             /* under lock */
};

static int open_source(struct pipeline *p, struct err *err)
{
        const struct pipeline_config *c = &p->config;
        const struct late_config late = {c->ops, c->open_patience_ns, c->keep_trying};
        p->ops = late.patience_ns > 0 ? &source_late : c->ops;
        return late.patience_ns > 0 ? late_open(&late, &c->source, &p->source, err)
                                    : c->ops->open(&c->source, &p->source, err);
}

int pipeline_open(const struct pipeline_config *config, struct pipeline **ret, struct err *err)
{
        const struct source_ops *ops = config->ops;
        struct pipeline *p = calloc(1, sizeof(*p));
        if (!p)
                return err_set(err, -ENOMEM, "out of memory");
        p->config = *config;
        pthread_mutex_init(&p->lock, NULL);
        p->config.source.wanted =
            config->source.no_profiling ? translate_wants_unprofiled : translate_wants;
        p->listing = listing_share(config->source.listing);
        if (!p->listing && ops->local && !ops->finite)
                p->listing = listing_open_root(config->source.root);
        p->config.source.listing = p->listing;
        p->config.source.dcgm_ids = translate_dcgm_ids(&p->config.source.n_dcgm_ids);
        atomic_init(&p->process_use, true);
        if (!config->source.process_use)
                p->config.source.process_use = &p->process_use;
        compute_init(&p->compute, &config->compute);
        int r = open_source(p, err);
        if (r < 0) {
                pipeline_close(p);
                return r;
        }
        atomic_init(&p->want_processes, false);
        if (config->state_folder[0] && ops->local && !ops->finite)
                p->rest_book = rest_book_open(config->state_folder);
        *ret = p;
        return 0;
}

void pipeline_follow_listing(struct pipeline *p, struct listing *leader)
{
        listing_follow(p->listing, leader);
}

void pipeline_close(struct pipeline *p)
{
        if (!p)
                return;
        if (p->source)
                p->ops->close(p->source);
        process_join_close(p->join);
        listing_close(p->listing);
        rest_book_close(p->rest_book);
        registry_finish(&p->registry);
        compute_finish(&p->compute);
        pthread_mutex_destroy(&p->lock);
        free(p->frame.rows);
        free(p);
}

static bool reserve_rows(struct pipeline *p, size_t n)
{
        return LIST_RESERVE(p->frame.rows, n, p->cap);
}

static int compare_rows(const void *a, const void *b)
{
        const struct row *x = a, *y = b;
        return entity_compare(x->sample.who, y->sample.who);
}

/* Sources give entities in order nearly always, so looking comes before sorting. */
static void sort_rows(struct frame *f)
{
        for (size_t i = 1; i < f->n; i++) {
                if (compare_rows(&f->rows[i - 1], &f->rows[i]) > 0) {
                        qsort(f->rows, f->n, sizeof(*f->rows), compare_rows);
                        return;
                }
        }
}

/* A GPU that two sources show is the first one's. */
static bool is_known_gpu(const struct pipeline *p, const struct entity *e)
{
        for (size_t i = 0; e->kind == ENTITY_GPU && i < e->slot; i++) {
                if (p->registry.list[i]->kind == ENTITY_GPU &&
                    entity_same_place(p->registry.list[i], e))
                        return true;
        }
        return false;
}

/* Decides once an entity whether it is shown. */
static bool is_shown(struct pipeline *p, struct entity *e, bool first_part)
{
        if (e->slot >= p->known) {
                if (e->text[ENTITY_TEXT_HOST][0] == '\0')
                        entity_set_text(e, ENTITY_TEXT_HOST, p->host, strlen(p->host));
                bool again = !first_part && is_known_gpu(p, e);
                e->shown = !again && select_includes(&p->config.selection, e);
                p->known = e->slot + 1;
        }
        return e->shown;
}

/* Who is meant. Of several programs none may use up the places of the others. 0, with NULL for one
 * that is left out, or -ENOMEM. */
static int resolve_reading(struct pipeline *p, const struct reading *reading, size_t position,
                           struct entity **ret)
{
        uint16_t *named = &p->named[reading->origin];
        *ret = registry_find(&p->registry, &reading->who, position);
        if (LIKELY(*ret))
                return 0;
        if (p->frame.n_nodes > 1 && *named >= NAMED_BY_ONE_MAX) {
                atomic_store(&p->greedy, true);
                return 0;
        }
        *ret = registry_resolve(&p->registry, &reading->who, position);
        if (!*ret && !registry_is_full(&p->registry))
                return -ENOMEM;
        if (!*ret)
                atomic_store(&p->left_out, true);
        else if (*named < UINT16_MAX)
                (*named)++;
        return 0;
}

static int pipeline_add_row(struct pipeline *p, const struct reading *reading, size_t position,
                            const struct binding *binding)
{
        struct entity *e;
        int r = resolve_reading(p, reading, position, &e);
        if (r < 0 || !e)
                return r;
        translate_identity(binding, reading, e);
        if (!is_shown(p, e, binding == p->bindings))
                return 0;
        struct row *row = &p->frame.rows[p->frame.n++];
        row->sample.who = e;
        translate_reading(binding, reading, &row->sample);
        if (p->config.source.no_profiling)
                translate_drop_profiling(binding->dialect, &row->sample);
        return 0;
}

/* The GPU whose slices alone are listed, as exporters do; NULL when it is not to be shown or
 * nothing is known of it. */
static struct entity *unlisted_gpu(struct pipeline *p, size_t begin, size_t end)
{
        struct frame *f = &p->frame;
        const struct entity *first = f->rows[begin].sample.who;
        if (first->kind == ENTITY_GPU || first->index < 0)
                return NULL;
        slices_gather(f, begin, end, &p->whole);
        bool any = false;
        for (enum metric m = 0; m < METRIC_COUNT && !any; m++)
                any = value_is_set(p->whole.m[m]);
        struct entity *e =
            any ? slices_find_whole(&p->registry, p->registry.list[first->slot]) : NULL;
        return e && is_shown(p, e, true) ? e : NULL;
}

static size_t group_begin(const struct frame *f, size_t end)
{
        size_t begin = end - 1;
        while (begin > 0 &&
               entity_same_gpu(f->rows[begin - 1].sample.who, f->rows[end - 1].sample.who))
                begin--;
        return begin;
}

/* Gives slices that stand alone their GPU, a row before them: from the last to the first, so that
 * each row moves once. */
static int add_unlisted(struct pipeline *p)
{
        struct frame *f = &p->frame;
        size_t missing = 0;
        for (size_t i = 0, end; i < f->n; i = end) {
                end = frame_group_end(f, i);
                missing += unlisted_gpu(p, i, end) != NULL;
        }
        if (missing == 0)
                return 0;
        if (!reserve_rows(p, f->n + missing))
                return -ENOMEM;
        size_t to = f->n + missing;
        for (size_t begin, end = f->n; end > 0; end = begin) {
                begin = group_begin(f, end);
                struct entity *whole = unlisted_gpu(p, begin, end);
                to -= end - begin;
                memmove(&f->rows[to], &f->rows[begin], (end - begin) * sizeof(*f->rows));
                if (whole) {
                        f->rows[--to].sample = p->whole;
                        f->rows[to].sample.who = whole;
                }
        }
        f->n += missing;
        return 0;
}

/* What belongs to a whole GPU is the GPU's alone; then what can be derived. */
static int compute_groups(struct pipeline *p, int64_t mono_ns)
{
        struct frame *f = &p->frame;
        for (size_t i = 0; i < f->n;) {
                size_t end = frame_group_end(f, i);
                const struct sample *whole = NULL;
                if (end > i + 1 || f->rows[i].sample.who->kind != ENTITY_GPU) {
                        slices_gather(f, i, end, &p->whole);
                        slices_disown(f, i, end);
                        whole = &p->whole;
                }
                const struct row *head = &f->rows[i];
                for (; i < end; i++) {
                        int r = compute_row(&p->compute, mono_ns, whole, &f->rows[i]);
                        if (r < 0)
                                return r;
                        if (head->sample.who->kind == ENTITY_GPU)
                                health_join(&f->rows[i].health, &head->health);
                }
        }
        return 0;
}

/* Says which GPUs there are when the selection names none of them. */
static int nothing_selected(const struct pipeline *p, struct err *err)
{
        const struct selection *s = &p->config.selection;
        char token[ENTITY_TEXT_MAX] = "";
        struct strbuf list = {0};
        const char *unmatched = select_unmatched(s, token, sizeof(token));
        for (size_t i = 0; i < p->registry.n && i < 16; i++)
                strbuf_putf(&list, "%s%s", i ? ", " : "", p->registry.list[i]->label);
        if (p->registry.n > 16)
                strbuf_putf(&list, " and %zu more", p->registry.n - 16);
        if (unmatched)
                err_set(err, ERR_USAGE, "%s: there is no GPU '%s'", unmatched, token);
        else
                err_set(err, ERR_USAGE, "%s chooses no GPU", s->origin);
        int r = err_hint(err, "there is: %s%s", strbuf_str(&list),
                         strcmp(s->origin, "--gpus") == 0 ? "" : "; or use --show-all");
        strbuf_finish(&list);
        return r;
}

/* Where the host cannot be read they stay unknown. */
static void fill_processes(struct pipeline *p)
{
        const struct process_join_config join = {.root = p->config.source.root,
                                                 .listing = p->listing,
                                                 .with_children = !p->config.holders_alone,
                                                 .recorded = p->config.ops->finite};
        if (!p->join && process_join_open(&join, &p->join) < 0)
                return;
        process_join_fill(p->join, p->ops, p->source, &p->frame);
}

static void forget_processes(struct frame *f)
{
        f->knows_processes = false;
        f->processes = (struct process_list){0};
}

static void add_processes(struct pipeline *p)
{
        bool wanted = atomic_load(&p->want_processes);
        p->frame.may_name_processes = p->ops->processes && !wanted;
        forget_processes(&p->frame);
        if (p->ops->processes && wanted)
                fill_processes(p);
}

/* Each part keeps its binding, so that nothing is looked up again while the schemas stay. */
static int add_part(struct pipeline *p, const struct batch *part, size_t nth, size_t position)
{
        struct binding *binding = &p->bindings[nth];
        binding->as_older_tools = p->config.compute.missing_is_zero;
        /* A source that has not started has no schema either. */
        if (part->n > 0) {
                translate_bind(binding, part->schema);
                translate_detect_units(binding, part);
        }
        for (size_t i = 0; i < part->n; i++) {
                int r = pipeline_add_row(p, &part->readings[i], position + i, binding);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_parts(struct pipeline *p, const struct batch *batch)
{
        struct frame *f = &p->frame;
        size_t total = 0, nth = 0, position = 0;
        for (const struct batch *part = batch; part; part = part->more)
                total += part->n;
        if (!reserve_rows(p, total))
                return -ENOMEM;
        f->n = 0;
        /* Not all report its name, and GPUs are sorted by it. */
        if (batch->more && p->host[0] == '\0')
                gethostname(p->host, sizeof(p->host) - 1);
        for (const struct batch *part = batch; part && nth < BATCH_PARTS_MAX; part = part->more) {
                int r = add_part(p, part, nth++, position);
                if (r < 0)
                        return r;
                position += part->n;
                f->stale = f->stale && part->stale;
                f->window_ns = f->window_ns ? f->window_ns : part->window_ns;
        }
        sort_rows(f);
        int r = add_unlisted(p);
        if (r == 0)
                frame_name_rows(f);
        return r < 0 ? r : compute_groups(p, batch->mono_ns);
}

const struct host *pipeline_host(struct pipeline *p)
{
        return p->ops->host ? p->ops->host(p->source) : NULL;
}

/* Old recordings: the processes stand in for evidence that was not recorded, and do so whether or
 * not anybody wants to see them. */
static void take_recorded_host(struct pipeline *p)
{
        const struct host *host = pipeline_host(p);
        if (!host) {
                p->compute.host.n = p->compute.host.n_servings = 0;
                return;
        }
        bool lent = p->frame.may_name_processes && evidence_needs_processes(host);
        if (lent)
                fill_processes(p);
        host_seen_take(&p->compute.host, host, &p->frame.processes);
        if (lent)
                forget_processes(&p->frame);
}

/* A recording brings its host along; that of this machine comes from another thread. */
static void take_host(struct pipeline *p)
{
        if (p->config.ops->finite) {
                take_recorded_host(p);
                return;
        }
        pthread_mutex_lock(&p->lock);
        if (p->news)
                p->compute.host = p->seen;
        p->news = false;
        pthread_mutex_unlock(&p->lock);
}

void pipeline_see_host(struct pipeline *p, const struct host *host)
{
        pthread_mutex_lock(&p->lock);
        host_seen_take(&p->seen, host, NULL);
        /* Asking the driver for each process takes time from a model server: only for a view that
         * shows it. */
        atomic_store(&p->process_use, p->looks || host->n_servings == 0);
        p->news = true;
        pthread_mutex_unlock(&p->lock);
}

/* A GPU by its UUID; NULL for a slice and what has none. */
static const char *key_of(const struct row *row)
{
        const struct entity *e = row->sample.who;
        return e->kind == ENTITY_GPU && e->text[ENTITY_TEXT_UUID][0] ? e->text[ENTITY_TEXT_UUID]
                                                                     : NULL;
}

static void recall_power_at_rest(struct pipeline *p)
{
        for (size_t i = 0; p->rest_book && i < p->frame.n; i++) {
                struct row *row = &p->frame.rows[i];
                const char *key = key_of(row);
                double watts = key ? rest_book_find(p->rest_book, key) : 0;
                if (watts > 0)
                        row->sample.m[METRIC_POWER_AT_REST] = value_ok(watts);
        }
}

static void keep_power_at_rest(struct pipeline *p)
{
        for (size_t i = 0; p->rest_book && i < p->frame.n; i++) {
                const struct row *row = &p->frame.rows[i];
                struct value watts = row->sample.m[METRIC_POWER_AT_REST];
                const char *key = key_of(row);
                if (key && value_is_set(watts))
                        rest_book_note(p->rest_book, key, watts.v);
        }
}

void pipeline_decide(struct pipeline *p)
{
        take_host(p);
        compute_limits(&p->compute, &p->frame);
        compute_servings(&p->compute, &p->frame);
}

static int fill_frame(struct pipeline *p, const struct batch *batch, struct err *err)
{
        struct frame *f = &p->frame;
        f->wall_ns = batch->wall_ns;
        f->mono_ns = batch->mono_ns;
        f->window_ns = batch->window_ns;
        f->stale = batch->stale;
        f->tick = p->ticks;
        f->provenance = p->ops->provenance ? p->ops->provenance(p->source) : p->ops->name;
        int r = add_parts(p, batch);
        if (r < 0)
                return err_set(err, r, "out of memory");
        bool first = !p->met && p->registry.n > 0;
        p->met = p->registry.n > 0;
        if (first && f->n == 0 && p->config.selection.origin)
                return nothing_selected(p, err);
        add_processes(p);
        f->n_nodes = p->ops->nodes ? p->ops->nodes(p->source, &f->nodes) : 0;
        recall_power_at_rest(p);
        if (!p->without_limits)
                pipeline_decide(p);
        else if (p->rest_book)
                compute_learn(&p->compute, f);
        keep_power_at_rest(p);
        p->ticks++;
        return 0;
}

int pipeline_next(struct pipeline *p, const struct frame **ret, struct err *err)
{
        struct batch batch;
        int r = p->ops->next(p->source, &batch, err);
        if (r <= 0)
                return r;
        r = fill_frame(p, &batch, err);
        if (r < 0)
                return r;
        *ret = &p->frame;
        return 1;
}

bool pipeline_is_cut_off(const struct pipeline *p, char *buf, size_t size)
{
        if (atomic_load(&p->left_out))
                snprintf(buf, size, "the source named more than %d GPUs; later ones are left out",
                         REGISTRY_MAX);
        else if (atomic_load(&p->greedy))
                snprintf(buf, size,
                         "one of the nodes named more than %d GPUs; its later ones are left out",
                         NAMED_BY_ONE_MAX);
        else
                return false;
        return true;
}

void pipeline_trouble(const struct pipeline *p, struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        if (p->ops->trouble)
                p->ops->trouble(p->source, ret);
        if (!ret->notice[0])
                pipeline_is_cut_off(p, ret->notice, sizeof(ret->notice));
}

bool pipeline_unmatched(const struct pipeline *p, char *buf, size_t size)
{
        return select_unmatched(&p->config.selection, buf, size);
}

void pipeline_want_limits(struct pipeline *p, bool want)
{
        p->without_limits = !want;
}

void pipeline_watch_processes(struct pipeline *p, bool looks)
{
        pthread_mutex_lock(&p->lock);
        p->looks = looks;
        pthread_mutex_unlock(&p->lock);
}

void pipeline_want_processes(struct pipeline *p, bool want)
{
        atomic_store(&p->want_processes, want);
}

bool pipeline_is_live(const struct pipeline *p)
{
        return !p->config.ops->finite || p->config.source.speed > 0;
}

bool pipeline_is_capture(const struct pipeline *p)
{
        return p->config.ops->finite;
}

const char *pipeline_recorded_host(struct pipeline *p)
{
        return p->ops->recorded_host ? p->ops->recorded_host(p->source) : "";
}

int64_t pipeline_interval_ns(const struct pipeline *p)
{
        return p->config.source.poll_ns;
}

const char *pipeline_source_name(const struct pipeline *p)
{
        return p->config.ops->name;
}

void pipeline_interrupt(struct pipeline *p)
{
        if (p->ops->interrupt)
                p->ops->interrupt(p->source);
}
