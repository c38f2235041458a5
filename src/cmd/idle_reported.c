#include "cmd/idle_reported.h"

#include "app/output.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/num.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "fleet-idle-told"
#define FILE_BYTES_MAX (4 * 1024 * 1024)
#define ENTRIES_MAX 20000

struct reported {
        int64_t at_s;
        char key[IDLE_KEY_MAX];
};

struct idle_reported {
        char path[PATH_MAX];
        int64_t now_s, repeat_s;
        struct reported *list;
        size_t n, cap;
};

void idle_reported_close(struct idle_reported *t)
{
        if (!t)
                return;
        free(t->list);
        free(t);
}

static bool reported_put(struct idle_reported *t, int64_t at_s, const char *key, size_t n)
{
        if (n == 0 || n >= IDLE_KEY_MAX || t->n >= ENTRIES_MAX)
                return true;
        if (!LIST_ROOM(t->list, t->n, t->cap))
                return false;
        t->list[t->n].at_s = at_s;
        snprintf(t->list[t->n++].key, IDLE_KEY_MAX, "%.*s", (int)n, key);
        return true;
}

/* "1700000000 KEY". What is old, of the future or no such line is passed over. */
static bool reported_line(struct idle_reported *t, const char *line, size_t n)
{
        const char *blank = memchr(line, ' ', n);
        uint64_t at;
        if (!blank || !num_parse_u64(line, (size_t)(blank - line), &at) ||
            at > (uint64_t)t->now_s || (uint64_t)t->now_s - at >= (uint64_t)t->repeat_s)
                return true;
        return reported_put(t, (int64_t)at, blank + 1, n - (size_t)(blank + 1 - line));
}

static int reported_read(struct idle_reported *t, struct err *err)
{
        CLEANUP(closep) int fd = -1;
        CLEANUP(freep) char *text = malloc(FILE_BYTES_MAX);
        bool fine = text != NULL;
        if (!fine)
                return err_set(err, -ENOMEM, "out of memory");
        if (faccessat(AT_FDCWD, t->path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                return 0;
        /* Whoever writes it decides who hears nothing. */
        const char *why = trust_open_secret(t->path, &fd);
        ssize_t n = why ? -1 : read(fd, text, FILE_BYTES_MAX);
        if (n < 0) {
                err_set(err, -EACCES, "cannot read '%s': %s", t->path, why ? why : strerror(errno));
                return err_hint(err, "--state DIR chooses another folder");
        }
        for (const char *at = text, *end = text + n; fine && at < end;) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                size_t have = (size_t)((stop ? stop : end) - at);
                fine = reported_line(t, at, have);
                at += have + 1;
        }
        return fine ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int idle_reported_open(const char *folder, int64_t now_ns, int64_t repeat_ns,
                       struct idle_reported **ret, struct err *err)
{
        struct idle_reported *t = calloc(1, sizeof(*t));
        if (!t)
                return err_set(err, -ENOMEM, "out of memory");
        t->now_s = now_ns / NS_PER_S;
        t->repeat_s = repeat_ns / NS_PER_S;
        int r = 0;
        if (snprintf(t->path, sizeof(t->path), "%s/" FILE_NAME, folder) >= (int)sizeof(t->path))
                r = err_set(err, ERR_USAGE, "the state folder's name is too long");
        if (r == 0)
                r = reported_read(t, err);
        if (r < 0) {
                idle_reported_close(t);
                return r;
        }
        *ret = t;
        return 0;
}

bool idle_reported_has(const struct idle_reported *t, const char *key)
{
        for (size_t i = 0; i < t->n; i++) {
                if (strcmp(t->list[i].key, key) == 0)
                        return true;
        }
        return false;
}

bool idle_reported_add(struct idle_reported *t, const char *key)
{
        return reported_put(t, t->now_s, key, strlen(key));
}

static int make_folder(const struct idle_reported *t, struct err *err)
{
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%s", t->path);
        *strrchr(folder, '/') = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
                return err_set(err, -errno, "cannot make the folder '%s': %s", folder,
                               strerror(errno));
        return 0;
}

int idle_reported_save(const struct idle_reported *t, struct err *err)
{
        struct strbuf text = {0};
        for (size_t i = 0; i < t->n; i++)
                strbuf_putf(&text, "%lld %s\n", (long long)t->list[i].at_s, t->list[i].key);
        int r = text.failed ? err_set(err, -ENOMEM, "out of memory") : make_folder(t, err);
        if (r == 0)
                r = output_replace(t->path, &text, err);
        strbuf_finish(&text);
        return r;
}
