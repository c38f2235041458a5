#include "config/config.h"

#include "base/duration.h"
#include "base/num.h"
#include "base/suggest.h"
#include "base/trust.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void config_finish(struct config *c)
{
        for (size_t i = 0; i < OPT_COUNT_OF; i++)
                free(c->settings[i].text);
        *c = (struct config){0};
}

#define CHOICES_MAX 16

/* The words of a|b|c. */
struct split {
        char text[128];
        const char *words[CHOICES_MAX];
        size_t n;
};

static void split_choices(const char *choices, struct split *ret)
{
        ret->n = 0;
        snprintf(ret->text, sizeof(ret->text), "%s", choices);
        for (char *rest = ret->text, *word; ret->n < CHOICES_MAX && (word = strsep(&rest, "|"));)
                ret->words[ret->n++] = word;
}

/* What follows the colon of a choice such as jsonl:FILE is the user's own. */
static bool matches_choice(const char *choice, const char *value)
{
        const char *colon = strchr(choice, ':');
        size_t n = colon ? (size_t)(colon - choice) + 1 : 0;
        return n > 0 ? strncmp(choice, value, n) == 0 && value[n] : strcmp(choice, value) == 0;
}

static bool is_choice(const char *choices, const char *value)
{
        struct split s;
        split_choices(choices, &s);
        for (size_t i = 0; i < s.n; i++) {
                if (matches_choice(s.words[i], value))
                        return true;
        }
        return false;
}

bool option_has_choice(enum option option, const char *command, const char *value)
{
        return is_choice(option_for(option, command).metavar, value);
}

/* A bound option, and how messages name it. */
struct naming {
        const char *where; /* what precedes the name in a message */
        const char *name;  /* as it was given */
        const char *command;
        struct option_info o;
};

static const char *choice_name(size_t i, const void *arg)
{
        const struct split *s = arg;
        return i < s->n ? s->words[i] : NULL;
}

static int bad_choice(const struct naming *n, const char *value, struct err *err)
{
        struct split s;
        split_choices(n->o.metavar, &s);
        const char *near = suggest_nearest(value, choice_name, &s);
        err_set(err, ERR_USAGE, "%s%s: unknown value '%s'", n->where, n->name, value);
        if (near)
                return err_hint(err, "did you mean '%s'? choose one of %s", near, n->o.metavar);
        return err_hint(err, "choose one of %s", n->o.metavar);
}

static int bad_value(const struct naming *n, const char *value, const char *wanted, struct err *err)
{
        err_set(err, ERR_USAGE, "%s%s: '%s' is not %s", n->where, n->name, value, wanted);
        return err_hint(err, "'assay help %s' shows what %s takes",
                        n->command ? n->command : "options", n->name);
}

static int out_of_range(const struct naming *n, const char *value, struct err *err)
{
        char limits[64] = "0 or more";
        const struct option_info *o = &n->o;
        const char *unit = o->type == OPTION_SECONDS ? " s" : "";
        if (o->most < 1e9)
                snprintf(limits, sizeof(limits), "from %.9g%s to %.9g%s", o->least, unit, o->most,
                         unit);
        err_set(err, ERR_USAGE, "%s%s: '%s' is out of range", n->where, n->name, value);
        return err_hint(err, "%s takes %s %s", n->name,
                        o->type == OPTION_SECONDS ? "a time" : "a number", limits);
}

static bool parse_bool(const char *value, bool *ret)
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

/* The number of a value by the option's type; 0 for texts. */
static int parse_value(const struct naming *n, const char *value, double *ret, struct err *err)
{
        bool flag;
        *ret = 0;
        switch (n->o.type) {
        case OPTION_FLAG:
                if (!parse_bool(value, &flag))
                        return bad_value(n, value, "yes or no", err);
                *ret = flag;
                return 0;
        case OPTION_SECONDS:
                if (!duration_parse(value, ret))
                        return bad_value(n, value, "a time such as 0.5, 100ms, 90min or 1d", err);
                return 0;
        case OPTION_NUMBER:
                if (!num_parse_all(value, strlen(value), ret))
                        return bad_value(n, value, "a number", err);
                return 0;
        case OPTION_COUNT:
                if (!num_parse_all(value, strlen(value), ret) || *ret != nearbyint(*ret))
                        return bad_value(n, value, "a whole number", err);
                return 0;
        case OPTION_CHOICE:
                return is_choice(n->o.metavar, value) ? 0 : bad_choice(n, value, err);
        case OPTION_TEXT:
        case OPTION_PATH:
        case OPTION_MAYBE:
        case OPTION_LIST:
                return 0;
        }
        return 0;
}

static bool is_number(enum option_type type)
{
        return type == OPTION_SECONDS || type == OPTION_NUMBER || type == OPTION_COUNT;
}

/* Checks a value as the configuration's command takes it. */
static int check_value(const struct config *c, enum option option, const char *where,
                       const char *name, const char *value, double *ret, struct err *err)
{
        const struct naming n = {where, name, c->command, option_for(option, c->command)};
        int r = parse_value(&n, value, ret, err);
        if (r == 0 && is_number(n.o.type) && !(*ret >= n.o.least && *ret <= n.o.most))
                r = out_of_range(&n, value, err);
        return r;
}

/* A list that is given again in one place gets longer. */
static char *joined_text(const struct setting *s, enum option option, const char *value,
                         enum origin origin)
{
        char *text = NULL;
        if (option_info(option)->type != OPTION_LIST || !s->text || s->origin != origin)
                return strdup(value);
        return asprintf(&text, "%s\n%s", s->text, value) < 0 ? NULL : text;
}

static int config_keep(struct setting *s, enum option option, const char *name, const char *value,
                       enum origin origin, struct err *err)
{
        char *text = joined_text(s, option, value, origin);
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        free(s->text);
        *s = (struct setting){.text = text, .name = name, .origin = origin};
        return 0;
}

/* Checks and keeps a value, unless one is present that wins. */
static int set_option(struct config *c, enum option option, const char *where, const char *name,
                      const char *value, enum origin origin, struct err *err)
{
        struct setting *s = &c->settings[option];
        double number;
        if (s->text && s->origin > origin)
                return 0;
        int r = check_value(c, option, where, name, value, &number, err);
        if (r == 0)
                r = config_keep(s, option, name, value, origin, err);
        if (r == 0)
                s->number = number;
        return r;
}

int config_put(struct config *c, enum option option, const char *value, struct err *err)
{
        return set_option(c, option, "--", option_info(option)->name, value, ORIGIN_FLAG, err);
}

static int not_taken(const struct config *c, const char *name, struct err *err)
{
        err_set(err, ERR_USAGE, "assay %s does not take --%s", c->command, name);
        return err_hint(err, "see 'assay %s --help'", c->command);
}

static int needs_value(const struct config *c, enum option option, struct err *err)
{
        const char *name = c->settings[option].name;
        err_set(err, ERR_USAGE, "--%s needs a value", name);
        return err_hint(err, "write --%s %s", name, option_for(option, c->command).metavar);
}

/* The next setting of the command line after a place, or OPT_COUNT_OF. */
static enum option next_given(const struct config *c, int after)
{
        enum option best = OPT_COUNT_OF;
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct setting *s = &c->settings[i];
                if (s->text && s->place > after &&
                    (best == OPT_COUNT_OF || s->place < c->settings[best].place))
                        best = i;
        }
        return best;
}

int config_bind(struct config *c, const char *command, struct err *err)
{
        int r = 0;
        c->command = command;
        for (enum option i = next_given(c, 0); r == 0 && i < OPT_COUNT_OF;
             i = next_given(c, c->settings[i].place)) {
                struct setting *s = &c->settings[i];
                bool own = option_applies(i, command) || option_applies(i, "-");
                if (!own && c->no_command && option_of_dashboard(s->name, strlen(s->name)))
                        continue;
                if (!own)
                        r = not_taken(c, s->name, err);
                else if (s->bare)
                        r = needs_value(c, i, err);
                else
                        r = check_value(c, i, "--", s->name, s->text, &s->number, err);
        }
        return r;
}

/* What a name stands for: an option, and the value that an alias sets. */
struct found {
        int option; /* -1: nothing */
        const char *name;
        const char *value; /* NULL: it is given with the name */
};

static struct found find_name(const char *name, size_t len)
{
        const struct alias_info *a;
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const char *own = option_info(i)->name;
                if (strlen(own) == len && memcmp(own, name, len) == 0)
                        return (struct found){(int)i, own, NULL};
        }
        for (size_t i = 0; (a = alias_at(i)); i++) {
                if (strlen(a->name) == len && memcmp(a->name, name, len) == 0)
                        return (struct found){(int)a->option, a->name, a->value};
        }
        return (struct found){-1, NULL, NULL};
}

/* The library's names when arg is set: "" for an option that the library does not have. */
static const char *known_name(size_t i, const void *arg)
{
        const bool *library = arg;
        if (i < OPT_COUNT_OF)
                return *library && !option_applies((enum option)i, NULL)
                           ? ""
                           : option_info((enum option)i)->name;
        const struct alias_info *a = alias_at(i - OPT_COUNT_OF);
        return a ? a->name : NULL;
}

/* where: what precedes the name, in the message and in the suggestion. */
static int unknown_option(const char *where, const char *name, size_t len, struct err *err)
{
        bool library = where[0] == '\0';
        char word[64];
        snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), name);
        err_set(err, ERR_USAGE, "unknown option '%s%s'", where, word);
        const char *near = suggest_nearest(word, known_name, &library);
        if (near)
                return err_hint(err, "did you mean '%s%s'?", where[0] == '-' ? "--" : where, near);
        return err_hint(err, "'assay help' and 'assay help options' list them all");
}

static bool is_own_flag(int option)
{
        return option >= 0 && option_applies((enum option)option, "-");
}

int config_set(struct config *c, const char *name, const char *value, struct err *err)
{
        struct found f = find_name(name, strlen(name));
        if (f.option < 0 || !option_applies((enum option)f.option, c->command))
                return unknown_option("", name, strlen(name), err);
        if (value && strlen(value) > CONFIG_VALUE_MAX)
                return err_set(err, ERR_USAGE, "%s: a value has at most %d bytes", name,
                               CONFIG_VALUE_MAX);
        if (f.value || value)
                return set_option(c, (enum option)f.option, "", f.name, f.value ? f.value : value,
                                  ORIGIN_FLAG, err);
        free(c->settings[f.option].text);
        c->settings[f.option] = (struct setting){0};
        return 0;
}

int config_copy(const struct config *c, struct config *ret)
{
        *ret = (struct config){.command = c->command};
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

static bool is_command(const char *word)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                if (option_applies(i, word))
                        return true;
        }
        return false;
}

static int unknown_section(const struct file_state *f, const char *section)
{
        err_set(f->err, ERR_USAGE, "%s: unknown section '[%s]'", f->path, section);
        return err_hint(f->err, "a section is named after a command: [top], [report]");
}

/* inih's callback: 0 stops. */
static int file_entry(void *user, const char *section, const char *name, const char *value)
{
        struct file_state *f = user;
        char where[300];
        snprintf(where, sizeof(where), "%s: ", f->path);
        struct found found = find_name(name, strlen(name));
        const char *command = f->config->command;
        if (section[0] && !is_command(section))
                f->result = unknown_section(f, section);
        else if (found.option < 0 || found.value || is_own_flag(found.option))
                f->result = unknown_option(where, name, strlen(name), f->err);
        else if (option_applies((enum option)found.option, command) &&
                 (!section[0] || (command && strcmp(section, command) == 0)))
                f->result = set_option(f->config, (enum option)found.option, where, found.name,
                                       value, ORIGIN_FILE, f->err);
        return f->result == 0;
}

/* A pipe of a shell's <(...) is read to its end; one that nobody writes to is empty. */
static FILE *open_config(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return NULL;
        fcntl(fd, F_SETFL, 0);
        FILE *file = fdopen(fd, "r");
        if (!file)
                close(fd);
        return file;
}

int config_read_file(struct config *c, const char *path, bool must_exist, struct err *err)
{
        FILE *file = open_config(path);
        /* The home may be another user's, after su or setpriv. */
        if (!file && (errno == ENOENT || errno == EACCES || errno == ENOTDIR) && !must_exist)
                return 0;
        if (!file) {
                err_set(err, ERR_USAGE, "cannot read the config file '%s': %s", path,
                        strerror(errno));
                return err_hint(err, "give another with --config FILE");
        }
        const char *why = trust_why_not(fileno(file));
        if (why) {
                fclose(file);
                err_set(err, -EPERM, "root does not read the config file '%s': %s", path, why);
                return err_hint(err, "chown root it and chmod go-w, or use --config FILE");
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

static int read_variable(struct config *c, enum option option, const char *name,
                         const char *(*get_env)(const char *name), struct err *err)
{
        char variable[64];
        if (!option_applies(option, c->command))
                return 0;
        variable_name(name, variable, sizeof(variable));
        const char *value = get_env(variable);
        if (!value || !*value)
                return 0;
        return set_option(c, option, "the environment's ", name, value, ORIGIN_ENVIRONMENT, err);
}

int config_read_environment(struct config *c, const char *(*get_env)(const char *name),
                            struct err *err)
{
        const struct alias_info *a;
        int r = 0;
        for (enum option i = 0; r == 0 && i < OPT_COUNT_OF; i++)
                r = read_variable(c, i, option_info(i)->name, get_env, err);
        for (size_t i = 0; r == 0 && (a = alias_at(i)); i++) {
                if (!a->value)
                        r = read_variable(c, a->option, a->name, get_env, err);
        }
        return r;
}

/* The words of a command line, and how far it was read. */
struct reader {
        int argc, at;
        char **argv;
        struct err *err;
};

/* Kept as it is given: config_bind checks it. */
static int keep_given(struct config *c, struct reader *in, enum option option, const char *name,
                      const char *value)
{
        int r = config_keep(&c->settings[option], option, name, value, ORIGIN_FLAG, in->err);
        if (r == 0)
                c->settings[option].place = in->at;
        return r;
}

/* Whether the command takes the option at all is reported first, and known to config_bind. */
static int keep_bare(struct config *c, struct reader *in, enum option option, const char *name)
{
        int r = keep_given(c, in, option, name, "");
        if (r == 0)
                c->settings[option].bare = true;
        return r;
}

/* A single letter; its value, when it takes one, is the rest of the word or the next word. */
static int read_short(struct config *c, struct reader *in)
{
        const char *word = in->argv[in->at];
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info o = option_for(i, NULL);
                if (!o.letter[0] || word[1] != o.letter[0])
                        continue;
                if (o.type == OPTION_FLAG && word[2] == '\0')
                        return keep_given(c, in, i, o.name, "");
                if (o.type == OPTION_FLAG)
                        break;
                if (word[2] != '\0')
                        return keep_given(c, in, i, o.name, word + 2);
                if (in->at + 1 < in->argc && strcmp(in->argv[in->at + 1], "--") != 0)
                        return keep_given(c, in, i, o.name, in->argv[++in->at]);
                return keep_bare(c, in, i, o.name);
        }
        return unknown_option("-", word + 1, strlen(word + 1), in->err);
}

/* The value after a flag, or NULL. It may look like a flag ("-1", "-"), unless it can be left out.
 */
static const char *next_value(struct reader *in, const struct option_info *o)
{
        const char *next = in->at + 1 < in->argc ? in->argv[in->at + 1] : "--";
        if (next[0] == '-' && (o->type == OPTION_MAYBE || strncmp(next, "--", 2) == 0))
                return o->type == OPTION_MAYBE ? o->fallback : NULL;
        return in->argv[++in->at];
}

/* A word that starts with "--". */
static int read_flag(struct config *c, struct reader *in)
{
        const char *name = in->argv[in->at] + 2, *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        struct found f = find_name(name, len);
        bool old = f.option < 0 && c->no_command && c->n_args == 0;
        const char *flag = old ? option_of_dashboard(name, len) : NULL;
        if (flag)
                f = find_name(flag, strlen(flag));
        if (f.option < 0)
                return unknown_option("--", name, len, in->err);
        const struct option_info *o = option_info((enum option)f.option);
        const char *value = f.value ? f.value : equals ? equals + 1 : NULL;
        if (!value)
                value = o->type == OPTION_FLAG ? "" : next_value(in, o);
        if (!value)
                return keep_bare(c, in, (enum option)f.option, f.name);
        return keep_given(c, in, (enum option)f.option, f.name, value);
}

static int read_word(struct config *c, struct reader *in)
{
        const char *word = in->argv[in->at];
        if (strncmp(word, "--", 2) == 0)
                return read_flag(c, in);
        if (word[0] == '-' && word[1] != '\0')
                return read_short(c, in);
        if (c->n_args == CONFIG_ARGS_MAX)
                return err_set(in->err, ERR_USAGE, "more than %d words", CONFIG_ARGS_MAX);
        c->places[c->n_args] = in->at;
        c->args[c->n_args++] = word;
        return 0;
}

int config_read_args(struct config *c, int argc, char **argv,
                     bool (*takes_command)(const char *first), struct err *err)
{
        struct reader in = {argc, 1, argv, err};
        int r = 0;
        for (; r == 0 && in.at < argc; in.at++) {
                bool ends = strcmp(argv[in.at], "--") == 0;
                bool begins = argv[in.at][0] != '-' && c->n_args == 1 && takes_command &&
                              takes_command(c->args[0]);
                if (ends || begins) {
                        c->rest = &argv[in.at + ends];
                        c->n_rest = (size_t)(argc - in.at - ends);
                        return 0;
                }
                r = read_word(c, &in);
        }
        return r;
}

bool config_is_set(const struct config *c, enum option option)
{
        return c->settings[option].text != NULL;
}

bool config_is_given(const struct config *c, enum option option)
{
        return config_is_set(c, option) && c->settings[option].origin == ORIGIN_FLAG;
}

int config_refuse(const struct config *c, const enum option *list, size_t n, const char *what,
                  const char *hint, struct err *err)
{
        for (size_t i = 0; i < n; i++) {
                if (!config_is_given(c, list[i]))
                        continue;
                err_set(err, ERR_USAGE, "--%s %s", config_name(c, list[i]), what);
                return err_hint(err, "%s", hint);
        }
        return 0;
}

bool config_flag(const struct config *c, enum option option)
{
        return c->settings[option].text && c->settings[option].number != 0;
}

const char *config_text(const struct config *c, enum option option)
{
        if (c->settings[option].text)
                return c->settings[option].text;
        const struct option_info o = option_for(option, c->command);
        return o.fallback[0] ? o.fallback : NULL;
}

double config_number(const struct config *c, enum option option)
{
        double v = 0;
        if (c->settings[option].text)
                return c->settings[option].number;
        const struct option_info o = option_for(option, c->command);
        num_parse_all(o.fallback, strlen(o.fallback), &v);
        return v;
}

const char *config_name(const struct config *c, enum option option)
{
        return c->settings[option].text ? c->settings[option].name : option_info(option)->name;
}

bool config_default_path(const char *(*get_env)(const char *name), char *buf, size_t size)
{
        const char *dir = get_env("XDG_CONFIG_HOME");
        if (dir && dir[0] == '/')
                return snprintf(buf, size, "%s/assay/config", dir) < (int)size;
        dir = get_env("HOME");
        return dir && dir[0] && snprintf(buf, size, "%s/.config/assay/config", dir) < (int)size;
}
