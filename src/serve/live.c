#include "serve/live.h"

#include "base/clock.h"
#include "base/list.h"
#include "life/thread.h"
#include "read/collect/collector.h"
#include "serve/live_inner.h"
#include "serve/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_INTERVALS 3
#define PATIENCE_LEAST_NS NS_PER_S
/* A GPU that went away is reported as such for a while; its counters are kept longer. */
#define ABSENT_SHOWN_NS (300 * NS_PER_S)
/* The machine's own figures are for people and for limiters, which look at about a second. */
#define HOST_EVERY_NS NS_PER_S
/* A moment is made when somebody asks; while nobody does, this often, so that a crash costs little.
 */
#define UNASKED_NS NS_PER_S
#define WATCHED_NS (240 * NS_PER_MS) /* while streams are open */
#define USE_WANTED_NS (20 * NS_PER_S)
/* Making a moment takes far less; it does not wait for a disk that hangs. */
#define MOMENT_PATIENCE_NS (50 * NS_PER_MS)

/* --- from frames to meters, on the sampling thread ----------------------------------------- */

void live_key(const struct entity *e, char ret[STATE_KEY_MAX])
{
        const char *id = e->text[ENTITY_TEXT_UUID][0]  ? e->text[ENTITY_TEXT_UUID]
                         : e->text[ENTITY_TEXT_PCI][0] ? e->text[ENTITY_TEXT_PCI]
                                                       : "";
        snprintf(ret, STATE_KEY_MAX, "%s/%s/%d/%d/%d/%d", e->text[ENTITY_TEXT_HOST], id,
                 id[0] ? -1 : e->index, e->gi, e->ci, e->flat);
}

static struct meter *make_meter(struct live *l, const struct entity *e, const char *key)
{
        if (l->n == LIVE_GPUS_MAX)
                return NULL;
        if (!LIST_ROOM(l->meters, l->n, l->cap))
                return NULL;
        size_t at = 0;
        while (at < l->n && entity_compare(&l->meters[at].gpu.who, e) <= 0)
                at++;
        struct meter *m = &l->meters[at];
        memmove(m + 1, m, (l->n - at) * sizeof(*m));
        *m = (struct meter){.gpu = {.who = *e}};
        snprintf(m->key, sizeof(m->key), "%s", key);
        l->n++;
        if (!l->state || !state_find(l->state, key, &m->gpu.in))
                m->gpu.in.created_ns = clock_wall_ns();
        return m;
}

static struct meter *meter_for(struct live *l, const struct entity *e, size_t hint)
{
        char key[STATE_KEY_MAX];
        live_key(e, key);
        if (LIKELY(hint < l->n) && strcmp(l->meters[hint].key, key) == 0)
                return &l->meters[hint];
        for (size_t i = 0; i < l->n; i++) {
                if (strcmp(l->meters[i].key, key) == 0)
                        return &l->meters[i];
        }
        return make_meter(l, e, key);
}

static bool has_answered(const struct frame *f, const struct sample *s)
{
        bool lost = value_is_set(s->m[METRIC_LOST]) && s->m[METRIC_LOST].v > 0;
        return !lost && integrals_fresh(f, s);
}

static void add_xid_event(struct xid_events *events, uint32_t xid, double n, int64_t now)
{
        if (events->n == XID_EVENTS_MAX)
                memmove(&events->list[0], &events->list[1], --events->n * sizeof(events->list[0]));
        events->list[events->n++] = (struct xid_event){xid, n, now};
}

/* What the counters grew by since before. */
static void keep_xids(struct live_gpu *g, const struct integral_xid *before, size_t n, int64_t now)
{
        struct xid_events *events = &g->xids;
        size_t gone = 0;
        while (gone < events->n && now - events->list[gone].mono_ns > XID_WINDOW_S * NS_PER_S)
                gone++;
        events->n -= gone;
        memmove(&events->list[0], &events->list[gone], events->n * sizeof(events->list[0]));
        events->counted |= value_is_set(g->row.sample.m[METRIC_XID_COUNT]);
        for (size_t i = 0; i < g->in.n_xids; i++) {
                double grown = g->in.xids[i].n - (i < n ? before[i].n : 0);
                if (grown > 0)
                        add_xid_event(events, g->in.xids[i].xid, grown, now);
        }
}

static void live_add_row(struct live *l, const struct frame *f, size_t at, int64_t now)
{
        const struct row *row = &f->rows[at];
        struct meter *m = meter_for(l, row->sample.who, at);
        if (!m) {
                l->status.left_out++;
                return;
        }
        if (l->config.past && !f->stale)
                past_add(l->config.past, m->key, row, f->mono_ns);
        struct integral_xid xids[INTEGRAL_XIDS_MAX];
        size_t n_xids = m->gpu.in.n_xids;
        memcpy(xids, m->gpu.in.xids, n_xids * sizeof(xids[0]));
        integrals_add(&m->gpu.in, &m->it, f, row, m->gpu.owned);
        m->gpu.who = *row->sample.who;
        m->gpu.row = *row;
        keep_xids(&m->gpu, xids, n_xids, now);
        m->seen_ns = now;
        if (has_answered(f, &row->sample))
                m->fresh_ns = now;
}

/* A list that cannot be copied is left out. */
static void keep_processes(struct live *l, const struct frame *f)
{
        l->knows_processes = f->knows_processes;
        l->n_processes = 0;
        if (!LIST_RESERVE(l->processes, f->processes.n, l->process_cap))
                return;
        if (f->processes.n > 0)
                memcpy(l->processes, f->processes.list, f->processes.n * sizeof(*l->processes));
        l->n_processes = f->processes.n;
}

/* Lock held. Whether the publisher has rested long enough. */
static bool is_time(const struct live *l, int64_t now)
{
        int64_t rest = l->watched ? WATCHED_NS : UNASKED_NS;
        return now - l->published_ns + MIN(l->interval_ns, rest) / 2 >= rest;
}

/* What a frame says of model servers is the pipeline's: it is copied. */
static void live_keep_served(struct frame *to, const struct frame *from, struct served *list)
{
        if (from->n_servings > 0)
                memcpy(list, from->servings, from->n_servings * sizeof(*list));
        to->servings = list;
        to->n_servings = from->n_servings;
}

static void on_frame(void *arg, const struct frame *f)
{
        struct live *l = arg;
        int64_t now = clock_mono_ns();
        pthread_mutex_lock(&l->lock);
        l->status.left_out = 0;
        l->status.serves_models = f->n_servings > 0;
        for (size_t i = 0; i < f->n; i++)
                live_add_row(l, f, i, now);
        l->frame = *f;
        l->frame.rows = NULL;
        l->frame.n = 0;
        live_keep_served(&l->frame, f, l->served);
        snprintf(l->provenance, sizeof(l->provenance), "%s", f->provenance ? f->provenance : "");
        keep_processes(l, f);
        if (!f->stale && f->n > 0)
                l->framed_ns = now;
        l->frames++;
        bool turn = is_time(l, now), news = l->books_wait;
        bool use = l->use_asked_ns > 0 && now - l->use_asked_ns < USE_WANTED_NS;
        l->asked |= turn;
        pthread_mutex_unlock(&l->lock);
        atomic_store(&l->process_use, use);
        if (turn)
                pthread_cond_signal(&l->turn);
        if (news)
                pthread_cond_signal(&l->news);
}

static const enum system_figure machine_powers[MACHINE_PARTS] = {
    [MACHINE_CPU] = SYSTEM_CPU_POWER, [MACHINE_NODE] = SYSTEM_NODE_POWER};

static void add_energy(struct machine_use *m, const struct host *host)
{
        for (enum machine_part i = 0; i < MACHINE_PARTS; i++) {
                struct value power = host->system[machine_powers[i]];
                if (!value_is_set(power))
                        continue;
                m->counted[i] = true;
                m->joules[i] += power.v * clock_to_seconds(host->interval_ns);
        }
}

static void on_host(void *arg, const struct host *host)
{
        struct live *l = arg;
        pthread_mutex_lock(&l->lock);
        *l->host = *host;
        l->has_host = true;
        add_energy(&l->machine, host);
        pthread_mutex_unlock(&l->lock);
}

/* --- from meters to what is examined, on the publisher's ---------------------------------- */

static int64_t live_patience_ns(const struct live *l)
{
        return MAX(PATIENCE_INTERVALS * l->interval_ns, PATIENCE_LEAST_NS);
}

/* A value that a source has not renewed for long is not one. */
static void drop_old(struct row *row, int64_t patience_ns)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                struct value *v = &row->sample.m[i];
                if (v->state == STATE_STALE && v->age_ms * NS_PER_MS > patience_ns)
                        *v = value_missing(STATE_BLANK);
        }
}

/* What does not answer has no values of now. What is wrong with it stays: that is why. */
static void drop_all(struct row *row)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                if (value_is_set(row->sample.m[i]))
                        row->sample.m[i] = value_missing(STATE_BLANK);
        }
        row->verdict = (struct verdict){.workload = WORKLOAD_UNKNOWN};
        row->limit = (struct limit){.limiter = LIMITER_UNKNOWN};
        row->hot = false;
        row->late = 0;
}

/* Whether what came at a time is still true. A recording is not in time: as long as it is played.
 */
static bool is_current(const struct live *l, int64_t mono_ns, int64_t now)
{
        return l->status.capture ? !l->status.ended : now - mono_ns <= live_patience_ns(l);
}

/* Called with the lock held. */
size_t live_copy_gpus(struct live *l, struct live_gpu *to, int64_t now)
{
        size_t n = 0;
        for (size_t i = 0; i < l->n; i++) {
                struct meter *m = &l->meters[i];
                if (now - m->seen_ns > ABSENT_SHOWN_NS && !l->status.capture)
                        continue;
                to[n] = m->gpu;
                to[n].row.sample.who = &to[n].who;
                to[n].in_frame = m->seen_ns == l->framed_ns;
                to[n].up = m->fresh_ns > 0 && is_current(l, m->fresh_ns, now);
                if (to[n].up)
                        drop_old(&to[n].row, live_patience_ns(l));
                else
                        drop_all(&to[n].row);
                n++;
        }
        return n;
}

static struct gpu_identity identity_of_live(const void *list, size_t i)
{
        const struct live_gpu *gpus = list;
        return gpu_identity_of(&gpus[i].who);
}

void live_name_gpus(const struct live_gpu *gpus, size_t n, struct naming *ret)
{
        naming_make(ret, n, gpus, identity_of_live);
}

/* A command that prints now and then has its number that long, a frequent one for three beats. */
#define COLLECTED_PATIENCE_NS (60 * NS_PER_S)

static void copy_collected(const struct live *l, struct live_moment *m, int64_t now)
{
        int64_t patience = MAX(3 * l->interval_ns, COLLECTED_PATIENCE_NS);
        m->n_collected = 0;
        for (size_t i = 0; i < l->n_collected; i++) {
                if (now - l->collected[i].mono_ns <= patience)
                        m->collected[m->n_collected++] = l->collected[i];
        }
}

/* Called with the lock held. False when memory is short: the last moment stays. */
static bool fill_slot(struct live *l, struct slot *s, int64_t now)
{
        if (!LIST_RESERVE(s->gpus, l->n, s->cap) ||
            !LIST_RESERVE(s->processes, l->n_processes, s->process_cap) ||
            !LIST_RESERVE(s->owners, l->n_reported, s->owner_cap))
                return false;
        struct live_moment *m = &s->moment;
        m->frame = l->frame;
        live_keep_served(&m->frame, &l->frame, s->served);
        snprintf(s->provenance, sizeof(s->provenance), "%s", l->provenance);
        m->n = live_copy_gpus(l, s->gpus, now);
        live_name_gpus(s->gpus, m->n, &m->naming);
        m->n_owners = l->status.ended ? 0 : l->n_owners;
        m->n_reported = l->n_reported;
        if (l->n_reported > 0)
                memcpy(s->owners, l->owners, l->n_reported * sizeof(*s->owners));
        if (l->n_processes > 0)
                memcpy(s->processes, l->processes, l->n_processes * sizeof(*s->processes));
        m->processes.n = l->n_processes;
        m->frame.knows_processes = l->knows_processes;
        bool has_host = l->has_host && !l->status.ended && host_is_of(l->host, l->frame.wall_ns);
        if (has_host)
                *s->host = *l->host;
        m->host = has_host ? s->host : NULL;
        m->machine = l->machine;
        for (enum machine_part i = 0; i < MACHINE_PARTS; i++)
                m->machine.power[i] =
                    has_host ? l->host->system[machine_powers[i]] : value_missing(STATE_NONE);
        copy_collected(l, m, now);
        l->status.up = l->framed_ns > 0 && is_current(l, l->framed_ns, now);
        m->status = l->status;
        return true;
}

/* How the source is, and which ticks came on time. */
static void request_engine_frame(struct live *l)
{
        struct engine_status s;
        struct session_counts c;
        struct dump_status dump = {0};
        if (!l->engine)
                return; /* it has ended */
        engine_status(l->engine, &s);
        engine_counts(l->engine, &c);
        if (l->config.flight)
                flight_status(l->config.flight, &dump);
        pthread_mutex_lock(&l->lock);
        l->status.keeps_flight = l->config.flight != NULL;
        l->status.dump = dump;
        l->status.ended = s.state == ENGINE_ENDED && s.duration_ns > 0;
        l->stands = s.state == ENGINE_ENDED && !l->status.ended;
        l->status.err = s.state == ENGINE_FAILED ? s.err : (struct err){0};
        l->status.late = c.late;
        l->status.missed = c.missed;
        l->status.on_time = c.taken - MIN(c.taken, c.late);
        pthread_mutex_unlock(&l->lock);
}

/* Lock held. The moment that was made becomes the newest. */
static void publish_moment(struct live *l, int unkept)
{
        l->status.unkept = unkept;
        l->slots[BACK].moment.number = ++l->number;
        struct slot slot = l->slots[BACK];
        l->slots[BACK] = l->slots[READY];
        l->slots[READY] = slot;
        l->fresh = true;
}

/* What is new cannot be kept and what is kept cannot be taken back: counters stand still. */
static void hold_counters(struct live *l)
{
        struct live_gpu *gpus = l->slots[BACK].gpus;
        for (size_t i = 0; i < l->slots[BACK].moment.n; i++) {
                char key[STATE_KEY_MAX];
                live_key(&gpus[i].who, key);
                state_find_kept(l->state, key, i, &gpus[i].in);
        }
}

/* The state file first: what was shown once must not be forgotten by a crash. */
static void publish_state(struct live *l)
{
        request_engine_frame(l);
        pthread_mutex_lock(&l->lock);
        l->asked = false;
        l->published_ns = clock_mono_ns();
        bool filled = fill_slot(l, &l->slots[BACK], l->published_ns);
        bool news = l->published != l->frames || l->held_more;
        l->held_more = false;
        l->published = l->frames;
        for (size_t i = 0; l->state && i < l->n; i++)
                state_put(l->state, i, l->meters[i].key, &l->meters[i].gpu.in);
        size_t n = l->n;
        int unkept = l->status.unkept;
        pthread_mutex_unlock(&l->lock);
        if (l->state && news) {
                l->kept = state_write(l->state, n);
                unkept = l->kept == STATE_KEPT ? 0 : MAX(errno, 1);
        }
        if (filled && l->kept == STATE_HELD)
                hold_counters(l);
        pthread_mutex_lock(&l->lock);
        if (filled)
                publish_moment(l, unkept);
        l->rounds++;
        l->stuck = false;
        pthread_mutex_unlock(&l->lock);
        pthread_cond_broadcast(&l->done);
        bool watched = filled && l->config.on_news && l->config.on_news(l->config.news_arg);
        pthread_mutex_lock(&l->lock);
        l->watched = watched;
        pthread_mutex_unlock(&l->lock);
}

/* Waits until a moment is wanted, but not so long that old values would stay. */
static bool wait_for_turn(struct live *l)
{
        pthread_mutex_lock(&l->lock);
        int64_t rest = l->watched ? live_patience_ns(l) / 2 : UNASKED_NS * 3 / 2;
        int64_t until = clock_mono_ns() + rest;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        while (!l->stop && !l->asked && pthread_cond_timedwait(&l->turn, &l->lock, &ts) == 0)
                ;
        bool stop = l->stop;
        pthread_mutex_unlock(&l->lock);
        return !stop;
}

static void *run_publisher(void *arg)
{
        struct live *l = arg;
        while (wait_for_turn(l))
                publish_state(l);
        return NULL;
}

/* Lock held. Whether the newest moment is not of now. */
static bool is_old(const struct live *l)
{
        return l->published != l->frames ||
               clock_mono_ns() - l->published_ns > live_patience_ns(l) / 4;
}

/* Lock held, and given up meanwhile. Lets the publisher make a moment of now. */
static void refresh_moment(struct live *l)
{
        int64_t until = clock_mono_ns() + MOMENT_PATIENCE_NS;
        struct timespec ts = {until / NS_PER_S, until % NS_PER_S};
        uint64_t round = l->rounds;
        if (!l->publishing || l->stop || l->stuck || !is_old(l))
                return;
        l->asked = true;
        pthread_cond_signal(&l->turn);
        while (!l->stop && l->rounds == round &&
               pthread_cond_timedwait(&l->done, &l->lock, &ts) == 0)
                ;
        l->stuck = l->rounds == round;
}

/* --- opening and closing --------------------------------------------------------------------- */

static void free_live(struct live *l)
{
        for (size_t i = 0; i < SLOTS; i++) {
                free(l->slots[i].gpus);
                free(l->slots[i].processes);
                free(l->slots[i].owners);
                free(l->slots[i].host);
        }
        state_close(l->state);
        free(l->meters);
        free(l->processes);
        free(l->host);
        pthread_mutex_destroy(&l->lock);
        pthread_cond_destroy(&l->news);
        pthread_cond_destroy(&l->turn);
        pthread_cond_destroy(&l->done);
        free(l);
}

static bool make_hosts(struct live *l)
{
        bool made = (l->host = calloc(1, sizeof(*l->host))) != NULL;
        for (size_t i = 0; i < SLOTS; i++)
                made &= (l->slots[i].host = calloc(1, sizeof(*l->host))) != NULL;
        return made;
}

static void on_collected(void *arg, const struct collected *value)
{
        struct live *l = arg;
        size_t i = 0;
        pthread_mutex_lock(&l->lock);
        while (i < l->n_collected && strcmp(l->collected[i].name, value->name) != 0)
                i++;
        if (i < COLLECTED_MAX) {
                l->collected[i] = *value;
                l->n_collected = MAX(l->n_collected, i + 1);
        }
        pthread_mutex_unlock(&l->lock);
}

static void on_collect_trouble(void *arg, const char *name, const char *why)
{
        struct live *l = arg;
        if (l->config.on_collect_trouble)
                l->config.on_collect_trouble(l->config.news_arg, name, why);
}

/* Oftener than once a second a shell would cost more than all the rest. */
static int start_collector(struct live *l, struct err *err)
{
        const struct collector_config cc = {.list = l->config.collect,
                                            .interval_ns = MAX(l->config.interval_ns, NS_PER_S),
                                            .on_value = on_collected,
                                            .on_trouble = on_collect_trouble,
                                            .arg = l};
        l->config.collect.n = 0; /* the collector's now */
        return cc.list.n > 0 ? collector_open(&cc, &l->collector, err) : 0;
}

static int start_engine(struct live *l, struct err *err)
{
        const struct engine_config ec = {
            .source = &l->config.source,
            .insists = true,
            .interval_ns = l->config.interval_ns,
            .host_source =
                l->config.source.ops->local || l->config.host.engines_only ? &l->config.host : NULL,
            .host_interval_ns = MAX(l->config.interval_ns, HOST_EVERY_NS),
            .flight = l->config.flight,
            .on_frame = on_frame,
            .on_host = on_host,
            .arg = l};
        l->status.capture = l->config.source.ops->finite;
        snprintf(l->status.source, sizeof(l->status.source), "%s", l->config.source.ops->name);
        return engine_start(&ec, &l->engine, err);
}

int live_open(const struct live_config *config, struct live **ret, char *notice, size_t size,
              struct err *err)
{
        struct live *l = calloc(1, sizeof(*l));
        struct err why = {0};
        notice[0] = '\0';
        if (!l) {
                struct collect_list list = config->collect;
                collect_list_finish(&list);
                return err_set(err, -ENOMEM, "out of memory");
        }
        l->config = *config;
        l->interval_ns = config->interval_ns;
        l->config.source.source.process_use = &l->process_use;
        l->config.source.holders_alone = true;
        pthread_mutex_init(&l->lock, NULL);
        life_init_wake(&l->news);
        life_init_wake(&l->turn);
        life_init_wake(&l->done);
        if (config->state_dir && state_open(config->state_dir, LIVE_GPUS_MAX, &l->state, &why) < 0)
                snprintf(notice, size, "counters start at 0 and will not be kept: %.200s", why.msg);
        int r = make_hosts(l) ? start_engine(l, err) : err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = start_collector(l, err);
        if (r == 0) {
                r = life_start_thread(run_publisher, l, &l->publisher);
                l->publishing = r == 0;
                if (r < 0)
                        err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        if (r < 0) {
                live_close(l);
                return r;
        }
        *ret = l;
        return 0;
}

void live_close(struct live *l)
{
        struct engine_result result = {0};
        if (!l)
                return;
        collector_close(l->collector);
        collect_list_finish(&l->config.collect);
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_broadcast(&l->news);
        pthread_cond_broadcast(&l->turn);
        pthread_cond_broadcast(&l->done);
        pthread_mutex_unlock(&l->lock);
        if (l->engine)
                engine_stop(l->engine);
        if (l->publishing)
                pthread_join(l->publisher, NULL);
        if (l->engine)
                engine_finish(l->engine, &result);
        l->engine = NULL;
        publish_state(l);
        /* A driver that hangs uses it if it ever returns. */
        if (!result.hung)
                free_live(l);
}

/* --- looking --------------------------------------------------------------------------------- */

void live_take(struct live *l, struct live_moment *ret)
{
        pthread_mutex_lock(&l->lock);
        refresh_moment(l);
        if (l->fresh) {
                struct slot slot = l->slots[FRONT];
                l->slots[FRONT] = l->slots[READY];
                l->slots[READY] = slot;
                l->fresh = false;
        }
        struct slot *s = &l->slots[FRONT];
        *ret = s->moment;
        pthread_mutex_unlock(&l->lock);
        ret->gpus = s->gpus;
        ret->owners = s->owners;
        ret->processes.list = s->processes;
        ret->frame.provenance = s->provenance;
        ret->frame.servings = s->served;
        ret->frame.processes = ret->processes;
}

void live_want_process_use(struct live *l)
{
        pthread_mutex_lock(&l->lock);
        l->use_asked_ns = clock_mono_ns();
        pthread_mutex_unlock(&l->lock);
}

struct listing *live_listing(const struct live *l)
{
        return engine_listing(l->engine);
}

void live_set_interval(struct live *l, int64_t ns)
{
        l->interval_ns = ns;
        engine_set_interval(l->engine, ns);
}

void live_status(struct live *l, struct live_status *ret)
{
        pthread_mutex_lock(&l->lock);
        *ret = l->status;
        pthread_mutex_unlock(&l->lock);
}

uint64_t live_number(struct live *l)
{
        pthread_mutex_lock(&l->lock);
        uint64_t number = l->number + is_old(l);
        pthread_mutex_unlock(&l->lock);
        return number;
}

/* The slot that was published last. Called with the lock held, which keeps it where it is. */
static const struct slot *newest_slot(const struct live *l)
{
        return &l->slots[l->fresh ? READY : FRONT];
}

bool live_copy(struct live *l, struct live_copy *ret)
{
        pthread_mutex_lock(&l->lock);
        refresh_moment(l);
        const struct slot *s = newest_slot(l);
        size_t n = s->moment.n, reported = s->moment.n_reported;
        bool room = LIST_RESERVE(ret->gpus, n, ret->cap) &&
                    LIST_RESERVE(ret->owners, reported, ret->owner_cap);
        if (room) {
                ret->moment = s->moment;
                live_keep_served(&ret->moment.frame, &s->moment.frame, ret->served);
                if (n > 0)
                        memcpy(ret->gpus, s->gpus, n * sizeof(*ret->gpus));
                if (reported > 0)
                        memcpy(ret->owners, s->owners, reported * sizeof(*ret->owners));
        }
        pthread_mutex_unlock(&l->lock);
        for (size_t i = 0; room && i < n; i++)
                ret->gpus[i].row.sample.who = &ret->gpus[i].who;
        ret->moment.gpus = ret->gpus;
        ret->moment.owners = ret->owners;
        ret->moment.host = NULL;
        ret->moment.processes = (struct process_list){0};
        ret->moment.frame.processes = ret->moment.processes;
        ret->moment.frame.provenance = "";
        return room;
}

void live_free_copy(struct live_copy *c)
{
        free(c->gpus);
        free(c->owners);
        *c = (struct live_copy){0};
}
