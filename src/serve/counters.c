#include "serve/counters.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>

static void put_number(struct strbuf *out, const char *name, double v)
{
        if (v != 0)
                strbuf_putf(out, "%s=%.17g\n", name, v);
}

/* Numbers by the names of what they count, so that a later program with more of them reads it. */
void counters_put(const struct integrals *in, struct strbuf *out)
{
        char name[64];
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (!integral_there(in, i))
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
        for (enum finding f = 0; f < FINDING_COUNT; f++) {
                snprintf(name, sizeof(name), "finding %s", finding_name(f));
                put_number(out, name, in->finding_s[f]);
        }
        for (size_t i = 0; i < in->n_xids; i++) {
                snprintf(name, sizeof(name), "xid %u", in->xids[i].xid);
                put_number(out, name, in->xids[i].n);
        }
}

static double *place_of(struct integrals *in, const char *name)
{
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++) {
                if (strcmp(name, integral_info(i)->name) == 0) {
                        in->there |= UINT64_C(1) << i;
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
        for (enum finding f = 0; f < FINDING_COUNT; f++) {
                if (strncmp(name, "finding ", 8) == 0 && strcmp(name + 8, finding_name(f)) == 0)
                        return &in->finding_s[f];
        }
        return NULL;
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
        if (!num_parse_all(text, strlen(text), &v) || v < 0)
                return;
        if (strncmp(name, "xid ", 4) == 0) {
                if (num_parse_u64(name + 4, strlen(name + 4), &n))
                        set_xid(in, n, v);
        } else {
                double *place = place_of(in, name);
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
