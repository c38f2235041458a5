#include "life/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Whom to tell. The lock makes sure that nobody is told who is about to be freed. */
struct listener {
        pthread_mutex_t lock;
        void (*on_stop)(void *arg);
        void *arg;
};

static atomic_bool stopping;
static struct listener listener = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool life_stopping(void)
{
        return atomic_load(&stopping);
}

static void listen_with(void (*on_stop)(void *arg), void *arg)
{
        pthread_mutex_lock(&listener.lock);
        listener.on_stop = on_stop;
        listener.arg = arg;
        pthread_mutex_unlock(&listener.lock);
}

void life_forget(void)
{
        listen_with(NULL, NULL);
}

static void tell(void)
{
        pthread_mutex_lock(&listener.lock);
        if (listener.on_stop)
                listener.on_stop(listener.arg);
        pthread_mutex_unlock(&listener.lock);
}

static void *wait_for_signals(void *arg)
{
        sigset_t set = *(sigset_t *)arg;
        free(arg);
        int sig = 0;
        sigwait(&set, &sig);
        atomic_store(&stopping, true);
        tell();
        struct timespec patience = {.tv_nsec = 500000000};
        /* A debugger or a stop and continue interrupts the wait and is no second signal. */
        while (sigtimedwait(&set, NULL, &patience) < 0 && errno == EINTR)
                ;
        _exit(128 + sig);
}

int life_watch_signals(void (*on_stop)(void *arg), void *arg)
{
        sigset_t *set = malloc(sizeof(*set));
        if (!set)
                return -ENOMEM;
        listen_with(on_stop, arg);
        sigemptyset(set);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGHUP);
        pthread_sigmask(SIG_BLOCK, set, NULL);
        signal(SIGPIPE, SIG_IGN);
        pthread_t thread;
        int r = pthread_create(&thread, NULL, wait_for_signals, set);
        if (r != 0) {
                free(set);
                return -r;
        }
        pthread_detach(thread);
        return 0;
}
