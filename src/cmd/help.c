/* assay help: written from the tables, so it is never out of date. */
#include "base/strbuf.h"
#include "base/suggest.h"
#include "cmd/command.h"

#include <string.h>

static void put_option(struct strbuf *out, const char *name, const struct option_info *o)
{
        char left[80];
        if (o->type == OPTION_FLAG)
                snprintf(left, sizeof(left), "--%s", name);
        else if (o->type == OPTION_MAYBE)
                snprintf(left, sizeof(left), "--%s [%s]", name, o->metavar);
        else
                snprintf(left, sizeof(left), "--%s %s", name, o->metavar);
        strbuf_putf(out, strlen(left) > 28 ? "  %s\n%31s" : "  %-28s %s", left, "");
        if (strlen(left) <= 28)
                out->len--;
        strbuf_putf(out, "%s%s", strlen(left) > 28 ? "" : " ", o->help);
        if (o->fallback[0] && o->type != OPTION_FLAG && strcmp(o->fallback, "0") != 0)
                strbuf_putf(out, " (%s)", o->fallback);
        strbuf_putc(out, '\n');
}

/* Options of a command's own, or with a group those of all commands in it. */
static void put_options(struct strbuf *out, const char *command, const char *group)
{
        for (enum option i = 0; i < OPT_COUNT_OF; i++) {
                bool own = option_applies(i, command, NULL);
                if (group ? own || !option_applies(i, command, group) : !own)
                        continue;
                put_option(out, option_info(i)->name, option_info(i));
                const struct alias_info *a;
                for (size_t k = 0; (a = alias_at(k)); k++) {
                        if (a->option == i)
                                strbuf_putf(out, "  --%-26s %s\n", a->name, a->help);
                }
        }
}

static void overview(struct strbuf *out)
{
        strbuf_puts(out, "assay tells what your GPUs are really doing.\n\n"
                         "usage: assay COMMAND [options]\n\ncommands\n");
        const struct command *c;
        for (size_t i = 0; (c = command_at(i)); i++)
                strbuf_putf(out, "  %-10s %s\n", c->name, c->summary);
        strbuf_puts(out, "\nwhere the values come from, and which\n");
        put_options(out, "", "*");
        strbuf_puts(out, "\nthe program itself\n");
        put_options(out, "-", NULL);
        strbuf_puts(out,
                    "\n'assay help COMMAND' tells the rest. Any option can stand in the config "
                    "file\n(poll = 0.5) or in the environment (ASSAY_POLL=0.5); flags win.\n");
}

static const char *command_name(size_t i, const void *arg UNUSED)
{
        return command_at(i) ? command_at(i)->name : NULL;
}

static int no_such_command(const char *name)
{
        struct err err;
        err_set(&err, ERR_USAGE, "there is no command '%s'", name);
        const char *near = suggest_nearest(name, command_name, NULL);
        if (near)
                err_hint(&err, "did you mean '%s'? 'assay help' lists them", near);
        else
                err_hint(&err, "'assay help' lists them");
        return complain(&err);
}

static int run(const struct config *config)
{
        struct strbuf out = {0};
        const char *name = config->n_args > 0 ? config->args[config->n_args - 1] : "help";
        const struct command *c = command_find(name);
        if (!c)
                return no_such_command(name);
        if (strcmp(name, "help") == 0) {
                overview(&out);
        } else {
                strbuf_putf(&out, "%s: %s\n\nusage: assay %s [options]%s%s\n\n", c->name,
                            c->summary, c->name, c->args[0] ? " " : "", c->args);
                put_options(&out, c->name, NULL);
                if (c->group) {
                        strbuf_puts(&out, strcmp(c->group, "file") == 0
                                              ? "\nwhich values, and what they mean\n"
                                              : "\nwhere the values come from, and which\n");
                        put_options(&out, c->name, c->group);
                }
        }
        strbuf_flush(&out, STDOUT_FILENO);
        strbuf_finish(&out);
        return EXIT_FINE;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "show this, or all about one command",
    .run = run,
};
