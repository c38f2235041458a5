/* Options: one table, filled from defaults, the config file, the environment and flags. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum option {
#define OPTION(id, ...) OPT_##id,
#define DEEP(id, ...) OPT_##id,
#define FOR(...)
#define RANGE(...)
#define LETTER(...)
#include "config/options.def"
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
        OPTION_LIST, /* text that may be given again: all values, one a line */
};

struct option_info {
        const char *name;
        enum option_type type;
        const char *metavar;  /* of a choice: a|b|c; b:FILE takes any text after the colon */
        const char *fallback; /* the default, "" for none */
        const char *commands; /* that take it, with blanks between */
        const char *help;
        const char *letter; /* of the short form, "" for none */
        double least, most; /* of a number */
        bool deep;          /* shown by 'assay help options' only */
};

struct alias_info {
        const char *name;
        enum option option;
        const char *value; /* NULL: another name for the option */
        const char *help;
};

/* Where a value came from; later ones win. */
enum origin { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };

struct setting {
        char *text;       /* owned; NULL while the default holds */
        const char *name; /* that it was given by: the option's or an alias's */
        double number;
        enum origin origin;
        bool bare; /* a flag that needs a value, and has none */
        int place; /* on the command line, from 1; 0 elsewhere */
};

#define CONFIG_ARGS_MAX 1100

struct config {
        const char *command; /* whose options these are; NULL: the library's */
        bool no_command;     /* no word yet, so flags of the Python dashboard are taken */
        struct setting settings[OPT_COUNT_OF];
        const char *args[CONFIG_ARGS_MAX]; /* words that are not options, borrowed from argv */
        int places[CONFIG_ARGS_MAX];       /* where they stand on the command line, from 1 */
        size_t n_args;
        char *const *rest; /* the command line of another program, ended by NULL; NULL for none */
        size_t n_rest;
};

/* The option as its row has it. */
const struct option_info *option_info(enum option option);
/* The option as a command has it: its default, its choices, its words. NULL is the library. */
struct option_info option_for(enum option option, const char *command);
/* Whether a choice of a command's is one of its words. */
bool option_has_choice(enum option option, const char *command, const char *value);
/* The table of aliases. NULL at the end. */
const struct alias_info *alias_at(size_t i);
/* The flag of the Python dashboard that the first len bytes of name begin or are; NULL when none or
 * several do. */
const char *option_of_dashboard(const char *name, size_t len);
/* Whether a command takes an option; NULL is the library, "-" the program itself. */
bool option_applies(enum option option, const char *command);

void config_finish(struct config *c);
/*
 * Flags and words, in any order; argv[0] is passed over. Values are not checked yet: config_bind
 * does, when the command is known; until a word comes, those of the Python dashboard may be
 * abbreviated where c->no_command. takes_command reports the first word whether the word after it
 * and everything that follows is a command line of its own; NULL for none.
 */
int config_read_args(struct config *c, int argc, char **argv,
                     bool (*takes_command)(const char *first), struct err *err);
/* Makes it the configuration of a command: what it does not take and values that make no sense are
 * errors. */
int config_bind(struct config *c, const char *command, struct err *err);
/*
 * The file may be missing unless must_exist. Keys before the first section count for all commands,
 * those in a section for the command of that name. What the command does not take is for others,
 * and flags win. -EPERM when this is root and the file is not root's alone to write.
 */
int config_read_file(struct config *c, const char *path, bool must_exist, struct err *err);
/* ASSAY_POLL and so on: the same, and it wins over the file. */
int config_read_environment(struct config *c, const char *(*get_env)(const char *name),
                            struct err *err);

/* The longest value that config_set takes. */
#define CONFIG_VALUE_MAX 4096
/* One option of the library by its name, or by an alias's; a NULL value takes the default back. */
int config_set(struct config *c, const char *name, const char *value, struct err *err);
/* One option, as if its flag had been given. 0 or a negative code with err. */
int config_put(struct config *c, enum option option, const char *value, struct err *err);
/* The same settings, without words. 0 or -ENOMEM; call config_finish(ret) either way. */
int config_copy(const struct config *c, struct config *ret);

/* Set means: by file, environment or flag. */
bool config_is_set(const struct config *c, enum option option);
/* Given on the command line: what file and environment say may be for others. */
bool config_is_given(const struct config *c, enum option option);
/*
 * Refuses options of the command that have no meaning in what it was asked to do: of the first that
 * was given the message is "--NAME what". 0, or ERR_USAGE with the hint in err.
 */
int config_refuse(const struct config *c, const enum option *list, size_t n, const char *what,
                  const char *hint, struct err *err);
bool config_flag(const struct config *c, enum option option);
/* The value, or the command's default; NULL when there is neither. */
const char *config_text(const struct config *c, enum option option);
double config_number(const struct config *c, enum option option);
/* The name that the user gave it, or its own. */
const char *config_name(const struct config *c, enum option option);
/* Puts $XDG_CONFIG_HOME/assay/config, or ~/.config/…, into buf; false when neither is known. */
bool config_default_path(const char *(*get_env)(const char *name), char *buf, size_t size);
