#include "config/config.h"

#include "base/num.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

static const struct option_info options[OPT_COUNT_OF] = {
#define OPTION(id, name, type, metavar, fallback, commands, help)                                  \
        [OPT_##id] = {name, OPTION_##type, metavar, fallback, commands, help},
#include "config/options.def"
#undef OPTION
};

static const struct alias_info aliases[] = {
#define ALIAS(name, option, value, help) {name, OPT_##option, value, help},
#include "config/aliases.def"
#undef ALIAS
};

const struct option_info *option_info(enum option option)
{
        return &options[option];
}

const struct alias_info *alias_at(size_t i)
{
        return i < ARRAY_LEN(aliases) ? &aliases[i] : NULL;
}

static bool has_word(const char *list, const char *word)
{
        size_t n = strlen(word);
        for (const char *s = list; *s; s += strspn(s, " ")) {
                size_t len = strcspn(s, " ");
                if (len == n && memcmp(s, word, n) == 0)
                        return true;
                s += len;
        }
        return false;
}

bool option_applies(enum option option, const char *command, const char *group)
{
        const char *commands = options[option].commands;
        return (group && has_word(commands, group)) || has_word(commands, command);
}

void config_finish(struct config *c)
{
        for (size_t i = 0; i < OPT_COUNT_OF; i++)
                free(c->settings[i].text);
        *c = (struct config){0};
}

int config_confine(struct config *c, const char *command, const char *group, struct err *err)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                struct setting *s = &c->settings[i];
                if (!s->text || option_applies(i, command, group) || option_applies(i, "-", NULL))
                        continue;
                if (s->origin == ORIGIN_FLAG) {
                        err_set(err, ERR_USAGE, "'assay %s' has no option '--%s'", command,
                                options[i].name);
                        return err_hint(err, "'assay help %s' lists those it has", command);
                }
                free(s->text);
                *s = (struct setting){0};
        }
        return 0;
}

static bool is_choice(const char *choices, const char *value)
{
        size_t n = strlen(value);
        for (const char *s = choices;; s++) {
                size_t len = strcspn(s, "|");
                if (len == n && memcmp(s, value, n) == 0)
                        return true;
                s += len;
                if (*s == '\0')
                        return false;
        }
}

/* "1.5", "100ms", "2s", "1m", "1h": seconds. */
static bool parse_seconds(const char *s, double *ret)
{
        static const struct {
                const char *unit;
                double scale;
        } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
        double v;
        size_t k = num_parse(s, strlen(s), &v);
        for (size_t i = 0; k > 0 && i < ARRAY_LEN(units); i++) {
                if (strcmp(s + k, units[i].unit) == 0) {
                        *ret = v * units[i].scale;
                        return *ret >= 0;
                }
        }
        return false;
}

static int bad_value(const char *where, const struct option_info *o, const char *value,
                     const char *wanted, struct err *err)
{
        err_set(err, ERR_USAGE, "%s%s: '%s' is not %s", where, o->name, value, wanted);
        if (o->type == OPTION_CHOICE)
                return err_hint(err, "choose one of %s", o->metavar);
        return err_hint(err, "'assay help' shows what %s takes", o->name);
}

static bool truthy(const char *value, bool *ret)
{
        static const char *const yes[] = {"", "1", "true", "yes", "on"};
        static const char *const no[] = {"0", "false", "no", "off"};
        for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
                if (strcmp(value, yes[i]) == 0)
                        return *ret = true, true;
        }
        for (size_t i = 0; i < ARRAY_LEN(no); i++) {
                if (strcmp(value, no[i]) == 0)
                        return *ret = false, true;
        }
        return false;
}

/* Checks the value by the option's type. where is what stands before the name in a message. */
static int check(enum option option, const char *where, const char *value, double *ret_number,
                 struct err *err)
{
        const struct option_info *o = &options[option];
        bool flag;
        *ret_number = 0;
        switch (o->type) {
        case OPTION_FLAG:
                if (!truthy(value, &flag))
                        return bad_value(where, o, value, "yes or no", err);
                *ret_number = flag;
                return 0;
        case OPTION_SECONDS:
                if (!parse_seconds(value, ret_number))
                        return bad_value(where, o, value, "a time such as 0.5, 100ms or 2s", err);
                return 0;
        case OPTION_NUMBER:
                if (!num_parse_all(value, strlen(value), ret_number) || *ret_number < 0)
                        return bad_value(where, o, value, "a number of 0 or more", err);
                return 0;
        case OPTION_COUNT:
                if (!num_parse_all(value, strlen(value), ret_number) || *ret_number < 0 ||
                    *ret_number > 1e9 || *ret_number != (double)(long)*ret_number)
                        return bad_value(where, o, value, "a whole number of 0 or more", err);
                return 0;
        case OPTION_CHOICE:
                if (!is_choice(o->metavar, value))
                        return bad_value(where, o, value, "a choice it has", err);
                return 0;
        case OPTION_TEXT:
        case OPTION_PATH:
        case OPTION_MAYBE:
                return 0;
        }
        return 0;
}

static int set(struct config *c, enum option option, const char *where, const char *value,
               enum origin origin, struct err *err)
{
        struct setting *s = &c->settings[option];
        double number;
        int r = check(option, where, value, &number, err);
        if (r < 0)
                return r;
        char *text = strdup(value);
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        free(s->text);
        *s = (struct setting){.text = text, .number = number, .origin = origin};
        return 0;
}

static const char *known_name(size_t i, const void *arg UNUSED)
{
        if (i < OPT_COUNT_OF)
                return options[i].name;
        i -= OPT_COUNT_OF;
        return i < ARRAY_LEN(aliases) ? aliases[i].name : NULL;
}

static int find_option(const char *name, size_t len)
{
        for (size_t i = 0; i < OPT_COUNT_OF; i++) {
                if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
                        return (int)i;
        }
        return -1;
}

static const struct alias_info *find_alias(const char *name, size_t len)
{
        for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
                if (strlen(aliases[i].name) == len && memcmp(aliases[i].name, name, len) == 0)
                        return &aliases[i];
        }
        return NULL;
}

static int unknown_option(const char *where, const char *name, size_t len, struct err *err)
{
        char word[64];
        snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), name);
        err_set(err, ERR_USAGE, "there is no option '%s%s'", where, word);
        const char *near = suggest_nearest(word, known_name, NULL);
        if (near)
                return err_hint(err, "did you mean '%s%s'? 'assay help' lists them", where, near);
        return err_hint(err, "'assay help' lists them");
}

int config_set(struct config *c, const char *name, const char *value, struct err *err)
{
        size_t len = strlen(name);
        const struct alias_info *alias = find_alias(name, len);
        if (alias)
                return set(c, alias->option, "", alias->value, ORIGIN_FLAG, err);
        int option = find_option(name, len);
        if (option < 0 || strcmp(options[option].commands, "-") == 0)
                return unknown_option("", name, len, err);
        if (value && strlen(value) > CONFIG_VALUE_MAX)
                return err_set(err, ERR_USAGE, "%s: a value has at most %d bytes", name,
                               CONFIG_VALUE_MAX);
        if (value)
                return set(c, (enum option)option, "", value, ORIGIN_FLAG, err);
        free(c->settings[option].text);
        c->settings[option] = (struct setting){0};
        return 0;
}

int config_copy(const struct config *c, struct config *ret)
{
        *ret = (struct config){0};
        for (size_t i = 0; i < OPT_COUNT_OF; i++) {
                if (!c->settings[i].text)
                        continue;
                ret->settings[i] = c->settings[i];
                ret->settings[i].text = strdup(c->settings[i].text);
                if (!ret->settings[i].text)
                        return -ENOMEM;
        }
        return 0;
}

struct file_state {
        struct config *config;
        const char *path;
        struct err *err;
        int result;
};

/* inih's callback: 0 stops. */
static int file_entry(void *user, const char *section UNUSED, const char *name, const char *value)
{
        struct file_state *f = user;
        char where[300];
        snprintf(where, sizeof(where), "%s: ", f->path);
        int option = find_option(name, strlen(name));
        if (option < 0 || strcmp(options[option].commands, "-") == 0)
                f->result = unknown_option(where, name, strlen(name), f->err);
        else
                f->result = set(f->config, (enum option)option, where, value, ORIGIN_FILE, f->err);
        return f->result == 0;
}

int config_read_file(struct config *c, const char *path, bool must_exist, struct err *err)
{
        FILE *file = fopen(path, "re");
        /* The home may be another user's, after su or setpriv. */
        if (!file && (errno == ENOENT || errno == EACCES || errno == ENOTDIR) && !must_exist)
                return 0;
        if (!file) {
                err_set(err, ERR_USAGE, "cannot read the config file '%s': %s", path,
                        strerror(errno));
                return err_hint(err, "give another with --config FILE");
        }
        struct file_state f = {.config = c, .path = path, .err = err};
        int line = ini_parse_file(file, file_entry, &f);
        fclose(file);
        if (f.result < 0)
                return f.result;
        if (line != 0) {
                err_set(err, ERR_USAGE, "%s: line %d is not 'name = value'", path, line);
                return err_hint(err, "correct it, or give another file with --config FILE");
        }
        return 0;
}

/* "show-all" → "ASSAY_SHOW_ALL" */
static void variable_name(const char *option, char *buf, size_t size)
{
        size_t n = (size_t)snprintf(buf, size, "ASSAY_%s", option);
        for (size_t i = 0; i < n && i < size; i++)
                buf[i] = buf[i] == '-' ? '_' : (char)toupper((unsigned char)buf[i]);
}

int config_read_environment(struct config *c, const char *(*get_env)(const char *name),
                            struct err *err)
{
        for (size_t i = 0; i < OPT_COUNT_OF; i++) {
                char name[64];
                variable_name(options[i].name, name, sizeof(name));
                const char *value = strcmp(options[i].commands, "-") != 0 ? get_env(name) : NULL;
                if (!value || !*value)
                        continue;
                int r =
                    set(c, (enum option)i, "the environment's ", value, ORIGIN_ENVIRONMENT, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const struct {
        const char *name;
        enum option option;
} shorts[] = {{"-h", OPT_HELP}, {"-V", OPT_VERSION}, {"-o", OPT_OUTPUT}, {"-q", OPT_QUIET}};

/* A single letter; its value, when it takes one, is the next word. */
static int read_short(struct config *c, int argc, char **argv, int *i, struct err *err)
{
        for (size_t k = 0; k < ARRAY_LEN(shorts); k++) {
                enum option option = shorts[k].option;
                if (strcmp(argv[*i], shorts[k].name) != 0)
                        continue;
                if (options[option].type == OPTION_FLAG)
                        return set(c, option, "", "", ORIGIN_FLAG, err);
                if (*i + 1 < argc && strcmp(argv[*i + 1], "--") != 0)
                        return set(c, option, "--", argv[++*i], ORIGIN_FLAG, err);
                err_set(err, ERR_USAGE, "%s needs a value", shorts[k].name);
                return err_hint(err, "write %s %s", shorts[k].name, options[option].metavar);
        }
        return unknown_option("", argv[*i], strlen(argv[*i]), err);
}

/* Handles argv[*i], a word that starts with "--"; moves *i over a value it takes. */
static int read_flag(struct config *c, int argc, char **argv, int *i, struct err *err)
{
        const char *name = argv[*i] + 2;
        const char *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        const struct alias_info *alias = find_alias(name, len);
        if (alias)
                return set(c, alias->option, "--", alias->value, ORIGIN_FLAG, err);
        int option = find_option(name, len);
        if (option < 0)
                return unknown_option("--", name, len, err);
        const struct option_info *o = &options[option];
        const char *value = equals ? equals + 1 : NULL;
        if (!value && o->type == OPTION_FLAG)
                value = "";
        if (!value && *i + 1 < argc) {
                /* A value may look like a flag ("-1", "-"), unless it can be left out. */
                bool word = argv[*i + 1][0] != '-';
                if (word || (o->type != OPTION_MAYBE && strncmp(argv[*i + 1], "--", 2) != 0))
                        value = argv[++*i];
        }
        if (!value && o->type == OPTION_MAYBE)
                value = o->fallback;
        if (!value) {
                err_set(err, ERR_USAGE, "--%s needs a value", o->name);
                return err_hint(err, "write --%s %s", o->name, o->metavar);
        }
        return set(c, (enum option)option, "--", value, ORIGIN_FLAG, err);
}

int config_read_args(struct config *c, int argc, char **argv, struct err *err)
{
        for (int i = 1; i < argc; i++) {
                int r = 0;
                if (strcmp(argv[i], "--") == 0) {
                        c->rest = &argv[i + 1];
                        c->n_rest = (size_t)(argc - i - 1);
                        break;
                }
                if (strncmp(argv[i], "--", 2) == 0) {
                        r = read_flag(c, argc, argv, &i, err);
                } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
                        r = read_short(c, argc, argv, &i, err);
                } else if (c->n_args == CONFIG_ARGS_MAX) {
                        r = err_set(err, ERR_USAGE, "more than %d words", CONFIG_ARGS_MAX);
                } else {
                        c->args[c->n_args++] = argv[i];
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

bool config_is_set(const struct config *c, enum option option)
{
        return c->settings[option].text != NULL;
}

bool config_flag(const struct config *c, enum option option)
{
        return c->settings[option].text && c->settings[option].number != 0;
}

const char *config_text(const struct config *c, enum option option)
{
        if (c->settings[option].text)
                return c->settings[option].text;
        return options[option].fallback[0] ? options[option].fallback : NULL;
}

double config_number(const struct config *c, enum option option)
{
        double v = 0;
        if (c->settings[option].text)
                return c->settings[option].number;
        num_parse_all(options[option].fallback, strlen(options[option].fallback), &v);
        return v;
}

bool config_default_path(const char *(*get_env)(const char *name), char *buf, size_t size)
{
        const char *dir = get_env("XDG_CONFIG_HOME");
        if (dir && dir[0] == '/')
                return snprintf(buf, size, "%s/assay/config", dir) < (int)size;
        dir = get_env("HOME");
        return dir && dir[0] && snprintf(buf, size, "%s/.config/assay/config", dir) < (int)size;
}
