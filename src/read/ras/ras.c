#include "read/ras/ras.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "formats/ras/ras.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX (16u << 20)
#define HANDSHAKE_MAX 256
#define CONNECT_NS NS_PER_S
#define GREETING_NS (2 * NS_PER_S)
#define ANSWER_NS ((RAS_PATIENCE_S + 3) * NS_PER_S)

/* A connection that never waits beyond its end. */
struct ras_link {
        int fd;
        int64_t until_ns;
};

static bool wait_for(const struct ras_link *l, short events)
{
        for (;;) {
                int64_t left = l->until_ns - clock_mono_ns();
                struct pollfd p = {.fd = l->fd, .events = events};
                if (left <= 0)
                        return false;
                int r = poll(&p, 1, (int)(left / (NS_PER_S / 1000)) + 1);
                if (r > 0)
                        return true;
                if (r < 0 && errno != EINTR)
                        return false;
        }
}

static bool send_line(const struct ras_link *l, const char *line)
{
        size_t n = strlen(line);
        while (n > 0) {
                if (!wait_for(l, POLLOUT))
                        return false;
                ssize_t sent = send(l->fd, line, n, MSG_NOSIGNAL);
                if (sent < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                line += MAX(sent, 0);
                n -= (size_t)MAX(sent, 0);
        }
        return true;
}

/* One line, without its end; byte by byte, as an answer may follow at once. */
static bool receive_line(const struct ras_link *l, char buf[HANDSHAKE_MAX])
{
        for (size_t n = 0; n + 1 < HANDSHAKE_MAX;) {
                if (!wait_for(l, POLLIN))
                        return false;
                ssize_t got = recv(l->fd, buf + n, 1, 0);
                if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
                        return false;
                if (got < 0)
                        continue;
                if (buf[n] == '\n') {
                        buf[n] = '\0';
                        return true;
                }
                n++;
        }
        return false;
}

static bool receive_all(const struct ras_link *l, struct strbuf *ret)
{
        char buf[65536];
        while (wait_for(l, POLLIN)) {
                ssize_t got = recv(l->fd, buf, sizeof(buf), 0);
                if (got == 0)
                        return !ret->failed;
                if (got < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                if (got < 0)
                        continue;
                if (ret->len + (size_t)got > ANSWER_MAX)
                        return false;
                strbuf_put(ret, buf, (size_t)got);
        }
        return false;
}

/* ---- where it is ---- */

/* "[::1]:28028", "127.0.0.1:28028", "localhost:28028". */
static int split_address(const char *address, char host[64], char port[16], struct err *err)
{
        const char *colon = strrchr(address, ':');
        size_t n = colon ? (size_t)(colon - address) : 0;
        bool bracketed = n > 2 && address[0] == '[' && address[n - 1] == ']';
        if (n == 0 || n >= 64 || strlen(colon + 1) >= 16 ||
            strspn(colon + 1, "0123456789") != strlen(colon + 1) || colon[1] == '\0') {
                err_set(err, ERR_USAGE, "NCCL_RAS_ADDR: '%s' is no address", address);
                return err_hint(err, "write it as 127.0.0.1:28028, or unset it");
        }
        snprintf(host, 64, "%.*s", (int)(bracketed ? n - 2 : n), address + bracketed);
        snprintf(port, 16, "%s", colon + 1);
        return 0;
}

static int open_link(const struct addrinfo *to)
{
        struct ras_link l = {
            .fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
            .until_ns = clock_mono_ns() + CONNECT_NS};
        int error = 0;
        socklen_t size = sizeof(error);
        if (l.fd < 0)
                return -1;
        if (connect(l.fd, to->ai_addr, to->ai_addrlen) == 0)
                return l.fd;
        bool connected = errno == EINPROGRESS && wait_for(&l, POLLOUT) &&
                         getsockopt(l.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
        if (connected)
                return l.fd;
        close(l.fd);
        return -1;
}

/* localhost is one of two addresses, whatever a file of hosts says. */
static int connect_to(const char *host, const char *port)
{
        static const char *const local[] = {"127.0.0.1", "::1"};
        bool is_local = strcmp(host, "localhost") == 0;
        int fd = -1;
        for (size_t i = 0; fd < 0 && i < (is_local ? ARRAY_LEN(local) : 1); i++) {
                const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                               .ai_socktype = SOCK_STREAM};
                struct addrinfo *list = NULL;
                if (getaddrinfo(is_local ? local[i] : host, port, &hints, &list) != 0)
                        continue;
                fd = open_link(list);
                freeaddrinfo(list);
        }
        return fd;
}

/* ---- the talk ---- */

/* Whether it is NCCL, and writes JSON. NULL when it is; else what went wrong. */
static const char *read_greeting(const struct ras_link *l, bool *ret_json)
{
        char line[HANDSHAKE_MAX], timeout[32];
        if (!send_line(l, "CLIENT PROTOCOL 2\n") || !receive_line(l, line))
                return "what listens there does not answer";
        if (strncasecmp(line, "SERVER PROTOCOL ", strlen("SERVER PROTOCOL ")) != 0)
                return "what listens there is not NCCL's service";
        snprintf(timeout, sizeof(timeout), "TIMEOUT %d\n", RAS_PATIENCE_S);
        if (!send_line(l, timeout) || !receive_line(l, line))
                return "it closed the connection";
        /* A version that does not know a command says so and continues. */
        if (!send_line(l, "SET FORMAT json\n") || !receive_line(l, line))
                return "it closed the connection";
        *ret_json = strcasecmp(line, "OK") == 0;
        return NULL;
}

static const char *query_report(struct ras_link *l, struct ras_report *ret, bool *ret_memory)
{
        struct strbuf answer = {0};
        struct err err = {0};
        bool json = false;
        l->until_ns = clock_mono_ns() + GREETING_NS;
        const char *why = read_greeting(l, &json);
        l->until_ns = clock_mono_ns() + ANSWER_NS;
        if (!why && (!send_line(l, "VERBOSE STATUS\n") || !receive_all(l, &answer)))
                why = answer.len > 0 ? "its answer has no end" : "it did not answer in time";
        if (!why) {
                int r = json ? ras_parse_json(answer.s, answer.len, ret, &err)
                             : ras_parse_text(answer.s, answer.len, ret, &err);
                *ret_memory = r == -ENOMEM;
                why = r < 0 ? "its answer is no status of NCCL" : NULL;
        }
        strbuf_finish(&answer);
        return why;
}

int ras_query(const char *address, struct ras_report *ret, struct err *err)
{
        char host[64], port[16];
        bool memory = false;
        int r = split_address(address, host, port, err);
        if (r < 0)
                return r;
        struct ras_link l = {.fd = connect_to(host, port)};
        if (l.fd < 0)
                return 0;
        const char *why = query_report(&l, ret, &memory);
        close(l.fd);
        if (why) {
                ras_report_finish(ret);
                snprintf(ret->why, sizeof(ret->why), "%s", why);
        }
        return memory ? -ENOMEM : 1;
}
