#include "life/thread.h"

#include <signal.h>

int life_start_thread(void *(*run)(void *arg), void *arg, pthread_t *ret)
{
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        int r = pthread_create(ret, NULL, run, arg);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        return -r;
}
