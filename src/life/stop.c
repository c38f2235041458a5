#include "life/stop.h"

#include "life/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct life_watch {
        pthread_mutex_t lock; /* held while on_stop runs */
        sigset_t set;
        void (*on_stop)(void *arg); /* NULL once nobody wants to be asked */
        void *arg;
};

static atomic_bool stopping;

bool life_stopping(void)
{
        return atomic_load(&stopping);
}

static void *wait_for_signals(void *arg)
{
        struct life_watch *w = arg;
        int sig = 0;
        sigwait(&w->set, &sig);
        atomic_store(&stopping, true);
        pthread_mutex_lock(&w->lock);
        if (w->on_stop)
                w->on_stop(w->arg);
        pthread_mutex_unlock(&w->lock);
        struct timespec patience = {.tv_nsec = 500000000};
        /* A debugger or a stop and continue interrupts the wait and is not a second signal. */
        while (sigtimedwait(&w->set, NULL, &patience) < 0 && errno == EINTR)
                ;
        _exit(128 + sig);
}

int life_watch_signals(void (*on_stop)(void *arg), void *arg, struct life_watch **ret)
{
        struct life_watch *w = malloc(sizeof(*w));
        if (!w)
                return -ENOMEM;
        *w = (struct life_watch){.on_stop = on_stop, .arg = arg};
        pthread_mutex_init(&w->lock, NULL);
        sigemptyset(&w->set);
        sigaddset(&w->set, SIGINT);
        sigaddset(&w->set, SIGTERM);
        sigaddset(&w->set, SIGHUP);
        pthread_sigmask(SIG_BLOCK, &w->set, NULL);
        signal(SIGPIPE, SIG_IGN);
        pthread_t thread;
        int r = life_start_thread(wait_for_signals, w, &thread);
        if (r < 0) {
                free(w);
                return r;
        }
        pthread_detach(thread);
        if (ret)
                *ret = w;
        return 0;
}

void life_unwatch(struct life_watch *w)
{
        if (!w)
                return;
        pthread_mutex_lock(&w->lock);
        w->on_stop = NULL;
        pthread_mutex_unlock(&w->lock);
}
