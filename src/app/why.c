#include "app/why.h"

#include "compute/why/why.h"
#include "read/ras/ras.h"

#include <errno.h>

void why_reading_finish(struct why_reading *r)
{
        why_finish(&r->why);
        ras_report_finish(&r->ras);
        stack_snapshot_finish(&r->snapshot);
}

static int conclude_reading(struct why_reading *r, struct err *err)
{
        if (why_conclude(&r->snapshot, r->ras_was_asked ? &r->ras : NULL, &r->why) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        return 0;
}

/* NCCL listens where it was asked to when the job began; a login's environment is often the same.
 */
static int query_nccl(struct why_reading *r, struct err *err)
{
        const char *address = get_env("NCCL_RAS_ADDR");
        int code = ras_query(address && address[0] ? address : RAS_ADDRESS, &r->ras, err);
        r->ras_was_asked = code > 0;
        return code == -ENOMEM ? err_set(err, code, "out of memory") : MIN(code, 0);
}

int why_read_now(const struct config *config, int32_t pid, struct why_reading *ret,
                 struct strbuf *notices, struct err *err)
{
        enum snapshot_whose whose;
        int r = setup_reads_nodes(config)
                    ? snapshot_nodes(config, &ret->snapshot, err)
                    : snapshot_now(config, pid, &ret->snapshot, &whose, notices, err);
        if (r == 0 && !setup_reads_nodes(config))
                r = query_nccl(ret, err);
        return r < 0 ? r : conclude_reading(ret, err);
}

int why_read_recorded(const char *path, double at_s, double watch_s, struct why_reading *ret,
                      struct err *err)
{
        int r = snapshot_recorded_span(path, at_s, watch_s, &ret->snapshot, err);
        return r < 0 ? r : conclude_reading(ret, err);
}
