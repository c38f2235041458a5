/*
 * Faults on order: preloaded, it makes the FAIL_ALLOC-th allocation of a program fail, or the
 * FAIL_WRITE-th write of its files with the error FAIL_ERRNO. FAIL_EVERY makes all from there on
 * fail, and with FAIL_TRUNCATE files cannot be cut off either. With FAIL_SHORT half of what a write
 * is given is written. With FAIL_HANG a write does not fail, and never ends. Names of users and
 * groups are looked up unharmed: glibc's name service crashes by itself where its own memory runs
 * out.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
ssize_t write(int fd, const void *s, size_t n);
ssize_t pwrite(int fd, const void *s, size_t n, off_t at);
ssize_t pwrite64(int fd, const void *s, size_t n, off_t at);
int ftruncate(int fd, off_t size);
int ftruncate64(int fd, off_t size);
int fsync(int fd);
int fdatasync(int fd);

static long alloc_at, write_at, code = ENOSPC;
static bool every, hang, halves, whole;
static atomic_long allocs, writes;
static _Thread_local bool in_names;

__attribute__((constructor)) static void begin(void)
{
        const char *alloc = getenv("FAIL_ALLOC"), *put = getenv("FAIL_WRITE");
        const char *no = getenv("FAIL_ERRNO");
        every = getenv("FAIL_EVERY") != NULL;
        hang = getenv("FAIL_HANG") != NULL;
        halves = getenv("FAIL_SHORT") != NULL;
        whole = getenv("FAIL_TRUNCATE") != NULL;
        write_at = put ? atol(put) : 0;
        code = no ? atol(no) : ENOSPC;
        atomic_store(&allocs, 0);
        alloc_at = alloc ? atol(alloc) : 0;
}

static bool is_due(long at, atomic_long *count)
{
        if (at == 0)
                return false;
        long n = atomic_fetch_add(count, 1) + 1;
        return n == at || (every && n > at);
}

static bool fail_alloc(void)
{
        if (in_names || !is_due(alloc_at, &allocs))
                return false;
        errno = ENOMEM;
        return true;
}

/* Only what is written to a disk fails: no pipe, terminal or event, and no message. */
static bool fail_write(int fd)
{
        struct stat st;
        if (write_at == 0 || fd == STDERR_FILENO || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
            !is_due(write_at, &writes))
                return false;
        while (hang)
                pause();
        errno = (int)code;
        return true;
}

void *malloc(size_t size)
{
        return fail_alloc() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
        return fail_alloc() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
        return fail_alloc() ? NULL : __libc_realloc(p, size);
}

ssize_t write(int fd, const void *s, size_t n)
{
        return fail_write(fd) ? -1 : syscall(SYS_write, fd, s, n);
}

ssize_t pwrite(int fd, const void *s, size_t n, off_t at)
{
        bool fails = fail_write(fd);
        if (fails && halves && n > 1)
                return syscall(SYS_pwrite64, fd, s, n / 2, at);
        return fails ? -1 : syscall(SYS_pwrite64, fd, s, n, at);
}

int ftruncate(int fd, off_t size)
{
        if (whole && write_at > 0 && atomic_load(&writes) >= write_at) {
                errno = (int)code;
                return -1;
        }
        return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off_t size)
{
        return ftruncate(fd, size);
}

ssize_t pwrite64(int fd, const void *s, size_t n, off_t at)
{
        return pwrite(fd, s, n, at);
}

int fsync(int fd)
{
        return fail_write(fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
        return fail_write(fd) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

#define LOOK_UP(function, key_type, entry_type)                                                    \
        int function(key_type key, entry_type *entry, char *buf, size_t size, entry_type **ret)    \
        {                                                                                          \
                int (*real)(key_type, entry_type *, char *, size_t, entry_type **) = NULL;         \
                in_names = true;                                                                   \
                void *found = dlsym(RTLD_NEXT, #function);                                         \
                memcpy(&real, &found, sizeof(real));                                               \
                int r = real(key, entry, buf, size, ret);                                          \
                in_names = false;                                                                  \
                return r;                                                                          \
        }

LOOK_UP(getpwuid_r, uid_t, struct passwd)
LOOK_UP(getpwnam_r, const char *, struct passwd)
LOOK_UP(getgrgid_r, gid_t, struct group)
