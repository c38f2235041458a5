#include "serve/slots.h"

#include "base/clock.h"
#include "model/integral.h"

#include <stdlib.h>

/* A process list that misses one look is no end. */
#define GONE_AFTER_NS (3 * NS_PER_S)

struct entry {
        bool used;
        struct owner who; /* with the GPU and the slot */
        int64_t seen_ns;  /* monotonic: when it last held the GPU */
};

struct slots {
        struct entry entries[OWNERS_MAX];
};

struct slots *slots_open(void)
{
        return calloc(1, sizeof(struct slots));
}

void slots_close(struct slots *s)
{
        free(s);
}

static bool same_gpu(const struct owner *a, const struct owner *b)
{
        return a->index == b->index && a->gi == b->gi;
}

static struct entry *entry_of(struct slots *s, const struct owner *o)
{
        for (size_t i = 0; i < OWNERS_MAX; i++) {
                struct entry *e = &s->entries[i];
                if (e->used && same_gpu(&e->who, o) && owner_same(&e->who, o))
                        return e;
        }
        return NULL;
}

/* A free slot; else that of the owner that released its GPU first; else none. */
static int32_t choose_slot(struct slots *s, const struct owner *o, int64_t now)
{
        struct entry *oldest = NULL;
        unsigned taken = 0;
        for (size_t i = 0; i < OWNERS_MAX; i++) {
                struct entry *e = &s->entries[i];
                if (!e->used || !same_gpu(&e->who, o) || e->who.slot == 0)
                        continue;
                taken |= 1u << e->who.slot;
                if (now - e->seen_ns > GONE_AFTER_NS && (!oldest || e->seen_ns < oldest->seen_ns))
                        oldest = e;
        }
        for (int32_t slot = 1; slot <= HOLDING_SLOTS; slot++) {
                if (!(taken & (1u << slot)))
                        return slot;
        }
        if (!oldest)
                return 0;
        oldest->used = false;
        return oldest->who.slot;
}

static struct entry *free_entry(struct slots *s)
{
        for (size_t i = 0; i < OWNERS_MAX; i++) {
                if (!s->entries[i].used)
                        return &s->entries[i];
        }
        return NULL;
}

static void give_slot(struct slots *s, struct owner *o, int64_t now)
{
        struct entry *e = entry_of(s, o);
        o->gone = false;
        o->slot = e ? e->who.slot : choose_slot(s, o, now);
        if (!e)
                e = free_entry(s);
        if (e)
                *e = (struct entry){.used = true, .who = *o, .seen_ns = now};
        else
                o->slot = 0;
}

size_t slots_assign(struct slots *s, struct owner *list, size_t n, int64_t now_ns)
{
        for (size_t i = 0; i < OWNERS_MAX; i++) {
                if (s->entries[i].used && now_ns - s->entries[i].seen_ns > SLOT_LINGER_NS)
                        s->entries[i].used = false;
        }
        for (size_t i = 0; i < n; i++)
                give_slot(s, &list[i], now_ns);
        for (size_t i = 0; i < OWNERS_MAX && n < OWNERS_MAX; i++) {
                const struct entry *e = &s->entries[i];
                if (!e->used || e->seen_ns == now_ns)
                        continue;
                list[n] = e->who;
                list[n++].gone = now_ns - e->seen_ns > GONE_AFTER_NS;
        }
        return n;
}
