/*
 * What a user's phase or number says of speed, by the words of its name: "step_s" is the time of a
 * step, "tokens/s" a rate, "warmup" comes before the work, "loss" says nothing.
 */
#pragma once

#include <stdbool.h>

enum speed {
        SPEED_NONE,        /* nothing of speed: a loss, a timestamp */
        SPEED_STEP,        /* the time of a step */
        SPEED_TIME,        /* another time of the work */
        SPEED_RATE,        /* work a second: more is faster */
        SPEED_PART,        /* the time or the rate of a part of the work: loading, checkpoints */
        SPEED_PREPARATION, /* what comes before the work: a warm-up, compiling */
};

struct speed_name {
        enum speed speed;
        bool is_rate;   /* more is faster, also of a part */
        double seconds; /* of its unit; 0 when the name has none, or for a rate */
};

/* A phase is a time by itself: never SPEED_NONE or SPEED_RATE. */
struct speed_name speed_of_phase(const char *name);
struct speed_name speed_of_number(const char *name);
