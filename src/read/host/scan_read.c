/* Reading one process's files, with descriptors that stay open while the budget lasts. */
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/scanner_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAT_MAX 1024 /* the fields used end long before */
#define IO_MAX 512
#define IO_NAP_NS (900 * NS_PER_MS)

/* pid/name without printf: this is the path of every new process. */
static void put_path(char path[32], int32_t pid, const char *name)
{
        char digits[12];
        size_t n = 0, at = 0;
        for (; pid > 0; pid /= 10)
                digits[n++] = (char)('0' + pid % 10);
        while (n > 0)
                path[at++] = digits[--n];
        path[at++] = '/';
        memccpy(path + at, name, '\0', 32 - at);
}

static ssize_t read_kept(struct scanner *s, int32_t pid, const char *name, int *fd, char *buf,
                         size_t size)
{
        if (*fd >= 0)
                return files_reread_record(*fd, buf, size);
        char path[32];
        put_path(path, pid, name);
        int opened = files_open(s->proc_fd, path);
        if (opened < 0)
                return opened;
        ssize_t n = files_reread_record(opened, buf, size);
        if (n >= 0 && s->open_fds < s->config.fd_budget) {
                *fd = opened;
                s->open_fds++;
        } else {
                close(opened);
        }
        return n;
}

int scan_read_stat(struct scanner *s, struct scan_process *p)
{
        char buf[STAT_MAX];
        struct proc_stat st;
        ssize_t n = read_kept(s, p->pid, "stat", &p->stat_fd, buf, sizeof(buf));
        if (n < 0)
                return (int)n;
        int r = procfs_stat(buf, (size_t)n, &st);
        if (r < 0)
                return r;
        if (st.own != p->own || st.waited != p->waited || p->moved_ns == 0)
                p->moved_ns = s->now_ns;
        p->read_ns = s->now_ns;
        p->ppid = st.ppid;
        p->pgrp = st.pgrp;
        p->session = st.session;
        p->state = st.state;
        p->start = st.start;
        p->own = st.own;
        p->waited = st.waited;
        p->threads = st.threads;
        p->rss_pages = st.rss_pages;
        p->read_at = s->tick;
        memcpy(p->comm, st.comm, sizeof(p->comm));
        return 0;
}

void scan_read_io(struct scanner *s, struct scan_process *p)
{
        char buf[IO_MAX];
        struct proc_io io;
        p->io_known_before = p->io_state == STATE_OK;
        p->io_before = p->io;
        /* I/O takes CPU time: who used none did none worth checking at every tick. */
        if (p->io_known_before && p->moved_ns < p->io_ns && p->gone_cpu == 0 &&
            s->now_ns - p->io_ns < IO_NAP_NS)
                return;
        p->io_ns = s->now_ns;
        ssize_t n = read_kept(s, p->pid, "io", &p->io_fd, buf, sizeof(buf));
        /* It ended just now: what was read last stays, for its parent's counters to be compared. */
        if (n == -ESRCH || n == -ENOENT)
                return;
        if (n < 0) {
                p->io_state = (enum state)files_missing(n).state;
        } else if (procfs_io(buf, (size_t)n, &io) < 0) {
                p->io_state = STATE_ERROR;
        } else {
                p->io = io;
                p->io_state = STATE_OK;
        }
}
