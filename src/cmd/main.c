#include "cmd/command.h"

#include <string.h>

/* The command to run: a word, or the flags --export and --once of the dashboard before us. */
static const char *command_name(const struct config *config)
{
        if (config_flag(config, OPT_HELP))
                return "help";
        if (config->n_args > 0)
                return config->args[0];
        if (config_is_set(config, OPT_EXPORT))
                return "export";
        return isatty(STDOUT_FILENO) && !config_flag(config, OPT_ONCE) ? "top" : "once";
}

/* Flags are read first, because they say which file to read, and again last, because they win. */
static int read_config(struct config *config, int argc, char **argv, struct err *err)
{
        char path[4096];
        struct config flags = {0};
        int r = config_read_args(&flags, argc, argv, err);
        const char *file = r == 0 ? config_text(&flags, OPT_CONFIG) : NULL;
        if (r == 0 && file)
                r = config_read_file(config, file, true, err);
        else if (r == 0 && config_default_path(get_env, path, sizeof(path)))
                r = config_read_file(config, path, false, err);
        config_finish(&flags);
        if (r == 0)
                r = config_read_environment(config, get_env, err);
        if (r == 0)
                r = config_read_args(config, argc, argv, err);
        return r;
}

static int run(struct config *config)
{
        const struct command *c = command_find(command_name(config));
        struct err err = {0};
        if (c && c->group && strcmp(c->group, "file") == 0 &&
            config_confine(config, c->name, c->group, &err) < 0)
                return complain(&err);
        return (c ? c : command_find("help"))->run(config);
}

int main(int argc, char **argv)
{
        struct config config = {0};
        struct err err = {0};
        int status;
        if (read_config(&config, argc, argv, &err) < 0) {
                status = complain(&err);
        } else if (config_flag(&config, OPT_VERSION)) {
                printf("assay %s\n", program_version);
                status = EXIT_FINE;
        } else {
                status = run(&config);
        }
        config_finish(&config);
        return status;
}
