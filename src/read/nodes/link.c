#include "read/nodes/link.h"

#include "base/clock.h"
#include "base/text.h"
#include "read/nodes/reach.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define RETRY_MAX_S 30
#define END_STEP_NS (250 * NS_PER_MS)
/* Times that nodes report are within CLOCK_FILE_MAX_NS: sums with an offset stay in range. */
#define OFFSET_MAX_NS (CLOCK_FILE_MAX_NS / 2)
/* Of its standard error so much at a time; one that fills it is ignored for a while. */
#define SAID_AT_ONCE 16384
#define STDERR_PAUSE_NS (200 * NS_PER_MS)
#define SAID_LAST 5 /* times at the end: more than a pipe holds */
/* It writes a sample an interval: one that writes more is read again in the next one. */
#define SAMPLES_MOST 8
#define ASK_FIRST_NS (500 * NS_PER_MS) /* until the clock is known well */
#define ASK_LATER_NS (5 * NS_PER_S)

void link_init(struct link *l, const char *target, const char *job)
{
        *l = (struct link){.helper = HELPER_NONE};
        snprintf(l->target, sizeof(l->target), "%s", target);
        snprintf(l->job, sizeof(l->job), "%s", job);
}

void link_finish(struct link *l)
{
        helper_stop(&l->helper);
        stream_finish(&l->stream);
}

void link_start(struct link *l, const struct node_command *command, bool is_srun, int64_t now_ns,
                struct node *node)
{
        struct helper_options how = {
            .talks = true,
            /* srun ends its step when it is asked to, and not when killed. */
            .death_signal = is_srun ? SIGTERM : SIGKILL,
            .hides = is_srun ? reach_hides : NULL};
        stream_restart(&l->stream);
        l->said_len = 0;
        l->said[0] = '\0';
        l->begun_ns = l->heard_ns = now_ns;
        l->answers = 0;
        l->waits = l->sampled = false;
        l->mute_ns = l->samples_ns = 0;
        l->samples = 0;
        l->stage = LINK_LOGIN;
        /* Until it answers, why it does not is worth more than that it is tried. */
        if (l->failures == 0)
                node->state = NODE_CONNECTING;
        int r = helper_start(&l->helper, command->argv, &how);
        if (r < 0) {
                char why[NODE_WORDS_MAX];
                snprintf(why, sizeof(why), "cannot start %.80s: %.40s", command->argv[0],
                         strerror(-r));
                link_end(l, why, now_ns);
        }
}

int link_read(struct link *l)
{
        size_t size;
        char *to = stream_room(&l->stream, &size);
        if (!to)
                return -1;
        ssize_t n = read(l->helper.out_fd, to, size);
        if (n > 0)
                stream_filled(&l->stream, (size_t)n);
        return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* The last words on standard error explain why it ended. */
static void keep_output(struct link *l, const char *s, size_t n)
{
        const size_t most = sizeof(l->said) - 1;
        size_t skip = n > most ? n - most : 0;
        s += skip;
        n -= skip;
        size_t drop = l->said_len + n > most ? l->said_len + n - most : 0;
        memmove(l->said, l->said + drop, l->said_len - drop);
        l->said_len -= drop;
        memcpy(l->said + l->said_len, s, n);
        l->said_len += n;
        l->said[l->said_len] = '\0';
}

void link_read_stderr(struct link *l, int64_t now_ns)
{
        char buf[SAID_AT_ONCE];
        if (l->helper.err_fd < 0)
                return;
        ssize_t n = read(l->helper.err_fd, buf, sizeof(buf));
        if (n < 0)
                return;
        if (n == 0) {
                closep(&l->helper.err_fd);
                l->helper.err_fd = -1;
                return;
        }
        keep_output(l, buf, (size_t)n);
        if ((size_t)n == sizeof(buf))
                l->mute_ns = now_ns + STDERR_PAUSE_NS;
}

bool link_reads(struct link *l, int64_t now_ns, int64_t interval_ns)
{
        if (now_ns - l->samples_ns >= interval_ns) {
                l->samples_ns = now_ns;
                l->samples = 0;
        }
        return (l->stage == LINK_LOGIN || l->stage == LINK_STREAM) && l->samples < SAMPLES_MOST;
}

bool link_listens(const struct link *l, int64_t now_ns)
{
        return (l->stage == LINK_LOGIN || l->stage == LINK_STREAM) && now_ns >= l->mute_ns;
}

/* --- its clock ----------------------------------------------------------------------------- */

void link_send_request(struct link *l, int64_t now_ns, int64_t wall_ns)
{
        char line[24];
        if (l->stage != LINK_STREAM || now_ns < l->ask_ns || l->helper.in_fd < 0)
                return;
        int n = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)l->asked + 1);
        l->ask_ns = now_ns + (l->answers < LINK_ASKS ? ASK_FIRST_NS : ASK_LATER_NS);
        if (!helper_write(&l->helper, line, (size_t)n))
                return; /* it does not read: it is reported otherwise that it is late */
        l->asked++;
        l->asked_mono_ns = now_ns;
        l->asked_wall_ns = wall_ns;
        l->waits = true;
}

/* Of the last answers the one that took the shortest way says most. */
static const struct link_send_request *best_answer(const struct link *l)
{
        const struct link_send_request *best = NULL;
        for (size_t i = 0; i < MIN(l->answers, (size_t)LINK_ASKS); i++) {
                if (!best || l->asks[i].rtt_ns < best->rtt_ns)
                        best = &l->asks[i];
        }
        return best;
}

static void take_answer(struct link *l, int64_t now_ns, struct node *node)
{
        if (!l->waits || l->stream.number != l->asked)
                return;
        int64_t rtt = now_ns - l->asked_mono_ns;
        l->waits = false;
        int64_t offset = l->stream.wall_ns - (l->asked_wall_ns + rtt / 2);
        offset = MAX(MIN(offset, OFFSET_MAX_NS), -OFFSET_MAX_NS);
        l->asks[l->answers++ % LINK_ASKS] =
            (struct link_send_request){.rtt_ns = rtt, .offset_ns = offset};
        node->has_offset = true;
        node->offset_s = clock_to_seconds(best_answer(l)->offset_ns);
}

int64_t link_measured(const struct link *l, int64_t now_ns, int64_t wall_ns)
{
        const struct link_send_request *best = best_answer(l);
        if (!best)
                return now_ns;
        int64_t age = wall_ns - (l->stream.wall_ns - best->offset_ns);
        return now_ns - MIN(MAX(age, (int64_t)0), now_ns);
}

/* --- events -------------------------------------------------------------------------------- */

static void read_greeting(struct link *l, int64_t now_ns, struct node *node)
{
        l->stage = LINK_STREAM;
        l->ask_ns = now_ns;
        if (l->stream.hello.protocol == NODE_PROTOCOL)
                return;
        snprintf(node->words, sizeof(node->words),
                 "assay %.31s there cannot be read from here (protocol %d, here %d)",
                 l->stream.hello.version, l->stream.hello.protocol, NODE_PROTOCOL);
        snprintf(node->hint, sizeof(node->hint), "install the version of this machine there");
}

enum stream_event link_event(struct link *l, struct batcher *b, int64_t now_ns, struct node *node)
{
        enum stream_event e = stream_next(&l->stream, b);
        if (e == STREAM_NOTHING || e == STREAM_BROKEN)
                return e;
        l->heard_ns = now_ns;
        if (e == STREAM_HELLO)
                read_greeting(l, now_ns, node);
        else if (e == STREAM_CLOCK)
                take_answer(l, now_ns, node);
        else if (e == STREAM_SAMPLE) {
                node->tried = l->sampled = true;
                l->failures = 0;
                l->samples++;
        }
        return e;
}

/* --- the end ------------------------------------------------------------------------------- */

struct failure {
        enum node_state state;
        int status;
        const char *pattern, *words, *hint;
};

static const struct failure failures[] = {
#define FAILURE(state, status, pattern, words, hint) {NODE_##state, status, pattern, words, hint},
#include "read/nodes/failures.def"
#undef FAILURE
};

/* The last line that says something; of assay's own complaints the first. */
static void last_words(const char *said, int status, char *buf, size_t size)
{
        const char *own = strstr(said, "assay: "), *last = NULL;
        for (const char *s = said; *s;) {
                size_t len = strcspn(s, "\r\n");
                if (len > strspn(s, " \t"))
                        last = s;
                s += len + (s[len] != '\0');
        }
        last = own ? own + strlen("assay: ") : last;
        if (last)
                snprintf(buf, size, "%.*s", (int)MIN(strcspn(last, "\r\n"), size - 1), last);
        else
                snprintf(buf, size, status == 255 ? "the connection ended" : "ended with status %d",
                         status);
        text_clean(buf);
}

bool node_explain_end(const char *said, int status, struct node *node)
{
        for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
                const struct failure *f = &failures[i];
                if ((f->status >= 0 && f->status != status) || !strcasestr(said, f->pattern))
                        continue;
                node->state = f->state;
                snprintf(node->words, sizeof(node->words), "%s", f->words);
                snprintf(node->hint, sizeof(node->hint), "%s", f->hint);
                return true;
        }
        node->state = NODE_DOWN;
        node->hint[0] = '\0';
        last_words(said, status, node->words, sizeof(node->words));
        return false;
}

void link_end(struct link *l, const char *why, int64_t now_ns)
{
        bool foreign = l->stream.greeted && l->stream.hello.protocol != NODE_PROTOCOL;
        snprintf(l->why, sizeof(l->why), "%s", why ? why : "");
        l->stage = LINK_ENDING;
        l->ending_ns = now_ns;
        if (why || foreign)
                helper_terminate(&l->helper);
}

static void conclude_link(struct link *l, int64_t now_ns, struct node *node)
{
        bool foreign = l->stream.greeted && l->stream.hello.protocol != NODE_PROTOCOL;
        int64_t delay_s = l->failures < 5 ? 1LL << l->failures : RETRY_MAX_S;
        for (int i = 0; i < SAID_LAST; i++)
                link_read_stderr(l, now_ns);
        if (foreign) {
                node->state = NODE_FOREIGN;
        } else if (l->why[0]) {
                node->state = NODE_DOWN;
                snprintf(node->words, sizeof(node->words), "%s", l->why);
                node->hint[0] = '\0';
        } else {
                bool known = node_explain_end(l->said, l->helper.status, node);
                if (!known && l->helper.status == 0 && !l->stream.greeted)
                        snprintf(node->words, sizeof(node->words),
                                 "it ended, and no assay had answered");
        }
        helper_stop_after(&l->helper, 0);
        l->failures++;
        node->tried = true;
        l->sampled = false;
        l->stage = LINK_WAITING;
        l->retry_ns = now_ns + delay_s * NS_PER_S;
}

void link_bury(struct link *l, int64_t now_ns, struct node *node)
{
        int64_t since = now_ns - l->ending_ns;
        if (helper_reap(&l->helper) || since > 3 * END_STEP_NS)
                conclude_link(l, now_ns, node);
        else if (since > 2 * END_STEP_NS)
                helper_kill(&l->helper);
        else if (since > END_STEP_NS && l->helper.in_fd >= 0)
                helper_terminate(&l->helper);
}
