#include "engine/flight_watch.h"

#include "model/xid.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_same_number(struct value a, struct value b)
{
        return value_is_set(a) == value_is_set(b) && (!value_is_set(a) || a.v == b.v);
}

/* Some sources count, others have only the number of the newest. */
static uint32_t find_new_xid(const struct flight_seen *seen, const struct sample *s)
{
        struct value count = s->m[METRIC_XID_COUNT], last = s->m[METRIC_XID_LAST];
        if (!value_is_set(last) || last.v < 1 || last.v > UINT32_MAX)
                return 0;
        bool is_new = value_is_set(count)
                          ? (value_is_set(seen->xid_count) ? seen->xid_count.v : 0) < count.v
                          : !is_same_number(seen->xid_last, last);
        return is_new ? (uint32_t)last.v : 0;
}

/* One that only says that a program ended is not an event. */
static bool is_xid_worth_keeping(uint32_t xid)
{
        const struct xid_info *info = xid_info(xid);
        return xid > 0 &&
               (!info || info->fault != XID_FAULT_PROGRAM || info->effect != XID_EFFECT_NOTE);
}

static void begin_reason(struct dump_reason *r, enum dump_cause cause, const struct frame *f,
                         const struct row *row)
{
        *r = (struct dump_reason){.cause = cause, .wall_ns = f->wall_ns, .mono_ns = f->mono_ns};
        frame_label(f, row->sample.who, r->gpu, sizeof(r->gpu));
}

/* The worst finding that is new and makes a GPU's health critical; HEALTH_REASON_COUNT for none. A
 * grave XID has a reason of its own. */
static enum health_reason find_new_crit(const struct flight_seen *seen, const struct row *row)
{
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++) {
                uint32_t bit = 1u << i;
                if (health_reason_info(i)->test != HEALTH_TEST_XID &&
                    (row->health.findings & bit) && !(seen->findings & bit) &&
                    health_reason_state(i) == HEALTH_CRIT)
                        return i;
        }
        return HEALTH_REASON_COUNT;
}

#define STALLED_S 30.0 /* shorter ones mostly continue */

static bool is_stalled_long(const struct row *row)
{
        return value_or(row->sample.m[METRIC_STALLED], 0) >= STALLED_S;
}

static size_t watch_row(struct flight_seen *seen, const struct frame *f, const struct row *row,
                        struct dump_reason *ret, size_t max)
{
        uint32_t xid = find_new_xid(seen, &row->sample);
        enum health_reason crit = find_new_crit(seen, row);
        size_t n = 0;
        if (n < max && is_xid_worth_keeping(xid)) {
                const struct xid_info *info = xid_info(xid);
                begin_reason(&ret[n], DUMP_CAUSE_XID, f, row);
                snprintf(ret[n].text, sizeof(ret[n].text), "XID %" PRIu32 "%s%s", xid,
                         info ? ": " : "", info ? info->text : "");
                n++;
        }
        if (n < max && crit < HEALTH_REASON_COUNT) {
                char words[HEALTH_WORDS_MAX];
                begin_reason(&ret[n], DUMP_CAUSE_HEALTH, f, row);
                snprintf(ret[n].text, sizeof(ret[n].text), "%s",
                         health_reason_words(&row->health, crit, words, sizeof(words)));
                n++;
        }
        if (n < max && !seen->stalled && is_stalled_long(row)) {
                begin_reason(&ret[n], DUMP_CAUSE_STALLED, f, row);
                snprintf(ret[n].text, sizeof(ret[n].text),
                         "its program has made no progress for %.0f s",
                         row->sample.m[METRIC_STALLED].v);
                n++;
        }
        return n;
}

size_t flight_watch(struct flight_seen *seen, const struct frame *f, struct dump_reason *ret,
                    size_t max)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++) {
                const struct row *row = &f->rows[i];
                if (row->sample.who->slot >= FLIGHT_GPUS_MAX)
                        continue;
                struct flight_seen *s = &seen[row->sample.who->slot];
                if (s->known)
                        n += watch_row(s, f, row, ret + n, max - n);
                s->known = true;
                s->findings = row->health.findings;
                s->stalled = is_stalled_long(row);
                if (value_is_set(row->sample.m[METRIC_XID_COUNT]))
                        s->xid_count = row->sample.m[METRIC_XID_COUNT];
                if (value_is_set(row->sample.m[METRIC_XID_LAST]))
                        s->xid_last = row->sample.m[METRIC_XID_LAST];
        }
        return n;
}
