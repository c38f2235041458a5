#include "engine/dump_folder.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PART_PREFIX ".part-"
#define SAME_SECOND_MAX 100
#define NAME_BYTES 64
/* A folder of our own has far fewer names: what others put there is not looked through forever. */
#define NAMES_MAX 10000

int dump_folder_open(const char *path, struct err *err)
{
        struct stat st;
        int r = outfile_make_folder(path, err);
        if (r < 0)
                return r;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
        const char *why = NULL;
        if (fstat(fd, &st) < 0)
                why = strerror(errno);
        else if (st.st_uid != geteuid())
                why = "it belongs to another user";
        /* Others neither read dumps nor put anything beside them. */
        else if ((st.st_mode & 077) != 0 && fchmod(fd, 0700) < 0)
                why = strerror(errno);
        if (!why)
                return fd;
        close(fd);
        err_set(err, -EPERM, "cannot keep dumps in '%s': %s", path, why);
        return err_hint(err, "choose a folder of your own with --flight-folder DIR");
}

/* ---- names ---- */

static size_t span_digits(const char *s)
{
        return strspn(s, "0123456789");
}

bool dump_folder_is_name(const char *name)
{
        static const struct {
                size_t least, most;
                char end;
        } parts[] = {{8, 8, '-'}, {6, 6, '-'}, {1, 10, '\0'}};
        if (strncmp(name, "dump-", 5) != 0 || strlen(name) >= NAME_BYTES)
                return false;
        const char *s = name + 5;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                size_t n = span_digits(s);
                if (n < parts[i].least || n > parts[i].most ||
                    (parts[i].end && s[n] != parts[i].end))
                        return false;
                s += n + (parts[i].end != '\0');
        }
        if (s[0] == '-' && span_digits(s + 1) > 0)
                s += 1 + span_digits(s + 1);
        return strcmp(s, ".assay") == 0;
}

void dump_folder_name(int64_t wall_ns, int number, char *ret, size_t size)
{
        time_t t = (time_t)(wall_ns / NS_PER_S);
        char stamp[32], more[16] = "";
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
        if (number > 1)
                snprintf(more, sizeof(more), "-%d", number);
        snprintf(ret, size, "dump-%s-%ld%s.assay", stamp, (long)getpid(), more);
}

/* ---- bounds ---- */

struct dump_entry {
        char name[NAME_BYTES];
        struct timespec changed;
        uint64_t bytes;
};

struct dump_list {
        struct dump_entry *list;
        size_t n;
        uint64_t bytes;
};

static bool is_own_file(int folder, const char *name, struct stat *ret)
{
        return fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(ret->st_mode) &&
               ret->st_uid == geteuid();
}

/* Whoever writes one holds its lock until it has its name. */
static void remove_part(int folder, const char *name)
{
        struct stat st;
        CLEANUP(closep)
        int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd >= 0 && is_own_file(folder, name, &st) && flock(fd, LOCK_EX | LOCK_NB) == 0)
                unlinkat(folder, name, 0);
}

static int take_entry(int folder, const char *name, struct dump_list *to)
{
        struct stat st;
        if (strncmp(name, PART_PREFIX, strlen(PART_PREFIX)) == 0)
                remove_part(folder, name);
        if (!dump_folder_is_name(name) || !is_own_file(folder, name, &st))
                return 0;
        if (!LIST_ONE_MORE(to->list, to->n))
                return -ENOMEM;
        struct dump_entry *e = &to->list[to->n++];
        *e = (struct dump_entry){.changed = st.st_mtim, .bytes = (uint64_t)MAX(st.st_size, 0)};
        memcpy(e->name, name, strlen(name) + 1);
        to->bytes += e->bytes;
        return 0;
}

static int compare_age(const void *a, const void *b)
{
        const struct dump_entry *x = a, *y = b;
        if (x->changed.tv_sec != y->changed.tv_sec)
                return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
        if (x->changed.tv_nsec != y->changed.tv_nsec)
                return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int list_dumps(int folder, struct dump_list *ret)
{
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        int r = 0;
        if (!d) {
                r = -errno;
                closep(&fd);
                return r;
        }
        const struct dirent *entry;
        for (int i = 0; r == 0 && i < NAMES_MAX && (entry = readdir(d)); i++)
                r = take_entry(folder, entry->d_name, ret);
        closedir(d);
        if (ret->n > 1)
                qsort(ret->list, ret->n, sizeof(*ret->list), compare_age);
        return r;
}

/* Makes room for one more of a size. */
static void prune_dumps(int folder, size_t len)
{
        struct dump_list all = {0};
        if (list_dumps(folder, &all) == 0) {
                size_t left = all.n;
                uint64_t bytes = all.bytes;
                for (size_t i = 0;
                     i < all.n && (left >= DUMP_FOLDER_FILES || bytes + len > DUMP_FOLDER_BYTES);
                     i++, left--) {
                        unlinkat(folder, all.list[i].name, 0);
                        bytes -= all.list[i].bytes;
                }
        }
        free(all.list);
}

static bool has_room(int folder, size_t len)
{
        struct statvfs fs;
        return fstatvfs(folder, &fs) < 0 ||
               (uint64_t)fs.f_bavail * fs.f_frsize >= len + DUMP_FOLDER_ROOM;
}

/* ---- writing ---- */

static int write_whole(int fd, const unsigned char *s, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, s, len);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        s += n;
                        len -= (size_t)n;
                }
        }
        return fsync(fd) < 0 ? -errno : 0;
}

static int write_part(int folder, const char *part, const unsigned char *image, size_t len)
{
        CLEANUP(closep)
        int fd = openat(folder, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        int r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : write_whole(fd, image, len);
        if (r < 0)
                unlinkat(folder, part, 0);
        return r;
}

/* Gives the part a name that is still free. */
static int give_name(int folder, const char *part, int64_t wall_ns, char *ret, size_t size)
{
        int r = -EEXIST;
        for (int i = 1; r == -EEXIST && i <= SAME_SECOND_MAX; i++) {
                dump_folder_name(wall_ns, i, ret, size);
                r = renameat2(folder, part, folder, ret, RENAME_NOREPLACE) < 0 ? -errno : 0;
                /* Some network file systems have no such call. */
                if (r == -EINVAL || r == -ENOSYS)
                        r = faccessat(folder, ret, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST
                            : renameat(folder, part, folder, ret) < 0              ? -errno
                                                                                   : 0;
        }
        return r;
}

static int refuse_folder(int code, struct err *err)
{
        err_set(err, code, "cannot write the dump: %s",
                code == -ENOSPC ? "the disk is nearly full" : strerror(-code));
        return err_hint(err, "make room, or choose another folder with --flight-folder DIR");
}

int dump_folder_put(int folder, int64_t wall_ns, const unsigned char *image, size_t len, char *ret,
                    size_t size, struct err *err)
{
        char part[NAME_BYTES], name[NAME_BYTES];
        prune_dumps(folder, len);
        if (!has_room(folder, len))
                return refuse_folder(-ENOSPC, err);
        snprintf(part, sizeof(part), PART_PREFIX "%ld-%lld", (long)getpid(), (long long)wall_ns);
        int r = write_part(folder, part, image, len);
        if (r == 0) {
                r = give_name(folder, part, wall_ns, name, sizeof(name));
                if (r < 0)
                        unlinkat(folder, part, 0);
        }
        if (r < 0)
                return refuse_folder(r, err);
        fsync(folder);
        snprintf(ret, size, "%s", name);
        return 0;
}
