/*
 * Which pod was given which GPU: the kubelet's PodResourcesLister (gRPC over a unix socket, v1,
 * List), asked on a thread of its own. A kubelet that hangs or is absent makes nobody wait.
 */
#pragma once

#include "model/owner.h"

#define KUBELET_DEVICES_MAX 512
#define KUBELET_ANSWER_MAX (4 * 1024 * 1024)

/* One device of one container. */
struct allocation {
        char device[OWNER_ID_MAX];
        struct owner who;
};

struct kubelet;

/* NULL when memory is short. The socket need not be there yet. */
struct kubelet *kubelet_open(const char *socket);
/* Returns within a moment. NULL is allowed. */
void kubelet_close(struct kubelet *k);
/* What it said last; nothing when that is older than a minute. */
size_t kubelet_take(struct kubelet *k, struct allocation *ret, size_t max);

/* The message of a ListPodResourcesResponse: how many devices of GPUs, at most max; -1 when it is
 * damaged anywhere, as half of an answer would say that the other pods are gone. */
int kubelet_parse(const unsigned char *buf, size_t n, struct allocation *ret, size_t max);
