/* assay serve where it was built without libmicrohttpd's headers. */
#include "cmd/command.h"

static int serve_run(const struct config *config)
{
        struct err err = {0};
        (void)config;
        err_set(&err, ERR_NO_SOURCE, "this assay was built without 'serve'");
        err_hint(&err,
                 "build it where libmicrohttpd-dev, zlib1g-dev and libyaml-dev are installed");
        return complain(&err);
}

const struct command command_serve = {
    .name = "serve",
    .args = "[FILE|URL]",
    .summary = "serve metrics for Prometheus and a live page for browsers",
    .words = WORDS_SOURCE,
    .examples = {{"assay serve", "at http://127.0.0.1:9400, for this machine alone"}},
    .run = serve_run,
};
