/*
 * Live values from `dcgmi dmon`, which runs as a child. Before the stream come `discovery -l`
 * (which GPUs there are) and `discovery -c` (their MIG slices). A stream that dies is started
 * again, ever more patiently, while the last values are given with their age.
 *
 * Everything happens inside next(): one child at a time, pipes that do not block, one poll().
 */
#include "read/source.h"
#include "base/clock.h"
#include "life/helper.h"
#include "life/thread.h"
#include "read/dcgm/failure.h"
#include "read/dcgm/local.h"
#include "read/dcgm/rounds.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#define ANSWER_NS (10 * NS_PER_S) /* longest silence of a dcgmi that works */
#define CHOICE_NS (3 * NS_PER_S)  /* the same where another source can be had instead */
#define OPEN_NS (2 * NS_PER_S)    /* longest that opening waits for the first row */
#define PAUSE_NS (50 * NS_PER_MS) /* dcgmi writes a round in one go: a pause ends it */
#define SLACK_NS (200 * NS_PER_MS)
#define BACK_OFF_FIRST_S 1
#define BACK_OFF_LAST_S 30
#define SAID_MAX 4096
#define ANSWER_MAX (4 << 20)    /* bytes of an answer that is not a stream; all fields are 100 kB */
#define AT_ONCE_MAX (256 << 10) /* bytes taken before time and signals are examined again */

enum stage { STAGE_GPUS, STAGE_SLICES, STAGE_FIELDS, STAGE_STREAM, STAGE_PAUSE };

struct source {
        struct source_config config;
        char program[4096];
        char socket[4096]; /* the engine's address, when it was given as a path */
        enum stage stage;
        struct helper child;
        struct lines lines; /* the child's standard output */
        int64_t begun_ns;   /* when the child was started */
        int64_t heard_ns;   /* when it last said something, or was started */
        int64_t start_ns;   /* when to start again, in STAGE_PAUSE */
        unsigned back_off_s;

        struct dcgm_inventory inventory;
        struct dcgm_fields fields;
        bool fields_asked;
        enum dcgm_plan plan;
        struct dcgm_ids ids;
        enum dcgm_failure refused; /* why the plan is not the first one */

        struct dcgm_rounds rounds;
        bool ready;     /* a round was complete while opening, and waits to be given */
        int64_t due_ns; /* when to give the last round once more */

        uint64_t failures; /* since the first round */
        char down[120];    /* for provenance, while there is no stream; else empty */
        enum dcgm_failure last_failure;
        char said[SAID_MAX]; /* what is not a row, on both streams */
        size_t said_len;
        int wake; /* an eventfd that ends a wait */
        bool stopped;
};

/* Keeps the end: the reason comes last. */
static void keep_output(struct source *s, const char *text, size_t len)
{
        len = MIN(len, (size_t)SAID_MAX / 2);
        if (s->said_len + len + 1 > SAID_MAX) {
                size_t half = SAID_MAX / 2;
                memmove(s->said, s->said + s->said_len - half + len, half - len);
                s->said_len = half - len;
        }
        memcpy(s->said + s->said_len, text, len);
        s->said_len += len;
        s->said[s->said_len++] = '\n';
}

/* The line of what dcgmi said that starts with "Error", or "". */
static void error_line(const struct source *s, char *buf, size_t size)
{
        const char *at = memmem(s->said, s->said_len, "Error", 5);
        size_t n = 0;
        buf[0] = '\0';
        for (; at && at < s->said + s->said_len && *at != '\n' && n + 1 < size; at++)
                buf[n++] = isprint((unsigned char)*at) ? *at : '.';
        buf[n] = '\0';
}

/* The variable makes dcgmi print a warning among its rows. */
static bool is_noisy_variable(const char *variable)
{
        static const char hidden[] = "CUDA_VISIBLE_DEVICES=";
        return strncmp(variable, hidden, sizeof(hidden) - 1) == 0;
}

static void drop_child(struct source *s)
{
        if (s->lines.buf)
                lines_finish(&s->lines);
        helper_stop(&s->child);
}

static int64_t answer_ns(const struct source *s)
{
        return s->config.need_counters ? CHOICE_NS : ANSWER_NS;
}

static void describe_failure(const struct source *s, enum dcgm_failure f, int status, char *buf,
                             size_t size)
{
        buf[0] = '\0';
        if (f == DCGM_UNREACHABLE)
                snprintf(buf, size, "'%s'",
                         s->config.dcgm_host ? s->config.dcgm_host : "localhost");
        else if (f == DCGM_NO_ANSWER)
                snprintf(buf, size, "nothing came for %lld s", answer_ns(s) / NS_PER_S);
        else if (f == DCGM_ENDED || f == DCGM_BAD_ARGUMENT || f == DCGM_BAD_GPU ||
                 f == DCGM_NOT_A_PROGRAM)
                error_line(s, buf, size);
        if (f == DCGM_ENDED && buf[0] == '\0')
                snprintf(buf, size, "its exit status is %d", status);
}

/* Before the first values a failure is an error, unless the caller waits for an engine that is yet
 * to start; after them the source waits and tries again. */
static int fail_stage(struct source *s, enum dcgm_failure f, int status, struct err *err)
{
        char detail[200];
        describe_failure(s, f, status, detail, sizeof(detail));
        drop_child(s);
        s->stage = STAGE_PAUSE;
        s->last_failure = f;
        bool waits = s->config.wait && dcgm_failure_may_pass(f);
        if (!s->rounds.any && !waits)
                return dcgm_failure_report(f, detail, s->config.root, err);
        s->failures++;
        snprintf(s->down, sizeof(s->down), "dcgm, %s: %s", s->rounds.any ? "stale" : "waiting",
                 dcgm_failure_message(f));
        s->start_ns = clock_mono_ns() + (int64_t)s->back_off_s * NS_PER_S;
        s->back_off_s = MIN(s->back_off_s * 2, (unsigned)BACK_OFF_LAST_S);
        return 0;
}

static int begin_stage(struct source *s, enum stage stage, struct err *err)
{
        static const enum dcgm_verb verbs[] = {[STAGE_GPUS] = DCGM_LIST_GPUS,
                                               [STAGE_SLICES] = DCGM_LIST_SLICES,
                                               [STAGE_FIELDS] = DCGM_LIST_FIELDS,
                                               [STAGE_STREAM] = DCGM_STREAM};
        struct dcgm_command command;
        drop_child(s);
        s->stage = stage;
        s->said_len = 0;
        s->begun_ns = s->heard_ns = clock_mono_ns();
        if (stage == STAGE_GPUS)
                s->inventory = (struct dcgm_inventory){0};
        if (stage == STAGE_STREAM)
                dcgm_choose_ids(s->config.dcgm_ids, s->config.n_dcgm_ids, s->plan,
                                s->inventory.n_slices > 0, s->fields_asked ? &s->fields : NULL,
                                &s->ids);
        dcgm_rounds_restart(&s->rounds);
        dcgm_build_command(verbs[stage], s->program, s->config.dcgm_host, &s->ids, &s->inventory,
                           s->config.poll_ns / NS_PER_MS, &command);
        int r = helper_start(&s->child, command.argv,
                             &(struct helper_options){.hides = is_noisy_variable});
        if (r < 0) {
                char why[160];
                int n = snprintf(why, sizeof(why), "Error: %.100s: %s", s->program, strerror(-r));
                keep_output(s, why, (size_t)n);
                bool broken = r == -ENOENT || r == -EACCES || r == -ENOEXEC;
                return fail_stage(s, broken ? DCGM_NOT_A_PROGRAM : DCGM_ENDED, 127, err);
        }
        r = lines_init(&s->lines, s->child.out_fd);
        if (r < 0)
                return err_set(err, r, "out of memory");
        s->child.out_fd = -1;
        return 0;
}

static void read_stderr(struct source *s)
{
        char buf[1024];
        ssize_t n;
        size_t taken = 0;
        while (s->child.err_fd >= 0 && (n = read(s->child.err_fd, buf, sizeof(buf))) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 || (taken += (size_t)n) > AT_ONCE_MAX)
                        return;
                keep_output(s, buf, (size_t)n);
        }
        closep(&s->child.err_fd);
        s->child.err_fd = -1;
}

/* Sets when the next round is overdue. Returns 1. */
static int round_complete(struct source *s)
{
        s->back_off_s = BACK_OFF_FIRST_S;
        s->down[0] = '\0';
        s->due_ns =
            s->rounds.mono_ns + s->config.poll_ns + MAX(s->config.poll_ns / 2, (int64_t)SLACK_NS);
        return 1;
}

/* 1 when a round is complete, 0 when not, or a negative errno. */
static int take_row(struct source *s, const struct line *line)
{
        switch (dcgm_rounds_take(&s->rounds, line)) {
        case DCGM_TAKEN:
                return 0;
        case DCGM_ROUND:
                return round_complete(s);
        case DCGM_NOT_A_ROW:
                keep_output(s, line->s, line->len);
                return 0;
        case DCGM_NO_MEMORY:
                break;
        }
        return -ENOMEM;
}

static int take_line(struct source *s, const struct line *line)
{
        bool known = true;
        switch (s->stage) {
        case STAGE_GPUS:
                known = dcgm_take_gpu(&s->inventory, line->s, line->len);
                break;
        case STAGE_SLICES:
                known = dcgm_take_slice(&s->inventory, line->s, line->len);
                break;
        case STAGE_FIELDS:
                known = dcgm_take_field(&s->fields, line->s, line->len);
                break;
        case STAGE_STREAM:
                return take_row(s, line);
        case STAGE_PAUSE:
                break;
        }
        if (!known)
                keep_output(s, line->s, line->len);
        return 0;
}

static int stream_ended(struct source *s, int status, struct err *err)
{
        enum dcgm_failure f = dcgm_failure_of(s->said, s->said_len, status);
        if (f == DCGM_BAD_FIELD && !s->fields_asked)
                return begin_stage(s, STAGE_FIELDS, err);
        if (!dcgm_failure_is_refusal(f) || s->plan == DCGM_PLAN_DEVICE)
                return fail_stage(s, f, status, err);
        bool fewer = f == DCGM_NOT_ONE_PASS && s->plan < DCGM_PLAN_ONE_PASS;
        s->plan = fewer ? s->plan + 1 : DCGM_PLAN_DEVICE;
        /* That the rarest are left out is not worth a word. */
        s->refused = s->plan == DCGM_PLAN_MOST ? DCGM_FINE : f;
        return begin_stage(s, STAGE_STREAM, err);
}

/* The child is gone: on to the next stage. 0 or a negative code with err. */
static int stage_ended(struct source *s, struct err *err)
{
        int status = helper_finish(&s->child);
        read_stderr(s);
        switch (s->stage) {
        case STAGE_GPUS:
                /* GPUs come first: that switches cannot be listed does not matter. */
                if (status != 0 && s->inventory.n_gpus == 0)
                        return fail_stage(s, dcgm_failure_of(s->said, s->said_len, status), status,
                                          err);
                if (s->inventory.n_gpus == 0)
                        return fail_stage(s, DCGM_NO_GPU, status, err);
                if (dcgm_host_is_local(s->config.dcgm_host))
                        dcgm_number_locally(&s->inventory, s->config.root);
                return begin_stage(s, STAGE_SLICES, err);
        case STAGE_SLICES: /* An engine without MIG may refuse to list slices. */
                return begin_stage(s, STAGE_STREAM, err);
        case STAGE_FIELDS:
                s->fields_asked = true;
                return begin_stage(s, STAGE_STREAM, err);
        case STAGE_STREAM:
                return stream_ended(s, status, err);
        case STAGE_PAUSE:
                break;
        }
        return 0;
}

static int64_t patience_ns(const struct source *s)
{
        return answer_ns(s) + (s->stage == STAGE_STREAM ? 3 * s->config.poll_ns : 0);
}

/* An answer is complete some time after the start, whatever was said meanwhile. */
static int64_t silent_since(const struct source *s)
{
        return s->stage == STAGE_STREAM ? s->heard_ns : s->begun_ns;
}

/*
 * 1 when a round is complete, 0 when the child has closed its output, -EAGAIN when there is nothing
 * more now, or another negative errno. Only rows show that a stream works.
 */
static int take_lines(struct source *s, int64_t now)
{
        struct line line;
        int r;
        s->lines.allowance = AT_ONCE_MAX;
        while ((r = lines_next(&s->lines, &line)) > 0) {
                uint64_t rows = s->rounds.rows;
                r = take_line(s, &line);
                if (s->rounds.rows > rows)
                        s->heard_ns = now;
                if (r != 0)
                        return r;
        }
        return r;
}

static enum dcgm_plan first_plan(const struct source_config *config)
{
        return config->no_profiling ? DCGM_PLAN_DEVICE : DCGM_PLAN_ALL;
}

/* Takes what is present. 1 when a round is complete, 0 when not, or a negative code with err. */
static int advance_round(struct source *s, struct err *err)
{
        int64_t now = clock_mono_ns();
        if (s->stage == STAGE_PAUSE) {
                if (now < s->start_ns)
                        return 0;
                /* What was refused then may be had now. */
                s->plan = first_plan(&s->config);
                s->refused = DCGM_FINE;
                return begin_stage(s, STAGE_GPUS, err);
        }
        read_stderr(s);
        int r = take_lines(s, now);
        if (r == -ENOMEM)
                return err_set(err, r, "out of memory");
        if (r > 0)
                return 1;
        if (r != -EAGAIN)
                return stage_ended(s, err);
        if (s->stage != STAGE_STREAM && s->lines.bytes > ANSWER_MAX)
                return fail_stage(s, DCGM_ENDLESS, 0, err);
        if (dcgm_rounds_waiting(&s->rounds) && now - s->heard_ns >= PAUSE_NS)
                return dcgm_rounds_complete(&s->rounds) ? round_complete(s) : 0;
        if (now - silent_since(s) >= patience_ns(s))
                return fail_stage(s, DCGM_NO_ANSWER, 0, err);
        return 0;
}

/* Waits for input, but not beyond until_ns. False when interrupted. */
static bool wait_for_input(struct source *s, int64_t until_ns)
{
        if (s->stage == STAGE_PAUSE)
                until_ns = MIN(until_ns, s->start_ns);
        else
                until_ns = MIN(until_ns, silent_since(s) + patience_ns(s));
        if (dcgm_rounds_waiting(&s->rounds))
                until_ns = MIN(until_ns, s->heard_ns + PAUSE_NS);
        int64_t left = MAX(until_ns - clock_mono_ns(), (int64_t)0);
        struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
        struct pollfd fds[] = {{.fd = s->wake, .events = POLLIN},
                               {.fd = s->lines.buf ? s->lines.fd : -1, .events = POLLIN},
                               {.fd = s->child.err_fd, .events = POLLIN}};
        ppoll(fds, ARRAY_LEN(fds), &ts, NULL);
        if (fds[0].revents & POLLIN) {
                /* Reading also orders the close that follows after what the other thread did. */
                uint64_t count;
                s->stopped = read(s->wake, &count, sizeof(count)) > 0;
        }
        return !s->stopped;
}

static void fill_batch(struct source *s, bool fresh, int64_t now, struct batch *ret)
{
        if (fresh) {
                dcgm_rounds_give(&s->rounds, ret);
        } else {
                dcgm_rounds_give_stale(&s->rounds, now, ret);
                s->due_ns = now + s->config.poll_ns;
        }
        ret->window_ns = s->config.poll_ns;
}

/* There were no values yet: time continues without them. */
static void give_nothing(struct source *s, int64_t now, struct batch *ret)
{
        *ret = (struct batch){.mono_ns = now, .wall_ns = clock_wall_ns(), .stale = true};
        s->due_ns = now + s->config.poll_ns;
}

static int dcgm_next(struct source *s, struct batch *ret, struct err *err)
{
        for (;;) {
                int r = s->ready ? 1 : advance_round(s, err);
                s->ready = false;
                if (r < 0)
                        return r;
                int64_t now = clock_mono_ns();
                bool beats = s->rounds.any || s->config.wait;
                if (r > 0 || (s->rounds.any && now >= s->due_ns)) {
                        fill_batch(s, r > 0, now, ret);
                        return 1;
                }
                if (beats && now >= s->due_ns) {
                        give_nothing(s, now, ret);
                        return 1;
                }
                if (s->stopped || !wait_for_input(s, beats ? s->due_ns : INT64_MAX))
                        return 0;
        }
}

static void dcgm_close(struct source *s)
{
        if (!s)
                return;
        drop_child(s);
        dcgm_rounds_finish(&s->rounds);
        closep(&s->wake);
        free(s);
}

/* Goes as far as the first row, so that any caller that chooses a source knows whether this one
 * works. */
static int reach_first_row(struct source *s, struct err *err)
{
        int r = begin_stage(s, STAGE_GPUS, err);
        while (r == 0 && s->rounds.rows == 0 && s->stage != STAGE_PAUSE) {
                int64_t until = s->begun_ns + OPEN_NS;
                if (s->stage == STAGE_STREAM && clock_mono_ns() >= until)
                        break;
                wait_for_input(s, s->stage == STAGE_STREAM ? until : INT64_MAX);
                r = advance_round(s, err);
        }
        s->ready = r > 0;
        return MIN(r, 0);
}

static int find_program(struct source *s, struct err *err)
{
        char detail[128] = "";
        const char *name = s->config.dcgmi ? s->config.dcgmi : "dcgmi";
        if (helper_find(name, helper_path(), s->program, sizeof(s->program)))
                return 0;
        if (!s->config.dcgmi)
                return dcgm_failure_report(DCGM_NOT_INSTALLED, "", s->config.root, err);
        struct stat st;
        bool present = strchr(name, '/') && stat(name, &st) == 0;
        snprintf(detail, sizeof(detail), "'%.90s' %s", name,
                 !present              ? "does not exist"
                 : S_ISDIR(st.st_mode) ? "is a folder"
                                       : "is not executable");
        return dcgm_failure_report(DCGM_NOT_A_PROGRAM, detail, s->config.root, err);
}

/* dcgmi takes a path for a host's name unless it is called a socket. */
static void name_socket(struct source *s)
{
        const char *host = s->config.dcgm_host;
        if (!host || host[0] != '/')
                return;
        snprintf(s->socket, sizeof(s->socket), "unix://%.4000s", host);
        s->config.dcgm_host = s->socket;
}

static int dcgm_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        name_socket(s);
        s->child = HELPER_NONE;
        s->back_off_s = BACK_OFF_FIRST_S;
        s->plan = first_plan(config);
        dcgm_rounds_init(&s->rounds, &s->inventory);
        s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = find_program(s, err);
        if (r == 0)
                r = reach_first_row(s, err);
        if (r < 0) {
                dcgm_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

static const char *dcgm_provenance(const struct source *s)
{
        if (s->down[0])
                return s->down;
        switch (s->plan) {
        case DCGM_PLAN_ALL:
        case DCGM_PLAN_MOST:
                break;
        case DCGM_PLAN_ONE_PASS:
                return "dcgm, some counters";
        case DCGM_PLAN_DEVICE:
                return "dcgm, device fields only";
        }
        return "dcgm";
}

static void dcgm_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = (struct source_trouble){.rows = s->rounds.rows,
                                       .too_long = s->lines.too_long,
                                       .no_counters = s->plan == DCGM_PLAN_DEVICE,
                                       .waiting = !s->rounds.any && s->failures > 0};
        const char *why = dcgm_failure_message(s->last_failure);
        if (s->refused != DCGM_FINE)
                snprintf(ret->notice, sizeof(ret->notice), "%s, because %s; %s",
                         s->plan == DCGM_PLAN_DEVICE ? "device fields only" : "fewer counters",
                         dcgm_failure_message(s->refused), dcgm_failure_hint(s->refused));
        else if (ret->waiting)
                snprintf(ret->notice, sizeof(ret->notice), "%s, waiting for it; %s", why,
                         dcgm_failure_hint(s->last_failure));
        else if (s->failures > 0)
                snprintf(ret->notice, sizeof(ret->notice),
                         "dcgmi failed %llu time%s, last because %s",
                         (unsigned long long)s->failures, s->failures == 1 ? "" : "s", why);
}

static void dcgm_interrupt(struct source *s)
{
        life_wake(s->wake);
}

const struct source_ops source_dcgm = {
    .name = "dcgm",
    .help = "DCGM's host engine, through dcgmi dmon",
    .poll_floor_ns = 100 * NS_PER_MS,
    .local = true,
    .open = dcgm_open,
    .next = dcgm_next,
    .provenance = dcgm_provenance,
    .trouble = dcgm_trouble,
    .interrupt = dcgm_interrupt,
    .close = dcgm_close,
};
