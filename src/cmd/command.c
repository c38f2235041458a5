#include "cmd/command.h"

#include "app/input.h"
#include "app/output.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/suggest.h"
#include "base/text.h"
#include "cmd/host.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define COMMAND(name) extern const struct command command_##name;
#include "cmd/commands.def"
#undef COMMAND

static const struct command *const table[] = {
#define COMMAND(name) &command_##name,
#include "cmd/commands.def"
#undef COMMAND
    NULL,
};

const struct command *command_at(size_t i)
{
        return i < ARRAY_LEN(table) ? table[i] : NULL;
}

const struct command *command_find(const char *name)
{
        for (size_t i = 0; table[i]; i++) {
                if (strcmp(table[i]->name, name) == 0)
                        return table[i];
        }
        return NULL;
}

static const char *name_at(size_t i, const void *arg UNUSED)
{
        return table[i] ? table[i]->name : NULL;
}

const struct command *command_near(const char *word)
{
        const char *near = suggest_nearest(word, name_at, NULL);
        return near ? command_find(near) : NULL;
}

/* Names of files and phases are other people's: they do nothing to the terminal. Nothing is
 * allocated, so that the end of memory can be reported too. */
static void print_message(const char *before, const char *text)
{
        char line[4200];
        snprintf(line, sizeof(line), "%s%s", before, text);
        text_clean(line);
        size_t len = strlen(line);
        if (len > sizeof(line) - 2)
                len = sizeof(line) - 2;
        line[len] = '\n';
        line[len + 1] = '\0';
        fputs(line, stderr);
}

int complain(const struct err *err)
{
        print_message("assay: ", err->msg);
        if (err->hint[0])
                print_message("       ", err->hint);
        return exit_status(err);
}

int exit_status(const struct err *err)
{
        switch (err->code) {
        case ERR_USAGE:
                return EXIT_USAGE;
        case ERR_NO_SOURCE:
                return EXIT_NO_SOURCE;
        default:
                return EXIT_FAILED;
        }
}

int check_out(const struct config *config, const char *input, struct err *err)
{
        const char *path = config_text(config, OPT_OUTPUT);
        bool named = path && strcmp(path, "-") != 0;
        return named ? output_check(path, input, config_flag(config, OPT_FORCE), err)
                     : output_check_fd(STDOUT_FILENO, "the standard output", input, err);
}

const char *out_format(const struct config *config)
{
        static const char *const ends[][2] = {
            {".html", "html"}, {".htm", "html"},    {".json", "json"}, {".jsonl", "jsonl"},
            {".csv", "csv"},   {".md", "markdown"}, {".xml", "junit"}};
        const char *format = config_text(config, OPT_FORMAT);
        const char *path = config_text(config, OPT_OUTPUT);
        if (!path || config->settings[OPT_FORMAT].origin != ORIGIN_DEFAULT)
                return format;
        const char *end = strrchr(path, '.');
        for (size_t i = 0; end && i < ARRAY_LEN(ends); i++) {
                if (strcmp(end, ends[i][0]) == 0 &&
                    option_has_choice(OPT_FORMAT, config->command, ends[i][1]))
                        return ends[i][1];
        }
        return format;
}

int write_bytes(const struct config *config, const char *input, struct strbuf *out, struct err *err)
{
        const char *path = config_text(config, OPT_OUTPUT);
        if (path && strcmp(path, "-") != 0)
                return output_write(path, input, config_flag(config, OPT_FORCE), out, err);
        int r = output_check_fd(STDOUT_FILENO, "the standard output", input, err);
        if (r < 0)
                return r;
        r = strbuf_flush(out, STDOUT_FILENO);
        if (r < 0 && r != -EPIPE)
                return err_set(err, r, "cannot write: %s", strerror(-r));
        return 0;
}

int write_out(const struct config *config, const char *input, struct strbuf *out, struct err *err)
{
        text_clean_lines(out, 0);
        return write_bytes(config, input, out, err);
}

int print_text(struct strbuf *out)
{
        text_clean_lines(out, 0);
        return strbuf_flush(out, STDOUT_FILENO);
}

int one_file(const struct config *config, const char *example, struct err *err)
{
        if (config->n_args == 2)
                return 0;
        if (config->n_args < 2)
                err_set(err, ERR_USAGE, "no file given");
        else
                err_set(err, ERR_USAGE, "unexpected argument '%s': one file at a time",
                        config->args[2]);
        return err_hint(err, "write for example: %s", example);
}

void notice(const char *fmt, ...)
{
        char text[4096];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        print_message("assay: ", text);
}

/* What setup has to report is reported here: the library returns it. */
static void print_notice(const char text[SETUP_NOTICE_MAX])
{
        if (text[0])
                notice("%s", text);
}

/* Many nodes are many pipes and connections. */
static void make_room(const struct config *config, const char *location)
{
        if (setup_reads_nodes(config) || (location && input_is_list(location)))
                raise_descriptor_limit();
}

int prepare_pipeline(const struct config *config, bool margins, struct pipeline_config *ret,
                     struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        make_room(config, config_text(config, OPT_SOURCE));
        int r = setup_pipeline(config, config_text(config, OPT_SOURCE), margins,
                               config_number(config, OPT_SPEED), ret, text, err);
        print_notice(text);
        return r;
}

int open_pipeline_waiting(const struct config *config, struct pipeline **ret, struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        struct source_trouble trouble;
        make_room(config, config_text(config, OPT_SOURCE));
        int r = setup_open_waiting(config, config_text(config, OPT_SOURCE),
                                   config_number(config, OPT_SPEED), ret, text, err);
        print_notice(text);
        if (r < 0)
                return r;
        pipeline_trouble(*ret, &trouble);
        if (trouble.waiting)
                notice("%s", trouble.notice);
        return 0;
}

int open_pipeline_at(const struct config *config, const char *location, bool margins, double speed,
                     struct pipeline **ret, struct err *err)
{
        char text[SETUP_NOTICE_MAX];
        make_room(config, location);
        int r = setup_open(config, location, margins, speed, ret, text, err);
        print_notice(text);
        return r;
}

int open_pipeline(const struct config *config, bool margins, struct pipeline **ret, struct err *err)
{
        return open_pipeline_at(config, config_text(config, OPT_SOURCE), margins,
                                config_number(config, OPT_SPEED), ret, err);
}

void print_notices(struct strbuf *notices)
{
        for (const char *line = strbuf_str(notices), *end; (end = strchr(line, '\n'));
             line = end + 1)
                notice("%.*s", (int)(end - line), line);
}

void report_trouble(const struct pipeline *p)
{
        struct strbuf notices = {0};
        setup_trouble(p, &notices);
        print_notices(&notices);
        strbuf_finish(&notices);
}

static void report_node(const struct node *node, uint8_t *reported)
{
        if (node->state == *reported || node->state == NODE_CONNECTING)
                return;
        if (node->state == NODE_OK && *reported > NODE_OK)
                notice("%s answers again", node->name);
        else if (node->state != NODE_OK)
                notice("%s: %s%s%s", node->name, node->words, node->hint[0] ? "; " : "",
                       node->hint);
        *reported = (uint8_t)node->state;
}

void report_nodes(struct node_reporter *t, const struct frame *frame)
{
        if (!LIST_EXTEND(t->reported, t->n, frame->n_nodes))
                return;
        for (size_t i = 0; i < frame->n_nodes; i++)
                report_node(&frame->nodes[i], &t->reported[i]);
}

void report_nodes_end(struct node_reporter *t)
{
        free(t->reported);
        *t = (struct node_reporter){0};
}

int seek_start(const struct config *config, struct pipeline *p, const struct frame **ret,
               struct err *err)
{
        int64_t skip = clock_from_seconds(config_number(config, OPT_AT)), first = 0;
        bool started = false;
        int r;
        while ((r = pipeline_next(p, ret, err)) > 0) {
                if (!started)
                        first = (*ret)->wall_ns;
                started = true;
                if ((*ret)->wall_ns - first >= skip)
                        return 1;
        }
        if (r == 0 && started) {
                err_set(err, ERR_USAGE, "--at %g is beyond the end of the capture",
                        config_number(config, OPT_AT));
                return err_hint(err, "it is %.1f s long",
                                clock_to_seconds((*ret)->wall_ns - first));
        }
        return r;
}
