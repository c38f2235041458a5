/* Options: one table, filled from defaults, the config file, the environment and flags. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum option {
#define OPTION(id, name, type, metavar, default, commands, help) OPT_##id,
#include "config/options.def"
#undef OPTION
        OPT_COUNT_OF
};

enum option_type {
        OPTION_FLAG,
        OPTION_TEXT,
        OPTION_PATH,
        OPTION_SECONDS,
        OPTION_NUMBER,
        OPTION_COUNT,
        OPTION_CHOICE,
        OPTION_MAYBE,
};

struct option_info {
        const char *name;
        enum option_type type;
        const char *metavar;
        const char *fallback; /* the default, "" for none */
        const char *commands;
        const char *help;
};

struct alias_info {
        const char *name;
        enum option option;
        const char *value;
        const char *help;
};

/* Where a value came from; later ones win. */
enum origin { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };

struct setting {
        char *text; /* owned; NULL while the default holds */
        double number;
        enum origin origin;
};

#define CONFIG_ARGS_MAX 64

struct config {
        struct setting settings[OPT_COUNT_OF];
        const char *args[CONFIG_ARGS_MAX]; /* words that are not options, borrowed from argv */
        size_t n_args;
        char *const *rest; /* what stands after "--", ended by NULL; NULL when there is no "--" */
        size_t n_rest;
};

const struct option_info *option_info(enum option option);
/* The table of aliases. NULL at the end. */
const struct alias_info *alias_at(size_t i);
/* Whether a command takes an option, by its name or by its group, which may be NULL. */
bool option_applies(enum option option, const char *command, const char *group);

void config_finish(struct config *c);
/* Leaves out what a command does not take: a flag is an error, and what the file or the environment
 * says is meant for other commands. */
int config_confine(struct config *c, const char *command, const char *group, struct err *err);
/* The file may be missing unless must_exist. Keys outside a section count for all commands. */
int config_read_file(struct config *c, const char *path, bool must_exist, struct err *err);
/* ASSAY_POLL and so on. */
int config_read_environment(struct config *c, const char *(*get_env)(const char *name),
                            struct err *err);
/* Flags and words, in any order; argv[0] is passed over. */
int config_read_args(struct config *c, int argc, char **argv, struct err *err);

/* The longest value that config_set takes. */
#define CONFIG_VALUE_MAX 4096
/* One option by its name, or by an alias's; a NULL value takes the default back. */
int config_set(struct config *c, const char *name, const char *value, struct err *err);
/* The same settings, without words. 0 or -ENOMEM; call config_finish(ret) either way. */
int config_copy(const struct config *c, struct config *ret);

/* Set means: by file, environment or flag. */
bool config_is_set(const struct config *c, enum option option);
bool config_flag(const struct config *c, enum option option);
/* The value, or the default; NULL when there is neither. */
const char *config_text(const struct config *c, enum option option);
double config_number(const struct config *c, enum option option);
/* Puts $XDG_CONFIG_HOME/assay/config, or ~/.config/…, into buf; false when neither is known. */
bool config_default_path(const char *(*get_env)(const char *name), char *buf, size_t size);
