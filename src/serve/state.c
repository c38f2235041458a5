#include "serve/state.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "base/outfile.h"
#include "base/trust.h"
#include "serve/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define STATE_BYTES_MAX (32 * 1024 * 1024)
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_MAX 40
#define HALVES 2
#define HEADER_MAX 160

struct kept {
        char key[STATE_KEY_MAX];
        struct integrals in;
};

struct state_file {
        int lock;
        int fd[HALVES];
        uint64_t number; /* of the half written last */
        char boot[BOOT_MAX];
        struct kept *old; /* what an earlier program kept */
        size_t n_old;
        struct kept *now;
        struct kept *kept; /* and what was written last */
        size_t n_now, n_kept, max;
        struct strbuf text;
        int64_t believed_ns; /* since the machine's start: until then the newest half is believed */
        bool failing;
};

/* --- one half as text ----------------------------------------------------------------------- */

static void put_gpu(struct strbuf *out, const struct kept *k)
{
        strbuf_putf(out, "[%s]\ncreated=%" PRId64 "\n", k->key, k->in.created_ns);
        counters_put(&k->in, out);
}

int state_parse(const char *text, size_t len, struct integrals *in, char (*keys)[STATE_KEY_MAX],
                size_t max)
{
        int n = 0;
        for (const char *at = text, *end = text + len; at < end;) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                char line[STATE_KEY_MAX + 64];
                if (!stop || (size_t)(stop - at) >= sizeof(line))
                        return -1;
                memcpy(line, at, (size_t)(stop - at));
                line[stop - at] = '\0';
                at = stop + 1;
                size_t length = strlen(line);
                char *equals = strchr(line, '=');
                if (line[0] == '[' && length > 1 && line[length - 1] == ']') {
                        if ((size_t)n == max)
                                return n;
                        line[length - 1] = '\0';
                        in[n] = (struct integrals){0};
                        snprintf(keys[n++], STATE_KEY_MAX, "%.*s", STATE_KEY_MAX - 1, line + 1);
                } else if (equals && n > 0) {
                        *equals = '\0';
                        counters_set(&in[n - 1], line, equals + 1);
                } else {
                        return -1;
                }
        }
        return n;
}

/* --- files ----------------------------------------------------------------------------------- */

static void read_boot_id(char ret[BOOT_MAX])
{
        int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, ret, BOOT_MAX - 1) : 0;
        ret[n > 0 ? n : 0] = '\0';
        ret[strcspn(ret, "\n")] = '\0';
        closep(&fd);
}

static int64_t boot_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_BOOTTIME, &ts);
        return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

struct half {
        uint64_t number;
        int64_t written_ns, wall_ns; /* 0: by a version that did not say */
        bool clean, same_boot;
        char *body; /* inside text */
        size_t len;
        char *text; /* owned */
};

/* "assay-counters 2 NUMBER LENGTH CHECKSUM BOOT CLEAN WRITTEN WALL\n", then the text; version 1
 * has no times. */
static bool parse_header(struct half *h, size_t n, const char *boot)
{
        unsigned version;
        uint64_t sum;
        char written[BOOT_MAX];
        int clean, used = 0;
        if (sscanf(h->text, "assay-counters %u %" SCNu64 " %zu %" SCNx64 " %39s %d%n", &version,
                   &h->number, &h->len, &sum, written, &clean, &used) < 6)
                return false;
        if (version == 2) {
                int more = 0;
                if (sscanf(h->text + used, " %" SCNd64 " %" SCNd64 "%n", &h->written_ns,
                           &h->wall_ns, &more) < 2)
                        return false;
                used += more;
        }
        if (h->text[used++] != '\n' || (size_t)used > n || h->len > n - (size_t)used)
                return false;
        h->body = h->text + used;
        h->clean = clean != 0;
        h->same_boot = strcmp(written, boot) == 0;
        return hash_stable(h->body, h->len) == sum;
}

static bool read_half(int fd, const char *boot, struct half *ret)
{
        struct stat st;
        if (fstat(fd, &st) < 0 || st.st_size <= 0)
                return false;
        /* What another program left behind ours is not read. */
        size_t size = MIN((size_t)st.st_size, (size_t)STATE_BYTES_MAX);
        struct half h = {.text = malloc(size + 1)};
        ssize_t n = h.text ? pread(fd, h.text, size, 0) : -1;
        if (n >= 0)
                h.text[n] = '\0';
        if (n < 0 || !parse_header(&h, (size_t)n, boot)) {
                free(h.text);
                return false;
        }
        *ret = h;
        return true;
}

/* For how long it may still be believed; 0 when others may have been reported more than it says. */
static int64_t time_left(const struct half *h)
{
        int64_t lease = h->clean ? STATE_CLEAN_NS : STATE_LEASE_NS;
        int64_t age = h->same_boot ? boot_ns() - h->written_ns : clock_wall_ns() - h->wall_ns;
        if (h->written_ns <= 0 || (!h->same_boot && !h->clean) || age < 0)
                return 0;
        return MAX(lease - age, INT64_C(0));
}

static int keep_half(struct state_file *f, const struct half *h)
{
        struct integrals *in = calloc(f->max, sizeof(*in));
        char(*keys)[STATE_KEY_MAX] = calloc(f->max, sizeof(*keys));
        int n = in && keys ? state_parse(h->body, h->len, in, keys, f->max) : -1;
        f->old = n > 0 ? calloc((size_t)n, sizeof(*f->old)) : NULL;
        for (int i = 0; f->old && i < n; i++) {
                memcpy(f->old[i].key, keys[i], STATE_KEY_MAX);
                f->old[i].in = in[i];
                f->n_old++;
        }
        free(in);
        free(keys);
        return 0;
}

/* The whole half with the greater number, if it is current; never the one before it, of which
 * others were reported the successor. */
static void load_state(struct state_file *f)
{
        struct half best = {0};
        for (size_t i = 0; i < HALVES; i++) {
                struct half h;
                if (!read_half(f->fd[i], f->boot, &h))
                        continue;
                if (!best.text || h.number > best.number) {
                        free(best.text);
                        best = h;
                } else {
                        free(h.text);
                }
        }
        int64_t left = best.text ? time_left(&best) : 0;
        if (left > 0)
                keep_half(f, &best);
        f->believed_ns = boot_ns() + left;
        f->number = best.number;
        free(best.text);
}

static int open_in(int dir, const char *name)
{
        return openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int open_files(struct state_file *f, const char *dir, struct err *err)
{
        int made = outfile_make_folder(dir, err);
        if (made < 0)
                return made;
        CLEANUP(closep) int at = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
        if (at < 0)
                return err_set(err, -errno, "cannot open '%s': %s", dir, strerror(errno));
        const char *why = trust_why_not(at);
        if (why)
                return err_set(err, -EPERM, "the state folder '%s': %s", dir, why);
        f->lock = open_in(at, "lock");
        f->fd[0] = open_in(at, "counters.0");
        f->fd[1] = open_in(at, "counters.1");
        if (f->lock < 0 || f->fd[0] < 0 || f->fd[1] < 0)
                return err_set(err, -errno, "cannot write in '%s': %s", dir, strerror(errno));
        if (flock(f->lock, LOCK_EX | LOCK_NB) < 0)
                return err_set(err, -EBUSY, "another 'assay serve' uses '%s'", dir);
        return 0;
}

bool state_find(const struct state_file *f, const char *key, struct integrals *ret)
{
        for (size_t i = 0; i < f->n_old; i++) {
                if (strcmp(f->old[i].key, key) == 0) {
                        *ret = f->old[i].in;
                        return true;
                }
        }
        return false;
}

bool state_find_kept(const struct state_file *f, const char *key, size_t hint,
                     struct integrals *ret)
{
        for (size_t i = 0; i < f->n_kept; i++) {
                const struct kept *k = &f->kept[(hint + i) % f->n_kept];
                if (strcmp(k->key, key) == 0) {
                        *ret = k->in;
                        return true;
                }
        }
        return state_find(f, key, ret);
}

void state_put(struct state_file *f, size_t at, const char *key, const struct integrals *in)
{
        if (at >= f->max)
                return;
        snprintf(f->now[at].key, STATE_KEY_MAX, "%s", key);
        f->now[at].in = *in;
}

/* GPUs mostly come in the order they came in before: the hint is its place then. */
static bool is_put(const struct state_file *f, const char *key, size_t hint)
{
        for (size_t i = 0; i < f->n_now; i++) {
                if (strcmp(f->now[(hint + i) % f->n_now].key, key) == 0)
                        return true;
        }
        return false;
}

static void make_body(struct state_file *f)
{
        strbuf_clear(&f->text);
        strbuf_fill(&f->text, ' ', HEADER_MAX);
        for (size_t i = 0; i < f->n_now; i++)
                put_gpu(&f->text, &f->now[i]);
        for (size_t i = 0; i < f->n_old && f->n_now + i < f->max; i++) {
                if (!is_put(f, f->old[i].key, i))
                        put_gpu(&f->text, &f->old[i]);
        }
}

/* The header is as long as it is: the text begins right after it. */
static bool write_half(struct state_file *f, uint64_t number, bool clean, int64_t now)
{
        char header[HEADER_MAX];
        size_t len = f->text.len - HEADER_MAX;
        int fd = f->fd[number % HALVES];
        errno = ENOMEM;
        if (f->text.failed || len > STATE_BYTES_MAX - HEADER_MAX)
                return false;
        int n =
            snprintf(header, sizeof(header),
                     "assay-counters 2 %" PRIu64 " %zu %" PRIx64 " %s %d %" PRId64 " %" PRId64 "\n",
                     number, len, hash_stable(f->text.s + HEADER_MAX, len),
                     f->boot[0] ? f->boot : "-", clean, now, clock_wall_ns());
        char *from = f->text.s + HEADER_MAX - n;
        memcpy(from, header, (size_t)n);
        errno = ENOSPC; /* of a write that is short */
        ssize_t wrote = pwrite(fd, from, (size_t)n + len, 0);
        return wrote == (ssize_t)((size_t)n + len);
}

/* Whether a later program will find nothing to believe. The newest goes last: alone, the one before
 * it would be believed. */
static bool drop_halves(struct state_file *f)
{
        bool dropped = true;
        for (size_t i = 0; i < HALVES && dropped; i++) {
                int fd = f->fd[(f->number + 1 + i) % HALVES];
                dropped = ftruncate(fd, 0) == 0 || pwrite(fd, "-", 1, 0) == 1;
        }
        return dropped;
}

/* A half that could not be written is written again: the other is the last that is whole. */
static enum state_result write_next(struct state_file *f, bool clean)
{
        int64_t now = boot_ns();
        f->failing = !write_half(f, f->number + 1, clean, now);
        if (!f->failing) {
                f->number++;
                f->believed_ns = now + (clean ? STATE_CLEAN_NS : STATE_LEASE_NS);
                return STATE_KEPT;
        }
        int code = errno;
        if (now < f->believed_ns && drop_halves(f))
                f->believed_ns = 0;
        errno = code;
        return now < f->believed_ns ? STATE_HELD : STATE_DROPPED;
}

static void keep_written(struct state_file *f)
{
        struct kept *written = f->now;
        f->now = f->kept;
        f->kept = written;
        f->n_kept = f->n_now;
}

enum state_result state_write(struct state_file *f, size_t n)
{
        f->n_now = MIN(n, f->max);
        make_body(f);
        enum state_result result = write_next(f, false);
        if (result == STATE_KEPT)
                keep_written(f);
        return result;
}

int state_open(const char *dir, size_t gpus_max, struct state_file **ret, struct err *err)
{
        struct state_file *f = calloc(1, sizeof(*f));
        if (!f)
                return err_set(err, -ENOMEM, "out of memory");
        f->lock = f->fd[0] = f->fd[1] = -1;
        f->max = gpus_max;
        f->now = calloc(gpus_max, sizeof(*f->now));
        f->kept = calloc(gpus_max, sizeof(*f->kept));
        read_boot_id(f->boot);
        int r =
            f->now && f->kept ? open_files(f, dir, err) : err_set(err, -ENOMEM, "out of memory");
        if (r < 0) {
                f->failing = true;
                state_close(f);
                return r;
        }
        load_state(f);
        /* What was kept is this program's from now on, and no longer of a clean end. */
        if (f->n_old > 0)
                state_write(f, 0);
        *ret = f;
        return 0;
}

void state_close(struct state_file *f)
{
        if (!f)
                return;
        if (!f->failing && f->text.len >= HEADER_MAX && write_next(f, true) == STATE_KEPT)
                fsync(f->fd[f->number % HALVES]);
        closep(&f->fd[0]);
        closep(&f->fd[1]);
        closep(&f->lock);
        strbuf_finish(&f->text);
        free(f->old);
        free(f->now);
        free(f->kept);
        free(f);
}
