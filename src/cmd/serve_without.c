/* assay serve where it was built without libmicrohttpd's headers. */
#include "cmd/command.h"

static int without_run(const struct config *config)
{
        struct err err = {0};
        (void)config;
        err_set(&err, ERR_NO_SOURCE, "this assay was built without 'serve'");
        err_hint(&err, "build it where libmicrohttpd-dev, libnghttp2-dev, zlib1g-dev and "
                       "libyaml-dev are installed");
        return complain(&err);
}

const struct command command_serve = {
    .name = "serve",
    .args = "[FILE|URL]",
    .summary = "serve metrics for Prometheus and a live page for browsers",
    .words = WORDS_SOURCE,
    .examples = {{"assay serve", "at http://127.0.0.1:9400, for this machine alone"}},
    .run = without_run,
};

const struct command command_jobs = {
    .name = "jobs",
    .args = "",
    .summary = "list what jobs did with the GPUs they held",
    .words = WORDS_NONE,
    .examples = {{"assay jobs --since 7d", "of the last week, the newest first"}},
    .run = without_run,
};

const struct command command_job = {
    .name = "job",
    .args = "JOB|RECORD",
    .summary = "show what one job did with its GPUs, as a report card",
    .words = WORDS_OWN,
    .examples = {{"assay job 4711", "the Slurm job 4711"}},
    .run = without_run,
};
