#include "cmd/host.h"

#include <sys/resource.h>

const char reads_fast_words[] =
    "reading this often can slow a model server; --poll 1 costs it almost nothing";

void raise_descriptor_limit(void)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
                return;
        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t)65536);
        setrlimit(RLIMIT_NOFILE, &limit);
}

int open_host(const struct config *config, struct host_view **ret, struct err *err)
{
        struct host_config hc;
        int r = setup_host(config, &hc, err);
        if (r < 0)
                return r;
        raise_descriptor_limit();
        return host_view_open(&hc, ret, err);
}

int open_engines(const struct config *config, struct host_view **ret, struct err *err)
{
        struct host_config hc;
        int r = setup_engines(config, &hc, err);
        return r < 0 ? r : host_view_open(&hc, ret, err);
}

int open_host_of(const struct config *config, int32_t pid, struct host_view **ret, struct err *err)
{
        struct host_config hc = {0};
        int r = setup_host(config, &hc, err);
        if (r < 0)
                return r;
        hc.pid = pid ? pid : hc.pid;
        hc.reaps = pid > 0;
        hc.levels |= hc.pid ? LEVEL_BIT((unsigned)LEVEL_PROCESS) : 0;
        raise_descriptor_limit();
        return host_view_open(&hc, ret, err);
}

bool shows_host(const struct config *config)
{
        return config_flag(config, OPT_HOST) ||
               (!config_is_set(config, OPT_SOURCE) && !setup_reads_nodes(config));
}

int refuse_host_options(const struct config *config, const char *hint, struct err *err)
{
        static const enum option list[] = {OPT_PID,    OPT_USER,   OPT_JOB,
                                           OPT_CGROUP, OPT_LEVELS, OPT_PSS};
        return config_refuse(config, list, ARRAY_LEN(list),
                             "is about this host, which is not looked at here", hint, err);
}

/* The level that a user asked for by name or number, and that is absent. */
static int refuse_absent_level(const struct host *h, enum level level, struct err *err)
{
        const struct level_state *l = &h->levels[level];
        err_set(err, ERR_NO_SOURCE, "there is no level '%s': %s", level_name(level),
                l->why[0] ? l->why : "it is not on this machine");
        return err_hint(err, "'assay once --host' shows the levels that are there");
}

int check_levels(const struct config *config, const struct host *h, struct err *err)
{
        const struct level_state *job = &h->levels[LEVEL_SLURM];
        enum level first = LEVEL_COUNT;
        if (config_is_set(config, OPT_JOB) && job->asked && !job->present)
                return refuse_absent_level(h, LEVEL_SLURM, err);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (h->levels[l].present)
                        return 0;
                if (h->levels[l].asked && first == LEVEL_COUNT)
                        first = l;
        }
        return first < LEVEL_COUNT ? refuse_absent_level(h, first, err) : 0;
}
