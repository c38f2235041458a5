/* assay help: written from the tables, so it is never out of date. */
#include "base/text.h"
#include "cmd/command.h"

#include <string.h>

#define WIDTH 80
#define INDENT 26

/* "  -o, --output FILE" and what it does, beside it or below. */
static void put_row(struct strbuf *out, const char *left, const char *text)
{
        strbuf_puts(out, left);
        size_t at = strlen(left);
        if (at + 2 > INDENT) {
                strbuf_putc(out, '\n');
                at = 0;
        }
        strbuf_fill(out, ' ', INDENT - at);
        text_put_wrapped(out, text, INDENT, WIDTH);
}

/* "csv, jsonl": a list that can be wrapped. */
static int list_choices(const char *metavar, char *ret, size_t size)
{
        size_t n = 0;
        for (const char *c = metavar; *c && n + 3 < size; c++) {
                ret[n++] = *c == '|' ? ',' : *c;
                if (*c == '|')
                        ret[n++] = ' ';
        }
        ret[n] = '\0';
        return (int)n;
}

static void put_option(struct strbuf *out, const struct option_info *o, const char *also)
{
        char left[WIDTH], text[512];
        int n = o->letter[0] ? snprintf(left, sizeof(left), "  -%s, --%s", o->letter, o->name)
                             : snprintf(left, sizeof(left), "  --%s", o->name);
        bool long_choice = o->type == OPTION_CHOICE && strlen(o->metavar) > 20;
        const char *metavar = long_choice ? "CHOICE" : o->metavar;
        if (o->type != OPTION_FLAG)
                snprintf(left + n, sizeof(left) - (size_t)n,
                         o->type == OPTION_MAYBE ? " [%s]" : " %s", metavar);
        n = snprintf(text, sizeof(text), "%s", o->help);
        if (long_choice) {
                n += snprintf(text + n, sizeof(text) - (size_t)n, ": ");
                n += list_choices(o->metavar, text + n, sizeof(text) - (size_t)n);
        }
        if (o->fallback[0] && o->type != OPTION_FLAG && strcmp(o->fallback, "0") != 0)
                n += snprintf(text + n, sizeof(text) - (size_t)n, " (%s)", o->fallback);
        if (also[0])
                snprintf(text + n, sizeof(text) - (size_t)n, " [%s]", also);
        put_row(out, left, text);
}

static void put_aliases(struct strbuf *out, enum option option)
{
        const struct alias_info *a;
        char left[WIDTH];
        for (size_t i = 0; (a = alias_at(i)); i++) {
                if (a->option != option)
                        continue;
                snprintf(left, sizeof(left), "  --%s", a->name);
                put_row(out, left, a->help);
        }
}

/* Those that a command takes; false when it takes none. */
static bool put_options(struct strbuf *out, const char *command, bool deep)
{
        size_t before = out->len;
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info o = option_for(i, command);
                if (option_applies(i, command) && o.deep == deep)
                        put_option(out, &o, "");
        }
        return out->len > before;
}

static bool takes_deep(const char *command)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                if (option_applies(i, command) && option_info(i)->deep)
                        return true;
        }
        return false;
}

static void write_overview(struct strbuf *out)
{
        const struct command *c;
        strbuf_puts(out, "assay shows what your GPUs are really doing and what limits them.\n\n"
                         "  assay                         watch this machine\n"
                         "  assay run python3 train.py    record a run\n"
                         "  assay report run.assay        what happened, and what to change\n\n"
                         "usage: assay [COMMAND] [options]\n\ncommands\n");
        for (size_t i = 0; (c = command_at(i)); i++)
                strbuf_putf(out, "  %-10s %s\n", c->name, c->summary);
        strbuf_puts(out, "\noptions of the program\n");
        put_options(out, "-", false);
        strbuf_puts(out, "\n'assay help COMMAND' shows a command's options, 'assay help options' "
                         "the rarer\nones. Options can also stand in the config file (poll = 0.5) "
                         "or in the\nenvironment (ASSAY_POLL=0.5); flags win.\n");
}

static void write_examples(const struct command *c, struct strbuf *out)
{
        size_t width = 0;
        for (size_t i = 0; i < EXAMPLES && c->examples[i].line; i++)
                width = MAX(width, strlen(c->examples[i].line));
        for (size_t i = 0; i < EXAMPLES && c->examples[i].line; i++)
                strbuf_putf(out, "  %-*s   %s\n", (int)width, c->examples[i].line,
                            c->examples[i].what);
}

/* Help of one command, or with NULL of all. */
static void help_write(const struct command *c, struct strbuf *out)
{
        if (!c) {
                write_overview(out);
                return;
        }
        strbuf_putf(out, "assay %s: %s\n\n", c->name, c->summary);
        write_examples(c, out);
        struct strbuf options = {0};
        bool any = put_options(&options, c->name, false);
        strbuf_putf(out, "\nusage: assay %s%s%s%s\n", c->name, any ? " [options]" : "",
                    c->args[0] ? " " : "", c->args);
        if (any)
                strbuf_putf(out, "\n%s", strbuf_str(&options));
        if (takes_deep(c->name))
                strbuf_puts(out, "\n'assay help options' lists rarer options.\n");
        strbuf_finish(&options);
}

/* The options that help of a command leaves out, and the commands that take them. */
static void help_write_options(struct strbuf *out)
{
        strbuf_puts(out, "Options that few people need, and the commands that take them.\n\n");
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info *o = option_info(i);
                if (!o->deep)
                        continue;
                char commands[128];
                snprintf(commands, sizeof(commands), "%s", o->commands);
                char *library = strstr(commands, " library");
                if (library)
                        *library = '\0';
                put_option(out, o, commands);
        }
        strbuf_puts(out, "\nOther names, and short forms.\n\n");
        for (enum option i = 0; i < OPT_COUNT_OF; i++)
                put_aliases(out, i);
        strbuf_puts(
            out, "\nA variable ASSAY_NAME or a line 'name = value' in the config file does what\n"
                 "--name does, for the commands that take it. A section [COMMAND] in the file\n"
                 "is for that command alone. Flags win over variables, variables over the\n"
                 "file.\n");
}

static int no_such_topic(const char *word)
{
        struct err err;
        const struct command *near = command_near(word);
        err_set(&err, ERR_USAGE, "no help on '%s': it is not a command", word);
        if (near)
                err_hint(&err, "did you mean 'assay help %s'?", near->name);
        else
                err_hint(&err, "'assay help' lists the commands");
        return complain(&err);
}

/* 'assay help once', 'assay once --help' and 'assay once run.assay --help' are the same. */
static int help_run(const struct config *config)
{
        struct strbuf out = {0};
        size_t n = config->n_args;
        const char *topic = n == 0                                          ? "help"
                            : strcmp(config->args[0], "help") == 0 && n > 1 ? config->args[1]
                                                                            : config->args[0];
        const struct command *c = command_find(topic);
        if (strcmp(topic, "options") == 0)
                help_write_options(&out);
        else if (!c)
                return no_such_topic(topic);
        else
                help_write(strcmp(topic, "help") == 0 ? NULL : c, &out);
        print_text(&out);
        strbuf_finish(&out);
        return EXIT_FINE;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND|options]",
    .summary = "show help, of everything or of one command",
    .words = WORDS_OWN,
    .examples = {{"assay help", "all commands"},
                 {"assay help run", "one command: examples and options"},
                 {"assay help options", "options that few people need"}},
    .run = help_run,
};
