#include "engine/dump_runs.h"

#include "base/list.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "engine/dump_folder.h"
#include "read/host/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUN_PREFIX ".run-"
#define RUN_BYTES 16384 /* all files have this size: what is new is one write */
#define RUNS_MAX 256
#define NAMES_MAX 10000

struct dump_run {
        int folder, fd;
        char name[32];
        char program[DUMP_PROGRAM_MAX];
        char dumps[PATH_MAX];
        uint64_t start_ticks;
};

/* Of a process that lives. False when it does not. */
static bool read_start(int32_t pid, uint64_t *ret)
{
        char path[32], buf[1024];
        struct proc_stat st;
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf)) : -1;
        if (n <= 0 || procfs_stat(buf, (size_t)n, &st) < 0)
                return false;
        *ret = st.start;
        return true;
}

/* --- one's own ------------------------------------------------------------------------------- */

void dump_run_update(struct dump_run *run, const struct dump_status *status)
{
        struct strbuf out = {0};
        bool failed = status->err.code != 0;
        if (!run)
                return;
        strbuf_putf(&out, "pid %ld\nstart %llu\nprogram %s\nfolder %s\nanswered %lld\n",
                    (long)getpid(), (unsigned long long)run->start_ticks, run->program, run->dumps,
                    (long long)status->asked_mono_ns);
        strbuf_putf(&out, "file %s\nerror %s\n", failed ? "" : status->file,
                    failed ? status->err.msg : "");
        if (!out.failed && out.len < RUN_BYTES) {
                strbuf_fill(&out, ' ', RUN_BYTES - out.len);
                ssize_t n = out.failed ? 0 : pwrite(run->fd, out.s, out.len, 0);
                (void)n; /* a client that waits for the answer notices that none will come */
        }
        strbuf_finish(&out);
}

void dump_run_close(struct dump_run *run)
{
        if (!run)
                return;
        if (run->fd >= 0)
                unlinkat(run->folder, run->name, 0);
        closep(&run->fd);
        closep(&run->folder);
        free(run);
}

/* A file of a dead program that had the same pid goes; a new one has another inode, which nobody
 * holds locked. */
static int make_file(struct dump_run *run)
{
        unlinkat(run->folder, run->name, 0);
        run->fd = openat(run->folder, run->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600);
        if (run->fd < 0)
                return -errno;
        return flock(run->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

int dump_run_open(const char *folder, const char *program, const char *dumps, struct dump_run **ret,
                  struct err *err)
{
        const struct dump_status none = {0};
        struct dump_run *run = calloc(1, sizeof(*run));
        if (!run)
                return err_set(err, -ENOMEM, "out of memory");
        run->fd = -1;
        run->folder = dump_folder_open(folder, err);
        int r = MIN(run->folder, 0);
        snprintf(run->name, sizeof(run->name), RUN_PREFIX "%ld", (long)getpid());
        snprintf(run->program, sizeof(run->program), "%s", program);
        if (r == 0 && dumps[0] != '/' && realpath(dumps, run->dumps) == NULL)
                r = err_set(err, -errno, "cannot find '%s': %s", dumps, strerror(errno));
        else if (r == 0 && dumps[0] == '/')
                snprintf(run->dumps, sizeof(run->dumps), "%s", dumps);
        if (r == 0 && !read_start(getpid(), &run->start_ticks))
                r = err_set(err, -ESRCH, "cannot read /proc/self/stat");
        if (r == 0 && (r = make_file(run)) < 0)
                err_set(err, r, "cannot write in '%s': %s", folder, strerror(-r));
        if (r < 0) {
                dump_run_close(run);
                return r;
        }
        dump_run_update(run, &none);
        *ret = run;
        return 0;
}

/* --- those of others ------------------------------------------------------------------------- */

static const struct run_field {
        const char *key;
        size_t at, size; /* of a text; size 0: a number */
} fields[] = {
#define RUN_TEXT(key, member)                                                                      \
        {                                                                                          \
                key, offsetof(struct dump_run_info, member),                                       \
                    sizeof(((struct dump_run_info *)0)->member)                                    \
        }
#define RUN_NUMBER(key, member)                                                                    \
        {                                                                                          \
                key, offsetof(struct dump_run_info, member), 0                                     \
        }
    RUN_NUMBER("pid", pid),
    RUN_NUMBER("start", start_ticks),
    RUN_TEXT("program", program),
    RUN_TEXT("folder", folder),
    RUN_TEXT("file", file),
    RUN_TEXT("error", error),
    RUN_NUMBER("answered", answered_ns),
};

/* What later programs add is passed over. */
static void take_field(const char *key, const char *value, struct dump_run_info *ret)
{
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                char *to = (char *)ret + fields[i].at;
                if (strcmp(fields[i].key, key) != 0)
                        continue;
                int64_t number = strtoll(value, NULL, 10);
                if (fields[i].size == 0) {
                        memcpy(to, &number, sizeof(number));
                } else {
                        snprintf(to, fields[i].size, "%s", value);
                        text_clean(to);
                }
        }
}

/* A terminated text, which is cut into its lines. */
static bool parse_run(char *s, int32_t pid, struct dump_run_info *ret)
{
        char *rest = NULL;
        *ret = (struct dump_run_info){0};
        for (char *line = strtok_r(s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char *blank = strchr(line, ' ');
                if (!blank)
                        continue;
                *blank = '\0';
                take_field(line, blank + 1, ret);
        }
        return ret->pid == pid && (ret->file[0] == '\0' || dump_folder_is_name(ret->file));
}

/* The pid of such a file; 0 for any other. */
static int32_t pid_of(const char *name)
{
        if (strncmp(name, RUN_PREFIX, strlen(RUN_PREFIX)) != 0)
                return 0;
        const char *digits = name + strlen(RUN_PREFIX);
        char *end;
        long pid = strtol(digits, &end, 10);
        return digits[0] >= '1' && digits[0] <= '9' && *end == '\0' && pid <= INT32_MAX
                   ? (int32_t)pid
                   : 0;
}

static bool is_alive(const struct dump_run_info *run)
{
        uint64_t start;
        return read_start((int32_t)run->pid, &start) && (int64_t)start == run->start_ticks;
}

/* Its lock is free when it has ended: then the file goes. */
static bool read_run(int folder, const char *name, struct dump_run_info *ret)
{
        char *buf;
        struct stat st;
        int32_t pid = pid_of(name);
        CLEANUP(closep)
        int fd =
            pid > 0 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
                return false;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
                unlinkat(folder, name, 0);
                return false;
        }
        buf = calloc(1, RUN_BYTES + 1);
        ssize_t n = buf ? pread(fd, buf, RUN_BYTES, 0) : 0;
        bool is_one = n > 0 && parse_run(buf, pid, ret) && is_alive(ret);
        free(buf);
        return is_one;
}

int dump_runs_list(const char *folder, struct dump_run_info **ret, size_t *ret_n, struct err *err)
{
        struct dump_run_info *list = NULL;
        size_t n = 0;
        DIR *d = opendir(folder);
        if (!d && errno != ENOENT)
                return err_set(err, -errno, "cannot read '%s': %s", folder, strerror(errno));
        const struct dirent *entry;
        int r = 0;
        for (int i = 0; r == 0 && d && i < NAMES_MAX && n < RUNS_MAX && (entry = readdir(d)); i++) {
                struct dump_run_info run;
                if (!read_run(dirfd(d), entry->d_name, &run))
                        continue;
                if (!LIST_ONE_MORE(list, n))
                        r = err_set(err, -ENOMEM, "out of memory");
                else
                        list[n++] = run;
        }
        if (d)
                closedir(d);
        if (r < 0) {
                free(list);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

bool dump_runs_find(const char *folder, int32_t pid, struct dump_run_info *ret)
{
        char name[32];
        snprintf(name, sizeof(name), RUN_PREFIX "%d", pid);
        CLEANUP(closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 && read_run(fd, name, ret);
}

int dump_run_request(const struct dump_run_info *run, struct err *err)
{
        /* The process that the descriptor is of stays the same, so the check after it holds. */
        CLEANUP(closep) int fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
        int r = fd < 0 ? -errno : !is_alive(run) ? -ESRCH : 0;
        if (r == 0 && syscall(SYS_pidfd_send_signal, fd, DUMP_SIGNAL, NULL, 0) < 0)
                r = -errno;
        if (r == -ESRCH)
                return err_set(err, r, "process %lld has ended", (long long)run->pid);
        return r < 0 ? err_set(err, r, "cannot signal process %lld: %s", (long long)run->pid,
                               strerror(-r))
                     : 0;
}
