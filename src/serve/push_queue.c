#include "serve/push_queue.h"

#include "base/attr.h"
#include "base/lookup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_LEN 4352
#define HEAD_MAX 128
#define SUFFIX ".push"

/* One that waits. Its body is in memory, or in its file. */
struct waiting {
        uint64_t number;
        int64_t time_ms;
        size_t len;
        char *body; /* NULL: in the file */
};

struct push_queue {
        char dir[PATH_LEN - 64]; /* "" for none */
        char kind[PUSH_KIND_MAX];
        size_t bytes_max;
        struct waiting *list; /* a ring */
        size_t first, n, cap;
        size_t bytes;
        uint64_t next;
};

static struct waiting *queue_item(struct push_queue *q, size_t i)
{
        return &q->list[(q->first + i) % q->cap];
}

/* --- files -------------------------------------------------------------------------------------
 */

static void path_of(const struct push_queue *q, uint64_t number, const char *suffix,
                    char ret[PATH_LEN])
{
        snprintf(ret, PATH_LEN, "%s/%016" PRIx64 "%s", q->dir, number, suffix);
}

static bool write_all(int fd, const char *s, size_t n)
{
        while (n > 0) {
                ssize_t put = write(fd, s, n);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put <= 0)
                        return false;
                s += put;
                n -= (size_t)put;
        }
        return true;
}

/* The name appears when the file is whole. A power cut may still empty it: the checksum shows it.
 */
static bool write_file(const struct push_queue *q, uint64_t number, int64_t time_ms,
                       const char *body, size_t len)
{
        char path[PATH_LEN], whole[PATH_LEN], head[HEAD_MAX];
        path_of(q, number, ".new", path);
        path_of(q, number, SUFFIX, whole);
        int n = snprintf(head, sizeof(head), "assay push 1 %s %" PRId64 " %zu %016" PRIx64 "\n",
                         q->kind, time_ms, len, hash_stable(body, len));
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return false;
        bool done = write_all(fd, head, (size_t)n) && write_all(fd, body, len);
        done = close(fd) == 0 && done && rename(path, whole) == 0;
        if (!done)
                unlink(path);
        return done;
}

static bool read_head(const struct push_queue *q, FILE *f, int64_t *ret_time_ms, size_t *ret_len,
                      uint64_t *ret_sum)
{
        char line[HEAD_MAX], kind[PUSH_KIND_MAX], format[64];
        snprintf(format, sizeof(format), "assay push 1 %%%ds %%" SCNd64 " %%zu %%" SCNx64,
                 PUSH_KIND_MAX - 1);
        return fgets(line, sizeof(line), f) &&
               sscanf(line, format, kind, ret_time_ms, ret_len, ret_sum) == 4 &&
               strcmp(kind, q->kind) == 0 && *ret_len <= PUSH_BODY_MAX;
}

/* The body of a file, when it is whole; NULL when not. */
static char *read_file(const struct push_queue *q, const struct waiting *w)
{
        char path[PATH_LEN];
        int64_t time_ms;
        size_t len;
        uint64_t sum;
        path_of(q, w->number, SUFFIX, path);
        FILE *f = fopen(path, "re");
        if (!f)
                return NULL;
        char *body = NULL;
        if (read_head(q, f, &time_ms, &len, &sum) && len == w->len)
                body = malloc(len + 1);
        if (body && (fread(body, 1, len, f) != len || hash_stable(body, len) != sum)) {
                free(body);
                body = NULL;
        }
        fclose(f);
        return body;
}

/* --- the ring ----------------------------------------------------------------------------------
 */

static bool grow_queue(struct push_queue *q)
{
        if (q->n < q->cap)
                return true;
        size_t cap = MAX(q->cap * 2, (size_t)64);
        struct waiting *more = malloc(cap * sizeof(*more));
        if (!more)
                return false;
        for (size_t i = 0; i < q->n; i++)
                more[i] = *queue_item(q, i);
        free(q->list);
        q->list = more;
        q->cap = cap;
        q->first = 0;
        return true;
}

static void drop_first(struct push_queue *q)
{
        struct waiting *w = queue_item(q, 0);
        char path[PATH_LEN];
        if (!w->body) {
                path_of(q, w->number, SUFFIX, path);
                unlink(path);
        }
        free(w->body);
        q->bytes -= w->len;
        q->first = (q->first + 1) % q->cap;
        q->n--;
}

static size_t make_room(struct push_queue *q, size_t len)
{
        size_t dropped = 0;
        while (q->n > 0 && (q->bytes + len > q->bytes_max || q->n >= PUSH_WAITING_MAX)) {
                drop_first(q);
                dropped++;
        }
        return dropped;
}

size_t push_queue_add(struct push_queue *q, int64_t time_ms, const char *body, size_t len)
{
        struct waiting w = {.number = q->next++, .time_ms = time_ms, .len = len};
        if (len > PUSH_BODY_MAX || len > q->bytes_max)
                return 1;
        size_t dropped = make_room(q, len);
        if (!grow_queue(q))
                return dropped + 1;
        if (!q->dir[0] || !write_file(q, w.number, time_ms, body, len)) {
                w.body = malloc(len + 1);
                if (!w.body)
                        return dropped + 1;
                memcpy(w.body, body, len);
        }
        *queue_item(q, q->n++) = w;
        q->bytes += len;
        return dropped;
}

bool push_queue_first(struct push_queue *q, struct push_item *ret, size_t *ret_lost)
{
        *ret_lost = 0;
        for (; q->n > 0; drop_first(q), ++*ret_lost) {
                const struct waiting *w = queue_item(q, 0);
                char *body = w->body ? malloc(w->len + 1) : read_file(q, w);
                if (!body && w->body)
                        return false; /* memory is short: later */
                if (!body)
                        continue;
                if (w->body)
                        memcpy(body, w->body, w->len);
                *ret = (struct push_item){w->number, w->time_ms, body, w->len};
                return true;
        }
        return false;
}

void push_queue_done(struct push_queue *q, uint64_t number)
{
        if (q->n > 0 && queue_item(q, 0)->number == number)
                drop_first(q);
}

size_t push_queue_count(const struct push_queue *q)
{
        return q->n;
}

size_t push_queue_bytes(const struct push_queue *q)
{
        return q->bytes;
}

/* --- opening -----------------------------------------------------------------------------------
 */

static int compare_waiting(const void *a, const void *b)
{
        uint64_t x = ((const struct waiting *)a)->number, y = ((const struct waiting *)b)->number;
        return (x > y) - (x < y);
}

/* A file of our own: its number. Others are left alone. */
static bool queue_number_of(const char *name, uint64_t *ret, bool *ret_whole)
{
        char *end;
        if (strspn(name, "0123456789abcdef") != 16)
                return false;
        *ret = strtoull(name, &end, 16);
        *ret_whole = strcmp(end, SUFFIX) == 0;
        return *ret_whole || strcmp(end, ".new") == 0;
}

static void take_file(struct push_queue *q, const char *name)
{
        struct waiting w = {0};
        char path[PATH_LEN];
        uint64_t sum;
        bool whole;
        if (!queue_number_of(name, &w.number, &whole))
                return;
        path_of(q, w.number, whole ? SUFFIX : ".new", path);
        FILE *f = whole ? fopen(path, "re") : NULL;
        bool good = f && read_head(q, f, &w.time_ms, &w.len, &sum) && grow_queue(q);
        if (f)
                fclose(f);
        if (!good) {
                unlink(path);
                return;
        }
        q->list[q->n++] = w; /* the ring has not turned yet */
        q->bytes += w.len;
        q->next = MAX(q->next, w.number + 1);
}

static void take_folder(struct push_queue *q, char *notice, size_t size)
{
        struct dirent *entry;
        if (mkdir(q->dir, 0700) < 0 && errno != EEXIST)
                snprintf(notice, size, "what cannot be pushed is kept in memory only: '%s': %s",
                         q->dir, strerror(errno));
        DIR *d = opendir(q->dir);
        if (!d) {
                q->dir[0] = '\0';
                return;
        }
        while (q->n < PUSH_WAITING_MAX && (entry = readdir(d)))
                take_file(q, entry->d_name);
        closedir(d);
        if (q->n > 0)
                qsort(q->list, q->n, sizeof(*q->list), compare_waiting);
        make_room(q, 0);
}

struct push_queue *push_queue_open(const struct push_queue_config *config, char *notice,
                                   size_t size)
{
        struct push_queue *q = calloc(1, sizeof(*q));
        notice[0] = '\0';
        if (!q)
                return NULL;
        q->bytes_max = config->bytes_max;
        snprintf(q->kind, sizeof(q->kind), "%s", config->kind);
        if (config->dir && strlen(config->dir) < sizeof(q->dir)) {
                snprintf(q->dir, sizeof(q->dir), "%s", config->dir);
                take_folder(q, notice, size);
        }
        return q;
}

void push_queue_close(struct push_queue *q)
{
        if (!q)
                return;
        for (size_t i = 0; i < q->n; i++)
                free(queue_item(q, i)->body);
        free(q->list);
        free(q);
}
