/*
 * Asks model servers what they do, several at a time. One that hangs costs its descriptor and keeps
 * no other waiting. Without libcurl there is nothing to open.
 */
#pragma once

#include "base/err.h"
#include "model/serving.h"
#include "read/listing.h"

struct engines_config {
        const char *root;        /* the folder that stands for "/"; "" for the real one */
        struct listing *listing; /* of its processes; NULL: its own */
        int64_t timeout_ns;      /* of one request */
};

/* One server, and what it said last. */
struct engine_target {
        const char *url; /* for people: without user, password and query */
        int32_t pid;     /* the process of this host that listens there; 0 when that is unknown */
        int32_t head;    /* the first one of its processes; 0 likewise */
        int32_t front; /* of those without a GPU, the one whose main thread was busy for half of the
                        * time last; 0 likewise */
        struct serving_reading reading;
        bool answered; /* the last time that it was asked */
        char why[SERVING_TEXT_MAX];
};

struct engines;

/* 0, or a negative code with err. */
int engines_open(const struct engines_config *config, struct engines **ret, struct err *err);
void engines_close(struct engines *e);
/* A server to ask from now on. pid: 0 to look for it, where the address is this host's. 0,
 * ERR_USAGE with err for an address that is not one, or -ENOSPC with err. */
int engines_add(struct engines *e, const char *url, int32_t pid, struct err *err);
/* Adds those that run here and are not known yet; nothing is asked. */
void engines_discover(struct engines *e);
size_t engines_count(const struct engines *e);
const struct engine_target *engines_at(const struct engines *e, size_t i);
/* Asks all and waits for the answers, at most until then. Those that do not answer in time are said
 * so and stay asked. False when woken. */
bool engines_query(struct engines *e, int64_t until_ns);
/* Ends a waiting engines_query; safe from another thread. */
void engines_wake(struct engines *e);
