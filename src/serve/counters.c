#include "serve/counters.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>

#define COUNTER_MAX 1e30 /* more than a fleet moves in centuries; sums of such stay finite */

static void put_number(struct strbuf *out, const char *name, double v)
{
        if (v != 0)
                strbuf_putf(out, "%s=%.17g\n", name, v);
}

static void put_holding(struct strbuf *out, unsigned slot, const struct holding *h)
{
        char name[64];
        const struct {
                const char *name;
                double v;
        } parts[] = {{"held", h->held_s},
                     {"observed", h->observed_s},
                     {"idle_unobserved", h->idle_unobserved_s},
                     {"real", h->real_s},
                     {"process", h->process_s},
                     {"process_seen", h->process_seen_s}};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                snprintf(name, sizeof(name), "slot %u %s", slot, parts[i].name);
                put_number(out, name, parts[i].v);
        }
        for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++) {
                snprintf(name, sizeof(name), "slot %u wasted %s", slot, idle_reason_name(i));
                put_number(out, name, h->wasted_s[i]);
        }
}

/* Numbers by the names of what they count, so that a later program with more of them reads it. */
void counters_put(const struct integrals *in, struct strbuf *out)
{
        char name[64];
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (!integral_is_set(in, i))
                        continue;
                strbuf_putf(out, "%s=%.17g\n", integral_info(i)->name, in->v[i]);
                snprintf(name, sizeof(name), "from %s", integral_info(i)->name);
                put_number(out, name, in->growth_from[i]);
        }
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                snprintf(name, sizeof(name), "class %s", workload_status(w));
                put_number(out, name, in->class_s[w]);
        }
        for (enum health_state h = 0; h <= HEALTH_CRIT; h++) {
                snprintf(name, sizeof(name), "health %s", health_name(h));
                put_number(out, name, in->health_s[h]);
        }
        for (enum limiter i = 0; i < LIMITER_COUNT; i++) {
                snprintf(name, sizeof(name), "limiter %s", limiter_name(i));
                put_number(out, name, in->limiter_s[i]);
        }
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                snprintf(name, sizeof(name), "finding %s", health_reason_name(f));
                put_number(out, name, in->finding_s[f]);
        }
        for (enum idle_reason i = 0; i < IDLE_REASON_COUNT; i++) {
                snprintf(name, sizeof(name), "idle %s", idle_reason_name(i));
                put_number(out, name, in->idle_s[i]);
        }
        for (unsigned slot = 0; slot < HOLDING_SLOTS; slot++)
                put_holding(out, slot, &in->holdings[slot]);
        for (size_t i = 0; i < in->n_xids; i++) {
                snprintf(name, sizeof(name), "xid %u", in->xids[i].xid);
                put_number(out, name, in->xids[i].n);
        }
}

/* "1 held", "1 wasted no_process". */
static double *place_in_slot(struct integrals *in, const char *name)
{
        unsigned slot = (unsigned)(name[0] - '0');
        if (slot >= HOLDING_SLOTS || name[1] != ' ')
                return NULL;
        struct holding *h = &in->holdings[slot];
        const char *what = name + 2;
        if (strncmp(what, "wasted ", 7) == 0) {
                enum idle_reason reason = idle_reason_find(what + 7);
                return reason < IDLE_REASON_COUNT ? &h->wasted_s[reason] : NULL;
        }
        return strcmp(what, "held") == 0              ? &h->held_s
               : strcmp(what, "observed") == 0        ? &h->observed_s
               : strcmp(what, "real") == 0            ? &h->real_s
               : strcmp(what, "idle_unobserved") == 0 ? &h->idle_unobserved_s
               : strcmp(what, "process") == 0         ? &h->process_s
               : strcmp(what, "process_seen") == 0    ? &h->process_seen_s
                                                      : NULL;
}

static double *counters_place_of(struct integrals *in, const char *name)
{
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (strcmp(name, integral_info(i)->name) == 0) {
                        in->present |= UINT64_C(1) << i;
                        return &in->v[i];
                }
                if (strncmp(name, "from ", 5) == 0 && strcmp(name + 5, integral_info(i)->name) == 0)
                        return &in->growth_from[i];
        }
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (strncmp(name, "class ", 6) == 0 && strcmp(name + 6, workload_status(w)) == 0)
                        return &in->class_s[w];
        }
        for (enum health_state h = 0; h <= HEALTH_CRIT; h++) {
                if (strncmp(name, "health ", 7) == 0 && strcmp(name + 7, health_name(h)) == 0)
                        return &in->health_s[h];
        }
        for (enum limiter i = 0; i < LIMITER_COUNT; i++) {
                if (strncmp(name, "limiter ", 8) == 0 && strcmp(name + 8, limiter_name(i)) == 0)
                        return &in->limiter_s[i];
        }
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (strncmp(name, "finding ", 8) == 0 &&
                    strcmp(name + 8, health_reason_name(f)) == 0)
                        return &in->finding_s[f];
        }
        if (strncmp(name, "idle ", 5) == 0) {
                enum idle_reason reason = idle_reason_find(name + 5);
                return reason < IDLE_REASON_COUNT ? &in->idle_s[reason] : NULL;
        }
        return strncmp(name, "slot ", 5) == 0 ? place_in_slot(in, name + 5) : NULL;
}

static void set_xid(struct integrals *in, uint64_t xid, double n)
{
        if (in->n_xids < INTEGRAL_XIDS_MAX && xid <= UINT32_MAX)
                in->xids[in->n_xids++] = (struct integral_xid){(uint32_t)xid, n};
}

/* A name that is not known belongs to another version: passed over. */
void counters_set(struct integrals *in, const char *name, const char *text)
{
        double v;
        uint64_t n;
        if (strcmp(name, "created") == 0) {
                if (num_parse_u64(text, strlen(text), &n) && n <= INT64_MAX)
                        in->created_ns = (int64_t)n;
                return;
        }
        if (!num_parse_all(text, strlen(text), &v) || !(v >= 0 && v <= COUNTER_MAX))
                return;
        if (strncmp(name, "xid ", 4) == 0) {
                if (num_parse_u64(name + 4, strlen(name + 4), &n))
                        set_xid(in, n, v);
        } else {
                double *place = counters_place_of(in, name);
                if (place)
                        *place = v;
        }
}

void counters_parse(const char *text, struct integrals *ret)
{
        *ret = (struct integrals){0};
        while (*text) {
                char line[128];
                size_t n = strcspn(text, "\n");
                snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1),
                         text);
                char *equals = strchr(line, '=');
                if (equals) {
                        *equals = '\0';
                        counters_set(ret, line, equals + 1);
                }
                text += n + (text[n] == '\n');
        }
}
