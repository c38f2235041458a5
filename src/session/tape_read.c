/* The reading side: what is in a tape is examined twice, first which slots are valid. */
#include "session/tape_format.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAPE_CHUNK 128 /* slots that are read at once */

static bool is_tape(int dir, const char *name)
{
        struct stat st;
        return strncmp(name, "tape-", 5) == 0 && strlen(name) < SPOOL_NAME_MAX &&
               fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
               st.st_uid == geteuid() && st.st_nlink == 1;
}

static int compare_tapes(const void *a, const void *b)
{
        return strcmp(a, b);
}

int tape_list(int dir, struct spool_list *ret)
{
        struct spool_list l = {0};
        size_t cap = 0;
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d) {
                r = -errno;
                closep(&fd);
                return r;
        }
        struct dirent *e;
        while (r == 0 && l.n < SPOOL_BATCH && (e = readdir(d))) {
                if (!is_tape(dir, e->d_name))
                        continue;
                if (LIST_ROOM(l.names, l.n, cap))
                        snprintf(l.names[l.n++], SPOOL_NAME_MAX, "%s", e->d_name);
                else
                        r = -ENOMEM;
        }
        closedir(d);
        if (l.n > 0)
                qsort(l.names, l.n, sizeof(*l.names), compare_tapes);
        *ret = l;
        return 0;
}

int tape_open(int dir, const char *name, struct tape *ret)
{
        struct tape_head head = {0};
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        ssize_t n = pread(fd, &head, sizeof(head), 0);
        bool whole = n == (ssize_t)sizeof(head) && head.slot_bytes == TAPE_SLOT_BYTES &&
                     head.slots == TAPE_SLOTS &&
                     memcmp(head.magic, TAPE_MAGIC, sizeof(TAPE_MAGIC)) == 0;
        if (!whole) {
                close(fd);
                return n < 0 ? -EIO : ERR_DATA;
        }
        *ret = (struct tape){.fd = fd, .pid = head.pid};
        snprintf(ret->host, sizeof(ret->host), "%.*s", MARK_HOST_MAX - 1, head.host);
        text_clean(ret->host);
        return 0;
}

static bool is_number(bool has, double v, double most)
{
        return !has || (isfinite(v) && fabs(v) <= most);
}

static bool take_slot(const struct tape *t, const struct tape_slot *slot, struct mark *ret)
{
        struct mark m = {.wall_ns = clock_bounded(slot->wall_ns),
                         .mono_ns = clock_bounded(slot->mono_ns),
                         .pid = t->pid,
                         .has_seconds = slot->has & TAPE_HAS_SECONDS,
                         .has_value = slot->has & TAPE_HAS_VALUE};
        size_t len = strnlen(slot->name, sizeof(slot->name));
        if (slot->type >= MARK_COUNT || len == 0 || len == sizeof(slot->name) || m.wall_ns <= 0 ||
            !is_number(m.has_seconds, slot->seconds, MARK_SECONDS_MAX) ||
            !is_number(m.has_value, slot->value, HUGE_VAL))
                return false;
        m.type = (enum mark_type)slot->type;
        m.seconds = m.has_seconds ? MAX(slot->seconds, 0) : 0;
        m.value = m.has_value ? slot->value : 0;
        memcpy(m.name, slot->name, len + 1);
        memcpy(m.host, t->host, sizeof(m.host));
        if (!text_is_utf8(m.name))
                return false;
        *ret = m;
        return true;
}

/* Slots of a chunk; a file that was cut off has fewer. */
static int read_slots(const struct tape *t, size_t at, struct tape_slot *slots, size_t *n)
{
        off_t from = (off_t)((at + 1) * TAPE_SLOT_BYTES);
        ssize_t got = pread(t->fd, slots, *n * sizeof(*slots), from);
        if (got < 0)
                return -errno;
        *n = (size_t)got / sizeof(*slots);
        return 0;
}

static bool is_ready(const struct tape_slot *slot)
{
        return atomic_load_explicit(&slot->ready, memory_order_relaxed) == TAPE_READY;
}

/*
 * A slot that was valid when it was read first is whole when it is read again: what is read in one
 * go need not be read in the order in which it was written.
 */
static int read_chunk(const struct tape *t, size_t at, bool last, struct tape_slot *slots,
                      bool *ready, size_t *ret_n)
{
        size_t n = *ret_n, ends = 0;
        int r = read_slots(t, at, slots, &n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                ready[i] = is_ready(&slots[i]);
                if (!ready[i] && !last)
                        break;
                ends = ready[i] ? i + 1 : ends;
        }
        if (r == 0 && ends > 0)
                r = read_slots(t, at, slots, &ends);
        *ret_n = last ? n : ends;
        return r;
}

int tape_read(const struct tape *t, size_t *at, bool last, struct mark *marks, size_t room,
              size_t *ret_n)
{
        struct tape_slot slots[TAPE_CHUNK];
        bool ready[TAPE_CHUNK] = {0};
        size_t taken = 0;
        *ret_n = 0;
        while (*at < TAPE_SLOTS && taken < room) {
                size_t n = MIN((size_t)TAPE_CHUNK, MIN(TAPE_SLOTS - *at, room - taken)), asked = n;
                int r = read_chunk(t, *at, last, slots, ready, &n);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < n; i++)
                        taken += ready[i] && take_slot(t, &slots[i], &marks[taken]);
                *at += n;
                if (n < asked)
                        break;
        }
        *ret_n = taken;
        return 0;
}

void tape_end(int dir, const char *name)
{
        static const uint32_t yes = 1;
        int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return;
        /* The page is shared with the program that has the tape mapped. Failing to write only means
         * that the program keeps marking without effect. */
        if (pwrite(fd, &yes, sizeof(yes), offsetof(struct tape_head, ended)) < 0)
                errno = 0;
        close(fd);
}
