#include "doctor/probe_http.h"

#include "base/attr.h"
#include "base/clock.h"

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

static int dial(const char *host, const char *port, int64_t until_ns)
{
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
        if (getaddrinfo(host, port, &hints, &list) != 0)
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

size_t probe_http(const char *host, const char *port, char *buf, size_t size)
{
        char request[300];
        int64_t until = clock_mono_ns() + PATIENCE_NS;
        size_t n = 0;
        CLEANUP(closep) int fd = dial(host, port, until);
        int len =
            snprintf(request, sizeof(request),
                     "GET /metrics HTTP/1.0\r\nHost: %.128s\r\nUser-Agent: assay\r\n\r\n", host);
        if (fd < 0 || send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
                return 0;
        while (n < size && wait_until(fd, POLLIN, until)) {
                ssize_t got = recv(fd, buf + n, size - n, 0);
                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        continue;
                if (got <= 0)
                        break;
                n += (size_t)got;
        }
        bool fine = n > 12 && memcmp(buf, "HTTP/1.", 7) == 0 && memcmp(buf + 8, " 200", 4) == 0;
        return fine ? n : 0;
}
