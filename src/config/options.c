/* The table of options, and what differs by command. */
#include "config/config.h"

#include <float.h>
#include <string.h>

static const struct option_info options[OPT_COUNT_OF] = {
#define OPTION(id, name, type, metavar, fallback, commands, help)                                  \
        [OPT_##id] = {name, OPTION_##type, metavar, fallback, commands, help, "", 0, 0, false},
#define DEEP(id, name, type, metavar, fallback, commands, help)                                    \
        [OPT_##id] = {name, OPTION_##type, metavar, fallback, commands, help, "", 0, 0, true},
#define FOR(...)
#define RANGE(...)
#define LETTER(...)
#include "config/options.def"
};

static const struct variant {
        enum option option;
        const char *commands;
        const char *metavar, *fallback, *help; /* NULL: the row's own */
} variants[] = {
#define OPTION(...)
#define DEEP(...)
#define FOR(id, commands, metavar, fallback, help) {OPT_##id, commands, metavar, fallback, help},
#define RANGE(...)
#define LETTER(...)
#include "config/options.def"
};

static const struct {
        enum option option;
        double least, most;
} ranges[] = {
#define OPTION(...)
#define DEEP(...)
#define FOR(...)
#define RANGE(id, least, most) {OPT_##id, least, most},
#define LETTER(...)
#include "config/options.def"
};

static const struct {
        enum option option;
        const char *letter;
} letters[] = {
#define OPTION(...)
#define DEEP(...)
#define FOR(...)
#define RANGE(...)
#define LETTER(id, letter) {OPT_##id, letter},
#include "config/options.def"
};

static const struct alias_info aliases[] = {
#define ALIAS(name, option, value, help) {name, OPT_##option, value, help},
#include "config/aliases.def"
#undef ALIAS
};

static const char *const dashboard_flags[] = {
#define FLAG(name) name,
#include "config/dashboard.def"
#undef FLAG
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
        for (const char *s = list + strspn(list, " "); *s; s += strspn(s, " ")) {
                size_t len = strcspn(s, " ");
                if (len == n && memcmp(s, word, n) == 0)
                        return true;
                s += len;
        }
        return false;
}

static const char *command_or_library(const char *command)
{
        return command ? command : "library";
}

bool option_applies(enum option option, const char *command)
{
        return has_word(options[option].commands, command_or_library(command));
}

static void apply_variant(const struct variant *v, struct option_info *o)
{
        o->metavar = v->metavar ? v->metavar : o->metavar;
        o->fallback = v->fallback ? v->fallback : o->fallback;
        o->help = v->help ? v->help : o->help;
}

/* A number that has no range of its own is 0 or more, and counts are what programs count. */
static void find_range(enum option option, struct option_info *o)
{
        o->most = o->type == OPTION_COUNT ? 1e9 : DBL_MAX;
        for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
                if (ranges[i].option == option) {
                        o->least = ranges[i].least;
                        o->most = ranges[i].most;
                }
        }
}

struct option_info option_for(enum option option, const char *command)
{
        struct option_info o = options[option];
        find_range(option, &o);
        for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
                if (variants[i].option == option &&
                    has_word(variants[i].commands, command_or_library(command)))
                        apply_variant(&variants[i], &o);
        }
        for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
                if (letters[i].option == option)
                        o.letter = letters[i].letter;
        }
        return o;
}

const char *option_of_dashboard(const char *name, size_t len)
{
        const char *found = NULL;
        for (size_t i = 0; i < ARRAY_LEN(dashboard_flags); i++) {
                const char *flag = dashboard_flags[i];
                if (strncmp(flag, name, len) != 0)
                        continue;
                if (strlen(flag) == len)
                        return flag;
                if (found || len == 0)
                        return NULL;
                found = flag;
        }
        return found;
}
