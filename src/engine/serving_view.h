/* Model servers, asked and computed: one list a round. */
#pragma once

#include "base/err.h"
#include "engine/host.h"
#include "model/serving.h"

struct serving_config {
        /* Addresses between commas; "auto" among them: those that run on this host as well. "" or
         * NULL: none. */
        const char *engines;
        struct listing *listing; /* of processes; NULL: its own */
        const char *root;        /* the folder that stands for "/"; "" for the real one */
};

struct serving_view;

/* 0, or a negative code with err: ERR_USAGE for an address that is not one. */
int serving_view_open(const struct serving_config *config, struct serving_view **ret,
                      struct err *err);
void serving_view_close(struct serving_view *v);
/* Asks all, waits for the answers at most until then, and computes what follows. False when woken.
 */
bool serving_view_tick(struct serving_view *v, int64_t until_ns);
/* Ends a waiting tick; safe from another thread. */
void serving_view_wake(struct serving_view *v);
/* Who holds which GPU: servers that run here get theirs. */
void serving_view_see(struct serving_view *v, const struct gpu_use *use);
/* The result of the last round, valid until the next one. */
const struct serving *serving_view_list(const struct serving_view *v, size_t *ret_n);
