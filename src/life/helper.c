#include "life/helper.h"

#include "base/clock.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

#define KIND_NS (100 * NS_PER_MS)
#define KILL_NS (100 * NS_PER_MS)
#define CHUNK 65536
#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
#define PACKAGE_FOLDER "/opt/nvidia/dcgm/bin" /* where a package puts what no PATH names */

static bool can_run(const char *path)
{
        struct stat st;
        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* False when it does not fit. */
static bool join_path(const char *folder, size_t len, const char *name, char *buf, size_t size)
{
        size_t n = strlen(name);
        if (len + 1 + n >= size)
                return false;
        memcpy(buf, folder, len);
        buf[len] = '/';
        memcpy(buf + len + 1, name, n + 1);
        return true;
}

static bool search_folders(const char *name, const char *folders, char *buf, size_t size)
{
        for (const char *s = folders; s && *s;) {
                size_t len = strcspn(s, ":");
                if (s[0] == '/' && join_path(s, len, name, buf, size) && can_run(buf))
                        return true;
                s += len + (s[len] == ':');
        }
        return false;
}

const char *helper_path(void)
{
        const char *path = trust_is_set_id() ? NULL : getenv("PATH");
        return path ? path : SYSTEM_PATH;
}

bool helper_find(const char *name, const char *path, char *buf, size_t size)
{
        if (strchr(name, '/')) {
                int n = snprintf(buf, size, "%s", name);
                return n > 0 && (size_t)n < size && can_run(buf);
        }
        return search_folders(name, path, buf, size) ||
               search_folders(name, PACKAGE_FOLDER, buf, size);
}

/* The environment without what the child must not see. */
static char **make_environment(const struct helper_options *how)
{
        size_t n = 0, kept = 0;
        while (environ && environ[n])
                n++;
        char **copy = malloc((n + 1) * sizeof(*copy));
        for (size_t i = 0; copy && i < n; i++) {
                if (!how->hides || !how->hides(environ[i]))
                        copy[kept++] = environ[i];
        }
        if (copy)
                copy[kept] = NULL;
        return copy;
}

struct plumbing {
        int in[2], out[2], err[2], why[2]; /* why carries errno when exec fails */
};

static void close_pipes(struct plumbing *p)
{
        int *all[] = {&p->in[0],  &p->in[1],  &p->out[0], &p->out[1],
                      &p->err[0], &p->err[1], &p->why[0], &p->why[1]};
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
                closep(all[i]);
                *all[i] = -1;
        }
}

static bool open_nothing(int flags, int *ret)
{
        *ret = open("/dev/null", flags | O_CLOEXEC);
        return *ret >= 0;
}

static int open_pipes(struct plumbing *p, const struct helper_options *how)
{
        *p = (struct plumbing){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
        bool fine = how->talks ? pipe2(p->in, O_CLOEXEC) == 0 : open_nothing(O_RDONLY, &p->in[0]);
        if (fine && how->is_quiet)
                fine = open_nothing(O_WRONLY, &p->err[1]);
        else if (fine)
                fine = pipe2(p->err, O_CLOEXEC) == 0;
        if (fine && pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->why, O_CLOEXEC) == 0)
                return 0;
        int r = -errno;
        close_pipes(p);
        return r;
}

/* Between fork and exec: only calls that are safe there. */
static _Noreturn void exec_helper(const struct plumbing *p, pid_t parent, int death_signal,
                                  const char *const argv[], char *const env[])
{
        sigset_t none;
        prctl(PR_SET_PDEATHSIG, death_signal);
        if (getppid() != parent)
                _exit(127); /* it died before the line above */
        setpgid(0, 0);
        for (int sig = 1; sig < NSIG; sig++)
                signal(sig, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(p->in[0], STDIN_FILENO) >= 0 && dup2(p->out[1], STDOUT_FILENO) >= 0 &&
            dup2(p->err[1], STDERR_FILENO) >= 0)
                execve(argv[0], (char *const *)argv, env);
        int why = errno;
        ssize_t n = write(p->why[1], &why, sizeof(why));
        _exit(n == sizeof(why) ? 127 : 126);
}

/* 0 once exec has worked, which closes the pipe; else the child's errno. */
static int wait_for_exec(int fd)
{
        int why = 0;
        ssize_t n;
        do {
                n = read(fd, &why, sizeof(why));
        } while (n < 0 && errno == EINTR);
        return n == sizeof(why) ? -why : 0;
}

static int start_helper(struct helper *c, const char *const argv[],
                        const struct helper_options *how, char *const env[])
{
        struct plumbing p;
        int r = open_pipes(&p, how);
        if (r < 0)
                return r;
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid == 0)
                exec_helper(&p, parent, how->death_signal ? how->death_signal : SIGKILL, argv, env);
        if (pid < 0) {
                r = -errno;
                close_pipes(&p);
                return r;
        }
        closep(&p.why[1]);
        p.why[1] = -1;
        r = wait_for_exec(p.why[0]);
        if (r < 0) {
                waitpid(pid, NULL, 0);
                close_pipes(&p);
                return r;
        }
        int in = how->talks ? p.in[1] : -1;
        fcntl(in, F_SETFL, O_NONBLOCK);
        fcntl(p.out[0], F_SETFL, O_NONBLOCK);
        fcntl(p.err[0], F_SETFL, O_NONBLOCK);
        *c = (struct helper){.pid = pid, .in_fd = in, .out_fd = p.out[0], .err_fd = p.err[0]};
        p.in[1] = how->talks ? -1 : p.in[1];
        p.out[0] = p.err[0] = -1;
        close_pipes(&p);
        return 0;
}

int helper_start(struct helper *c, const char *const argv[], const struct helper_options *how)
{
        char **env = make_environment(how);
        if (!env)
                return -ENOMEM;
        int r = start_helper(c, argv, how, env);
        free(env);
        return r;
}

/* Bytes beyond most are dropped when they may be, else there are too many. */
static int take_output(int *fd, size_t most, bool may_drop, struct strbuf *to)
{
        if (!strbuf_reserve(to, CHUNK))
                return -ENOMEM;
        ssize_t n = read(*fd, to->s + to->len, CHUNK);
        if (n > 0) {
                to->len += (size_t)n;
                if (to->len > most && !may_drop)
                        return -EFBIG;
                to->len = MIN(to->len, most);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
                closep(fd);
                *fd = -1;
        }
        return 0;
}

int helper_collect(struct helper *c, const struct helper_limits *limits, struct strbuf *out,
                   struct strbuf *said)
{
        int64_t until = clock_mono_ns() + limits->patience_ns;
        int r = 0;
        while (r == 0 && (c->out_fd >= 0 || c->err_fd >= 0)) {
                struct pollfd p[] = {{.fd = c->out_fd, .events = POLLIN},
                                     {.fd = c->err_fd, .events = POLLIN},
                                     {.fd = limits->wake, .events = POLLIN}};
                int64_t left = until - clock_mono_ns();
                if (left <= 0)
                        return -ETIMEDOUT;
                if (poll(p, ARRAY_LEN(p), (int)(left / NS_PER_MS) + 1) < 0 && errno != EINTR)
                        return -errno;
                if (p[2].revents)
                        return -ECANCELED;
                if (p[0].revents)
                        r = take_output(&c->out_fd, limits->most, false, out);
                if (r == 0 && p[1].revents)
                        r = take_output(&c->err_fd, HELPER_SAID_MAX, true, said);
        }
        return r;
}

bool helper_write(struct helper *c, const char *s, size_t n)
{
        sigset_t deaf, before, waiting;
        sigemptyset(&deaf);
        sigaddset(&deaf, SIGPIPE);
        sigpending(&waiting);
        pthread_sigmask(SIG_BLOCK, &deaf, &before);
        ssize_t went = write(c->in_fd, s, n);
        if (went < 0 && errno == EPIPE && !sigismember(&waiting, SIGPIPE))
                sigtimedwait(&deaf, NULL, &(struct timespec){0});
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return went >= 0 && (size_t)went == n;
}

bool helper_reap(struct helper *c)
{
        int status;
        if (c->pid <= 0 || c->ended)
                return true;
        pid_t got = waitpid(c->pid, &status, WNOHANG);
        if (got == 0 || (got < 0 && errno == EINTR))
                return false;
        c->ended = true;
        if (got < 0)
                c->status = 0; /* somebody else waited for it */
        else
                c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return true;
}

bool helper_has_ended(const struct helper *c)
{
        siginfo_t info = {0};
        return c->pid <= 0 || c->ended ||
               waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
}

static bool wait_for_end(struct helper *c, int64_t patience_ns)
{
        int64_t until = clock_mono_ns() + patience_ns;
        struct timespec nap = {.tv_nsec = 500000};
        while (!helper_reap(c)) {
                if (clock_mono_ns() >= until)
                        return false;
                nanosleep(&nap, NULL);
        }
        return true;
}

int helper_finish(struct helper *c)
{
        if (!wait_for_end(c, KIND_NS)) {
                kill(-c->pid, SIGKILL);
                wait_for_end(c, KILL_NS);
        }
        return c->status;
}

void helper_terminate(struct helper *c)
{
        closep(&c->in_fd);
        c->in_fd = -1;
        /* Also what it started, where it has ended itself: until it is waited for, nothing else has
         * its number. */
        if (c->pid > 0 && !c->ended)
                kill(-c->pid, SIGTERM);
}

void helper_kill(struct helper *c)
{
        if (c->pid > 0 && !helper_reap(c))
                kill(-c->pid, SIGKILL);
}

void helper_stop_after(struct helper *c, int64_t patience_ns)
{
        if (c->pid > 0 && !helper_reap(c)) {
                if (!wait_for_end(c, patience_ns)) {
                        /* One that sleeps in the driver cannot be waited for: the kernel ends it
                         * when it wakes. */
                        kill(-c->pid, SIGKILL);
                        wait_for_end(c, KILL_NS);
                }
        }
        closep(&c->in_fd);
        closep(&c->out_fd);
        closep(&c->err_fd);
        *c = HELPER_NONE;
}

void helper_stop(struct helper *c)
{
        helper_terminate(c);
        helper_stop_after(c, KIND_NS);
}
