/* assay baseline: recordings that later runs are compared with, by name. */
#include "app/baseline.h"
#include "cmd/command.h"

#include <errno.h>
#include <string.h>

/* what: the word that stands where add, list or rm should. */
static int refuse_usage(const struct config *config, const char *what, struct err *err)
{
        bool known =
            strcmp(what, "add") == 0 || strcmp(what, "list") == 0 || strcmp(what, "rm") == 0;
        if (!known && what[0])
                err_set(err, ERR_USAGE, "unknown word '%s'", what);
        else if (strcmp(what, "add") == 0 && config->n_args == 3)
                err_set(err, ERR_USAGE, "no recording given for the baseline '%s'",
                        config->args[2]);
        else if (known && config->n_args > 2)
                err_set(err, ERR_USAGE, "too many words after '%s'", what);
        else
                err_set(err, ERR_USAGE, known ? "no name given after '%s'" : "no word given", what);
        return err_hint(err, "write 'assay baseline add NAME FILE...', 'assay baseline list' or "
                             "'assay baseline rm NAME'");
}

static int add_baseline(const struct config *config, const char *folder, struct err *err)
{
        int code = 0;
        for (size_t i = 3; code == 0 && i < config->n_args; i++)
                code = baseline_check(config, config->args[i], err);
        for (size_t i = 3; code == 0 && i < config->n_args; i++)
                code = baseline_add(config, folder, config->args[2], config->args[i], err);
        return code;
}

static int list_baselines(const char *folder, struct err *err)
{
        struct strbuf out = {0};
        int code = baseline_list(folder, &out, err);
        if (code == 0)
                code = print_text(&out);
        strbuf_finish(&out);
        return code == -EPIPE ? 0 : code;
}

static int baseline_act(const struct config *config, struct err *err)
{
        char folder[BASELINE_PATH_MAX];
        const char *what = config->n_args > 1 ? config->args[1] : "";
        int code = baseline_folder(config_text(config, OPT_BASELINES), get_env, folder, err);
        if (code < 0)
                return code;
        if (strcmp(what, "add") == 0 && config->n_args > 3)
                return add_baseline(config, folder, err);
        if (strcmp(what, "list") == 0 && config->n_args == 2)
                return list_baselines(folder, err);
        if (strcmp(what, "rm") == 0 && config->n_args == 3)
                return baseline_remove(folder, config->args[2], err);
        return refuse_usage(config, what, err);
}

static int baseline_run(const struct config *config)
{
        struct err err = {0};
        return baseline_act(config, &err) < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_baseline = {
    .name = "baseline",
    .args = "add NAME FILE... | list | rm NAME",
    .summary = "keep recordings that later runs are compared with",
    .words = WORDS_OWN,
    .examples = {{"assay baseline add main a.assay b.assay", "keep two repeats"},
                 {"assay diff --baseline main new.assay", "compare with them"},
                 {"assay baseline list", "which there are"}},
    .run = baseline_run,
};
