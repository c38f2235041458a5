/* Plays a capture in real time, or so many times faster: waits until a batch is due. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pace {
        double speed; /* relative to real time; 0 never waits */
        bool started;
        int64_t first_wall_ns; /* of the first batch */
        int64_t started_mono_ns;
        int wake; /* an eventfd that ends a wait */
};

void pace_init(struct pace *p, double speed);
void pace_finish(struct pace *p);
/* False when interrupted. */
bool pace_wait(struct pace *p, int64_t wall_ns);
/* Safe from another thread. */
void pace_interrupt(struct pace *p);
