#include "app/targets.h"

#include "base/clock.h"
#include "base/text.h"
#include "formats/remote/remote.h"
#include "formats/targets/targets.h"
#include "life/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOOL_NS (30 * NS_PER_S)
#define CHUNK 65536

/* --- bytes -------------------------------------------------------------------------------------
 */

/* Reads to the end, bounded in size. 0 or a negative errno. */
static int read_file_text(int fd, struct strbuf *out)
{
        while (out->len <= TARGETS_TEXT_MAX) {
                if (!strbuf_reserve(out, CHUNK))
                        return -ENOMEM;
                ssize_t n = read(fd, out->s + out->len, CHUNK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                out->len += (size_t)n;
        }
        return -EFBIG;
}

/* --- programs ----------------------------------------------------------------------------------
 */

static int tool_failed(const char *name, int code, struct strbuf *said, const char *hint,
                       struct err *err)
{
        char why[160];
        const char *words = strbuf_str(said);
        snprintf(why, sizeof(why), "%.*s", (int)MIN(strcspn(words, "\r\n"), sizeof(why) - 1),
                 words);
        text_clean(why);
        err_set(err, ERR_NO_SOURCE, "'%s' %s%s%s", name,
                code == -ETIMEDOUT ? "does not end within 30 s"
                : code == -EFBIG   ? "writes more than 64 MiB"
                : code < 0         ? strerror(-code)
                                   : "failed",
                why[0] ? ": " : "", why);
        return err_hint(err, "%s", hint);
}

/* What a program writes. argv[0] is its name, which is looked up as a shell would. */
static int run_tool(const char *argv[], const char *hint, struct strbuf *out, struct err *err)
{
        static const struct helper_limits limits = {TOOL_NS, TARGETS_TEXT_MAX, -1};
        const char *name = argv[0];
        char program[PATH_MAX];
        struct helper c = HELPER_NONE;
        struct strbuf said = {0};
        bool found = helper_find(name, helper_path(), program, sizeof(program));
        argv[0] = program;
        int r = found ? helper_start(&c, argv, &(struct helper_options){0}) : -ENOENT;
        if (r < 0) {
                err_set(err, ERR_NO_SOURCE, "cannot run '%s': %s", name, strerror(-r));
                return err_hint(err, "%s", hint);
        }
        r = helper_collect(&c, &limits, out, &said);
        int status = r == 0 ? helper_finish(&c) : 0;
        helper_stop(&c);
        if (r < 0 || status != 0)
                r = tool_failed(name, r, &said, hint, err);
        strbuf_finish(&said);
        return r;
}

static int query_slurm(struct target_list *t, const char *partition, struct err *err)
{
        bool all = strcmp(partition, "all") == 0;
        const char *argv[] = {"sinfo",           "-h",      "-N", "-o", "%N|%G",
                              all ? NULL : "-p", partition, NULL};
        struct strbuf text = {0};
        int r = run_tool(argv, "run it where Slurm's commands work, or give a list: --hosts", &text,
                         err);
        if (r == 0)
                r = targets_parse_sinfo(t, text.s, text.len, err);
        strbuf_finish(&text);
        return r;
}

static int query_kubernetes(struct target_list *t, const char *selector, struct err *err)
{
        const char *argv[] = {"kubectl", "get",  "pods", "--all-namespaces", "-l", selector,
                              "-o",      "json", NULL};
        struct strbuf text = {0};
        int r = run_tool(argv,
                         "run it where kubectl works; or let Prometheus find the pods itself: "
                         "deploy/kubernetes/podmonitor.yaml",
                         &text, err);
        if (r == 0)
                r = targets_parse_pods(t, text.s, text.len, err);
        strbuf_finish(&text);
        return r;
}

/* --- a file or a list --------------------------------------------------------------------------
 */

/* What was typed wrong is wrong usage, as with --hosts everywhere; a file is data. */
static int read_typed(struct target_list *t, const char *hosts, struct err *err)
{
        int r = targets_parse_list(t, hosts, strlen(hosts), err);
        if (r == ERR_DATA)
                r = err->code = ERR_USAGE;
        return r;
}

static int read_hosts(struct target_list *t, const char *hosts, struct err *err)
{
        struct strbuf text = {0};
        bool input = strcmp(hosts, "@-") == 0;
        if (hosts[0] != '@')
                return read_typed(t, hosts, err);
        CLEANUP(closep)
        int fd = input ? dup(STDIN_FILENO) : open(hosts + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        int r = fd < 0 ? -errno : read_file_text(fd, &text);
        if (r < 0)
                err_set(err, ERR_NO_SOURCE, "cannot read '%s': %s", hosts + 1, strerror(-r));
        else
                r = targets_parse_hosts(t, text.s, text.len, err);
        strbuf_finish(&text);
        return r;
}

static int targets_fill(const struct targets_config *config, struct target_list *t, struct err *err)
{
        switch (config->source) {
        case TARGETS_HOSTS:
                return read_hosts(t, config->hosts, err);
        case TARGETS_SLURM:
                return query_slurm(t, config->partition, err);
        case TARGETS_KUBERNETES:
                return query_kubernetes(t, config->selector, err);
        }
        return 0;
}

static int read_labels(const char *text, struct remote_labels *ret, struct err *err)
{
        const char *bad;
        if (!text || remote_labels_parse(ret, text, &bad))
                return 0;
        err_set(err, ERR_USAGE, "--labels: '%.*s' is not a label",
                (int)MIN(strcspn(bad, ","), (size_t)80), bad);
        return err_hint(err, "write NAME=VALUE with commas between: cluster=a,rack=7");
}

int targets_make(const struct targets_config *config, struct strbuf *out, size_t *ret_n,
                 struct err *err)
{
        struct target_list t = {0};
        struct remote_labels labels = {0};
        struct target_label list[REMOTE_ADDED_MAX];
        int r = read_labels(config->labels, &labels, err);
        if (r == 0)
                r = targets_fill(config, &t, err);
        if (r == 0 && t.n == 0) {
                r = err_set(err, ERR_NO_SOURCE, "no node with a GPU was found");
                err_hint(err, "nothing was written: an empty list would end all scraping");
        }
        if (r == 0) {
                targets_sort(&t);
                for (size_t i = 0; i < labels.n; i++)
                        list[i] = (struct target_label){labels.list[i].name, labels.list[i].value};
                targets_write(&t, config->port, list, labels.n, out);
                *ret_n = t.n;
        }
        targets_finish(&t);
        return r;
}
