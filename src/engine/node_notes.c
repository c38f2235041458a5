#include "engine/node_notes.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_note {
        enum node_state state; /* that was reported last */
        int64_t lost_ns;       /* 0: it is well */
};

/* {"why": …} of one that is lost, {"lost_s": …} of one that is back. */
static void put_data(const struct node *node, double lost_s, struct strbuf *out)
{
        struct jsonw w = {.out = out};
        jsonw_object(&w, NULL);
        if (node->state == NODE_OK)
                jsonw_fixed(&w, "lost_s", lost_s, 1);
        else if (node->words[0])
                jsonw_text(&w, "why", node->words);
        jsonw_end(&w);
}

/* A session that cannot be written is reported by its samples. */
static void mark_node_lost(struct session *s, const struct node *node, double lost_s)
{
        struct strbuf data = {0};
        struct mark m;
        struct err err = {0};
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "node %.80s %s", node->name,
                 node->state == NODE_OK ? "answers again" : node_state_name(node->state));
        put_data(node, lost_s, &data);
        m.data = data.failed ? NULL : strdup(strbuf_str(&data));
        session_mark(s, &m, &err);
        mark_finish(&m);
        strbuf_finish(&data);
}

static void take_notes(struct node_note *note, struct session *s, const struct node *node,
                       int64_t now_ns)
{
        if (node->state == note->state || node->state == NODE_CONNECTING)
                return;
        bool first = note->state == NODE_CONNECTING && node->state == NODE_OK && !note->lost_ns;
        if (!first)
                mark_node_lost(s, node, clock_to_seconds(now_ns - note->lost_ns));
        note->state = node->state;
        if (node->state == NODE_OK)
                note->lost_ns = 0;
        else if (!note->lost_ns)
                note->lost_ns = now_ns;
}

void node_notes_take(struct node_notes *n, struct session *s, const struct frame *f)
{
        if (!LIST_EXTEND(n->list, n->n, f->n_nodes))
                return;
        for (size_t i = 0; i < f->n_nodes; i++)
                take_notes(&n->list[i], s, &f->nodes[i], f->wall_ns);
}

void node_notes_finish(struct node_notes *n)
{
        free(n->list);
        *n = (struct node_notes){0};
}
