/* One of many machines: its name, how it is reached, and what is wrong with it. */
#pragma once

#include "model/entity.h"

#define NODE_NAME_MAX ENTITY_TEXT_MAX
#define NODE_WORDS_MAX 160
/* What two programs of this kind say to each other; a node that speaks another is not read. */
#define NODE_PROTOCOL 1

/* NODE_STATE(id, name): name as in JSON and on screens. */
#define NODE_STATES(NODE_STATE)                                                                    \
        NODE_STATE(CONNECTING, "connecting")                                                       \
        NODE_STATE(OK, "ok")                                                                       \
        NODE_STATE(LATE, "late")             /* it is connected, and nothing new comes */          \
        NODE_STATE(DOWN, "down")             /* it is tried again after a while */                 \
        NODE_STATE(FOREIGN, "other-version") /* another version, which cannot be read */

enum node_state {
#define NODE_STATE(id, name) NODE_##id,
        NODE_STATES(NODE_STATE)
#undef NODE_STATE
            NODE_STATE_COUNT
};

struct node {
        char name[NODE_NAME_MAX]; /* as the GPUs have it: their host */
        enum node_state state;
        bool tried;                 /* an attempt has come to an end, or to values */
        char words[NODE_WORDS_MAX]; /* what is wrong; empty when nothing is */
        char hint[NODE_WORDS_MAX];  /* what to do about it; empty for nothing */
        uint32_t gpus;              /* that it showed last */
        bool has_offset;
        double offset_s; /* how far its clock is ahead of ours */
};

const char *node_state_name(enum node_state state);
/* How many are in that state. */
size_t node_count(const struct node *nodes, size_t n, enum node_state state);
