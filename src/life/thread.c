#include "life/thread.h"

#include "base/attr.h"

#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

int life_start_thread(void *(*run)(void *arg), void *arg, pthread_t *ret)
{
        static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
        sigset_t all, old;
        sigfillset(&all);
        for (size_t i = 0; i < ARRAY_LEN(own); i++)
                sigdelset(&all, own[i]);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        int r = pthread_create(ret, NULL, run, arg);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        return -r;
}

void life_init_wake(pthread_cond_t *wake)
{
        pthread_condattr_t attr;
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(wake, &attr);
        pthread_condattr_destroy(&attr);
}

void life_wake(int fd)
{
        uint64_t one = 1;
        ssize_t n = write(fd, &one, sizeof(one));
        (void)n; /* it is full: they are woken */
}
