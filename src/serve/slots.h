/*
 * Which slot of a GPU's counters is whose. An owner keeps its slot while it holds the GPU; another
 * one gets it a quarter of an hour later at the earliest, so that any caller that scrapes now and
 * then can still say whose the last seconds were.
 */
#pragma once

#include "model/owner.h"

#include <stdint.h>

#define SLOT_LINGER_NS (900 * INT64_C(1000000000))

struct slots;

/* NULL when memory is short. */
struct slots *slots_open(void);
void slots_close(struct slots *s);
/*
 * Gives each of n owners its slot, 0 where there are too many at a time on one GPU. Those that
 * released a GPU are appended, as far as list has room (OWNERS_MAX). Returns how many there are in
 * all.
 */
size_t slots_assign(struct slots *s, struct owner *list, size_t n, int64_t now_ns);
