#include "serve/notify.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/num.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Per sd_notify(3): a datagram to the socket in NOTIFY_SOCKET; '@' is an abstract name. */
void notify_send(const char *text)
{
        struct sockaddr_un sun = {.sun_family = AF_UNIX};
        const char *path = getenv("NOTIFY_SOCKET");
        size_t n = path ? strlen(path) : 0;
        if (n < 2 || n >= sizeof(sun.sun_path) || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(sun.sun_path, path, n);
        if (path[0] == '@')
                sun.sun_path[0] = '\0';
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0)
                sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&sun,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

int64_t notify_watchdog_ns(void)
{
        const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
        uint64_t usec, who;
        if (!text || !num_parse_u64(text, strlen(text), &usec) || usec > INT64_MAX / 2000)
                return 0;
        if (pid && (!num_parse_u64(pid, strlen(pid), &who) || who != (uint64_t)getpid()))
                return 0;
        return (int64_t)usec * 1000 / 2;
}
