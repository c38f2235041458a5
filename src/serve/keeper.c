#include "serve/keeper.h"

#include "base/clock.h"
#include "life/thread.h"
#include "present/format.h"
#include "serve/slots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHECK_EVERY_NS (NS_PER_S / 2)
#define WRITE_EVERY_NS (60 * NS_PER_S)
#define FIRST_WRITE_NS (5 * NS_PER_S) /* after its beginning, so it can be seen */
#define TRIM_EVERY_NS (3600 * NS_PER_S)
#define GONE_AFTER_NS (3 * NS_PER_S) /* a process list that misses one look is no end */
#define STAYS_MAX 256
#define STAY_GPUS_MAX 64
#define IDLE_SHARE 0.95
#define SEEN_SHARE 0.8

/* One GPU of a stay. */
struct held {
        char key[STATE_KEY_MAX], name[GPU_NAME_MAX];
        int32_t index, gi;
        struct integrals from, last; /* when it began; the newest */
        struct idle_window window;
        struct {
                double seen_s, util_s;
                bool has_util;
                struct value memory_peak, memory_total;
        } use;              /* over all times that it was held */
        int64_t checked_ns; /* monotonic: up to when its time is counted */
        bool now;           /* it is still held */
};

/* One owner from the first GPU it holds to the last. */
struct stay {
        bool used, reported; /* reported: the log has that it began */
        struct record record;
        struct integrals ended; /* of GPUs that it gave back already */
        struct held gpus[STAY_GPUS_MAX];
        size_t n;
        int64_t began_ns, seen_ns, written_ns, counted_ns; /* monotonic */
};

struct keeper {
        struct keeper_config config;
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        bool stop;
        struct owners *owners;
        struct records *records; /* NULL for none */
        struct live_books books;
        const struct entity *gpus[LIVE_GPUS_MAX]; /* of the books */
        struct owner found[OWNERS_MAX]; /* owners that hold a GPU, then those that released one a
                                           while ago */
        size_t n_found;
        struct slots *slots;
        int64_t round_ns; /* monotonic: the look before this one */
        struct stay *stays[STAYS_MAX];
        int64_t trimmed_ns;
        bool complained;
};

/* --- idleness
 * -------------------------------------------------------------------------------------- */

static void advance_window(struct idle_window *w, int64_t bucket)
{
        if (bucket - w->newest >= IDLE_BUCKETS || bucket < w->newest) {
                memset(w->seen, 0, sizeof(w->seen));
                memset(w->idle, 0, sizeof(w->idle));
                memset(w->open, 0, sizeof(w->open));
        } else {
                for (int64_t b = w->newest + 1; b <= bucket; b++) {
                        w->seen[b % IDLE_BUCKETS] = w->idle[b % IDLE_BUCKETS] = 0;
                        memset(w->open[b % IDLE_BUCKETS], 0, sizeof(w->open[0]));
                }
        }
        w->newest = bucket;
}

static bool is_idle(const struct idle_window *w)
{
        double all_seen = 0, all_idle = 0;
        for (size_t i = 0; i < IDLE_BUCKETS; i++) {
                all_seen += w->seen[i];
                all_idle += w->idle[i];
        }
        return all_seen >= SEEN_SHARE * IDLE_BUCKETS * IDLE_BUCKET_S &&
               all_idle >= IDLE_SHARE * all_seen;
}

double idle_window_add(struct idle_window *w, int64_t now_s, double seen,
                       const double idle[IDLE_REASON_COUNT], double ret[IDLE_REASON_COUNT])
{
        int64_t bucket = now_s / IDLE_BUCKET_S;
        double wasted = 0;
        advance_window(w, bucket);
        w->seen[bucket % IDLE_BUCKETS] += seen;
        for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++) {
                w->idle[bucket % IDLE_BUCKETS] += idle[i];
                w->open[bucket % IDLE_BUCKETS][i] += idle[i];
                ret[i] = 0;
        }
        if (!is_idle(w))
                return 0;
        for (size_t b = 0; b < IDLE_BUCKETS; b++) {
                for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++) {
                        ret[i] += w->open[b][i];
                        wasted += w->open[b][i];
                        w->open[b][i] = 0;
                }
        }
        return wasted;
}

/* --- stays
 * ------------------------------------------------------------------------------------------- */

static void complain_once(struct keeper *k, const struct err *err)
{
        if (!k->complained)
                journal_add(k->config.journal, clock_wall_ns(), "", "records", "%s", err->msg);
        k->complained = true;
}

static void sum_up_each(struct stay *s)
{
        s->record.n_each = MIN(s->n, (size_t)RECORD_EACH_MAX);
        for (size_t i = 0; i < s->record.n_each; i++) {
                const struct held *h = &s->gpus[i];
                s->record.each[i] = (struct record_gpu){
                    .util = h->use.has_util && h->use.seen_s > 0
                                ? value_ok(MIN(h->use.util_s / h->use.seen_s, 1.0))
                                : value_missing(STATE_NONE),
                    .memory_peak = h->use.memory_peak,
                    .memory_total = h->use.memory_total,
                };
        }
}

/* What it did so far, on GPUs it released and on those it holds. */
static void sum_up(struct stay *s)
{
        struct integrals part;
        size_t at = 0;
        s->record.sum = s->ended;
        s->record.gpus[0] = '\0';
        for (size_t i = 0; i < s->n; i++) {
                struct held *h = &s->gpus[i];
                integrals_since(&h->from, &h->last, &part);
                integrals_sum(&s->record.sum, &part);
                int n = snprintf(s->record.gpus + at, sizeof(s->record.gpus) - at, "%s%s",
                                 at ? "," : "", h->name);
                at = MIN(at + (size_t)MAX(n, 0), sizeof(s->record.gpus) - 1);
        }
        s->record.n_gpus = (uint32_t)s->n;
        sum_up_each(s);
}

static void write_stay(struct keeper *k, struct stay *s, int64_t now)
{
        struct err err = {0};
        sum_up(s);
        s->written_ns = now;
        if (k->records && records_put(k->records, &s->record, &err) < 0)
                complain_once(k, &err);
}

/* does: "holds" or "released". */
static void log_owner(struct keeper *k, const struct stay *s, int64_t wall_ns, const char *does)
{
        const struct owner *o = &s->record.who;
        bool pod = o->kind == OWNER_KUBERNETES, job = o->kind == OWNER_SLURM;
        journal_add(k->config.journal, wall_ns, "", "owner", "%s %s%s%s %s GPU %s",
                    pod   ? "pod"
                    : job ? "job"
                          : "processes of",
                    pod          ? o->pod
                    : job        ? o->job
                    : o->user[0] ? o->user
                                 : "somebody",
                    job && o->user[0] ? " of " : "", job ? o->user : "", does, s->record.gpus);
}

static void end_stay(struct keeper *k, struct stay *s, int64_t now)
{
        s->record.final = true;
        write_stay(k, s, now);
        log_owner(k, s, s->record.end_ns, "let go of");
        s->used = false;
}

/* What is played happened in its own time. */
static int64_t books_wall_ns(const struct live_books *b)
{
        return b->recorded && format_is_date(b->frame.wall_ns) ? b->frame.wall_ns : clock_wall_ns();
}

static struct stay *stay_of(struct keeper *k, const struct owner *o, int64_t now)
{
        struct stay *free_one = NULL;
        for (size_t i = 0; i < STAYS_MAX; i++) {
                struct stay *s = k->stays[i];
                if (s && s->used && owner_same(&s->record.who, o))
                        return s;
                if (!free_one && (!s || !s->used)) {
                        if (!s)
                                s = k->stays[i] = calloc(1, sizeof(*s));
                        free_one = s;
                }
        }
        if (!free_one)
                return NULL;
        *free_one = (struct stay){
            .used = true, .written_ns = now - WRITE_EVERY_NS + FIRST_WRITE_NS, .counted_ns = now};
        free_one->record.who = *o;
        free_one->began_ns = now;
        free_one->record.start_ns = free_one->record.end_ns = books_wall_ns(&k->books);
        return free_one;
}

static struct held *hold_gpu(struct stay *s, const struct live_gpu *g, const struct naming *naming,
                             int64_t now)
{
        char key[STATE_KEY_MAX];
        live_key(&g->who, key);
        for (size_t i = 0; i < s->n; i++) {
                if (strcmp(s->gpus[i].key, key) == 0)
                        return &s->gpus[i];
        }
        if (s->n == STAY_GPUS_MAX)
                return NULL;
        size_t at = s->n;
        while (at > 0 &&
               (s->gpus[at - 1].index > g->who.index ||
                (s->gpus[at - 1].index == g->who.index && s->gpus[at - 1].gi > g->who.gi)))
                at--;
        struct held *h = &s->gpus[at];
        memmove(h + 1, h, (s->n++ - at) * sizeof(*h));
        *h = (struct held){.index = g->who.index,
                           .gi = g->who.gi,
                           .from = g->in,
                           .last = g->in,
                           .checked_ns = now};
        h->from.peak_memory = 0;
        snprintf(h->key, sizeof(h->key), "%s", key);
        naming_put_entity(naming, &g->who, h->name, sizeof(h->name));
        return h;
}

static const struct live_gpu *gpu_of(const struct live_books *b, const struct owner *o)
{
        for (size_t i = 0; i < b->n; i++) {
                if (b->gpus[i].who.index == o->index && b->gpus[i].who.gi == o->gi &&
                    b->gpus[i].who.ci < 0)
                        return &b->gpus[i];
        }
        return NULL;
}

static void update_owner(struct owner *known, const struct owner *o)
{
        if (!known->user[0])
                memcpy(known->user, o->user, sizeof(known->user));
        if (!known->account[0])
                memcpy(known->account, o->account, sizeof(known->account));
        if (!known->partition[0])
                memcpy(known->partition, o->partition, sizeof(known->partition));
}

/* A GPU that was given back and is held again: what others did meanwhile is not the owner's. */
static void take_again(struct stay *s, struct held *h, const struct live_gpu *g, int64_t now)
{
        struct integrals part;
        integrals_since(&h->from, &h->last, &part);
        integrals_sum(&s->ended, &part);
        h->from = h->last = g->in;
        h->from.peak_memory = 0;
        h->window = (struct idle_window){0};
        h->checked_ns = now;
}

static void grow_to(struct value *most, struct value v)
{
        if (value_is_set(v) && (!value_is_set(*most) || v.v > most->v))
                *most = v;
}

/* What a report on the job needs of each GPU, and of the job's control group. */
static void add_use(struct stay *s, struct held *h, const struct owner *o, const struct live_gpu *g,
                    const struct integrals *more)
{
        struct record_use *use = &s->record.use;
        h->use.seen_s += more->v[INTEGRAL_SEEN];
        h->use.util_s += more->v[INTEGRAL_ACTIVE_GPU_UTIL];
        h->use.has_util |= integral_is_set(more, INTEGRAL_ACTIVE_GPU_UTIL);
        grow_to(&h->use.memory_peak, g->row.sample.m[METRIC_FB_USED]);
        grow_to(&h->use.memory_total, g->row.sample.m[METRIC_FB_TOTAL]);
        grow_to(&use->cpu_s, o->cpu_s);
        grow_to(&use->memory_peak, o->memory);
        if (value_is_set(o->memory_limit))
                use->memory_limit = o->memory_limit;
        if (value_is_set(o->cpus))
                use->cpus = o->cpus;
}

/* Whether somebody else has the GPU too: then the GPU's own figures are not this owner's alone. */
static bool is_shared(const struct keeper *k, const struct owner *o)
{
        size_t n = 0;
        for (size_t i = 0; i < k->n_found && n < 2; i++)
                n += k->found[i].index == o->index && k->found[i].gi == o->gi;
        return n > 1;
}

/* What the owner's own processes use of a shared GPU, as the driver says of each process. */
static void add_process_use(struct keeper *k, const struct owner *o, struct holding *part)
{
        if (!is_shared(k, o))
                return;
        live_want_process_use(k->config.live);
        bool unused = k->books.knows_processes && k->books.is_local && o->processes == 0;
        if (!unused && !value_is_set(o->gpu_util))
                return;
        part->process_seen_s = part->held_s;
        part->process_s = unused ? 0 : part->held_s * MIN(o->gpu_util.v, 1.0);
}

/* What the owner did with the GPU since it was last examined. */
static void add_holding(struct keeper *k, const struct owner *o, struct stay *s, struct held *h,
                        const struct live_gpu *g, int64_t now)
{
        struct integrals more;
        integrals_since(&h->last, &g->in, &more);
        /* A stay in a recording lasts as long as it did then, however fast it is played. */
        bool recorded = k->books.recorded;
        struct holding part = {.held_s = recorded ? more.v[INTEGRAL_SEEN]
                                                  : clock_to_seconds(now - h->checked_ns),
                               .observed_s = more.v[INTEGRAL_OBSERVED],
                               .idle_unobserved_s = more.v[INTEGRAL_IDLE_UNOBSERVED],
                               .real_s = more.v[INTEGRAL_REAL]};
        add_process_use(k, o, &part);
        s->record.wasted_s += idle_window_add(&h->window, now / NS_PER_S, more.v[INTEGRAL_SEEN],
                                              more.idle_s, part.wasted_s);
        s->record.gpu_s += recorded ? part.held_s : 0;
        live_add_holding(k->config.live, o, &part);
        add_use(s, h, o, g, &more);
        h->checked_ns = now;
}

/* One GPU that an owner holds now. */
static void note_holding(struct keeper *k, const struct owner *o, int64_t now)
{
        const struct live_gpu *g = gpu_of(&k->books, o);
        struct stay *s = g ? stay_of(k, o, now) : NULL;
        struct held *h = s ? hold_gpu(s, g, &k->books.naming, now) : NULL;
        if (!h)
                return;
        update_owner(&s->record.who, o);
        if (k->round_ns - h->checked_ns > GONE_AFTER_NS)
                take_again(s, h, g, now);
        add_holding(k, o, s, h, g, now);
        double peak = MAX(h->last.peak_memory, value_is_set(g->row.sample.m[METRIC_FB_USED])
                                                   ? g->row.sample.m[METRIC_FB_USED].v
                                                   : 0);
        h->last = g->in;
        h->last.peak_memory = peak;
        h->now = true;
        s->seen_ns = now;
        s->record.findings |= g->row.health.findings;
}

/* A clock that was set is right from then on, and the stay is as long as it was. */
static void set_end(struct stay *s, const struct live_books *b, int64_t now)
{
        int64_t wall_ns = books_wall_ns(b);
        int64_t lasted = now - s->began_ns, off = wall_ns - s->record.start_ns - lasted;
        if (!b->recorded && (off > NS_PER_S || off < -NS_PER_S))
                s->record.start_ns = wall_ns - lasted;
        s->record.end_ns = MAX(wall_ns, s->record.start_ns);
}

/* Counts the time that GPUs were held, and lets those go that are no longer. */
static void close_round(struct keeper *k, struct stay *s, int64_t now)
{
        size_t held = 0;
        for (size_t i = 0; i < s->n; i++) {
                held += s->gpus[i].now;
                s->gpus[i].now = false;
        }
        if (s->seen_ns == now) {
                if (!k->books.recorded)
                        s->record.gpu_s += (double)held * clock_to_seconds(now - s->counted_ns);
                set_end(s, &k->books, now);
                s->counted_ns = now;
        }
        if (!s->reported && held > 0) {
                sum_up(s);
                log_owner(k, s, s->record.start_ns,
                          s->record.who.kind == OWNER_PROCESS ? "hold" : "holds");
                s->reported = true;
        }
        if (now - s->seen_ns > GONE_AFTER_NS || k->books.ended)
                end_stay(k, s, now);
        else if (now - s->written_ns > WRITE_EVERY_NS)
                write_stay(k, s, now);
}

static size_t find_owners(struct keeper *k)
{
        const struct live_books *b = &k->books;
        const struct owners_view view = {.gpus = k->gpus,
                                         .n = MIN(b->n, (size_t)LIVE_GPUS_MAX),
                                         .processes = b->processes,
                                         .n_processes = b->n_processes,
                                         .is_local = b->is_local};
        for (size_t i = 0; i < view.n; i++)
                k->gpus[i] = &b->gpus[i].who;
        return b->ended ? 0 : owners_find(k->owners, &view, k->found, OWNERS_MAX);
}

static void keep_books(struct keeper *k)
{
        bool news = live_read_books(k->config.live, &k->books, CHECK_EVERY_NS);
        int64_t now = clock_mono_ns();
        /* Folders and kubelets have changes of their own. */
        if (news || k->books.n > 0) {
                journal_watch(k->config.journal, &k->books, books_wall_ns(&k->books));
                k->n_found = find_owners(k);
                size_t reported = slots_assign(k->slots, k->found, k->n_found, now);
                live_set_owners(k->config.live, k->found, k->n_found, reported);
                for (size_t i = 0; i < k->n_found; i++)
                        note_holding(k, &k->found[i], now);
                k->round_ns = now;
        }
        for (size_t i = 0; i < STAYS_MAX; i++) {
                if (k->stays[i] && k->stays[i]->used)
                        close_round(k, k->stays[i], now);
        }
        if (k->records && (k->trimmed_ns == 0 || now - k->trimmed_ns > TRIM_EVERY_NS)) {
                records_trim(k->records, books_wall_ns(&k->books));
                k->trimmed_ns = now;
        }
}

/* --- the thread
 * -------------------------------------------------------------------------------------- */

/* Waits for a moment of the monotonic clock; false when the keeper is closed. */
static bool wait_until(struct keeper *k, int64_t until)
{
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        pthread_mutex_lock(&k->lock);
        while (!k->stop && pthread_cond_timedwait(&k->wake, &k->lock, &ts) == 0)
                ;
        bool stop = k->stop;
        pthread_mutex_unlock(&k->lock);
        return !stop;
}

static void *run_keeper(void *arg)
{
        struct keeper *k = arg;
        int64_t last = 0;
        /* The process list is renewed about once a second: twice that is enough. */
        while (wait_until(k, last + CHECK_EVERY_NS)) {
                last = clock_mono_ns();
                keep_books(k);
        }
        /* What came last belongs to those who are present. */
        if (last != 0)
                keep_books(k);
        for (size_t i = 0; i < STAYS_MAX; i++) {
                if (k->stays[i] && k->stays[i]->used)
                        write_stay(k, k->stays[i], clock_mono_ns());
        }
        return NULL;
}

static void free_keeper(struct keeper *k)
{
        for (size_t i = 0; i < STAYS_MAX; i++)
                free(k->stays[i]);
        owners_close(k->owners);
        slots_close(k->slots);
        records_close(k->records);
        live_free_books(&k->books);
        pthread_cond_destroy(&k->wake);
        pthread_mutex_destroy(&k->lock);
        free(k);
}

int keeper_open(const struct keeper_config *config, struct keeper **ret, char *notice, size_t size,
                struct err *err)
{
        struct keeper *k = calloc(1, sizeof(*k));
        struct err why = {0};
        notice[0] = '\0';
        if (!k)
                return err_set(err, -ENOMEM, "out of memory");
        k->config = *config;
        pthread_mutex_init(&k->lock, NULL);
        life_init_wake(&k->wake);
        k->owners = owners_open(&config->owners);
        k->slots = slots_open();
        if (config->records &&
            records_open(config->records, config->keep_ns, &k->records, &why) < 0)
                snprintf(notice, size, "no job records: %.200s", why.msg);
        int r = k->owners && k->slots ? life_start_thread(run_keeper, k, &k->thread) : -ENOMEM;
        if (r < 0) {
                free_keeper(k);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        *ret = k;
        return 0;
}

void keeper_close(struct keeper *k)
{
        if (!k)
                return;
        pthread_mutex_lock(&k->lock);
        k->stop = true;
        pthread_cond_signal(&k->wake);
        pthread_mutex_unlock(&k->lock);
        live_release_reader(k->config.live);
        pthread_join(k->thread, NULL);
        free_keeper(k);
}
