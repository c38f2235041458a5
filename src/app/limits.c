#include "app/limits.h"

#include "compute/stretches.h"

#include <pthread.h>

struct limits {
        pthread_mutex_t lock;
        struct stretches stretches;
        int failed; /* a GPU found no memory: -ENOMEM for every caller */
};

struct limits *limits_new(const struct config *config)
{
        struct limits *l = calloc(1, sizeof(*l));
        if (!l)
                return NULL;
        pthread_mutex_init(&l->lock, NULL);
        l->stretches.has_flops = config_is_set(config, OPT_FLOPS);
        if (l->stretches.has_flops)
                l->stretches.flops = flops_find(config_text(config, OPT_FLOPS));
        return l;
}

void limits_free(struct limits *l)
{
        if (!l)
                return;
        stretches_finish(&l->stretches);
        pthread_mutex_destroy(&l->lock);
        free(l);
}

void limits_add(struct limits *l, const struct frame *frame)
{
        pthread_mutex_lock(&l->lock);
        int r = stretches_add(&l->stretches, frame);
        l->failed = r < 0 ? r : l->failed;
        pthread_mutex_unlock(&l->lock);
}

void limits_see_host(struct limits *l, const struct host *host)
{
        pthread_mutex_lock(&l->lock);
        stretches_see_host(&l->stretches, host, NULL);
        pthread_mutex_unlock(&l->lock);
}

int limits_cut(struct limits *l, struct stretch_list *ret)
{
        pthread_mutex_lock(&l->lock);
        int r = l->failed;
        if (r == 0)
                stretches_name_gpus(&l->stretches, &l->stretches.naming);
        if (r == 0)
                r = stretches_cut(&l->stretches, NULL, 0, ret);
        pthread_mutex_unlock(&l->lock);
        return r;
}
