#include "engine/shown.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void shown_finish(struct shown *s)
{
        for (size_t i = 0; i < SHOWN_COUNT; i++) {
                free(s->frames[i].rows);
                free(s->frames[i].entities);
                free(s->frames[i].processes);
                free(s->frames[i].nodes);
        }
}

/* A list that cannot be copied is left out of the frame. */
static void copy_processes(const struct process_list *from, struct shown_frame *to)
{
        to->frame.processes = (struct process_list){0};
        if (!LIST_RESERVE(to->processes, from->n, to->process_cap))
                return;
        if (from->n > 0)
                memcpy(to->processes, from->list, from->n * sizeof(*from->list));
        to->frame.processes = (struct process_list){to->processes, from->n};
}

/* Likewise. */
static void copy_nodes(const struct frame *from, struct shown_frame *to)
{
        to->frame.n_nodes = 0;
        if (!LIST_RESERVE(to->nodes, from->n_nodes, to->node_cap))
                return;
        if (from->n_nodes > 0)
                memcpy(to->nodes, from->nodes, from->n_nodes * sizeof(*from->nodes));
        to->frame.nodes = to->nodes;
        to->frame.n_nodes = from->n_nodes;
}

int shown_fill(struct shown *s, const struct frame *from)
{
        struct shown_frame *to = &s->frames[SHOWN_BACK];
        if (from->n > to->cap || !to->rows) {
                size_t n = MAX(from->n, (size_t)1);
                if (!LIST_RESIZE(to->rows, n) || !LIST_RESIZE(to->entities, n))
                        return -ENOMEM;
                to->cap = n;
        }
        to->frame = *from;
        to->frame.rows = to->rows;
        if (from->n > 0)
                memcpy(to->rows, from->rows, from->n * sizeof(*from->rows));
        for (size_t i = 0; i < from->n; i++) {
                to->entities[i] = *from->rows[i].sample.who;
                to->rows[i].sample.who = &to->entities[i];
        }
        copy_processes(&from->processes, to);
        copy_nodes(from, to);
        if (from->n_servings > 0)
                memcpy(to->servings, from->servings, from->n_servings * sizeof(to->servings[0]));
        snprintf(to->provenance, sizeof(to->provenance), "%s", from->provenance);
        return 0;
}

static void swap_shown(struct shown *s, size_t a, size_t b)
{
        struct shown_frame frame = s->frames[a];
        s->frames[a] = s->frames[b];
        s->frames[b] = frame;
}

void shown_publish(struct shown *s)
{
        swap_shown(s, SHOWN_BACK, SHOWN_READY);
        s->fresh = true;
}

const struct frame *shown_take(struct shown *s)
{
        struct shown_frame *front = &s->frames[SHOWN_FRONT];
        if (s->fresh)
                swap_shown(s, SHOWN_FRONT, SHOWN_READY);
        s->fresh = false;
        /* The array moved, and with it the text the frame points to. */
        front->frame.provenance = front->provenance;
        front->frame.servings = front->servings;
        return front->rows ? &front->frame : NULL;
}
