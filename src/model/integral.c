#include "model/integral.h"

#include "model/throttle.h"

#include <string.h>

static const struct integral_info table[INTEGRAL_COUNT] = {
#define INTEGRAL(id, name, how, metric, mask) {name, INTEGRAL_HOW_##how, metric, mask},
#include "model/integrals.def"
#undef INTEGRAL
};

static const struct {
        const char *name, *words;
} reasons[IDLE_REASON_COUNT] = {
#define IDLE_REASON(id, name, words) {name, words},
#include "model/idle.def"
#undef IDLE_REASON
};

const char *idle_reason_name(enum idle_reason reason)
{
        return reasons[reason].name;
}

const char *idle_reason_words(enum idle_reason reason)
{
        return reasons[reason].words;
}

enum idle_reason idle_reason_find(const char *name)
{
        enum idle_reason i = 0;
        while (i < IDLE_REASON_COUNT && strcmp(reasons[i].name, name) != 0)
                i++;
        return i;
}

const struct integral_info *integral_info(enum integral integral)
{
        return &table[integral];
}

void integral_xids_add(struct integral_xid *list, size_t *n, uint32_t number, double count)
{
        size_t at = 0;
        while (at < *n && list[at].xid != number)
                at++;
        if (at == *n && at == INTEGRAL_XIDS_MAX) {
                at--;
                list[at].xid = 0;
        } else if (at == *n) {
                list[(*n)++] = (struct integral_xid){.xid = number};
        }
        list[at].n += count;
}
