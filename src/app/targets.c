#include "app/targets.h"

#include "base/clock.h"
#include "formats/remote/remote.h"
#include "formats/targets/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TOOL_NS (30 * NS_PER_S)
#define CHUNK 65536

extern char **environ;

/* --- bytes -------------------------------------------------------------------------------------
 */

/* Reads to the end, bounded in size and time; a time of 0 is no bound. 0 or a negative errno. */
static int read_all(int fd, int64_t until_ns, struct strbuf *out)
{
        for (;;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                int64_t left = until_ns ? until_ns - clock_mono_ns() : 0;
                if (until_ns && (left <= 0 || poll(&p, 1, (int)(left / NS_PER_MS) + 1) == 0))
                        return -ETIMEDOUT;
                if (!strbuf_reserve(out, CHUNK))
                        return -ENOMEM;
                ssize_t n = read(fd, out->s + out->len, CHUNK);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                out->len += (size_t)n;
                if (out->len > TARGETS_TEXT_MAX)
                        return -EFBIG;
        }
}

/* --- programs ----------------------------------------------------------------------------------
 */

static int start_tool(char *const *argv, int *ret_fd, pid_t *ret_pid)
{
        posix_spawn_file_actions_t actions;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
                return errno;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        int r = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (r != 0)
                close(ends[0]);
        *ret_fd = ends[0];
        return r;
}

/* What a program writes. Its errors go to ours. */
static int run_tool(char *const *argv, const char *hint, struct strbuf *out, struct err *err)
{
        int fd = -1, status = 0;
        pid_t pid = 0;
        int r = start_tool(argv, &fd, &pid);
        if (r != 0) {
                err_set(err, ERR_NO_SOURCE, "cannot run '%s': %s", argv[0], strerror(r));
                return err_hint(err, "%s", hint);
        }
        r = read_all(fd, clock_mono_ns() + TOOL_NS, out);
        close(fd);
        if (r < 0)
                kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (r < 0)
                err_set(err, ERR_NO_SOURCE, "'%s' %s", argv[0],
                        r == -ETIMEDOUT ? "does not end within 30 s"
                        : r == -EFBIG   ? "writes more than 64 MiB"
                                        : strerror(-r));
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                err_set(err, ERR_NO_SOURCE, "'%s' failed", argv[0]);
        else
                return 0;
        return err_hint(err, "%s", hint);
}

static int ask_slurm(struct target_list *t, const char *partition, struct err *err)
{
        static char tool[] = "sinfo", quiet[] = "-h", nodes[] = "-N", format[] = "-o",
                    what[] = "%N|%G", p[] = "-p";
        char *which = strdup(partition);
        bool all = strcmp(partition, "all") == 0;
        char *const argv[] = {tool, quiet, nodes, format, what, all ? NULL : p, which, NULL};
        struct strbuf text = {0};
        int r = which
                    ? run_tool(argv, "run it where Slurm's commands work, or give a list: --hosts",
                               &text, err)
                    : err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = targets_parse_sinfo(t, text.s, text.len, err);
        free(which);
        strbuf_finish(&text);
        return r;
}

static int ask_kubernetes(struct target_list *t, const char *selector, struct err *err)
{
        static char tool[] = "kubectl", get[] = "get", pods[] = "pods", all[] = "--all-namespaces",
                    l[] = "-l", o[] = "-o", json[] = "json";
        char *which = strdup(selector);
        char *const argv[] = {tool, get, pods, all, l, which, o, json, NULL};
        struct strbuf text = {0};
        int r =
            which ? run_tool(argv,
                             "run it where kubectl works; or let Prometheus find the pods itself: "
                             "deploy/kubernetes/podmonitor.yaml",
                             &text, err)
                  : err_set(err, -ENOMEM, "out of memory");
        if (r == 0)
                r = targets_parse_pods(t, text.s, text.len, err);
        free(which);
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
        int r = fd < 0 ? -errno : read_all(fd, 0, &text);
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
                return ask_slurm(t, config->partition, err);
        case TARGETS_KUBERNETES:
                return ask_kubernetes(t, config->selector, err);
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
