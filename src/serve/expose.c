#include "serve/expose.h"

#include "base/clock.h"
#include "base/list.h"

#include <stdio.h>
#include <sys/resource.h>

void expose_finish(struct exposer *e)
{
        free(e->gpus);
        *e = (struct exposer){0};
}

void expose_self(const struct live_status *status, int64_t started_wall_ns,
                 struct exposed_self *ret)
{
        struct rusage use;
        long pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        if (f && fscanf(f, "%*s %ld", &pages) != 1)
                pages = 0;
        if (f)
                fclose(f);
        getrusage(RUSAGE_SELF, &use);
        *ret = (struct exposed_self){
            .source = status->source,
            .source_up = status->up,
            .ticks = {(double)status->on_time, (double)status->late, (double)status->missed},
            .rss_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE),
            .cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6,
            .start_s = clock_to_seconds(started_wall_ns),
            .dump = status->keeps_flight ? &status->dump : NULL,
            .created_ns = started_wall_ns,
        };
}

bool expose_write(struct exposer *e, const struct live_moment *m,
                  const struct exposition_options *o, const struct exposed_self *self,
                  bool openmetrics, struct strbuf *out)
{
        if (!LIST_RESERVE(e->gpus, m->n, e->cap))
                return false;
        for (size_t i = 0; i < m->n; i++)
                e->gpus[i] = (struct exposed_gpu){&m->gpus[i].row, &m->gpus[i].in, m->gpus[i].up,
                                                  &m->gpus[i].xids};
        const struct exposition_input in = {.gpus = e->gpus,
                                            .n = m->n,
                                            .owners = m->owners,
                                            .served = m->frame.servings,
                                            .n_served = m->frame.n_servings,
                                            .n_owners = m->n_owners,
                                            .n_reported = m->n_reported,
                                            .collected = m->collected,
                                            .n_collected = m->n_collected,
                                            .machine = m->machine,
                                            .host = m->host,
                                            .several_hosts = m->naming.with_host,
                                            .self = *self};
        exposition_write(o, &in, openmetrics, out);
        return !out->failed;
}
