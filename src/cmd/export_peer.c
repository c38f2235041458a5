/*
 * assay export --peer: the stream that an assay on another host reads. Standard input is the line
 * of life: each number on it is answered with the time, and when it closes, or nobody asks for a
 * minute, the program ends, even one that hangs in a driver.
 */
#include "cmd/export_peer.h"
#include "base/clock.h"
#include "life/stop.h"
#include "life/thread.h"
#include "present/stream/peer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define ASKED_AT_LEAST_MS 60000
#define LINE_MAX_LEN 64

struct peer {
        pthread_mutex_t out; /* held while lines are written */
        struct strbuf answer;
};

static void answer_line(struct peer *p, const char *line)
{
        char *end;
        unsigned long long number = strtoull(line, &end, 10);
        /* Who does not read gets no answer; the end must be seen all the same. */
        if (end == line || pthread_mutex_trylock(&p->out) != 0)
                return;
        peer_write_clock(number, clock_wall_ns(), &p->answer);
        strbuf_flush(&p->answer, STDOUT_FILENO);
        pthread_mutex_unlock(&p->out);
}

static void *listen_for_questions(void *arg)
{
        struct peer *p = arg;
        char line[LINE_MAX_LEN];
        size_t len = 0;
        for (;;) {
                struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
                char c;
                int ready = poll(&in, 1, ASKED_AT_LEAST_MS);
                if (ready < 0 && errno == EINTR)
                        continue;
                if (ready <= 0 || read(STDIN_FILENO, &c, 1) <= 0)
                        break;
                if (c == '\n') {
                        line[len] = '\0';
                        answer_line(p, line);
                        len = 0;
                } else if (len + 1 < sizeof(line)) {
                        line[len++] = c;
                }
        }
        kill(getpid(), SIGTERM); /* the way of every orderly end */
        return NULL;
}

static void stop_waiting(void *arg)
{
        pipeline_interrupt(arg);
}

/* 0 at the end, or a negative code with err. */
static int stream_to_peer(struct peer *p, struct pipeline *pipeline, struct err *err)
{
        const struct frame *frame;
        struct strbuf out = {0};
        int r;
        while ((r = pipeline_next(pipeline, &frame, err)) > 0 && !life_stopping()) {
                for (size_t i = 0; i < frame->n; i++)
                        peer_write_row(frame, &frame->rows[i], &out);
                peer_write_end(frame, &out);
                pthread_mutex_lock(&p->out);
                r = strbuf_flush(&out, STDOUT_FILENO);
                pthread_mutex_unlock(&p->out);
                if (r < 0)
                        break;
        }
        strbuf_finish(&out);
        return r == -EPIPE               ? 0
               : r < 0 && err->code == 0 ? err_set(err, r, "cannot write")
                                         : MIN(r, 0);
}

int export_peer(const struct config *config, struct err *err)
{
        /* The thread outlives this call: what it works on ends with the program. */
        struct peer *peer = calloc(1, sizeof(*peer));
        struct strbuf hello = {0};
        struct pipeline *pipeline = NULL;
        struct life_watch *watch = NULL;
        pthread_t thread;
        if (!peer)
                return err_set(err, -ENOMEM, "out of memory");
        pthread_mutex_init(&peer->out, NULL);
        peer_write_hello(program_version, &hello);
        int r = strbuf_flush(&hello, STDOUT_FILENO);
        strbuf_finish(&hello);
        if (r == 0)
                r = life_start_thread(listen_for_questions, peer, &thread);
        if (r < 0)
                return err_set(err, r, "cannot begin: %s", strerror(-r));
        pthread_detach(thread);
        r = open_pipeline(config, false, &pipeline, err);
        if (r == 0) {
                pipeline_want_limits(pipeline, false);
                life_watch_signals(stop_waiting, pipeline, &watch);
                r = stream_to_peer(peer, pipeline, err);
        }
        life_unwatch(watch);
        pipeline_close(pipeline);
        return r;
}
