#include "engine/rest_book.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/trust.h"
#include "life/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MOST ((size_t)REST_BOOK_GPUS * (REST_BOOK_UUID + 16))
#define WATTS_LEAST 0.5
#define WATTS_MOST 5000
#define CHANGED 0.03 /* less is the weather */
#define WRITE_EVERY_NS (60 * NS_PER_S)
#define PATIENCE_NS (NS_PER_S / 2)

struct entries {
        struct rest_entry list[REST_BOOK_GPUS];
        size_t n;
};

struct rest_book {
        struct crew crew;
        struct entries all; /* under the lock, as what follows */
        struct entries own; /* what this run has learned */
        bool news;
        char folder[4096];
};

/* ---- the file ---- */

static bool is_name(const char *s, size_t len)
{
        static const char letters[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
        return len > 0 && len < REST_BOOK_UUID && strspn(s, letters) >= len;
}

static bool is_power(double watts)
{
        return watts >= WATTS_LEAST && watts <= WATTS_MOST;
}

static struct rest_entry *entry_find(struct entries *e, const char *uuid)
{
        for (size_t i = 0; i < e->n; i++) {
                if (strcmp(e->list[i].uuid, uuid) == 0)
                        return &e->list[i];
        }
        return NULL;
}

/* The newest is the last; of too many the oldest goes. */
static void entry_put(struct entries *e, const char *uuid, double watts)
{
        struct rest_entry *old = entry_find(e, uuid);
        if (!old && e->n == REST_BOOK_GPUS)
                old = e->list;
        if (old) {
                memmove(old, old + 1, (size_t)(e->list + e->n - old - 1) * sizeof(*old));
                e->n--;
        }
        struct rest_entry *to = &e->list[e->n++];
        snprintf(to->uuid, sizeof(to->uuid), "%s", uuid);
        to->watts = watts;
}

/* A line of its own, terminated. */
static void take_line(char *line, struct entries *e)
{
        char *blank = strchr(line, ' '), *end;
        if (!blank || !is_name(line, (size_t)(blank - line)))
                return;
        double watts = strtod(blank + 1, &end) / 1000;
        if (*end != '\0' || end == blank + 1 || !is_power(watts))
                return;
        *blank = '\0';
        entry_put(e, line, watts);
}

static void book_parse(const char *text, size_t len, struct entries *e)
{
        for (const char *at = text, *end = text + len; at < end;) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                char line[REST_BOOK_UUID + 32];
                if (!stop)
                        return; /* cut off */
                if ((size_t)(stop - at) < sizeof(line)) {
                        memcpy(line, at, (size_t)(stop - at));
                        line[stop - at] = '\0';
                        take_line(line, e);
                }
                at = stop + 1;
        }
}

size_t rest_book_parse(const char *text, size_t len, struct rest_entry *ret, size_t max)
{
        struct entries *e = calloc(1, sizeof(*e));
        if (!e)
                return 0;
        book_parse(text, len, e);
        size_t n = MIN(e->n, max);
        memcpy(ret, e->list + e->n - n, n * sizeof(*ret));
        free(e);
        return n;
}

static void book_read(const char *folder, struct entries *e)
{
        char path[4096 + sizeof(REST_BOOK_FILE)];
        CLEANUP(freep) char *text = malloc(FILE_MOST);
        CLEANUP(closep) int fd = -1;
        snprintf(path, sizeof(path), "%s/" REST_BOOK_FILE, folder);
        if (!text || trust_open_secret(path, &fd))
                return;
        size_t n = 0;
        ssize_t got;
        while (n < FILE_MOST && (got = read(fd, text + n, FILE_MOST - n)) > 0)
                n += (size_t)got;
        book_parse(text, n, e);
}

/* Under a name of its own first, so that the file is whole whatever happens. */
static int replace_file(int dir, struct strbuf *text)
{
        char name[64];
        snprintf(name, sizeof(name), "." REST_BOOK_FILE ".%ld", (long)getpid());
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        int r = strbuf_flush(text, fd);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && renameat(dir, name, dir, REST_BOOK_FILE) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(dir, name, 0);
        return r;
}

/* Other programs write it, too: what they kept of other GPUs stays. */
static void write_file(const char *folder, const struct entries *now)
{
        struct entries *e = calloc(1, sizeof(*e));
        struct strbuf text = {0};
        CLEANUP(closep) int dir = -1;
        if (e && outfile_make_folder(folder, NULL) == 0)
                dir = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (dir >= 0 && !trust_why_not(dir)) {
                book_read(folder, e);
                for (size_t i = 0; i < now->n; i++)
                        entry_put(e, now->list[i].uuid, now->list[i].watts);
                for (size_t i = 0; i < e->n; i++)
                        strbuf_putf(&text, "%s %.0f\n", e->list[i].uuid, e->list[i].watts * 1000);
                replace_file(dir, &text);
        }
        strbuf_finish(&text);
        free(e);
}

/* ---- the book ---- */

static void write_news(void *arg)
{
        struct rest_book *b = arg;
        struct entries now; /* written without the lock */
        int64_t next_ns = 0;
        crew_lock(&b->crew);
        while (!b->crew.stop || b->news) {
                if (!b->news || (!b->crew.stop && clock_mono_ns() < next_ns)) {
                        crew_wait(&b->crew, b->news ? next_ns : INT64_MAX);
                        continue;
                }
                now = b->own;
                b->news = false;
                crew_unlock(&b->crew);
                write_file(b->folder, &now);
                next_ns = clock_mono_ns() + WRITE_EVERY_NS;
                crew_lock(&b->crew);
        }
        crew_unlock(&b->crew);
}

static void book_free(struct crew *c)
{
        free((struct rest_book *)((char *)c - offsetof(struct rest_book, crew)));
}

struct rest_book *rest_book_open(const char *folder)
{
        struct rest_book *b = calloc(1, sizeof(*b));
        if (!b || snprintf(b->folder, sizeof(b->folder), "%s", folder) >= (int)sizeof(b->folder)) {
                free(b);
                return NULL;
        }
        book_read(folder, &b->all);
        crew_init(&b->crew, book_free);
        crew_start(&b->crew, write_news, b);
        return b;
}

void rest_book_close(struct rest_book *b)
{
        if (b)
                crew_leave(&b->crew, PATIENCE_NS);
}

double rest_book_find(struct rest_book *b, const char *uuid)
{
        crew_lock(&b->crew);
        const struct rest_entry *e = entry_find(&b->all, uuid);
        double watts = e ? e->watts : 0;
        crew_unlock(&b->crew);
        return watts;
}

void rest_book_note(struct rest_book *b, const char *uuid, double watts)
{
        if (!is_name(uuid, strlen(uuid)) || !is_power(watts))
                return;
        crew_lock(&b->crew);
        const struct rest_entry *e = entry_find(&b->all, uuid);
        if (!e || fabs(e->watts - watts) > CHANGED * watts) {
                entry_put(&b->all, uuid, watts);
                entry_put(&b->own, uuid, watts);
                b->news = true;
                crew_request_stop(&b->crew);
        }
        crew_unlock(&b->crew);
}
