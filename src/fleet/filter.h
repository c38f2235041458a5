/* Which part of a fleet is asked for, as selections of series. Pure. */
#pragma once

#include "fleet/fleet.h"

struct filter {
        struct strbuf gpus;  /* cluster=~"a",instance=~"n1|n2" */
        struct strbuf who;   /* of an owner: user=~"ada" */
        struct strbuf rules; /* what rules by owner have of both */
        struct strbuf model; /* model=~"(?i).*(h100).*" */
        bool by_owner;       /* rules by owner can answer it */
        bool by_node;        /* rules by node can */
        bool any;
};

/* 0, or ERR_USAGE with err when it is too long for a question. Finish it in any case. */
int filter_init(struct filter *f, const struct fleet_filter *asked, struct err *err);
void filter_finish(struct filter *f);
