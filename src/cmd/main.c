/* From a command line to a command. */
#include "app/input.h"
#include "base/trust.h"
#include "cmd/command.h"
#include "cmd/version.h"
#include "present/stream/schema.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>

static bool takes_command(const char *first)
{
        const struct command *c = command_find(first);
        return c && c->words == WORDS_COMMAND;
}

/* Without a command: the dashboard where there is a screen, else a table. */
static const struct command *default_command(const struct config *config)
{
        if (config_is_set(config, OPT_EXPORT))
                return command_find("export");
        bool once = config_is_set(config, OPT_ONCE) || !isatty(STDOUT_FILENO);
        return command_find(once ? "once" : "top");
}

static int no_such_command(const char *word)
{
        struct err err;
        const struct command *near = command_near(word);
        err_set(&err, ERR_USAGE, "unknown command '%s'", word);
        if (near)
                err_hint(&err, "did you mean 'assay %s'?", near->name);
        else
                err_hint(&err, "'assay help' lists the commands");
        return complain(&err);
}

/* A word that can only be meant as a file: it is present, or it looks like a path or a name with an
 * ending. */
static bool looks_like_source(const char *word)
{
        return strcmp(word, "-") == 0 || input_is_address(word) || strpbrk(word, "/.") ||
               access(word, F_OK) == 0;
}

/* The command, or NULL when the first word is not one. A file or an address alone is shown. */
static const struct command *choose_command(struct config *config)
{
        if (config->n_args == 0)
                return default_command(config);
        const struct command *c = command_find(config->args[0]);
        if (c || !looks_like_source(config->args[0]) || config->n_args == CONFIG_ARGS_MAX)
                return c;
        c = default_command(config);
        memmove(config->args + 1, config->args, config->n_args * sizeof(config->args[0]));
        config->args[0] = c->name;
        config->n_args++;
        return c;
}

static bool is_option(const char *word)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                if (strcmp(option_info(i)->name, word) == 0)
                        return true;
        }
        return false;
}

static int too_many(const struct command *c, const char *word, struct err *err)
{
        err_set(err, ERR_USAGE, "unexpected argument '%s'", word);
        if (is_option(word) && !strpbrk(word, "/."))
                return err_hint(err, "did you mean --%s?", word);
        return err_hint(err, "usage: assay %s [options]%s%s", c->name, c->args[0] ? " " : "",
                        c->args);
}

static int no_such_file(const struct config *config, const struct command *c, const char *word,
                        struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "no such file: '%s'", word);
        if (option_applies(OPT_OUTPUT, c->name) && !config_is_set(config, OPT_OUTPUT))
                return err_hint(err, "to write to a file of that name: assay %s -o %s", c->name,
                                word);
        return err_hint(err, "give a session, a capture, or the address of an exporter");
}

/* A file or an address that stands alone is the source. */
static int take_source(struct config *config, const struct command *c, struct err *err)
{
        const char *word = config->n_args > 1 ? config->args[1] : NULL;
        if (config->n_args > 2)
                return too_many(c, config->args[2], err);
        if (!word)
                return 0;
        if (config->settings[OPT_SOURCE].text) {
                err_set(err, ERR_USAGE, "two sources: '%s' and '%s'",
                        config_text(config, OPT_SOURCE), word);
                return err_hint(err, "give one of them");
        }
        if (is_option(word) && access(word, F_OK) < 0)
                return too_many(c, word, err);
        if (strcmp(word, "-") != 0 && !input_is_address(word) && access(word, F_OK) < 0 &&
            errno == ENOENT)
                return no_such_file(config, c, word, err);
        config->n_args = 1;
        return config_put(config, OPT_SOURCE, word, err);
}

static int take_words(struct config *config, const struct command *c, struct err *err)
{
        if (config->n_rest > 0 && c->words != WORDS_COMMAND && c->words != WORDS_OWN)
                return too_many(c, config->rest[0], err);
        switch (c->words) {
        case WORDS_NONE:
                return config->n_args > 1 ? too_many(c, config->args[1], err) : 0;
        case WORDS_SOURCE:
                return take_source(config, c, err);
        case WORDS_OWN:
        case WORDS_COMMAND:
                return 0;
        }
        return 0;
}

static int read_files(struct config *config, struct err *err)
{
        char path[4096];
        const char *file = setup_program(config, OPT_CONFIG);
        int r = 0;
        if (file)
                r = config_read_file(config, file, true, err);
        else if (config_default_path(get_env, path, sizeof(path)))
                r = config_read_file(config, path, false, err);
        /* The home of a user who became root: not a reason to refuse. */
        if (r == -EPERM && !file) {
                notice("%s, ignoring", err->msg);
                *err = (struct err){0};
                r = 0;
        }
        return r == 0 ? config_read_environment(config, get_env, err) : r;
}

/* Wrong usage of 'assay run' must not look like the status of the command it runs. */
static int main_refuse(const struct command *c, const struct err *err)
{
        int status = complain(err);
        return c && c->words == WORDS_COMMAND ? EXIT_OWN : status;
}

/* Nothing is read, so neither a file nor another format has a use beside it. */
static int refuse_beside_schema(const struct config *config, struct err *err)
{
        const char *format =
            config_is_set(config, OPT_FORMAT) ? config_text(config, OPT_FORMAT) : "json";
        if (config->n_args > 1) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[1]);
                return err_hint(err, "leave it out: --schema reads no file");
        }
        if (strncmp(format, "json", 4) != 0) {
                err_set(err, ERR_USAGE, "--schema is for JSON, not for --format %s", format);
                return err_hint(err, "leave out --format");
        }
        return 0;
}

static int show_schema(const struct config *config, const struct command *c)
{
        struct strbuf out = {0};
        struct err err = {0};
        int r = refuse_beside_schema(config, &err);
        if (r == 0 && (!schema_write(c->name, program_version, &out) || out.failed))
                r = err_set(&err, -ENOMEM, "out of memory");
        if (r == 0)
                print_text(&out);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

static int run_command(struct config *config, const struct command *c)
{
        struct err err = {0};
        int r = config_bind(config, c->name, &err);
        if (r == 0 && config_is_set(config, OPT_SCHEMA))
                return show_schema(config, c);
        if (r == 0)
                r = take_words(config, c, &err);
        if (r == 0)
                r = read_files(config, &err);
        return r < 0 ? main_refuse(c, &err) : c->run(config);
}

/* Help wins over everything that is wrong beside it. */
static int show_help(struct config *config)
{
        return command_find("help")->run(config);
}

static int show_version(struct config *config)
{
        struct strbuf out = {0};
        version_write(config_is_set(config, OPT_JSON), &out);
        print_text(&out);
        strbuf_finish(&out);
        return EXIT_FINE;
}

int main(int argc, char **argv)
{
        struct config config = {.no_command = true};
        struct err err = {0};
        int status;
        int dropped = trust_drop_rights();
        if (dropped < 0) {
                err_set(&err, dropped, "cannot give up the rights of a set-id program: %s",
                        strerror(-dropped));
                err_hint(&err, "assay needs none: remove the bits with chmod ug-s, or setcap -r");
                return complain(&err);
        }
        session_own_process();
        int r = config_read_args(&config, argc, argv, takes_command, &err);
        config.no_command = config.n_args == 0;
        const struct command *c = choose_command(&config);
        if (config_is_set(&config, OPT_HELP)) {
                status = show_help(&config);
        } else if (config_is_set(&config, OPT_VERSION)) {
                status = show_version(&config);
        } else if (!c) {
                status = no_such_command(config.args[0]);
        } else {
                status = r < 0 ? main_refuse(c, &err) : run_command(&config, c);
        }
        config_finish(&config);
        return status;
}
