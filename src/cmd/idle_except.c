#include "cmd/idle_except.h"

#include "base/list.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX (256 * 1024)
#define LINE_BYTES_MAX 256

static const struct {
        const char *word;
        size_t at;
} kinds[] = {
    {"user", offsetof(struct fleet_holder, owner)},
    {"account", offsetof(struct fleet_holder, account)},
    {"partition", offsetof(struct fleet_holder, partition)},
    {"node", offsetof(struct fleet_holder, nodes)},
    {"job", offsetof(struct fleet_holder, job)},
    {"cluster", offsetof(struct fleet_holder, cluster)},
};

struct exception {
        size_t kind;
        char pattern[LINE_BYTES_MAX];
};

struct idle_except {
        struct exception *list;
        size_t n, cap;
};

void idle_except_free(struct idle_except *e)
{
        if (!e)
                return;
        free(e->list);
        free(e);
}

static int except_line(struct idle_except *e, const char *name, size_t number, char *line,
                       struct err *err)
{
        line[strcspn(line, "#\r")] = '\0';
        char *word = text_trim(line);
        size_t n = strcspn(word, " \t"), kind = 0;
        const char *pattern = word + n + strspn(word + n, " \t");
        if (!word[0])
                return 0;
        while (kind < ARRAY_LEN(kinds) &&
               (strlen(kinds[kind].word) != n || strncmp(kinds[kind].word, word, n) != 0))
                kind++;
        if (kind == ARRAY_LEN(kinds) || !pattern[0]) {
                text_clean(word);
                err_set(err, ERR_USAGE, "'%s', line %zu: '%.60s' is no exception", name, number,
                        word);
                return err_hint(err, "write 'user NAME', 'account', 'partition', 'node', 'job' or "
                                     "'cluster' and a name");
        }
        if (!LIST_ROOM(e->list, e->n, e->cap))
                return err_set(err, -ENOMEM, "out of memory");
        e->list[e->n].kind = kind;
        snprintf(e->list[e->n++].pattern, LINE_BYTES_MAX, "%s", pattern);
        return 0;
}

int idle_except_parse(const char *name, const char *text, size_t n, struct idle_except **ret,
                      struct err *err)
{
        struct idle_except *e = calloc(1, sizeof(*e));
        int r = e ? 0 : err_set(err, -ENOMEM, "out of memory");
        size_t number = 0;
        for (const char *end = text + n; r == 0 && text < end; number++) {
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                size_t have = (size_t)((stop ? stop : end) - text);
                char line[LINE_BYTES_MAX];
                if (have >= sizeof(line)) {
                        r = err_set(err, ERR_USAGE, "'%s', line %zu is too long", name, number + 1);
                        break;
                }
                memcpy(line, text, have);
                line[have] = '\0';
                r = except_line(e, name, number + 1, line, err);
                text += have + 1;
        }
        if (r < 0) {
                idle_except_free(e);
                return r;
        }
        *ret = e;
        return 0;
}

int idle_except_read(const char *path, struct idle_except **ret, struct err *err)
{
        CLEANUP(freep) char *text = malloc(FILE_BYTES_MAX);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        ssize_t n = fd >= 0 ? read(fd, text, FILE_BYTES_MAX) : -1;
        if (n < 0) {
                err_set(err, ERR_USAGE, "cannot read '%s': %s", path, strerror(errno));
                return err_hint(
                    err,
                    "nothing is sent without the exceptions; mend the file or leave out --except");
        }
        if (n == FILE_BYTES_MAX)
                return err_set(err, ERR_USAGE, "'%s' is too large for a list of exceptions", path);
        return idle_except_parse(path, text, (size_t)n, ret, err);
}

/* A job has several nodes: one of them is enough. */
static bool any_word_matches(const char *pattern, const char *words)
{
        char word[256];
        for (const char *at = words; *at; at += strspn(at, " ")) {
                size_t n = strcspn(at, " ");
                snprintf(word, sizeof(word), "%.*s", (int)MIN(n, sizeof(word) - 1), at);
                if (fnmatch(pattern, word, 0) == 0)
                        return true;
                at += n;
        }
        return false;
}

bool idle_except_names(void *arg, const struct fleet_holder *holder)
{
        const struct idle_except *e = arg;
        for (size_t i = 0; e && i < e->n; i++) {
                const char *text;
                memcpy(&text, (const char *)holder + kinds[e->list[i].kind].at, sizeof(text));
                if (any_word_matches(e->list[i].pattern, text))
                        return true;
        }
        return false;
}
