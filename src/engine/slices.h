/* A GPU and its slices within a frame: what belongs to the whole GPU is reported by the GPU alone.
 */
#pragma once

#include "entity/registry.h"
#include "model/frame.h"

/* Sources repeat a GPU's own values (power, temperature, clocks) on each of its slices. Gathers
 * those of the group of rows from begin to end into ret, the rest of ret is missing. */
void slices_gather(const struct frame *f, size_t begin, size_t end, struct sample *ret);
/* Takes what is not theirs from the slices of a group. */
void slices_disown(struct frame *f, size_t begin, size_t end);
/* The GPU of a slice whose GPU the source does not list, made when it is new. NULL when memory is
 * short. */
struct entity *slices_find_whole(struct registry *r, struct entity *slice);
