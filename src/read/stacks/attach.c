#include "read/stacks/attach.h"

#include "base/attr.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/stacks/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IMAGES_MAX 8
#define KERNEL_PARENT 2 /* of all threads of the kernel */
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* Files that may hold an interpreter: the program itself, and shared libraries of CPython. */
struct images {
        char program[MAPS_PATH_MAX];
        uint64_t list[IMAGES_MAX];
        size_t n;
        bool is_pypy;
        bool tried; /* the program alone, before all other mappings were listed */
        struct remote *remote;
        struct runtime *runtime;
        enum runtime_found found;
        char why[RUNTIME_WHY_MAX];
};

PRINTF_LIKE(3, 4)
static void set_result(struct attach_result *to, enum stack_access access, const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        to->access = access;
        vsnprintf(to->why, sizeof(to->why), fmt, args);
        va_end(args);
}

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

/* Most programs have their interpreter inside, and a list of mappings may be long: that is tried
 * when the program's own have been seen. */
static bool visit_mapping(void *arg, const struct mapping *m)
{
        struct images *i = arg;
        const char *name = base_name(m->path);
        bool is_program = strcmp(m->path, i->program) == 0;
        if (!is_program && i->n > 0 && !i->tried) {
                i->tried = true;
                i->found = runtime_find(i->remote, i->list, i->n, i->runtime, i->why);
                if (i->found != RUNTIME_NONE)
                        return false;
                i->n = 0;
        }
        bool is_library = strncmp(name, "libpython", strlen("libpython")) == 0;
        i->is_pypy |= strncmp(name, "libpypy", strlen("libpypy")) == 0 ||
                      strncmp(name, "pypy", strlen("pypy")) == 0;
        if (m->offset == 0 && (is_library || (is_program && !i->tried)) && i->n < IMAGES_MAX &&
            (i->n == 0 || i->list[i->n - 1] != m->begin))
                i->list[i->n++] = m->begin;
        return true;
}

/* Which of the kernel's rules forbids it. */
static void explain_denial(int error, struct attach_result *ret)
{
        char scope[16] = "";
        CLEANUP(closep) int root = files_open_root("");
        ssize_t n = root >= 0 ? files_read(root, YAMA, scope, sizeof(scope) - 1) : root;
        if (error == ENOSYS)
                set_result(ret, STACK_DENIED,
                           "this system has no process_vm_readv (gVisor, a seccomp filter)");
        else if (n > 0 && scope[0] == '1')
                set_result(
                    ret, STACK_DENIED,
                    "kernel.yama.ptrace_scope is 1: only what 'assay run' started may be read");
        else if (n > 0 && scope[0] >= '2')
                set_result(ret, STACK_DENIED, "kernel.yama.ptrace_scope is %c: %s", scope[0],
                           scope[0] == '2' ? "reading needs CAP_SYS_PTRACE"
                                           : "nothing may be read");
        else
                set_result(
                    ret, STACK_DENIED,
                    "the kernel does not allow it: it has more rights than this program, or a "
                    "container forbids it");
}

static void explain_found(const struct images *i, struct attach_result *ret)
{
        switch (i->found) {
        case RUNTIME_FOUND:
                set_result(ret, STACK_READABLE, "%s", "");
                break;
        case RUNTIME_STARTING:
                set_result(ret, STACK_PENDING, "Python is starting");
                break;
        case RUNTIME_UNSUPPORTED:
                set_result(ret, STACK_UNSUPPORTED, "%s", i->why);
                break;
        case RUNTIME_NONE:
                if (i->is_pypy)
                        set_result(ret, STACK_UNSUPPORTED, "PyPy cannot be read");
                else if (strncmp(base_name(i->program), "python", strlen("python")) == 0)
                        set_result(ret, STACK_UNSUPPORTED,
                                   "a build of Python without symbols cannot be read before 3.13");
                else
                        set_result(ret, STACK_NO_RUNTIME, "no Python");
                break;
        }
}

/* Of what has no executable: a thread of the kernel; else it is ending, and its memory has gone. */
static void explain_no_program(int folder, struct attach_result *ret)
{
        char buf[1024];
        struct proc_stat stat;
        ssize_t n = files_read(folder, "stat", buf, sizeof(buf));
        bool is_present = n >= 0 && procfs_stat(buf, (size_t)n, &stat) == 0;
        if (is_present && (stat.pid == KERNEL_PARENT || stat.ppid == KERNEL_PARENT))
                set_result(ret, STACK_NO_RUNTIME, "a thread of the kernel");
        else
                set_result(ret, STACK_GONE, "it has ended");
}

void attach_find(struct remote *r, int folder, int32_t pid, struct runtime *rt,
                 struct attach_result *ret)
{
        struct images i = {.remote = r, .runtime = rt, .found = RUNTIME_NONE};
        CLEANUP(closep) int maps = files_open(folder, "maps");
        ssize_t n = readlinkat(folder, "exe", i.program, sizeof(i.program) - 1);
        if (n < 0 && errno == ENOENT) {
                explain_no_program(folder, ret);
                return;
        }
        if (maps < 0 || n < 0) {
                if (maps == -ENOENT || maps == -ESRCH || errno == ESRCH)
                        set_result(ret, STACK_GONE, "it has ended");
                else
                        explain_denial(EPERM, ret);
                return;
        }
        static const char deleted[] = " (deleted)";
        size_t tail = strlen(deleted);
        if ((size_t)n > tail && strcmp(i.program + n - tail, deleted) == 0)
                i.program[(size_t)n - tail] = '\0';
        remote_use(r, pid, NULL, NULL);
        remote_begin(r, NULL);
        maps_each(maps, visit_mapping, &i);
        if (i.found == RUNTIME_NONE && i.n > 0)
                i.found = runtime_find(r, i.list, i.n, rt, i.why);
        if (i.found == RUNTIME_NONE &&
            (r->error == EPERM || r->error == ENOSYS || r->error == EACCES))
                explain_denial(r->error, ret);
        else
                explain_found(&i, ret);
}
