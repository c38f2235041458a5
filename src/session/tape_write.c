/* The writing side: no lock and no system call while there is room in the tape. */
#include "session/tape_format.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How often a full tape's users are waited for; a mapping that is still used then stays. */
#define UNMAP_TRIES 1000

struct tape_map {
        struct tape_head *head;
        struct tape_slot *slots;
        atomic_size_t next; /* the first slot that nobody has */
};

struct tape_writer {
        char session[4096];
        char host[MARK_HOST_MAX];
        struct tape_map *_Atomic map;
        atomic_size_t users; /* threads between finding the map and having written to it */
        atomic_flag turning; /* a thread makes the next tape */
        atomic_uint n;       /* tapes made */
};

static void map_free(struct tape_map *map)
{
        if (!map)
                return;
        munmap(map->head, TAPE_BYTES);
        free(map);
}

/* Blocks are reserved, so that a full disk is an error here and no signal later. */
static int map_file(int fd, struct tape_map **ret)
{
        int r = -posix_fallocate(fd, 0, (off_t)TAPE_BYTES);
        if (r < 0)
                return r;
        struct tape_map *map = calloc(1, sizeof(*map));
        if (!map)
                return -ENOMEM;
        void *at = mmap(NULL, TAPE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
                r = -errno;
                free(map);
                return r;
        }
        map->head = at;
        map->slots = (struct tape_slot *)((char *)at + TAPE_SLOT_BYTES);
        *ret = map;
        return 0;
}

static void fill_head(const struct tape_writer *w, struct tape_head *head)
{
        head->slot_bytes = TAPE_SLOT_BYTES;
        head->slots = TAPE_SLOTS;
        head->pid = getpid();
        memcpy(head->host, w->host, sizeof(head->host));
        memcpy(head->magic, TAPE_MAGIC, sizeof(TAPE_MAGIC));
}

/* Under a hidden name first: a tape that can be seen has a head. */
static int make_tape(struct tape_writer *w, struct tape_map **ret, struct err *err)
{
        char hidden[SPOOL_NAME_MAX + 1], *name = hidden + 1;
        CLEANUP(closep) int dir = spool_open(w->session, err);
        if (dir < 0)
                return dir;
        snprintf(hidden, sizeof(hidden), ".tape-%016" PRIx64 "-%d-%u-%.60s",
                 (uint64_t)clock_wall_ns(), (int)getpid(), atomic_fetch_add(&w->n, 1), w->host);
        for (char *s = hidden; *s; s++)
                *s = *s == '/' ? '_' : *s;
        CLEANUP(closep)
        int fd = openat(dir, hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        struct tape_map *map = NULL;
        int r = fd < 0 ? -errno : map_file(fd, &map);
        if (r == 0) {
                fill_head(w, map->head);
                r = renameat(dir, hidden, dir, name) < 0 ? -errno : 0;
        }
        if (r < 0) {
                if (fd >= 0)
                        unlinkat(dir, hidden, 0);
                map_free(map);
                return err_set(err, r, "cannot mark '%s': %s", w->session, strerror(-r));
        }
        *ret = map;
        return 0;
}

int tape_writer_open(const char *session, struct tape_writer **ret, struct err *err)
{
        struct tape_writer *w = calloc(1, sizeof(*w));
        struct tape_map *map = NULL;
        if (!w)
                return err_set(err, -ENOMEM, "out of memory");
        atomic_flag_clear(&w->turning);
        int n = snprintf(w->session, sizeof(w->session), "%s", session);
        int r = n < (int)sizeof(w->session)
                    ? 0
                    : err_set(err, -ENAMETOOLONG, "the session's name is too long");
        if (gethostname(w->host, sizeof(w->host) - 1) < 0)
                w->host[0] = '\0';
        if (r == 0)
                r = make_tape(w, &map, err);
        if (r < 0) {
                free(w);
                return r;
        }
        atomic_store(&w->map, map);
        *ret = w;
        return 0;
}

void tape_writer_close(struct tape_writer *w)
{
        map_free(atomic_load(&w->map));
        free(w);
}

/* The old mapping is left behind when somebody is still inside it. */
static void retire_mapping(struct tape_writer *w, struct tape_map *old)
{
        for (int i = 0; i < UNMAP_TRIES; i++) {
                if (atomic_load(&w->users) == 0) {
                        map_free(old);
                        return;
                }
                sched_yield();
        }
}

/* Follows a full tape by another, unless another thread did so meanwhile. */
static int turn_tape(struct tape_writer *w, struct tape_map *full)
{
        struct tape_map *map = NULL;
        int r = 0;
        while (atomic_flag_test_and_set(&w->turning))
                sched_yield();
        bool mine = atomic_load(&w->map) == full;
        if (mine)
                r = make_tape(w, &map, NULL);
        if (mine && r == 0)
                atomic_store(&w->map, map);
        atomic_flag_clear(&w->turning);
        if (mine && r == 0)
                retire_mapping(w, full);
        return r;
}

static void fill_slot(struct tape_slot *slot, const struct mark *m, size_t name_bytes)
{
        slot->type = (uint16_t)m->type;
        slot->has = (uint16_t)((m->has_seconds ? TAPE_HAS_SECONDS : 0) |
                               (m->has_value ? TAPE_HAS_VALUE : 0));
        slot->wall_ns = m->wall_ns;
        slot->mono_ns = m->mono_ns;
        slot->seconds = m->seconds;
        slot->value = m->value;
        memcpy(slot->name, m->name, name_bytes);
        atomic_store_explicit(&slot->ready, TAPE_READY, memory_order_release);
}

int tape_put(struct tape_writer *w, const struct mark *m)
{
        size_t bytes = strnlen(m->name, MARK_NAME_MAX) + 1;
        if (m->data || bytes == 1 || bytes > MARK_NAME_MAX)
                return -EINVAL;
        for (;;) {
                atomic_fetch_add(&w->users, 1);
                struct tape_map *map = atomic_load(&w->map);
                bool ended = atomic_load_explicit(&map->head->ended, memory_order_relaxed) != 0;
                size_t at = ended ? 0 : atomic_fetch_add(&map->next, 1);
                if (!ended && at < TAPE_SLOTS)
                        fill_slot(&map->slots[at], m, bytes);
                atomic_fetch_sub(&w->users, 1);
                if (ended || at < TAPE_SLOTS)
                        return !ended;
                int r = turn_tape(w, map);
                if (r < 0)
                        return r == -ENOENT ? 0 : r;
        }
}
