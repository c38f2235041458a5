/* Hands the newest frame from one thread to another: three copies that change hands, so that
 * neither waits for the other. Once it has seen the most GPUs and processes it allocates nothing.
 */
#pragma once

#include "model/frame.h"

/* A frame with everything it points to. */
struct shown_frame {
        struct frame frame;
        struct row *rows;
        struct entity *entities;
        size_t cap;
        struct process *processes;
        size_t process_cap;
        struct node *nodes;
        size_t node_cap;
        struct served servings[SERVINGS_MAX];
        char provenance[64];
};

enum { SHOWN_BACK, SHOWN_READY, SHOWN_FRONT, SHOWN_COUNT };

struct shown {
        struct shown_frame frames[SHOWN_COUNT];
        bool fresh;
};

void shown_finish(struct shown *s);
/* The giver's, without the lock: copies the frame. 0 or -ENOMEM. */
int shown_fill(struct shown *s, const struct frame *frame);
/* The giver's, under the lock: what was filled is the newest. */
void shown_publish(struct shown *s);
/* The taker's, under the lock: the newest, valid until the next call; NULL while there is none. */
const struct frame *shown_take(struct shown *s);
