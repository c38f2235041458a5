/* assay mcp: the commands that read, for a client of the Model Context Protocol. */
#include "base/clock.h"
#include "base/lines.h"
#include "cmd/command.h"
#include "life/helper.h"
#include "mcp/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SELF "/proc/self/exe"
#define TOOL_PATIENCE_NS (60 * NS_PER_S)
#define TOOL_OUTPUT_MAX (1024 * 1024)

/* What would make a command write, set for others. */
static bool is_write_option(const char *variable)
{
        static const char *const names[] = {"ASSAY_OUTPUT=", "ASSAY_FORCE=", "ASSAY_RECOVER="};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strncmp(variable, names[i], strlen(names[i])) == 0)
                        return true;
        }
        return false;
}

/* A pipe or a device would be read forever; a name that is not one could be an address. */
static int check_paths(const struct tool_line *line, struct err *err)
{
        for (size_t i = 0; i < line->n; i++) {
                struct stat st;
                if (!line->is_path[i])
                        continue;
                if (stat(line->words[i], &st) < 0)
                        return err_set(err, -errno, "no such file: '%s'", line->words[i]);
                if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                        return err_set(err, -EINVAL, "'%s' is neither a file nor a folder",
                                       line->words[i]);
        }
        return 0;
}

static int print_reason(int code, struct err *err)
{
        if (code == -EFBIG) {
                err_set(err, code, "the answer has more than 1 MiB");
                return err_hint(err, "ask for text instead of JSON, or for one phase");
        }
        if (code == -ETIMEDOUT) {
                err_set(err, code, "no answer within 60 s");
                return err_hint(err, "ask for less: one file, or one phase");
        }
        return err_set(err, code, "cannot run the command: %s", strerror(-code));
}

/* In a process of its own, so that a hostile file or a driver that hangs ends that one alone. */
static int run_tool(void *arg UNUSED, const struct tool_line *line, struct mcp_result *ret,
                    struct err *err)
{
        const char *argv[TOOL_WORDS_MAX + 1] = {SELF};
        const struct helper_options how = {.hides = is_write_option};
        const struct helper_limits limits = {
            .patience_ns = TOOL_PATIENCE_NS, .most = TOOL_OUTPUT_MAX, .wake = -1};
        struct helper child = HELPER_NONE;
        int r = check_paths(line, err);
        if (r < 0)
                return r;
        memcpy(argv + 1, line->words, line->n * sizeof(*argv));
        r = helper_start(&child, argv, &how);
        if (r < 0)
                return print_reason(r, err);
        r = helper_collect(&child, &limits, &ret->text, &ret->said);
        if (r == 0)
                ret->failed = helper_finish(&child) != 0;
        helper_stop(&child);
        return r < 0 ? print_reason(r, err) : 0;
}

/* 0 at the end of the input, or a negative errno. */
static int answer_all(struct lines *in, const struct mcp_server *server)
{
        struct strbuf out = {0};
        uint64_t reported = 0;
        struct line line;
        int r;
        while ((r = lines_next(in, &line)) >= 0) {
                for (; reported < in->too_long; reported++)
                        mcp_answer_too_long(&out);
                if (r > 0)
                        mcp_answer(server, line.s, line.len, &out);
                int written = out.failed ? -ENOMEM : print_text(&out);
                if (r == 0 || written < 0) {
                        r = MIN(r, written);
                        break;
                }
        }
        strbuf_finish(&out);
        return r == -EPIPE ? 0 : r;
}

static int mcp_run(const struct config *config UNUSED)
{
        const struct mcp_server server = {.version = program_version, .run = run_tool};
        struct lines in;
        struct err err = {0};
        int fd = dup(STDIN_FILENO);
        int r = fd < 0 ? -errno : lines_init(&in, fd);
        if (r == 0) {
                r = answer_all(&in, &server);
                lines_finish(&in);
        } else if (fd >= 0) {
                close(fd);
        }
        if (r == 0)
                return EXIT_FINE;
        err_set(&err, r, "cannot go on: %s", strerror(-r));
        return complain(&err);
}

const struct command command_mcp = {
    .name = "mcp",
    .args = "",
    .summary = "answer an agent: the Model Context Protocol over stdin and stdout",
    .words = WORDS_NONE,
    .examples = {{"assay mcp", "what a client of the protocol starts"},
                 {"assay mcp < requests.jsonl", "one request a line, one answer a line"},
                 {"ssh node7 assay mcp", "the same on another host"}},
    .run = mcp_run,
};
