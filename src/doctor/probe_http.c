#include "doctor/probe_http.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_NS (2 * NS_PER_S)

static bool wait_until(int fd, short events, int64_t until_ns)
{
        int64_t left = until_ns - clock_mono_ns();
        struct pollfd p = {.fd = fd, .events = events};
        return left > 0 && poll(&p, 1, (int)(left / NS_PER_MS) + 1) > 0;
}

static bool connect_within(int fd, const struct addrinfo *a, int64_t until_ns)
{
        int error = 0;
        socklen_t size = sizeof(error);
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
                return true;
        return errno == EINPROGRESS && wait_until(fd, POLLOUT, until_ns) &&
               getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

static int connect_until(const char *host, const char *port, int64_t until_ns)
{
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
        char name[sizeof(((struct probe_target *)0)->host)];
        bool brackets = host[0] == '['; /* of IPv6 */
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(host + brackets, "]"), host + brackets);
        if (getaddrinfo(name, port, &hints, &list) != 0)
                return -1;
        int fd = -1;
        for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
                fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                if (fd >= 0 && !connect_within(fd, a, until_ns)) {
                        close(fd);
                        fd = -1;
                }
        }
        freeaddrinfo(list);
        return fd;
}

static bool probe_http_send(int fd, const struct probe_target *t)
{
        struct strbuf request = {0};
        strbuf_putf(&request, "GET %s HTTP/1.0\r\nHost: %s\r\nUser-Agent: assay\r\n", t->path,
                    t->host);
        if (t->token)
                strbuf_putf(&request, "Authorization: Bearer %s\r\n", t->token);
        strbuf_puts(&request, "\r\n");
        ssize_t len = (ssize_t)request.len;
        bool sent = !request.failed && send(fd, request.s, request.len, MSG_NOSIGNAL) == len;
        strbuf_finish(&request);
        return sent;
}

/* "HTTP/1.1 200 OK": 200; 0 when it is not an answer of HTTP. */
static int status_of(const char *buf, size_t n)
{
        int status = 0;
        if (n <= 12 || memcmp(buf, "HTTP/1.", 7) != 0 || buf[8] != ' ')
                return 0;
        for (size_t i = 9; i < 12 && isdigit((unsigned char)buf[i]); i++)
                status = status * 10 + (buf[i] - '0');
        return status;
}

size_t probe_http(const struct probe_target *t, char *buf, size_t size, int *ret_status)
{
        int64_t until = clock_mono_ns() + PATIENCE_NS;
        size_t n = 0;
        CLEANUP(closep) int fd = connect_until(t->host, t->port, until);
        *ret_status = 0;
        if (fd < 0 || !probe_http_send(fd, t))
                return 0;
        while (n < size && wait_until(fd, POLLIN, until)) {
                ssize_t got = recv(fd, buf + n, size - n, 0);
                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        continue;
                if (got <= 0)
                        break;
                n += (size_t)got;
        }
        *ret_status = status_of(buf, n);
        return *ret_status == 200 ? n : 0;
}
