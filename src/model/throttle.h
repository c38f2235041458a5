/* Why clocks are not at their maximum: NVIDIA's clock event bits, one table for all who ask. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

/*
 * THROTTLE(id, bit, kind, words) kind: NONE (nothing to do), CHOSEN (somebody set the clocks),
 * POWER, HEAT, HARDWARE (heat or the power supply; the driver does not say which unless it sets
 * another bit too).
 */
#define THROTTLES(THROTTLE)                                                                        \
        THROTTLE(IDLE, 0x1, NONE, "idle")                                                          \
        THROTTLE(APPLICATION, 0x2, CHOSEN, "clocks set by an application")                         \
        THROTTLE(POWER_CAP, 0x4, POWER, "power limit")                                             \
        THROTTLE(SLOWDOWN, 0x8, HARDWARE, "hardware slowdown")                                     \
        THROTTLE(SYNC_BOOST, 0x10, CHOSEN, "sync boost with other GPUs")                           \
        THROTTLE(HEAT_SOFTWARE, 0x20, HEAT, "heat (software)")                                     \
        THROTTLE(HEAT_HARDWARE, 0x40, HEAT, "heat (hardware)")                                     \
        THROTTLE(POWER_BRAKE, 0x80, POWER, "power brake from outside")                             \
        THROTTLE(DISPLAY, 0x100, CHOSEN, "clocks set for the display")

enum throttle_kind {
        THROTTLE_KIND_NONE,
        THROTTLE_KIND_CHOSEN,
        THROTTLE_KIND_POWER,
        THROTTLE_KIND_HEAT,
        THROTTLE_KIND_HARDWARE,
};

#define THROTTLE_BIT(id, bit, kind, words) THROTTLE_##id = bit,
#define THROTTLE_IF(is, kind, bit) (THROTTLE_KIND_##kind == THROTTLE_KIND_##is ? (bit) : 0)
#define THROTTLE_CHOSEN(id, bit, kind, words) | THROTTLE_IF(CHOSEN, kind, bit)
#define THROTTLE_POWER(id, bit, kind, words) | THROTTLE_IF(POWER, kind, bit)
#define THROTTLE_HEAT(id, bit, kind, words) | THROTTLE_IF(HEAT, kind, bit)
#define THROTTLE_HARDWARE(id, bit, kind, words) | THROTTLE_IF(HARDWARE, kind, bit)
enum throttle {
        THROTTLES(THROTTLE_BIT)
        /* By kind; a hardware slowdown is counted as heat where time is divided between two. */
        THROTTLE_BY_CHOICE = 0 THROTTLES(THROTTLE_CHOSEN),
        THROTTLE_BY_POWER = 0 THROTTLES(THROTTLE_POWER),
        THROTTLE_BY_HEAT = 0 THROTTLES(THROTTLE_HEAT),
        THROTTLE_BY_HEAT_OR_HARDWARE = THROTTLE_BY_HEAT THROTTLES(THROTTLE_HARDWARE),
};
#undef THROTTLE_BIT
#undef THROTTLE_IF
#undef THROTTLE_CHOSEN
#undef THROTTLE_POWER
#undef THROTTLE_HEAT
#undef THROTTLE_HARDWARE

/* A set of bits in words: "none" for no bit, hexadecimal when no bit is known. */
void throttle_put(struct strbuf *out, uint64_t bits);
