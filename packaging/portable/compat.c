/* Old doors to the C library, so that a program built here starts on glibc 2.28.
 *
 * The linker sends each name of WRAPPED in meson.build here (--wrap). Most wrappers only ask for
 * the first version of the same function; what has none goes to the kernel. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define NPTL_NP "GLIBC_2.3.3" /* pthread_timedjoin_np, pthread_condattr_setclock */
#define NPTL_NAME "GLIBC_2.12"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define NPTL_NP "GLIBC_2.17"
#define NPTL_NAME "GLIBC_2.17"
#else
#error "no table of symbol versions for this machine"
#endif

/* Declares old_NAME as NAME@VERSION and makes __wrap_NAME call it. */
#define OLD(version, type, name, params, args)                                                     \
        __asm__(".symver old_" #name "," #name "@" version);                                       \
        type old_##name params;                                                                    \
        type __wrap_##name params;                                                                 \
        type __wrap_##name params                                                                  \
        {                                                                                          \
                return old_##name args;                                                            \
        }

OLD(FIRST, double, exp, (double x), (x))
OLD(FIRST, double, hypot, (double x, double y), (x, y))
OLD(FIRST, double, log, (double x), (x))
OLD(FIRST, double, pow, (double x, double y), (x, y))
OLD(FIRST, void *, dlopen, (const char *file, int mode), (file, mode))
OLD(FIRST, void *, dlsym, (void *library, const char *name), (library, name))
OLD(FIRST, int, dlclose, (void *library), (library))
OLD(FIRST, char *, dlerror, (void), ())
OLD(FIRST, int, dladdr, (const void *address, Dl_info *info), (address, info))
OLD(FIRST, int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
    (thread, attr, run, arg))
OLD(FIRST, int, pthread_join, (pthread_t thread, void **result), (thread, result))
OLD(FIRST, int, pthread_detach, (pthread_t thread), (thread))
OLD(FIRST, int, pthread_kill, (pthread_t thread, int number), (thread, number))
OLD(FIRST, int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run))
OLD(FIRST, int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
OLD(FIRST, int, pthread_attr_setstacksize, (pthread_attr_t * attr, size_t size), (attr, size))
OLD(FIRST, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
OLD(FIRST, int, pthread_mutexattr_init, (pthread_mutexattr_t * attr), (attr))
OLD(FIRST, int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attr), (attr))
OLD(FIRST, int, pthread_mutexattr_settype, (pthread_mutexattr_t * attr, int kind), (attr, kind))
OLD(NPTL_NP, int, pthread_timedjoin_np,
    (pthread_t thread, void **result, const struct timespec *until), (thread, result, until))
OLD(NPTL_NAME, int, pthread_setname_np, (pthread_t thread, const char *name), (thread, name))
OLD(NPTL_NP, int, pthread_condattr_setclock, (pthread_condattr_t * attr, clockid_t clock),
    (attr, clock))

/* The kernel's struct stat is the C library's on 64-bit machines. */
static int status_at(int folder, const char *path, void *ret, int flags)
{
        return (int)syscall(SYS_newfstatat, folder, path, ret, flags);
}

#define STATUS(bits)                                                                               \
        int __wrap_stat##bits(const char *path, struct stat##bits *ret);                           \
        int __wrap_lstat##bits(const char *path, struct stat##bits *ret);                          \
        int __wrap_fstat##bits(int file, struct stat##bits *ret);                                  \
        int __wrap_fstatat##bits(int folder, const char *path, struct stat##bits *ret, int flags); \
        int __wrap_stat##bits(const char *path, struct stat##bits *ret)                            \
        {                                                                                          \
                return status_at(AT_FDCWD, path, ret, 0);                                          \
        }                                                                                          \
        int __wrap_lstat##bits(const char *path, struct stat##bits *ret)                           \
        {                                                                                          \
                return status_at(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);                        \
        }                                                                                          \
        int __wrap_fstat##bits(int file, struct stat##bits *ret)                                   \
        {                                                                                          \
                return status_at(file, "", ret, AT_EMPTY_PATH);                                    \
        }                                                                                          \
        int __wrap_fstatat##bits(int folder, const char *path, struct stat##bits *ret, int flags)  \
        {                                                                                          \
                return status_at(folder, path, ret, flags);                                        \
        }

STATUS()
STATUS(64)

pid_t __wrap_gettid(void);
pid_t __wrap_gettid(void)
{
        return (pid_t)syscall(SYS_gettid);
}

ssize_t __wrap_getdents64(int folder, void *buf, size_t size);
ssize_t __wrap_getdents64(int folder, void *buf, size_t size)
{
        return syscall(SYS_getdents64, folder, buf, size);
}

#ifdef COMPAT_MAIN
/* Before 2.34 the program, not the C library, ran its constructors. */
typedef int main_fn(int, char **, char **);
typedef void init_fn(int, char **, char **);

extern init_fn *__init_array_start[] __attribute__((visibility("hidden")));
extern init_fn *__init_array_end[] __attribute__((visibility("hidden")));

static void run_constructors(int argc, char **argv, char **env)
{
        size_t n = (size_t)(__init_array_end - __init_array_start);
        for (size_t i = 0; i < n; i++)
                __init_array_start[i](argc, argv, env);
}

__asm__(".symver old_start_main,__libc_start_main@" FIRST);
int old_start_main(main_fn *, int, char **, init_fn *, void (*)(void), void (*)(void), void *);
int __wrap___libc_start_main(main_fn *, int, char **, init_fn *, void (*)(void), void (*)(void),
                             void *);
int __wrap___libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
        (void)init;
        return old_start_main(main, argc, argv, run_constructors, fini, loader_fini, stack_end);
}
#else
/* A static jansson reads the address of stdin as programs do; a library cannot. It gets a copy. */
extern FILE *__real_stdin;
extern FILE *__wrap_stdin;
FILE *__wrap_stdin;

__attribute__((constructor)) static void copy_stdin(void)
{
        __wrap_stdin = __real_stdin;
}
#endif
