/* assay export stacks: those of a recording, for flamegraph.pl and speedscope. */
#include "cmd/export_stacks.h"

#include "app/output.h"
#include "app/stack_export.h"
#include "app/trace_export.h"

#include <errno.h>
#include <string.h>

bool export_is_of_stacks(const struct config *config)
{
        return config->n_args > 1 && strcmp(config->args[1], "stacks") == 0;
}

bool export_is_trace(const struct config *config)
{
        return config->n_args > 1 && strcmp(config->args[1], "trace") == 0;
}

/* Refuses what is given beside the options that are taken. */
static int refuse_others(const struct config *config, const enum option *taken, size_t n,
                         const char *why, struct err *err)
{
        for (enum option o = 0; o < OPT_COUNT_OF; o++) {
                bool takes = !option_applies(o, config->command);
                for (size_t i = 0; i < n; i++)
                        takes |= taken[i] == o;
                if (!takes && config_refuse(config, &o, 1, why, "leave it out", err) < 0)
                        return ERR_USAGE;
        }
        return 0;
}

static const char *choose_file(const struct config *config, struct err *err)
{
        const char *path = config->n_args > 2 ? config->args[2] : config_text(config, OPT_SOURCE);
        if (config->n_args <= 3 && path)
                return path;
        if (path)
                err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[3]);
        else
                err_set(err, ERR_USAGE, "no recording given");
        err_hint(err, "write for example: assay export %s run.assay", config->args[1]);
        return NULL;
}

static const char *choose_stack_format(const struct config *config, struct err *err)
{
        const char *format = config_text(config, OPT_FORMAT);
        if (!config_is_given(config, OPT_FORMAT))
                return "folded";
        if (strcmp(format, "folded") == 0 || strcmp(format, "speedscope") == 0)
                return format;
        err_set(err, ERR_USAGE, "stacks cannot be written as %s", format);
        err_hint(err, "choose folded or speedscope");
        return NULL;
}

/* Writes what was made, and frees it. */
static int print_export(int r, struct strbuf *out, struct strbuf *notices, struct err *err)
{
        print_notices(notices);
        if (r == 0) {
                int written = print_text(out);
                if (written < 0 && written != -EPIPE)
                        r = err_set(err, written, "cannot write: %s", strerror(-written));
        }
        strbuf_finish(out);
        strbuf_finish(notices);
        return r;
}

int export_stacks(const struct config *config, struct err *err)
{
        const struct stack_choice choice = {.at_s = config_number(config, OPT_AT),
                                            .seconds = (uint64_t)config_number(config, OPT_COUNT),
                                            .pid = (int32_t)config_number(config, OPT_PID)};
        static const enum option taken[] = {OPT_FORMAT, OPT_AT, OPT_COUNT, OPT_PID, OPT_SOURCE};
        struct strbuf out = {0}, notices = {0};
        int r = refuse_others(config, taken, ARRAY_LEN(taken), "has no use for stacks", err);
        const char *path = r == 0 ? choose_file(config, err) : NULL;
        const char *format = path ? choose_stack_format(config, err) : NULL;
        if (!format)
                return ERR_USAGE;
        r = output_check_fd(STDOUT_FILENO, "the standard output", path, err);
        if (r == 0)
                r = stack_export(path, &choice, format, &out, &notices, err);
        return print_export(r, &out, &notices, err);
}

int export_trace(const struct config *config, struct err *err)
{
        static const enum option taken[] = {OPT_SOURCE, OPT_GPUS, OPT_FLOPS};
        struct strbuf out = {0}, notices = {0};
        int r = refuse_others(config, taken, ARRAY_LEN(taken), "has no use for a trace", err);
        const char *path = r == 0 ? choose_file(config, err) : NULL;
        if (!path)
                return ERR_USAGE;
        r = output_check_fd(STDOUT_FILENO, "the standard output", path, err);
        if (r == 0)
                r = trace_export(config, path, &out, &notices, err);
        return print_export(r, &out, &notices, err);
}
