#include "cmd/run_child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

/* Signals that are the command's business, and SIGCHLD, which is ours: all but faults of our own,
 * what stops and continues us with the command, and what somebody told us to ignore. */
static void fill_set(sigset_t *set)
{
        static const int left[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS,
                                   SIGPIPE, SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
        struct sigaction now;
        sigfillset(set);
        for (size_t i = 0; i < ARRAY_LEN(left); i++)
                sigdelset(set, left[i]);
        for (int sig = 1; sig <= SIGRTMAX; sig++) {
                if (sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
                        sigdelset(set, sig);
        }
}

/* Who starts us may ignore SIGCHLD, and then nobody would learn how the command ended. */
void child_init(struct child *c, bool alone)
{
        const struct sigaction usual = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
        *c = (struct child){.alone = alone};
        sigaction(SIGCHLD, &usual, &c->old_chld);
        sigaction(SIGXFSZ, &ignored, &c->old_xfsz);
}

/* In the child: nothing but what execvp needs. The reason of a failure goes through the pipe. */
static void exec_command(const struct child *c, char *const *argv, int report)
{
        sigaction(SIGCHLD, &c->old_chld, NULL);
        sigaction(SIGXFSZ, &c->old_xfsz, NULL);
        pthread_sigmask(SIG_SETMASK, &c->old_mask, NULL);
        execvp(argv[0], argv);
        int why = errno;
        ssize_t n = write(report, &why, sizeof(why));
        (void)n;
        _exit(127);
}

static int cannot_run(struct err *err, const char *name, int why)
{
        err_set(err, -why, "cannot run '%s': %s", name, strerror(why));
        if (why == ENOENT)
                return err_hint(err, "see that it is spelled right and stands in PATH");
        return err_hint(err, "see that it is a program and yours to run");
}

int child_start(struct child *c, char *const *argv, struct err *err)
{
        int report[2];
        sigset_t set;
        fill_set(&set);
        /* Descendants whose parents end come to us, so that we know when the last has ended. */
        if (!c->alone)
                prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (pipe2(report, O_CLOEXEC) < 0)
                return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
        pthread_sigmask(SIG_BLOCK, &set, &c->old_mask);
        c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        c->pid = fork();
        if (c->pid == 0)
                exec_command(c, argv, report[1]);
        int why = c->pid < 0 ? errno : 0;
        close(report[1]);
        ssize_t n = c->pid > 0 ? read(report[0], &why, sizeof(why)) : 0;
        close(report[0]);
        if (n > 0)
                waitpid(c->pid, NULL, 0);
        if (why != 0) {
                pthread_sigmask(SIG_SETMASK, &c->old_mask, NULL);
                return cannot_run(err, argv[0], why);
        }
        signal(SIGPIPE, SIG_IGN);
        return 0;
}

/*
 * A shell that we run has the terminal for a group of its own. When it suspends itself, the shell
 * that runs us sees nothing of it, and nobody has the terminal: so we stop as well, and afterwards
 * hand it on. Elsewhere we go on recording a command that somebody stopped.
 */
static void stop_with(pid_t pid)
{
        int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        pid_t group = getpgid(pid), ours = getpgrp();
        if (terminal >= 0 && group > 0 && group != ours && tcgetpgrp(terminal) == group &&
            getsid(0) != getpid()) {
                raise(SIGSTOP);
                if (tcgetpgrp(terminal) == ours)
                        tcsetpgrp(terminal, group);
                kill(-group, SIGCONT);
        }
        closep(&terminal);
}

/* False when there is nobody left to wait for. */
static bool reap(struct child *c)
{
        for (;;) {
                int status;
                struct rusage usage;
                pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage);
                if (pid < 0 && errno == EINTR)
                        continue;
                if (pid <= 0)
                        return pid == 0;
                if (WIFSTOPPED(status)) {
                        if (pid == c->pid)
                                stop_with(pid);
                        continue;
                }
                if (pid == c->pid) {
                        c->over = true;
                        c->status = status;
                        c->usage = usage;
                        c->ended_ns = clock_mono_ns();
                        if (c->alone)
                                return false;
                }
        }
}

/* Whether somebody wants us to end, when only descendants are left. */
static bool ends_us(int sig)
{
        return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

/* The terminal sends its signals to the command as well; others may have sent them to us alone. */
static bool pass_on(const struct child *c, const struct signalfd_siginfo *info)
{
        int sig = (int)info->ssi_signo;
        if (c->over)
                return !ends_us(sig);
        if (sig != SIGCHLD && info->ssi_code != SI_KERNEL)
                kill(c->pid, sig);
        return true;
}

/* Most descendants end with the command, and that is not worth a word. */
#define LEFT_AFTER_MS 1000

/* Waits for a signal, or until it is time to tell of descendants. False when that is impossible. */
static bool wait_signal(struct child *c)
{
        struct pollfd fd = {.fd = c->signals, .events = POLLIN};
        bool tell = c->over && c->on_left;
        int n = poll(&fd, 1, tell ? LEFT_AFTER_MS : -1);
        if (n == 0 && tell) {
                c->on_left(c);
                c->on_left = NULL;
        }
        return n >= 0 || errno == EINTR;
}

void child_wait(struct child *c)
{
        bool going = reap(c);
        while (going) {
                struct signalfd_siginfo info;
                if (!wait_signal(c))
                        return;
                while (going && read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
                        going = pass_on(c, &info);
                going = going && reap(c);
        }
}

int child_exit(const struct child *c)
{
        if (WIFEXITED(c->status))
                return WEXITSTATUS(c->status);
        int sig = WTERMSIG(c->status);
        struct rlimit none = {0}; /* the command's core, not ours */
        sigset_t set;
        setrlimit(RLIMIT_CORE, &none);
        signal(sig, SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, sig);
        raise(sig);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        return 128 + sig;
}
