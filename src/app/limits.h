/* What limits the GPUs of a monitor, in bounded memory, while it runs and afterwards. */
#pragma once

#include "config/config.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/stretch.h"

/* Frames, hosts and questions may come from several threads. */
struct limits;

/* NULL when memory is short. Option: flops. */
struct limits *limits_new(const struct config *config);
void limits_free(struct limits *l); /* NULL is allowed */

/* Adds a tick; allocates only for a GPU that was absent before. */
void limits_add(struct limits *l, const struct frame *frame);
/* What the host does for the GPUs, from the next frame on. */
void limits_see_host(struct limits *l, const struct host *host);
/* The stretches so far and their findings. 0 or -ENOMEM; free ret->list. */
int limits_cut(struct limits *l, struct stretch_list *ret);
