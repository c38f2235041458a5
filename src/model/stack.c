#include "model/stack.h"

#include "base/attr.h"
#include "base/lookup.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

/* Ids by hash, open addressing; 0 is empty, as id 0 of each kind is never searched for. */
struct id_slots {
        uint32_t *ids;
        uint32_t mask;
};

struct stack_table {
        uint32_t *text_at; /* where a text begins in bytes */
        char *bytes;
        struct stack_frame *frames;
        struct stack_node *nodes;
        struct id_slots by_text, by_frame, by_call;
        struct stack_counts n;
        uint32_t used; /* of bytes */
        uint64_t lost;
};

/* calloc gives large blocks as untouched pages, so what is never used costs nothing. */
static bool slots_init(struct id_slots *s, uint32_t entries)
{
        uint32_t size = 2 * entries; /* entries is a power of two */
        s->mask = size - 1;
        s->ids = calloc(size, sizeof(*s->ids));
        return s->ids;
}

static void add_fixed_entries(struct stack_table *t)
{
        t->n.texts = 1;
        t->used = 1;
        t->n.frames = 1;
        t->n.nodes = 1;
        stack_intern_frame(
            t, &(struct stack_frame){.function = stack_intern_text(t, "[callers left out]", 18),
                                     .whose = STACK_INTERPRETER});
        stack_intern_frame(
            t, &(struct stack_frame){.function = stack_intern_text(t, "[not recorded]", 14),
                                     .whose = STACK_INTERPRETER});
}

int stack_table_open(struct stack_table **ret)
{
        struct stack_table *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;
        t->text_at = calloc(STACK_TEXTS_MAX, sizeof(*t->text_at));
        t->bytes = calloc(STACK_TEXT_BYTES, 1);
        t->frames = calloc(STACK_FRAMES_MAX, sizeof(*t->frames));
        t->nodes = calloc(STACK_NODES_MAX, sizeof(*t->nodes));
        bool fine = t->text_at && t->bytes && t->frames && t->nodes;
        fine = slots_init(&t->by_text, STACK_TEXTS_MAX) && fine;
        fine = slots_init(&t->by_frame, STACK_FRAMES_MAX) && fine;
        fine = slots_init(&t->by_call, STACK_NODES_MAX) && fine;
        if (!fine) {
                stack_table_close(t);
                return -ENOMEM;
        }
        add_fixed_entries(t);
        *ret = t;
        return 0;
}

void stack_table_close(struct stack_table *t)
{
        if (!t)
                return;
        free(t->text_at);
        free(t->bytes);
        free(t->frames);
        free(t->nodes);
        free(t->by_text.ids);
        free(t->by_frame.ids);
        free(t->by_call.ids);
        free(t);
}

/* Cut in the middle: the ends of a path and of a qualified name say most. Cleaned. */
static size_t fit_name(char to[STACK_NAME_MAX], const char *s, size_t n)
{
        static const char gap[] = "...";
        size_t room = STACK_NAME_MAX - 1;
        const char *nul = memchr(s, '\0', n);
        n = nul ? (size_t)(nul - s) : n;
        if (n <= room) {
                memcpy(to, s, n);
        } else {
                size_t head = room / 4, tail = room - head - strlen(gap);
                memcpy(to, s, head);
                memcpy(to + head, gap, strlen(gap));
                memcpy(to + head + strlen(gap), s + n - tail, tail);
                n = room;
        }
        to[n] = '\0';
        text_clean(to);
        return strlen(to);
}

uint32_t stack_intern_text(struct stack_table *t, const char *s, size_t n)
{
        char name[STACK_NAME_MAX];
        n = fit_name(name, s, n);
        if (n == 0)
                return STACK_TEXT_NONE;
        uint32_t at = hash_text(name, n) & t->by_text.mask;
        for (uint32_t id; (id = t->by_text.ids[at]) != 0; at = (at + 1) & t->by_text.mask) {
                if (strcmp(t->bytes + t->text_at[id], name) == 0)
                        return id;
        }
        if (t->n.texts == STACK_TEXTS_MAX || n + 1 > STACK_TEXT_BYTES - t->used) {
                t->lost++;
                return STACK_TEXT_NONE;
        }
        memcpy(t->bytes + t->used, name, n + 1);
        t->text_at[t->n.texts] = t->used;
        t->used += (uint32_t)n + 1;
        return t->by_text.ids[at] = t->n.texts++;
}

uint32_t stack_intern_frame(struct stack_table *t, const struct stack_frame *f)
{
        uint32_t at = hash_text((const char *)f, sizeof(*f)) & t->by_frame.mask;
        for (uint32_t id; (id = t->by_frame.ids[at]) != 0; at = (at + 1) & t->by_frame.mask) {
                if (memcmp(&t->frames[id], f, sizeof(*f)) == 0)
                        return id;
        }
        if (t->n.frames == STACK_FRAMES_MAX) {
                t->lost++;
                return STACK_FRAME_FULL;
        }
        t->frames[t->n.frames] = *f;
        return t->by_frame.ids[at] = t->n.frames++;
}

uint32_t stack_intern_call(struct stack_table *t, uint32_t parent, uint32_t frame)
{
        const uint32_t key[2] = {parent, frame};
        uint32_t depth = stack_node(t, parent)->depth + 1;
        if (depth > STACK_DEPTH_MAX + 1)
                return parent;
        uint32_t at = hash_text((const char *)key, sizeof(key)) & t->by_call.mask;
        for (uint32_t id; (id = t->by_call.ids[at]) != 0; at = (at + 1) & t->by_call.mask) {
                if (t->nodes[id].parent == parent && t->nodes[id].frame == frame)
                        return id;
        }
        if (t->n.nodes == STACK_NODES_MAX) {
                t->lost++;
                return parent;
        }
        t->nodes[t->n.nodes] = (struct stack_node){parent, frame, depth};
        return t->by_call.ids[at] = t->n.nodes++;
}

uint64_t stack_table_lost(const struct stack_table *t)
{
        return t->lost;
}

struct stack_counts stack_table_counts(const struct stack_table *t)
{
        return t->n;
}

const char *stack_text(const struct stack_table *t, uint32_t text)
{
        return t->bytes + (text < STACK_TEXTS_MAX ? t->text_at[text] : 0);
}

const struct stack_frame *stack_frame(const struct stack_table *t, uint32_t frame)
{
        return &t->frames[frame < STACK_FRAMES_MAX ? frame : STACK_FRAME_NONE];
}

const struct stack_node *stack_node(const struct stack_table *t, uint32_t stack)
{
        return &t->nodes[stack < STACK_NODES_MAX ? stack : STACK_EMPTY];
}

size_t stack_path(const struct stack_table *t, uint32_t stack, uint32_t ret[STACK_PATH_MAX])
{
        size_t n = 0;
        for (; stack != STACK_EMPTY && n < STACK_PATH_MAX; stack = stack_node(t, stack)->parent)
                ret[n++] = stack_node(t, stack)->frame;
        return n;
}

/* The caller when it is on the same line, as the function around a comprehension is. */
static uint32_t find_whole_line(const struct stack_table *t, uint32_t at)
{
        for (uint32_t up; at != STACK_EMPTY; at = up) {
                up = stack_node(t, at)->parent;
                const struct stack_frame *f = stack_frame(t, stack_node(t, at)->frame),
                                         *g = stack_frame(t, stack_node(t, up)->frame);
                if (up == STACK_EMPTY || f->file != g->file || f->line != g->line || f->line == 0)
                        break;
        }
        return at;
}

struct stack_place stack_find_place(const struct stack_table *t, uint32_t stack)
{
        struct stack_place p = {.own = STACK_EMPTY, .called = STACK_EMPTY};
        uint32_t best = STACK_WHOSE_COUNT, callee = STACK_EMPTY;
        for (uint32_t at = stack; at != STACK_EMPTY; at = stack_node(t, at)->parent) {
                const struct stack_node *node = stack_node(t, at);
                uint32_t whose = stack_frame(t, node->frame)->whose;
                if (node->frame == STACK_FRAME_CUT || node->frame == STACK_FRAME_FULL)
                        continue;
                if (whose <= best) {
                        best = whose;
                        p.own = at;
                        p.called = callee;
                }
                if (best == STACK_USER)
                        break;
                callee = at;
        }
        p.inner = p.own == stack ? STACK_EMPTY : stack;
        p.own = find_whole_line(t, p.own);
        return p;
}

uint32_t stack_ancestor(const struct stack_table *t, uint32_t b, uint32_t depth)
{
        while (stack_node(t, b)->depth > depth)
                b = stack_node(t, b)->parent;
        return b;
}

static bool is_same_function(const struct stack_table *t, uint32_t a, uint32_t b)
{
        const struct stack_frame *x = stack_frame(t, stack_node(t, a)->frame);
        const struct stack_frame *y = stack_frame(t, stack_node(t, b)->frame);
        return x->file == y->file && x->function == y->function;
}

uint32_t stack_common(const struct stack_table *t, uint32_t a, uint32_t b)
{
        uint32_t depth = MIN(stack_node(t, a)->depth, stack_node(t, b)->depth), ret;
        a = stack_ancestor(t, a, depth);
        ret = b = stack_ancestor(t, b, depth);
        for (; a != b; a = stack_node(t, a)->parent, b = stack_node(t, b)->parent) {
                if (!is_same_function(t, a, b))
                        ret = stack_node(t, b)->parent;
        }
        return ret;
}

const char *stack_state_name(enum stack_state state)
{
        static const char *const names[STACK_STATE_COUNT] = {"unknown", "running", "waiting",
                                                             "blocked"};
        return names[state < STACK_STATE_COUNT ? state : STACK_STATE_UNKNOWN];
}

const char *stack_whose_name(enum stack_whose whose)
{
        static const char *const names[STACK_WHOSE_COUNT] = {"user", "library", "interpreter"};
        return names[whose < STACK_WHOSE_COUNT ? whose : STACK_USER];
}

const char *stack_access_name(enum stack_access access)
{
        static const char *const names[STACK_ACCESS_COUNT] = {
            "pending", "readable", "no_runtime", "unsupported", "denied", "foreign", "gone"};
        return names[access < STACK_ACCESS_COUNT ? access : STACK_PENDING];
}
