/*
 * Faults on order: preloaded, it makes the FAIL_ALLOC-th allocation of a program fail, or the
 * FAIL_WRITE-th write of its files with the error FAIL_ERRNO. FAIL_EVERY makes all from there on
 * fail.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
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
int fsync(int fd);
int fdatasync(int fd);

static long alloc_at, write_at, code = ENOSPC;
static bool every;
static atomic_long allocs, writes;

__attribute__((constructor)) static void begin(void)
{
        const char *alloc = getenv("FAIL_ALLOC"), *put = getenv("FAIL_WRITE");
        const char *no = getenv("FAIL_ERRNO");
        every = getenv("FAIL_EVERY") != NULL;
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
        if (!is_due(alloc_at, &allocs))
                return false;
        errno = ENOMEM;
        return true;
}

/* Only what is written to a disk fails: no pipe, terminal or event. */
static bool fail_write(int fd)
{
        struct stat st;
        if (write_at == 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
            !is_due(write_at, &writes))
                return false;
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
        return fail_write(fd) ? -1 : syscall(SYS_pwrite64, fd, s, n, at);
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
