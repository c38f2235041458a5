/* assay convert: from any recording that can be read to any that can be written. */
#include "app/convert.h"
#include "cmd/command.h"
#include "cmd/progress.h"

static int convert_input(const struct config *config, struct err *err)
{
        struct progress progress = {0};
        struct strbuf notices = {0};
        const struct convert_job job = {.config = config,
                                        .in = config->args[1],
                                        .out = config->args[2],
                                        .standard = STDOUT_FILENO,
                                        .on_tick = progress_tick,
                                        .arg = &progress,
                                        .notices = &notices};
        int r = convert_file(&job, err);
        progress_end(&progress);
        print_notices(&notices);
        strbuf_finish(&notices);
        return r;
}

static int convert_run(const struct config *config)
{
        struct err err = {0};
        int r = 0;
        if (config->n_args != 3) {
                r = err_set(&err, ERR_USAGE,
                            "convert needs two files: what to read and what to write");
                err_hint(&err, "write for example: assay convert run.assay run.csv");
        }
        if (r == 0)
                r = convert_input(config, &err);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_convert = {
    .name = "convert",
    .args = "IN OUT",
    .summary = "turn a recording of one format into another",
    .words = WORDS_OWN,
    .examples = {{"assay convert run.assay run.csv", "a session to CSV"},
                 {"assay convert dmon.txt run.assay", "a capture to a session"},
                 {"assay convert run.assay nb --to notebook", "for a notebook"}},
    .run = convert_run,
};
