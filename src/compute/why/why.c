#include "compute/why/why.h"

#include "base/attr.h"
#include "compute/why/rules.h"

#include <stdlib.h>

static bool is_stalled(const struct why_rank *r)
{
        return r->doing == WHY_WAITS || r->doing == WHY_SPINS || r->doing == WHY_HALTED;
}

/* Nothing moves any more since the last of those that stopped. Who spins does not say since when.
 */
static struct value stalled_for(const struct why *w)
{
        struct value ret = value_missing(STATE_NONE);
        for (size_t i = 0; i < w->n_ranks; i++) {
                const struct why_rank *r = &w->ranks[i];
                if (!is_stalled(r))
                        return value_missing(STATE_NONE);
                if (value_is_set(r->since_s) && (!value_is_set(ret) || r->since_s.v < ret.v))
                        ret = r->since_s;
        }
        return ret;
}

static int compare_findings(const void *a, const void *b)
{
        const struct why_finding *x = a, *y = b;
        int order = (int)x->cause - (int)y->cause;
        if (order != 0)
                return order;
        double left = value_or(x->rank, INT32_MAX), right = value_or(y->rank, INT32_MAX);
        return (left > right) - (left < right);
}

static enum why_outcome find_outcome(const struct why *w)
{
        for (size_t i = 0; i < w->n_findings; i++) {
                if (w->findings[i].sure)
                        return WHY_FOUND;
        }
        return w->n_findings > 0 ? WHY_NOT_KNOWN : WHY_FINE;
}

int why_conclude(const struct stack_snapshot *snapshot, const struct ras_report *ras,
                 struct why *ret)
{
        *ret = (struct why){.snapshot = snapshot, .ras = ras};
        int r = why_see_ranks(ret);
        if (r < 0)
                return r;
        ret->stalled_s = stalled_for(ret);
        r = why_find_causes(ret);
        if (r < 0)
                return r;
        if (ret->n_findings > 1)
                qsort(ret->findings, ret->n_findings, sizeof(*ret->findings), compare_findings);
        ret->outcome = find_outcome(ret);
        return 0;
}
