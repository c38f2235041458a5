#include "cmd/run_child.h"

#include "base/clock.h"
#include "life/fault.h"
#include "life/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

/* Signals that are the command's business, and SIGCHLD, which is ours: all but faults of our own,
 * what stops and continues us with the command, and what somebody reported us to ignore. */
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
        if (!alone)
                fault_park_threads();
        sigaction(SIGCHLD, &usual, &c->old_chld);
        sigaction(SIGXFSZ, &ignored, &c->old_xfsz);
        getrlimit(RLIMIT_NOFILE, &c->old_files);
        pthread_sigmask(SIG_SETMASK, NULL, &c->old_mask);
}

/* Everything is again as assay found it. Returns only with an errno. */
static int try_exec(const struct child *c, char *const *argv)
{
        setrlimit(RLIMIT_NOFILE, &c->old_files);
        sigaction(SIGCHLD, &c->old_chld, NULL);
        sigaction(SIGXFSZ, &c->old_xfsz, NULL);
        pthread_sigmask(SIG_SETMASK, &c->old_mask, NULL);
        execvp(argv[0], argv);
        return errno;
}

/*
 * In the child: nothing but what execvp needs. The reason of a failure goes through the pipe, or to
 * the standard error where there was no room for a pipe.
 */
static void exec_command(const struct child *c, char *const *argv, int report)
{
        static const char alone[] = "assay: the command cannot be run\n";
        int why = try_exec(c, argv);
        ssize_t n = report >= 0 ? write(report, &why, sizeof(why))
                                : write(STDERR_FILENO, alone, sizeof(alone) - 1);
        (void)n;
        _exit(why == ENOENT ? 127 : 126);
}

static int cannot_run(struct err *err, const char *name, int why)
{
        err_set(err, -why, "cannot run '%s': %s", name, strerror(why));
        if (why == ENOENT)
                return err_hint(err, "check the spelling, and that it is in PATH");
        return err_hint(
            err, "it must be a program that you may run: check its mode (chmod +x) and #! line");
}

/* The error of exec, or 0. */
static int start_failure(struct child *c, int report)
{
        int why = 0;
        ssize_t n = report >= 0 ? read(report, &why, sizeof(why)) : 0;
        if (n > 0)
                waitpid(c->pid, NULL, 0);
        return why;
}

static bool is_runnable(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool child_can_start(const char *name)
{
        char path[PATH_MAX];
        const char *at = getenv("PATH");
        if (strchr(name, '/'))
                return is_runnable(name);
        while (at) {
                int len = (int)strcspn(at, ":");
                snprintf(path, sizeof(path), "%.*s/%s", len > 0 ? len : 1, len > 0 ? at : ".",
                         name);
                if (is_runnable(path))
                        return true;
                at = at[len] == ':' ? at + len + 1 : NULL;
        }
        return false;
}

int child_start(struct child *c, char *const *argv, struct err *err)
{
        int report[2] = {-1, -1};
        fill_set(&c->set);
        /* Descendants whose parents end come to us, so that we know when the last has ended. */
        if (!c->alone)
                prctl(PR_SET_CHILD_SUBREAPER, 1);
        /* Without room for one the command runs all the same. */
        if (pipe2(report, O_CLOEXEC) < 0)
                report[0] = report[1] = -1;
        pthread_sigmask(SIG_BLOCK, &c->set, NULL);
        witness_start(&c->witness);
        c->pid = fork();
        if (c->pid == 0)
                exec_command(c, argv, report[1]);
        int why = c->pid < 0 ? errno : 0;
        closep(&report[1]);
        if (c->pid > 0)
                why = start_failure(c, report[0]);
        closep(&report[0]);
        if (why != 0) {
                witness_stop(&c->witness);
                pthread_sigmask(SIG_SETMASK, &c->old_mask, NULL);
                return cannot_run(err, argv[0], why);
        }
        signal(SIGPIPE, SIG_IGN);
        return 0;
}

int child_become(struct child *c, char *const *argv, struct err *err)
{
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        return cannot_run(err, argv[0], try_exec(c, argv));
}

/*
 * A shell that we run has the terminal for a group of its own. When it suspends itself, the shell
 * that runs us sees nothing of it, and nobody has the terminal: so we stop as well, and afterwards
 * hand it on. Elsewhere we continue recording a command that somebody stopped.
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

/* Notes that the command has ended, before it is waited for. */
static void check_for_end(struct child *c)
{
        siginfo_t info = {0};
        if (c->ended_ns != 0 ||
            waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
                return;
        c->ended_ns = clock_mono_ns();
        if (c->on_end)
                c->on_end(c->on_end_arg);
}

/* False when there is nobody left to wait for. What other threads have started is theirs. */
static bool reap_children(struct child *c)
{
        for (;;) {
                int status;
                struct rusage usage;
                check_for_end(c);
                pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED | __WNOTHREAD, &usage);
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
                        if (c->alone)
                                return false;
                }
        }
}

/* Whether a signal ends us when nobody is left to get it: all that end a program by default. */
static bool ends_us(int sig)
{
        return sig != SIGCHLD && sig != SIGWINCH && sig != SIGURG;
}

/*
 * Sends it to the command, unless it was sent to the whole group, the command included: by the
 * terminal, which the kernel reports, or by somebody, which the witness reports.
 */
static void send_on(struct child *c, const siginfo_t *info)
{
        int sig = info->si_signo;
        if (info->si_code == SI_KERNEL || witness_saw(&c->witness, sig))
                return;
        if (info->si_code == SI_QUEUE)
                sigqueue(c->pid, sig, info->si_value);
        else
                kill(c->pid, sig);
}

/* Most descendants end with the command, and that is not worth a word. */
#define LEFT_AFTER_S 1

/* Takes a signal, or reports descendants when it is time. False when we are to end. */
static bool take_signal(struct child *c)
{
        const struct timespec patience = {.tv_sec = LEFT_AFTER_S};
        siginfo_t info;
        bool notify_lost = c->over && c->on_left;
        int sig =
            notify_lost ? sigtimedwait(&c->set, &info, &patience) : sigwaitinfo(&c->set, &info);
        if (sig < 0 && errno == EAGAIN && notify_lost) {
                c->on_left(c);
                c->on_left = NULL;
        }
        if (sig <= 0 || sig == SIGCHLD)
                return true;
        if (c->over)
                return !ends_us(sig);
        send_on(c, &info);
        return true;
}

void child_wait(struct child *c)
{
        while (reap_children(c) && take_signal(c))
                ;
        witness_stop(&c->witness);
}

/* Takes the signals that nobody else waits for any more. */
static void *end_in_time(void *arg)
{
        const struct child *c = arg; /* the thread's own */
        int64_t until = clock_mono_ns() + CHILD_END_NS;
        for (int64_t left; (left = until - clock_mono_ns()) > 0;) {
                struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
                int sig = sigtimedwait(&c->set, NULL, &ts);
                if (sig > 0 && ends_us(sig))
                        break;
        }
        _exit(child_exit(c));
}

bool child_limit_end(const struct child *c)
{
        pthread_t thread;
        struct child *copy = malloc(sizeof(*copy));
        if (!copy)
                return false;
        *copy = *c;
        if (life_start_thread(end_in_time, copy, &thread) < 0) {
                free(copy);
                return false;
        }
        pthread_detach(thread);
        fault_park_all();
        return true;
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
