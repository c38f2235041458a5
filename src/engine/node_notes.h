/* What becomes of the nodes while a session is recorded: an event whenever one is lost or back. */
#pragma once

#include "model/frame.h"
#include "session/session.h"

/* All zeros to begin with. */
struct node_notes {
        size_t n;
        struct node_note *list; /* by place in the frame's list; owned */
};

/* Marks what has changed since the frame before. */
void node_notes_take(struct node_notes *n, struct session *s, const struct frame *f);
void node_notes_finish(struct node_notes *n);
