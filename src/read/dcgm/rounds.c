#include "read/dcgm/rounds.h"

#include "base/attr.h"
#include "base/clock.h"

#include <string.h>

#define PASSED_OVER_MOST 3 /* a counter that never comes is not waited for longer */

void dcgm_rounds_init(struct dcgm_rounds *r, const struct dcgm_inventory *inventory)
{
        *r = (struct dcgm_rounds){.inventory = inventory};
        r->dmon.rename = dcgm_rename;
        r->dmon.arg = inventory;
        batcher_init(&r->round[0], DIALECT_DMON);
        batcher_init(&r->round[1], DIALECT_DMON);
}

void dcgm_rounds_finish(struct dcgm_rounds *r)
{
        dmon_finish(&r->dmon);
        batcher_finish(&r->round[0]);
        batcher_finish(&r->round[1]);
}

static struct batcher *gathered_batch(struct dcgm_rounds *r)
{
        return &r->round[r->gathering];
}

void dcgm_rounds_restart(struct dcgm_rounds *r)
{
        batcher_clear(gathered_batch(r));
        r->passed_over = 0;
        r->settled = false;
        r->expected = dcgm_expected_rows(r->inventory);
}

bool dcgm_rounds_waiting(const struct dcgm_rounds *r)
{
        return r->round[r->gathering].n > 0;
}

/* What verdicts need. The others may be missing for good, and are not waited for. */
static bool is_core(const char *column)
{
        static const char *const core[] = {"GRACT", "SMACT", "SMOCC", "TENSO", "DRAMA"};
        for (size_t i = 0; i < ARRAY_LEN(core); i++) {
                if (strcmp(column, core[i]) == 0)
                        return true;
        }
        return false;
}

static bool is_blank(const struct batcher *b, size_t field)
{
        for (size_t row = 0; row < b->n; row++) {
                if (b->readings[row].values[field].state != STATE_BLANK)
                        return false;
        }
        return true;
}

/* The counters of a stream's first round are blank, because a window has not passed yet. Where
 * others watch some of them already, those have values and the rest come later. */
static bool counters_pending(const struct dcgm_rounds *r, const struct batcher *b)
{
        for (size_t i = 0; i < r->dmon.n && r->passed_over < PASSED_OVER_MOST; i++) {
                if (is_core(b->schema.names[i]) && is_blank(b, i))
                        return true;
        }
        return false;
}

static void put_text(struct batcher *b, struct raw *to, const char *text)
{
        size_t len = strlen(text);
        const char *copy = len > 0 ? batcher_text(b, text, len) : NULL;
        if (copy)
                *to = (struct raw){.text = copy, .len = (uint16_t)len, .state = STATE_OK};
}

/* What discovery reported each entity goes beside what dmon reports. */
static void add_identity(const struct dcgm_rounds *r, struct batcher *b)
{
        for (size_t row = 0; row < b->n; row++) {
                struct raw *cells = b->cells + row * b->width;
                struct entity_key *who = &b->readings[row].who;
                const struct dcgm_gpu *gpu = dcgm_find_local(r->inventory, who->index);
                who->vendor = VENDOR_NVIDIA;
                who->ordinal = who->index;
                who->ordinals = 1;
                if (gpu && r->name_field >= 0)
                        put_text(b, &cells[r->name_field], gpu->name);
                if (gpu && r->pci_field >= 0)
                        put_text(b, &cells[r->pci_field], gpu->pci);
        }
}

bool dcgm_rounds_complete(struct dcgm_rounds *r)
{
        struct batcher *b = gathered_batch(r);
        if (b->n == 0 || (!r->settled && counters_pending(r, b))) {
                r->passed_over += b->n > 0;
                batcher_clear(b);
                return false;
        }
        r->settled = true;
        add_identity(r, b);
        r->gathering ^= 1;
        struct batcher *next = gathered_batch(r);
        if (next->schema.revision != b->schema.revision)
                next->schema = b->schema;
        batcher_clear(next);
        r->any = true;
        r->mono_ns = clock_mono_ns();
        r->wall_ns = clock_wall_ns();
        return true;
}

enum dcgm_taken dcgm_rounds_take(struct dcgm_rounds *r, const struct line *line)
{
        struct batcher *b = gathered_batch(r);
        switch (dmon_take(&r->dmon, b, line)) {
        case DMON_HEADER:
                r->name_field = batcher_add_field(b, "(model)", 7);
                r->pci_field = batcher_add_field(b, "PCBID", 5);
                return DCGM_TAKEN;
        case DMON_ROW:
        case DMON_CUT_ROW:
                r->rows++;
                return b->n >= r->expected && dcgm_rounds_complete(r) ? DCGM_ROUND : DCGM_TAKEN;
        case DMON_NEXT_ROUND: {
                bool complete = dcgm_rounds_complete(r);
                /* Nothing is gathered now, so this one is taken. */
                enum dcgm_taken taken = dcgm_rounds_take(r, line);
                return complete && taken == DCGM_TAKEN ? DCGM_ROUND : taken;
        }
        case DMON_QUIET:
                return DCGM_TAKEN;
        case DMON_UNKNOWN:
                return DCGM_NOT_A_ROW;
        case DMON_NO_MEMORY:
                break;
        }
        return DCGM_NO_MEMORY;
}

void dcgm_rounds_give(const struct dcgm_rounds *r, struct batch *ret)
{
        batcher_give(&r->round[r->gathering ^ 1], ret);
        ret->mono_ns = r->mono_ns;
        ret->wall_ns = r->wall_ns;
}

void dcgm_rounds_give_stale(struct dcgm_rounds *r, int64_t now_ns, struct batch *ret)
{
        struct batcher *b = &r->round[r->gathering ^ 1];
        int64_t age = MIN((now_ns - r->mono_ns) / NS_PER_MS, (int64_t)UINT32_MAX);
        for (size_t i = 0; i < b->n * b->width; i++) {
                struct raw *cell = &b->cells[i];
                if (cell->text || (cell->state != STATE_OK && cell->state != STATE_STALE))
                        continue;
                cell->state = STATE_STALE;
                cell->age_ms = (uint32_t)age;
        }
        dcgm_rounds_give(r, ret);
        ret->mono_ns = now_ns;
        ret->wall_ns = clock_wall_ns();
        ret->stale = true;
}
