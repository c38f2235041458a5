/*
 * Writes completions and man pages from the tables, at build time.
 *
 *     gendoc bash|zsh|fish            a completion script
 *     gendoc man NAME < PAGE.in       a man page, its @OPTIONS@, @COMMANDS@, … filled in
 */
#include "base/strbuf.h"
#include "cmd/command.h"
#include "model/fleet.h"
#include "model/metric.h"
#include "present/stream/columns.h"
#include "present/tui/keys.h"

#include <stdio.h>
#include <string.h>

static bool has_value(const struct option_info *o)
{
        return o->type != OPTION_FLAG;
}

/* Of a choice that continues after a colon, what precedes it. */
static void put_choices(struct strbuf *out, const char *choices)
{
        for (const char *s = choices; *s; s += strcspn(s, "|")) {
                if (*s == '|')
                        s++, strbuf_putc(out, ' ');
                strbuf_put(out, s, strcspn(s, ":|"));
        }
}

/* The first command that takes an option, NULL for flags of the program itself. */
static const char *first_taker(enum option option)
{
        for (size_t i = 0; command_at(i); i++) {
                if (option_applies(option, command_at(i)->name))
                        return command_at(i)->name;
        }
        return NULL;
}

static bool alias_applies(const struct alias_info *a, const char *command)
{
        return option_applies(a->option, command);
}

/* Which values a command's options have: "once.--backend) …", by what bash knows of the line. */
static void bash_values(struct strbuf *out, const char *command)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info o = option_for(i, command);
                if (!option_applies(i, command) || !has_value(&o))
                        continue;
                strbuf_putf(out, "        %s.--%s", command, o.name);
                if (o.letter[0])
                        strbuf_putf(out, " | %s.-%s", command, o.letter);
                strbuf_puts(out, ") ");
                if (o.type == OPTION_CHOICE) {
                        strbuf_puts(out, "COMPREPLY=($(compgen -W \"");
                        put_choices(out, o.metavar);
                        strbuf_puts(out, "\" -- \"$cur\")); ");
                } else if (o.type == OPTION_PATH) {
                        strbuf_puts(out, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
                }
                strbuf_puts(out, "return ;;\n");
        }
}

static void bash_flags(struct strbuf *out, const char *command)
{
        const struct alias_info *a;
        strbuf_putf(out, "        %s) flags=\"--help", command);
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                if (option_applies(i, command))
                        strbuf_putf(out, " --%s", option_info(i)->name);
        }
        for (size_t i = 0; (a = alias_at(i)); i++) {
                if (alias_applies(a, command))
                        strbuf_putf(out, " --%s", a->name);
        }
        strbuf_puts(out, "\" ;;\n");
}

/* The words of 'assay fleet': its views, and what else it does. */
static void put_fleet_words(struct strbuf *out)
{
        for (enum fleet_view i = 0; i < FLEET_VIEW_COUNT; i++)
                strbuf_putf(out, "%s ", fleet_view_name(i));
        strbuf_puts(out, "job");
}

static void write_bash(struct strbuf *out)
{
        const struct command *c;
        strbuf_puts(
            out,
            "# Completion for assay, made from its tables of commands and options.\n_assay() {\n"
            "        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
            "        local command=top flags= word\n"
            "        for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
            "                case $word in\n                ");
        for (size_t i = 0; (c = command_at(i)); i++)
                strbuf_putf(out, "%s%s", i ? " | " : "", c->name);
        strbuf_puts(out, ") command=$word; break ;;\n                esac\n        done\n"
                         "        COMPREPLY=()\n        case $command.$prev in\n");
        for (size_t i = 0; (c = command_at(i)); i++)
                bash_values(out, c->name);
        strbuf_puts(
            out,
            "        export.export) COMPREPLY=($(compgen -W \"default all full\" -- \"$cur\")) ;;\n"
            "        fleet.fleet) COMPREPLY=($(compgen -W \"");
        put_fleet_words(out);
        strbuf_puts(out, "\" -- \"$cur\")) ;;\n"
                         "        esac\n        case $command in\n");
        for (size_t i = 0; (c = command_at(i)); i++)
                bash_flags(out, c->name);
        strbuf_puts(out, "        esac\n        if [[ $cur == -* ]]; then\n"
                         "                COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
                         "        elif [ \"$COMP_CWORD\" = 1 ] || [ \"$prev\" = help ]; then\n"
                         "                COMPREPLY=($(compgen -W \"");
        for (size_t i = 0; (c = command_at(i)); i++)
                strbuf_putf(out, "%s ", c->name);
        strbuf_puts(out, "\" -- \"$cur\"))\n        fi\n}\ncomplete -o default -F _assay assay\n");
}

/* Single quotes and brackets mean something to zsh and fish. */
static void put_plain(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '\'')
                        strbuf_puts(out, "'\\''");
                else if (*s == '[' || *s == ']' || *s == ':')
                        strbuf_putf(out, "\\%c", *s);
                else
                        strbuf_putc(out, *s);
        }
}

static void zsh_option(struct strbuf *out, const struct option_info *o)
{
        strbuf_putf(out, "  '--%s%s[", o->name, has_value(o) ? "=" : "");
        put_plain(out, o->help);
        strbuf_putc(out, ']');
        if (has_value(o)) {
                strbuf_puts(out, ":value:");
                if (o->type == OPTION_CHOICE) {
                        strbuf_putc(out, '(');
                        put_choices(out, o->metavar);
                        strbuf_putc(out, ')');
                } else if (o->type == OPTION_PATH) {
                        strbuf_puts(out, "_files");
                }
        }
        strbuf_puts(out, "' \\\n");
}

/* The options of one command, for _arguments. */
static void zsh_command(struct strbuf *out, const char *command)
{
        const struct alias_info *a;
        bool rest = strcmp(command, "*") == 0;
        strbuf_putf(out, "(%s) _arguments \\\n", command);
        command = rest ? command_at(0)->name : command;
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info o = option_for(i, command);
                if (option_applies(i, command))
                        zsh_option(out, &o);
        }
        for (size_t i = 0; (a = alias_at(i)); i++) {
                if (!alias_applies(a, command))
                        continue;
                strbuf_putf(out, "  '--%s[", a->name);
                put_plain(out, a->help);
                strbuf_puts(out, "]' \\\n");
        }
        strbuf_puts(out, "  '--help[show help]' ");
        if (strcmp(command, "fleet") == 0) {
                strbuf_puts(out, "'2:view:(");
                put_fleet_words(out);
                strbuf_puts(out, ")' ");
        }
        strbuf_puts(out, "'*:file:_files' ;;\n");
}

static void write_zsh(struct strbuf *out)
{
        const struct command *c;
        strbuf_puts(out, "#compdef assay\n# Completion for assay, made from its tables.\n"
                         "local -a commands=(\n");
        for (size_t i = 0; (c = command_at(i)); i++) {
                strbuf_putf(out, "  '%s:", c->name);
                put_plain(out, c->summary);
                strbuf_puts(out, "'\n");
        }
        strbuf_puts(out, ")\nif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                         "  _describe command commands\n  _files\n  return\nfi\n"
                         "case $words[2] in\n");
        for (size_t i = 1; (c = command_at(i)); i++)
                zsh_command(out, c->name);
        /* A line without a command is top's, the first one. */
        zsh_command(out, "*");
        strbuf_puts(out, "esac\n");
}

static void put_fish_text(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '\'' || *s == '\\')
                        strbuf_putc(out, '\\');
                strbuf_putc(out, *s);
        }
}

/* One option for the commands whose words for it are the same as this one's. */
static void fish_option(struct strbuf *out, enum option option, const char *command)
{
        const struct option_info o = option_for(option, command);
        strbuf_puts(out, "complete -c assay");
        if (command)
                strbuf_putf(out, " -n '__fish_seen_subcommand_from %s'", command);
        strbuf_putf(out, " -l %s", o.name);
        if (o.letter[0])
                strbuf_putf(out, " -s %s", o.letter);
        if (o.type == OPTION_CHOICE) {
                strbuf_puts(out, " -x -a '");
                put_choices(out, o.metavar);
                strbuf_putc(out, '\'');
        } else if (o.type == OPTION_PATH) {
                strbuf_puts(out, " -r");
        } else if (has_value(&o)) {
                strbuf_puts(out, " -x");
        }
        strbuf_puts(out, " -d '");
        put_fish_text(out, o.help);
        strbuf_puts(out, "'\n");
}

static void fish_aliases(struct strbuf *out, const char *command)
{
        const struct alias_info *a;
        for (size_t i = 0; (a = alias_at(i)); i++) {
                if (!alias_applies(a, command))
                        continue;
                strbuf_putf(out, "complete -c assay -n '__fish_seen_subcommand_from %s' -l %s -d '",
                            command, a->name);
                put_fish_text(out, a->help);
                strbuf_puts(out, "'\n");
        }
}

static void write_fish(struct strbuf *out)
{
        const struct command *c;
        strbuf_puts(out, "# Completion for assay, made from its tables of commands and options.\n");
        for (size_t i = 0; (c = command_at(i)); i++) {
                strbuf_putf(out, "complete -c assay -n __fish_use_subcommand -a %s -d '", c->name);
                put_fish_text(out, c->summary);
                strbuf_puts(out, "'\n");
        }
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                if (!first_taker(i))
                        fish_option(out, i, NULL);
        }
        for (size_t k = 0; (c = command_at(k)); k++) {
                for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                        if (option_applies(i, c->name))
                                fish_option(out, i, c->name);
                }
                fish_aliases(out, c->name);
        }
        strbuf_puts(out, "complete -c assay -n '__fish_seen_subcommand_from fleet' -f -a '");
        put_fleet_words(out);
        strbuf_puts(out, "'\n");
}

/* Text for troff: a minus sign that can be copied, no line that starts with a control character. */
static void put_troff(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '-')
                        strbuf_puts(out, "\\-");
                else if (*s == '\\')
                        strbuf_puts(out, "\\e");
                else
                        strbuf_putc(out, *s);
        }
}

static void man_option(struct strbuf *out, const struct option_info *o)
{
        strbuf_puts(out, ".TP\n");
        if (o->letter[0])
                strbuf_putf(out, "\\fB\\-%s\\fR, ", o->letter);
        strbuf_puts(out, "\\fB\\-\\-");
        put_troff(out, o->name);
        strbuf_puts(out, "\\fR");
        if (has_value(o)) {
                strbuf_puts(out, o->type == OPTION_MAYBE ? " [\\fI" : " \\fI");
                put_troff(out, o->metavar);
                strbuf_puts(out, o->type == OPTION_MAYBE ? "\\fR]" : "\\fR");
        }
        strbuf_putc(out, '\n');
        put_troff(out, o->help);
        if (o->fallback[0] && strcmp(o->fallback, "0") != 0) {
                strbuf_puts(out, " (default: ");
                put_troff(out, o->fallback);
                strbuf_putc(out, ')');
        }
        strbuf_puts(out, ".\n");
}

static void man_options(struct strbuf *out, const char *command)
{
        const struct alias_info *a;
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                const struct option_info o = option_for(i, command);
                if (!option_applies(i, command))
                        continue;
                man_option(out, &o);
                for (size_t k = 0; (a = alias_at(k)); k++) {
                        if (a->option != i)
                                continue;
                        strbuf_puts(out, ".TP\n\\fB\\-\\-");
                        put_troff(out, a->name);
                        strbuf_puts(out, "\\fR\n");
                        put_troff(out, a->help);
                        strbuf_puts(out, ".\n");
                }
        }
}

static void man_commands(struct strbuf *out)
{
        const struct command *c;
        for (size_t i = 0; (c = command_at(i)); i++) {
                strbuf_putf(out, ".TP\n\\fBassay %s\\fR \\fI", c->name);
                put_troff(out, c->args);
                strbuf_puts(out, "\\fR\n");
                put_troff(out, c->summary);
                strbuf_putf(out, "; see \\fBassay\\-%s\\fR(1).\n", c->name);
        }
}

static void man_columns(struct strbuf *out)
{
        const struct column *c;
        for (size_t i = 0; (c = column_at(i)); i++) {
                strbuf_putf(out, ".TP\n\\fB%s\\fR\n", c->name);
                put_troff(out, c->help);
                strbuf_puts(out, ".\n");
        }
}

static void man_key(struct strbuf *out, int key)
{
        char name[8];
        put_troff(out, key_label(key, name));
}

static void man_keys(struct strbuf *out)
{
        const struct key_row *k;
        for (size_t i = 0; (k = key_at((unsigned)i)); i++) {
                strbuf_puts(out, ".TP\n\\fB");
                man_key(out, k->key);
                if (k->other && k->other != '\n') {
                        strbuf_puts(out, "\\fR, \\fB");
                        man_key(out, k->other);
                }
                strbuf_puts(out, "\\fR\n");
                put_troff(out, k->help);
                strbuf_puts(out, ".\n");
        }
}

static void man_metrics(struct strbuf *out)
{
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                const struct metric_info *i = metric_info(m);
                strbuf_putf(out, ".TP\n\\fB%s\\fR (%s)\n", i->name, unit_name(i->unit));
                put_troff(out, i->help);
                strbuf_puts(out, ".\n");
        }
}

/* Copies the page, replacing lines that are a marker. */
static void write_man_page(const char *name, struct strbuf *out)
{
        char line[4096];
        while (fgets(line, sizeof(line), stdin)) {
                if (strcmp(line, "@OPTIONS@\n") == 0)
                        man_options(out, name);
                else if (strcmp(line, "@PROGRAM_OPTIONS@\n") == 0)
                        man_options(out, "-");
                else if (strcmp(line, "@COMMANDS@\n") == 0)
                        man_commands(out);
                else if (strcmp(line, "@COLUMNS@\n") == 0)
                        man_columns(out);
                else if (strcmp(line, "@KEYS@\n") == 0)
                        man_keys(out);
                else if (strcmp(line, "@METRICS@\n") == 0)
                        man_metrics(out);
                else
                        strbuf_puts(out, line);
        }
}

int main(int argc, char **argv)
{
        struct strbuf out = {0};
        if (argc == 2 && strcmp(argv[1], "bash") == 0)
                write_bash(&out);
        else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
                write_zsh(&out);
        else if (argc == 2 && strcmp(argv[1], "fish") == 0)
                write_fish(&out);
        else if (argc == 3 && strcmp(argv[1], "man") == 0)
                write_man_page(argv[2], &out);
        else
                return fprintf(stderr, "usage: gendoc bash|zsh|fish|man NAME\n"), 2;
        int r = strbuf_flush(&out, STDOUT_FILENO);
        strbuf_finish(&out);
        return r < 0;
}
