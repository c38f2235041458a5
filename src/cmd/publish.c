/* assay publish: a recorded run into the files of experiment trackers. */
#include "app/publish.h"
#include "cmd/command.h"

static int publish_words(const struct config *config, struct err *err)
{
        struct strbuf notices = {0};
        const char *to = config_text(config, OPT_TO);
        if (config->n_args != (to ? 2 : 3)) {
                err_set(err, ERR_USAGE, "publish needs one recording and one place to put it");
                return err_hint(err, "assay publish run.assay tensorboard:runs/one");
        }
        int r = publish_run(config, config->args[1], to ? to : config->args[2], &notices, err);
        print_notices(&notices);
        strbuf_finish(&notices);
        return r;
}

static int publish_command(const struct config *config)
{
        struct err err = {0};
        return publish_words(config, &err) < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_publish = {
    .name = "publish",
    .args = "FILE tensorboard:FOLDER|jsonl:FILE",
    .summary = "put a recorded run into an experiment tracker's files",
    .words = WORDS_OWN,
    .examples = {{"assay publish run.assay tensorboard:runs/1", "for TensorBoard"},
                 {"assay publish run.assay jsonl:runs.jsonl", "a line a run"},
                 {"assay publish run.csv --to jsonl:runs.jsonl", "any recording that is read"}},
    .run = publish_command,
};
