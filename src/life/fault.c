#include "life/fault.h"

#include "base/attr.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>
#include <unistd.h>

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

/* For ever. Locks that the thread holds stay held: a thread that waits for them is like one that
 * waits for a driver that hangs. */
static _Noreturn void park_thread(void)
{
        sigset_t all;
        sigfillset(&all);
        sigdelset(&all, SIGKILL);
        for (;;)
                sigsuspend(&all);
}

static const void *address_of(const void *context)
{
#if defined(__x86_64__)
        return (const void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
        return (const void *)((const ucontext_t *)context)->uc_mcontext.pc;
#else
        (void)context;
        return NULL;
#endif
}

/* Nothing here need be safe in a handler: a thread that hangs now does what it is to do anyway. */
static void print_fault(const char *what, const char *where, int sig)
{
        /* Once: a driver may crash in each of its threads. Handlers have nothing else to keep it.
         */
        static atomic_flag said = ATOMIC_FLAG_INIT;
        char line[256], number[32] = "";
        if (atomic_flag_test_and_set(&said))
                return;
        if (sig > 0)
                snprintf(number, sizeof(number), " (signal %d)", sig);
        int n = snprintf(line, sizeof(line), "assay: %s '%.120s'%s; going on without it\n", what,
                         where, number);
        ssize_t done = write(STDERR_FILENO, line, (size_t)MIN(n, (int)sizeof(line) - 1));
        (void)done;
}

/* The library whose code it is; the C library is never the culprit, but its caller may be, by
 * abort(). */
static const char *library_at(const void *address, Dl_info *buf)
{
        Dl_info c = {0};
        if (!dladdr(address, buf) || !buf->dli_fname)
                return "a library";
        if (dladdr((const void *)(uintptr_t)abort, &c) && c.dli_fbase == buf->dli_fbase)
                return "a library";
        const char *slash = strrchr(buf->dli_fname, '/');
        return slash ? slash + 1 : buf->dli_fname;
}

static void write_fault(int sig, const void *context)
{
        Dl_info buf = {0};
        print_fault("crashed in", library_at(address_of(context), &buf), sig);
}

/* Whether this thread's own code raised the signal, as opposed to another process. */
static bool is_fault(const siginfo_t *info)
{
        return info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
        if (is_fault(info) && gettid() != getpid()) {
                write_fault(sig, context);
                park_thread();
        }
        /* It is raised again by what raised it, or here. */
        signal(sig, SIG_DFL);
        if (!is_fault(info))
                raise(sig);
}

static void on_any_fault(int sig, siginfo_t *info, void *context)
{
        if (!is_fault(info)) {
                on_fault(sig, info, context);
                return;
        }
        write_fault(sig, context);
        park_thread();
}

/* A library that calls exit() would choose the status. */
static void on_exit_of_thread(void)
{
        if (gettid() == getpid())
                return;
        print_fault("this program was to end, says", "a library", 0);
        park_thread();
}

static void set_handler(void (*handler)(int sig, siginfo_t *info, void *context))
{
        struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
        for (size_t i = 0; i < ARRAY_LEN(faults); i++)
                sigaction(faults[i], &action, NULL);
}

void fault_park_threads(void)
{
        set_handler(on_fault);
        atexit(on_exit_of_thread);
}

void fault_park_all(void)
{
        set_handler(on_any_fault);
}
