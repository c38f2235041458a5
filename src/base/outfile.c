#include "base/outfile.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40

/* The walk from folder to folder; each step examines one name and opens what it examined. */
struct path_walk {
        int dir;
        char rest[2 * PATH_MAX]; /* what is still to be walked */
        char name[NAME_MAX + 1]; /* the step */
        int links;
        bool folder_only; /* the last name is not examined */
        const char *why;  /* it was refused; NULL when the system did */
};

/* Whether somebody else than root may put things there. */
static bool is_shared_folder(const struct stat *dir)
{
        return (dir->st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
               (dir->st_uid != geteuid() && dir->st_uid != 0);
}

static const char *refuse_link(const struct path_walk *w, const struct stat *dir,
                               const struct stat *link)
{
        bool fine = !is_shared_folder(dir) || link->st_uid == geteuid() || link->st_uid == 0;
        /* Groups share folders with links between them; a new file harms nobody there. */
        if (w->folder_only)
                fine |= (dir->st_mode & S_IWOTH) == 0 || link->st_uid == dir->st_uid;
        return fine ? NULL : "it is a link that another user made";
}

static const char *refuse_file(const struct stat *dir, const struct stat *file)
{
        bool own = file->st_uid == geteuid();
        if (S_ISDIR(file->st_mode) || !is_shared_folder(dir))
                return NULL;
        /* Whoever made a pipe reads it. */
        if (!S_ISREG(file->st_mode))
                return own || file->st_uid == 0 ? NULL : "another user put it there";
        if (file->st_nlink > 1)
                return "it has a second name, in a folder that others may write to";
        bool anybody = (dir->st_mode & (S_IWOTH | S_ISVTX)) != 0;
        return !anybody || own || file->st_uid == dir->st_uid ? NULL : "another user put it there";
}

/* Takes the next name off the rest. False when it is too long, or nothing is left. */
static bool next_name(struct path_walk *w)
{
        const char *s = w->rest + strspn(w->rest, "/");
        size_t len = strcspn(s, "/");
        if (len == 0 || len >= sizeof(w->name))
                return false;
        memcpy(w->name, s, len);
        w->name[len] = '\0';
        memmove(w->rest, s + len, strlen(s + len) + 1);
        return true;
}

static int enter_folder(struct path_walk *w, int dir)
{
        if (dir < 0)
                return -errno;
        close(w->dir);
        w->dir = dir;
        return 0;
}

/* The kernel's own links, such as /proc/self/fd/1, lead where no name does. */
static bool is_kernels_folder(int dir)
{
        struct statfs fs;
        return fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* What a link says goes before the rest. */
static int walk_link(struct path_walk *w, int link)
{
        char target[PATH_MAX], rest[sizeof(w->rest)];
        ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        if (++w->links > LINKS_MAX)
                return -ELOOP;
        if (snprintf(rest, sizeof(rest), "%s%s", target, w->rest) >= (int)sizeof(rest))
                return -ENAMETOOLONG;
        memcpy(w->rest, rest, sizeof(rest));
        return target[0] == '/' ? enter_folder(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/* One step. 1 when the name is the last one and no link, 0 to continue, or a negative errno. */
static int walk_step(struct path_walk *w, int flags)
{
        struct stat dir, st;
        bool last = w->rest[strspn(w->rest, "/")] == '\0';
        if (last && w->folder_only)
                return 1;
        CLEANUP(closep) int fd = openat(w->dir, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return last && errno == ENOENT && (flags & O_CREAT) ? 1 : -errno;
        if (fstat(w->dir, &dir) < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode) && !is_kernels_folder(w->dir)) {
                w->why = refuse_link(w, &dir, &st);
                return w->why ? -EPERM : walk_link(w, fd);
        }
        /* Opening a pipe would wait for its reader. */
        w->why = last ? refuse_file(&dir, &st) : NULL;
        if (w->why)
                return -EPERM;
        return last ? 1
                    : enter_folder(w, openat(w->dir, w->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int open_last(struct path_walk *w, int flags, mode_t mode)
{
        struct stat dir, st;
        int follow = is_kernels_folder(w->dir) ? 0 : O_NOFOLLOW;
        int fd = openat(w->dir, w->name, (flags & ~O_TRUNC) | follow, mode);
        if (fd < 0 || fstat(w->dir, &dir) < 0 || fstat(fd, &st) < 0)
                return -errno;
        w->why = refuse_file(&dir, &st);
        int r = w->why ? -EPERM : 0;
        if (r == 0 && (flags & O_TRUNC) && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
                r = -errno;
        if (r < 0)
                close(fd);
        return r < 0 ? r : fd;
}

/* 1 when it came to the last name, or a negative errno. */
static int walk_path(struct path_walk *w, const char *path, int flags)
{
        if (snprintf(w->rest, sizeof(w->rest), "%s", path) >= PATH_MAX)
                return -ENAMETOOLONG;
        w->dir = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = w->dir < 0 ? -errno : 0;
        while (r == 0)
                r = next_name(w) ? walk_step(w, flags) : w->rest[0] ? -ENAMETOOLONG : -ENOENT;
        return r;
}

static int refuse_way(const struct path_walk *w, const char *path, const char *what, int code,
                      struct err *err)
{
        err_set(err, code, "cannot write %s'%s': %s", what, path,
                w->why ? w->why : strerror(-code));
        if (w->why)
                err_hint(err, "give a name in a folder that is yours alone");
        return code;
}

int outfile_open(const char *path, int flags, mode_t mode, const char *what, struct err *err)
{
        struct path_walk w = {.dir = -1};
        flags |= O_CLOEXEC | O_NOCTTY;
        int r = walk_path(&w, path, flags);
        if (r > 0)
                r = open_last(&w, flags, mode);
        closep(&w.dir);
        return r < 0 ? refuse_way(&w, path, what, r, err) : r;
}

static int check_way(const char *path, const char *reported, struct err *err)
{
        struct path_walk w = {.dir = -1, .folder_only = true};
        int r = walk_path(&w, path, 0);
        closep(&w.dir);
        /* Other problems are reported when it is opened. */
        return r < 0 && w.why ? refuse_way(&w, reported, "", r, err) : 0;
}

int outfile_check_way(const char *path, struct err *err)
{
        return check_way(path, path, err);
}

int outfile_check_folder(const char *folder, struct err *err)
{
        char path[PATH_MAX + 2];
        int n = snprintf(path, sizeof(path), "%s/.", folder);
        return n < (int)sizeof(path) ? check_way(path, folder, err) : 0;
}

static int make_folders(const char *dir)
{
        char path[4096];
        if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int outfile_make_folder(const char *folder, struct err *err)
{
        int r = outfile_check_folder(folder, err);
        if (r < 0)
                return r;
        r = make_folders(folder);
        return r < 0 ? err_set(err, r, "cannot make '%s': %s", folder, strerror(-r)) : 0;
}
