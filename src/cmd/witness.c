#include "cmd/witness.h"

#include "base/attr.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 100 /* somebody stopped it: better twice than never */

/* It holds nobody's pipe or file open. */
static void keep_only(int fd)
{
        if (fd != STDIN_FILENO && dup2(fd, STDIN_FILENO) < 0)
                _exit(1);
        if (syscall(SYS_close_range, 1u, ~0u, 0u) == 0)
                return;
        for (int other = 1; other < 1024; other++)
                close(other);
}

/* In the new process: nothing but calls that are safe after fork. */
static _Noreturn void watch_group(int fd, pid_t parent)
{
        const struct timespec now = {0};
        sigset_t set;
        unsigned char sig;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "assay-signals");
        if (getppid() != parent)
                _exit(1);
        sigfillset(&set);
        sigprocmask(SIG_SETMASK, &set, NULL);
        keep_only(fd);
        while (read(STDIN_FILENO, &sig, 1) == 1) {
                sigemptyset(&set);
                sigaddset(&set, sig);
                unsigned char seen = sigtimedwait(&set, NULL, &now) == sig;
                if (write(STDIN_FILENO, &seen, 1) != 1)
                        break;
        }
        _exit(0);
}

void witness_start(struct witness *w)
{
        int ends[2];
        *w = (struct witness){.socket = -1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return;
        pid_t parent = getpid();
        /* A fork whose end sends no signal, and which wait4() therefore passes over. */
        long pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
        if (pid == 0)
                watch_group(ends[1], parent);
        close(ends[1]);
        if (pid < 0)
                close(ends[0]);
        else
                *w = (struct witness){.pid = (pid_t)pid, .socket = ends[0]};
}

bool witness_saw(struct witness *w, int sig)
{
        unsigned char byte = (unsigned char)sig;
        struct pollfd fd = {.fd = w->socket, .events = POLLIN};
        int n;
        if (w->pid == 0)
                return false;
        if (send(w->socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
                do {
                        n = poll(&fd, 1, ANSWER_MS);
                } while (n < 0 && errno == EINTR);
                if (n > 0 && recv(w->socket, &byte, 1, MSG_DONTWAIT) == 1)
                        return byte != 0;
        }
        witness_stop(w);
        return false;
}

void witness_stop(struct witness *w)
{
        if (w->pid == 0)
                return;
        kill(w->pid, SIGKILL);
        waitpid(w->pid, NULL, __WALL);
        close(w->socket);
        *w = (struct witness){.socket = -1};
}
