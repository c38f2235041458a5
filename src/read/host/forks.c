#include "read/host/forks.h"

#include "base/attr.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#define FORK_EVENT 0x00000001u /* PROC_EVENT_FORK, which moved between headers' versions */
#define LISTEN_OP 1u           /* PROC_CN_MCAST_LISTEN */
#define BATCH 64
#define MESSAGE_MAX 256
#define ROUNDS_MAX 1024 /* a fork bomb must not keep a tick from ending */

/* words: the operation, and since Linux 6.6 which events are wanted. Older kernels pass over what
 * they do not know. */
static int query_netlink(int fd, const uint32_t *words, size_t size)
{
        char buf[NLMSG_SPACE(sizeof(struct cn_msg) + 16)] = {0};
        size_t len = NLMSG_LENGTH(sizeof(struct cn_msg) + size);
        struct nlmsghdr header = {.nlmsg_len = (uint32_t)len, .nlmsg_type = NLMSG_DONE};
        struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = (uint16_t)size};
        memcpy(buf, &header, sizeof(header));
        memcpy(buf + NLMSG_HDRLEN, &message, sizeof(message));
        memcpy(buf + NLMSG_HDRLEN + sizeof(message), words, size);
        return send(fd, buf, len, 0) < 0 ? -errno : 0;
}

int forks_open(void)
{
        int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
        if (fd < 0)
                return -errno;
        struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
        static const uint32_t words[] = {LISTEN_OP, FORK_EVENT};
        int size = 1 << 20;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        int r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0
                    ? -errno
                    : query_netlink(fd, words, sizeof(words[0]));
        if (r == 0)
                query_netlink(fd, words, sizeof(words));
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

static void forks_take(const char *buf, size_t n, void (*each)(int32_t, int32_t, void *), void *arg)
{
        struct cn_msg message;
        struct {
                uint32_t what, cpu;
                uint64_t time;
                int32_t parent_pid, parent_tgid, child_pid, child_tgid;
        } event;
        if (n < NLMSG_HDRLEN + sizeof(message) + sizeof(event))
                return;
        memcpy(&message, buf + NLMSG_HDRLEN, sizeof(message));
        memcpy(&event, buf + NLMSG_HDRLEN + sizeof(message), sizeof(event));
        /* A new thread is announced too; its process is known already. */
        if (message.id.idx == CN_IDX_PROC && event.what == FORK_EVENT &&
            event.child_pid == event.child_tgid)
                each(event.parent_tgid, event.child_tgid, arg);
}

void forks_read(int fd, void (*each)(int32_t parent, int32_t child, void *arg), void *arg)
{
        char buf[BATCH][MESSAGE_MAX];
        struct iovec parts[BATCH];
        struct mmsghdr messages[BATCH];
        for (unsigned round = 0; round < ROUNDS_MAX; round++) {
                memset(messages, 0, sizeof(messages));
                for (size_t i = 0; i < BATCH; i++) {
                        parts[i] = (struct iovec){buf[i], MESSAGE_MAX};
                        messages[i].msg_hdr.msg_iov = &parts[i];
                        messages[i].msg_hdr.msg_iovlen = 1;
                }
                int n = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
                if (n < 0 && (errno == ENOBUFS || errno == EINTR))
                        continue;
                for (int i = 0; i < n; i++)
                        forks_take(buf[i], messages[i].msg_len, each, arg);
                if (n < BATCH)
                        return;
        }
}
