#include "serve/listen.h"

#include "base/num.h"
#include "serve/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define DEFAULT_PORT "9400"
#define BACKLOG 1024

static int listen_refuse(const char *text, struct err *err)
{
        err_set(err, ERR_USAGE, "cannot listen on '%s': not an address and a port", text);
        return err_hint(err, "write 127.0.0.1:9400, [::1]:9400, :9400 for all addresses, or "
                             "unix:/run/assay.sock");
}

static bool is_port(const char *s)
{
        uint64_t n;
        return num_parse_u64(s, strlen(s), &n) && n <= 65535;
}

static bool is_address(const char *host)
{
        unsigned char buf[sizeof(struct in6_addr)];
        return inet_pton(AF_INET, host, buf) == 1 || inet_pton(AF_INET6, host, buf) == 1;
}

/* Splits at the last colon, or at the one after a bracket. */
static bool split_address(const char *text, struct listen_place *p)
{
        const char *colon = text[0] == '[' ? strstr(text, "]:") : strrchr(text, ':');
        if (text[0] == '[' && colon)
                colon++;
        if (!colon && is_port(text)) {
                snprintf(p->port, sizeof(p->port), "%.15s", text);
                snprintf(p->host, sizeof(p->host), "127.0.0.1");
                return true;
        }
        size_t n = colon ? (size_t)(colon - text) : strlen(text);
        const char *host = text;
        if (text[0] == '[') {
                if (n < 3 || text[n - 1] != ']')
                        return false;
                host++;
                n -= 2;
        }
        if (n >= sizeof(p->host) || (colon && !is_port(colon + 1)))
                return false;
        memcpy(p->host, host, n);
        p->host[n] = '\0';
        snprintf(p->port, sizeof(p->port), "%.15s", colon ? colon + 1 : DEFAULT_PORT);
        return true;
}

int listen_parse(const char *text, struct listen_place *ret, struct err *err)
{
        struct listen_place p = {0};
        if (strncmp(text, "unix:", 5) == 0) {
                if (text[5] != '/' ||
                    strlen(text + 5) >= sizeof(((struct sockaddr_un *)0)->sun_path))
                        return listen_refuse(text, err);
                p.unix_socket = p.loopback = true;
                snprintf(p.host, sizeof(p.host), "%s", text + 5);
                *ret = p;
                return 0;
        }
        if (!split_address(text[0] ? text : DEFAULT_PORT, &p))
                return listen_refuse(text, err);
        if (p.host[0] == '\0')
                snprintf(p.host, sizeof(p.host), "::");
        if (strcmp(p.host, "localhost") == 0)
                snprintf(p.host, sizeof(p.host), "127.0.0.1");
        if (!is_address(p.host))
                return listen_refuse(text, err);
        p.everywhere = strcmp(p.host, "::") == 0 || strcmp(p.host, "0.0.0.0") == 0;
        p.loopback = guard_is_loopback(p.host);
        *ret = p;
        return 0;
}

static int fail_listen(const struct listen_place *p, struct err *err)
{
        int code = -errno;
        err_set(err, code, "cannot listen on %s%s%s: %s", p->host, p->port[0] ? ":" : "", p->port,
                strerror(-code));
        if (code == -EADDRINUSE)
                return err_hint(err, "another program listens there; choose with --listen");
        return err_hint(err, "choose another place with --listen");
}

/* A socket of a program that is gone is in the way; one that answers is not ours to take. */
static bool is_left_over(const struct sockaddr_un *sun)
{
        struct stat st;
        if (lstat(sun->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
                return false;
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd >= 0 && connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 &&
               errno == ECONNREFUSED;
}

static int open_unix(struct listen_place *p, struct err *err)
{
        struct sockaddr_un sun = {.sun_family = AF_UNIX};
        snprintf(sun.sun_path, sizeof(sun.sun_path), "%.*s", (int)sizeof(sun.sun_path) - 1,
                 p->host);
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (is_left_over(&sun))
                unlink(sun.sun_path);
        mode_t mask = umask(0177);
        int r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&sun, sizeof(sun));
        umask(mask);
        if (r < 0 || listen(fd, BACKLOG) < 0)
                return fail_listen(p, err);
        int ret = fd;
        fd = -1;
        return ret;
}

static socklen_t make_address(const struct listen_place *p, struct sockaddr_storage *ret)
{
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
        struct sockaddr_in *four = (struct sockaddr_in *)ret;
        uint16_t port = htons((uint16_t)strtoul(p->port, NULL, 10));
        memset(ret, 0, sizeof(*ret));
        if (inet_pton(AF_INET, p->host, &four->sin_addr) == 1) {
                four->sin_family = AF_INET;
                four->sin_port = port;
                return sizeof(*four);
        }
        memset(ret, 0, sizeof(*ret));
        inet_pton(AF_INET6, p->host, &six->sin6_addr);
        six->sin6_family = AF_INET6;
        six->sin6_port = port;
        return sizeof(*six);
}

/* A machine without IPv6 has all its addresses in IPv4. */
static int bind_to(struct listen_place *p, int *ret)
{
        struct sockaddr_storage address;
        socklen_t n = make_address(p, &address);
        int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 && errno == EAFNOSUPPORT && strcmp(p->host, "::") == 0) {
                snprintf(p->host, sizeof(p->host), "0.0.0.0");
                return bind_to(p, ret);
        }
        int on = 1, off = 0;
        if (fd >= 0)
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (fd >= 0 && address.ss_family == AF_INET6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) < 0 || listen(fd, BACKLOG) < 0) {
                int error = errno;
                closep(&fd);
                errno = error;
                return -1;
        }
        n = sizeof(address);
        if (getsockname(fd, (struct sockaddr *)&address, &n) == 0)
                snprintf(p->port, sizeof(p->port), "%u",
                         ntohs(address.ss_family == AF_INET
                                   ? ((struct sockaddr_in *)&address)->sin_port
                                   : ((struct sockaddr_in6 *)&address)->sin6_port));
        *ret = fd;
        return 0;
}

int listen_open(struct listen_place *p, struct err *err)
{
        int fd;
        if (p->unix_socket)
                return open_unix(p, err);
        return bind_to(p, &fd) < 0 ? fail_listen(p, err) : fd;
}

void listen_url(const struct listen_place *p, bool tls, char *buf, size_t size)
{
        if (p->unix_socket)
                snprintf(buf, size, "unix:%s", p->host);
        else if (p->everywhere)
                snprintf(buf, size, "http%s://localhost:%s", tls ? "s" : "", p->port);
        else
                snprintf(buf, size, strchr(p->host, ':') ? "http%s://[%s]:%s" : "http%s://%s:%s",
                         tls ? "s" : "", p->host, p->port);
}
