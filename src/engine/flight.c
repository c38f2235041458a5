#include "engine/flight.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/text.h"
#include "engine/dump_folder.h"
#include "engine/dump_runs.h"
#include "engine/flight_watch.h"
#include "life/thread.h"
#include "life/worker.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PENDING_MAX 32 /* events of one dump */
#define RECENT_MAX 64
/* Full blocks are taken in as they come; this often, what waits beside them. */
#define COMMIT_EVERY_NS (60 * NS_PER_S)
#define CLOSE_PATIENCE_NS (100 * NS_PER_MS)
#define WRITE_PATIENCE_NS (3 * NS_PER_S)

/* An event, and how often it came. */
struct flight_event {
        struct dump_reason reason;
        unsigned times;
};

struct flight_events {
        struct flight_event list[PENDING_MAX];
        size_t n;
        int64_t asked_ns; /* requests before that are in it */
};

struct flight {
        struct crew crew;
        int wake, signals, folder;
        struct session *session;
        struct dump_run *run; /* NULL for none */
        int64_t keep_ns;
        atomic_bool full;                         /* blocks wait to be taken in */
        struct flight_seen seen[FLIGHT_GPUS_MAX]; /* the feeder's */
        int64_t committed_ns;                     /* the keeper's */

        /* Under the lock. */
        struct flight_events pending;
        int64_t due_ns; /* when they are to be written; INT64_MAX for never */
        struct {
                enum dump_cause cause;
                char gpu[GPU_NAME_MAX];
                int64_t mono_ns;
        } recent[RECENT_MAX]; /* automatic ones, of which the oldest gives way */
        size_t n_recent;
        int64_t began_ns, automatic_ns; /* the last dump, and the last that nobody asked for */
        bool writing;
        int64_t kept_ns; /* how much there is */
        struct dump_status status;

        struct flight_events taken; /* the writer's */
};

/* --- requests -------------------------------------------------------------------------------- */

void flight_reason(struct dump_reason *ret, enum dump_cause cause, const char *gpu, const char *fmt,
                   ...)
{
        va_list ap;
        *ret = (struct dump_reason){
            .cause = cause, .wall_ns = clock_wall_ns(), .mono_ns = clock_mono_ns()};
        snprintf(ret->gpu, sizeof(ret->gpu), "%s", gpu);
        va_start(ap, fmt);
        vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
        va_end(ap);
        text_clean(ret->gpu);
        text_clean(ret->text);
}

/* Lock held. Whether the same was written a short while ago; if not, it is remembered. */
static bool is_repeated(struct flight *f, const struct dump_reason *r, int64_t now)
{
        for (size_t i = 0; i < MIN(f->n_recent, (size_t)RECENT_MAX); i++) {
                if (f->recent[i].cause == r->cause && strcmp(f->recent[i].gpu, r->gpu) == 0 &&
                    now - f->recent[i].mono_ns < FLIGHT_REPEAT_NS)
                        return true;
        }
        size_t at = f->n_recent++ % RECENT_MAX;
        f->recent[at].cause = r->cause;
        snprintf(f->recent[at].gpu, sizeof(f->recent[at].gpu), "%s", r->gpu);
        f->recent[at].mono_ns = now;
        return false;
}

/* Lock held. The event that waits and is the same. */
static struct flight_event *find_pending(struct flight *f, const struct dump_reason *r)
{
        for (size_t i = 0; i < f->pending.n; i++) {
                struct flight_event *e = &f->pending.list[i];
                if (e->reason.cause == r->cause && strcmp(e->reason.gpu, r->gpu) == 0 &&
                    strcmp(e->reason.text, r->text) == 0)
                        return e;
        }
        return NULL;
}

/* Lock held. When a dump for it may be written. */
static int64_t due_for(const struct flight *f, const struct dump_reason *r, int64_t now)
{
        if (dump_cause_info(r->cause)->asked)
                return MAX(now, f->began_ns > 0 ? f->began_ns + FLIGHT_ASKED_NS : now);
        return MAX(now + FLIGHT_SETTLE_NS,
                   f->automatic_ns > 0 ? f->automatic_ns + FLIGHT_AUTOMATIC_NS : 0);
}

/* Lock held. */
static bool take_request(struct flight *f, const struct dump_reason *r, int64_t now)
{
        struct flight_event *same = find_pending(f, r);
        if (same) {
                same->times++;
                f->pending.asked_ns = now;
                return true;
        }
        if (f->pending.n == PENDING_MAX ||
            (!dump_cause_info(r->cause)->asked && is_repeated(f, r, now))) {
                f->status.held_back++;
                return false;
        }
        f->pending.list[f->pending.n++] = (struct flight_event){.reason = *r, .times = 1};
        f->pending.asked_ns = now;
        f->due_ns = MIN(f->due_ns, due_for(f, r, now));
        return true;
}

bool flight_request(struct flight *f, const struct dump_reason *reason)
{
        if (!f)
                return false;
        crew_lock(&f->crew);
        bool taken = take_request(f, reason, clock_mono_ns());
        crew_unlock(&f->crew);
        if (taken)
                life_wake(f->wake);
        return taken;
}

void flight_status(struct flight *f, struct dump_status *ret)
{
        crew_lock(&f->crew);
        *ret = f->status;
        ret->busy = f->writing || f->pending.n > 0;
        ret->kept_ns = f->kept_ns;
        crew_unlock(&f->crew);
}

struct session *flight_session(struct flight *f)
{
        return f->session;
}

size_t flight_memory(struct flight *f)
{
        return sizeof(*f) + session_memory(f->session);
}

/* --- what is fed ----------------------------------------------------------------------------- */

static void wake_for_blocks(struct flight *f, int waits)
{
        if (waits > 0 && !atomic_exchange(&f->full, true))
                life_wake(f->wake);
}

void flight_add(struct flight *f, const struct frame *frame)
{
        struct dump_reason reasons[PENDING_MAX];
        wake_for_blocks(f, session_add(f->session, frame, NULL));
        size_t n = flight_watch(f->seen, frame, reasons, ARRAY_LEN(reasons));
        for (size_t i = 0; i < n; i++)
                flight_request(f, &reasons[i]);
}

void flight_add_host(struct flight *f, const struct host *host)
{
        wake_for_blocks(f, session_add_host(f->session, host, NULL));
}

void flight_hold(struct flight *f, bool hold)
{
        if (hold)
                crew_join(&f->crew);
        else
                crew_part(&f->crew);
}

/* --- a dump, on a thread of its own ---------------------------------------------------------- */

static bool make_mark(struct mark *m, const struct flight_event *e)
{
        const struct dump_reason *r = &e->reason;
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        mark_init(m, MARK_EVENT);
        m->wall_ns = r->wall_ns;
        m->mono_ns = r->mono_ns;
        const char *text = r->text[0] ? r->text : dump_cause_info(r->cause)->text;
        snprintf(m->name, sizeof(m->name), "%.*s", MARK_NAME_MAX - 1, text);
        text_clean(m->name);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "dump", dump_cause_info(r->cause)->name);
        if (r->gpu[0])
                jsonw_text(&j, "gpu", r->gpu);
        if (e->times > 1)
                jsonw_count(&j, "times", e->times);
        jsonw_end(&j);
        m->data = out.failed ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        return m->data != NULL;
}

static int write_slice(struct flight *f, const struct flight_events *events, struct dump_status *s,
                       struct err *err)
{
        struct mark marks[PENDING_MAX];
        unsigned char *image = NULL;
        size_t len = 0, n = 0;
        while (n < events->n && make_mark(&marks[n], &events->list[n]))
                n++;
        struct session_slice slice = {.keep_ns = f->keep_ns,
                                      .wall_ns = clock_wall_ns(),
                                      .mono_ns = clock_mono_ns(),
                                      .marks = marks,
                                      .n_marks = n};
        int r = session_slice(f->session, &slice, &image, &len, err);
        for (size_t i = 0; i < n; i++)
                mark_finish(&marks[i]);
        if (r == 0)
                r = dump_folder_put(f->folder, slice.wall_ns, image, len, s->file, sizeof(s->file),
                                    err);
        session_free_slice(image);
        s->ended_wall_ns = slice.wall_ns;
        s->bytes = len;
        return r;
}

static void note_dump(struct flight *f, const struct dump_status *s, struct dump_status *ret)
{
        crew_lock(&f->crew);
        struct dump_status *to = &f->status;
        to->asked_mono_ns = f->taken.asked_ns;
        to->err = s->err;
        if (s->err.code == 0) {
                snprintf(to->file, sizeof(to->file), "%s", s->file);
                to->last = f->taken.list[0].reason;
                to->ended_wall_ns = s->ended_wall_ns;
                to->bytes = s->bytes;
                to->took_ns = s->took_ns;
                to->written[to->last.cause]++;
        } else {
                to->failed++;
        }
        *ret = *to;
        crew_unlock(&f->crew);
}

static void write_dump(void *arg)
{
        struct flight *f = arg;
        struct dump_status s = {0}, now;
        int64_t begun = clock_mono_ns();
        write_slice(f, &f->taken, &s, &s.err);
        s.took_ns = clock_mono_ns() - begun;
        note_dump(f, &s, &now);
        dump_run_update(f->run, &now);
        crew_lock(&f->crew);
        f->writing = false;
        crew_request_stop(&f->crew);
        crew_unlock(&f->crew);
        life_wake(f->wake);
}

/* --- the keeper ------------------------------------------------------------------------------ */

static void commit_history(struct flight *f, bool all)
{
        int64_t kept = 0;
        atomic_store(&f->full, false);
        if (all)
                f->committed_ns = clock_mono_ns();
        /* What cannot be kept now is tried again with the next block. */
        if (session_commit_memory(f->session, f->keep_ns, all, &kept, NULL) < 0)
                return;
        crew_lock(&f->crew);
        f->kept_ns = kept;
        crew_unlock(&f->crew);
}

/* Takes what is due. False when nothing is. */
static bool take_due_dumps(struct flight *f, bool at_once)
{
        int64_t now = clock_mono_ns();
        crew_lock(&f->crew);
        bool due = f->pending.n > 0 && !f->writing && (at_once || now >= f->due_ns);
        if (due) {
                f->taken = f->pending;
                f->pending.n = 0;
                f->due_ns = INT64_MAX;
                f->writing = true;
                f->began_ns = now;
                for (size_t i = 0; i < f->taken.n; i++) {
                        if (!dump_cause_info(f->taken.list[i].reason.cause)->asked)
                                f->automatic_ns = now;
                }
        }
        crew_unlock(&f->crew);
        return due;
}

static void start_dump(struct flight *f)
{
        commit_history(f, true);
        if (crew_start(&f->crew, write_dump, f) < 0)
                write_dump(f);
}

static void take_signals(struct flight *f)
{
        struct signalfd_siginfo info;
        struct dump_reason r;
        while (f->signals >= 0 && read(f->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                flight_reason(&r, DUMP_CAUSE_REQUEST, "", "a dump was asked for");
                flight_request(f, &r);
        }
}

static int rest_ms(struct flight *f)
{
        int64_t now = clock_mono_ns(), until = f->committed_ns + COMMIT_EVERY_NS;
        crew_lock(&f->crew);
        if (f->pending.n > 0 && !f->writing)
                until = MIN(until, f->due_ns);
        crew_unlock(&f->crew);
        return until <= now ? 0 : (int)MIN((until - now) / NS_PER_MS + 1, (int64_t)INT32_MAX);
}

static void flight_thread(void *arg)
{
        struct flight *f = arg;
        f->committed_ns = clock_mono_ns();
        while (!crew_stopping(&f->crew)) {
                struct pollfd p[] = {{f->wake, POLLIN, 0}, {f->signals, POLLIN, 0}};
                uint64_t news;
                poll(p, f->signals >= 0 ? 2 : 1, rest_ms(f));
                ssize_t n = read(f->wake, &news, sizeof(news));
                (void)n;
                take_signals(f);
                if (take_due_dumps(f, false))
                        start_dump(f);
                else if (atomic_load(&f->full) ||
                         clock_mono_ns() - f->committed_ns >= COMMIT_EVERY_NS)
                        commit_history(f, clock_mono_ns() - f->committed_ns >= COMMIT_EVERY_NS);
        }
        if (take_due_dumps(f, true))
                start_dump(f);
}

/* --- begin and end --------------------------------------------------------------------------- */

static void free_flight(struct crew *crew)
{
        struct flight *f = (struct flight *)crew;
        session_discard(f->session);
        dump_run_close(f->run);
        closep(&f->wake);
        closep(&f->signals);
        closep(&f->folder);
        free(f);
}

/* The thread that keeps the program in order blocks it, as every other does. */
static int watch_signal(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, DUMP_SIGNAL);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int prepare_flight(struct flight *f, const struct flight_config *config, struct err *err)
{
        f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (f->wake < 0)
                return err_set(err, -errno, "cannot keep a flight recorder: %s", strerror(errno));
        f->folder = dump_folder_open(config->folder, err);
        int r = MIN(f->folder, 0);
        if (r == 0)
                r = session_create_memory(FLIGHT_BYTES, &f->session, err);
        if (r < 0)
                return r;
        session_limit_gpus(f->session, FLIGHT_GPUS_MAX);
        if (config->interval_s > 0)
                session_set_number(f->session, "interval_s", config->interval_s);
        if (config->takes_signal)
                f->signals = watch_signal();
        return config->runs
                   ? dump_run_open(config->runs, config->program, config->folder, &f->run, err)
                   : 0;
}

int flight_open(const struct flight_config *config, struct flight **ret, struct err *err)
{
        struct flight *f = calloc(1, sizeof(*f));
        if (!f)
                return err_set(err, -ENOMEM, "out of memory");
        crew_init(&f->crew, free_flight);
        f->wake = f->signals = f->folder = -1;
        f->keep_ns = config->keep_ns;
        f->due_ns = INT64_MAX;
        int r = prepare_flight(f, config, err);
        if (r == 0) {
                r = crew_start(&f->crew, flight_thread, f);
                if (r < 0)
                        err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        if (r < 0) {
                crew_leave(&f->crew, 0);
                return r;
        }
        *ret = f;
        return 0;
}

/* Whether a dump is still to be written. */
static bool is_busy(struct flight *f)
{
        struct dump_status s;
        flight_status(f, &s);
        return s.busy;
}

void flight_close(struct flight *f)
{
        if (!f)
                return;
        bool busy = is_busy(f);
        crew_stop(&f->crew);
        life_wake(f->wake);
        crew_leave(&f->crew, busy ? WRITE_PATIENCE_NS : CLOSE_PATIENCE_NS);
}
