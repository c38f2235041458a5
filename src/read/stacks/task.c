#include "read/stacks/task.h"

#include "base/attr.h"
#include "read/host/cursor.h"
#include "read/host/files.h"
#include "read/host/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATH_MAX_BYTES 48
#define RECORD_MAX 1024
#define STATUS_MAX 4096
#define TARGET_PATH_MAX 256

/* Numbers of calls that one kind of machine alone has. */
#ifdef __aarch64__
#define SYS_open (-1)
#define SYS_stat (-1)
#define SYS_unlink (-1)
#define SYS_rename (-1)
#define SYS_mkdir (-1)
#define SYS_vfork (-1)
#define SYS_poll (-1)
#define SYS_select (-1)
#define SYS_epoll_wait (-1)
#define SYS_pause (-1)
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* What the arguments of a call name. */
enum call_about {
        ABOUT_NOTHING,
        ABOUT_DESCRIPTOR,
        ABOUT_PATH_FIRST,
        ABOUT_PATH_SECOND,
        ABOUT_POLLED,
        ABOUT_ADDRESS,
};

static const struct {
        const char *name;
        int number;
        bool may_block;
        enum call_about about;
} calls[] = {
#define CALL(name, may_block, about) {#name, SYS_##name, may_block, ABOUT_##about},
#include "read/stacks/calls.def"
#undef CALL
};

static ssize_t read_task_file(int folder, int32_t tid, const char *name, char *buf, size_t size)
{
        char path[PATH_MAX_BYTES];
        snprintf(path, sizeof(path), "task/%d/%s", tid, name);
        CLEANUP(closep) int fd = files_open(folder, path);
        return fd < 0 ? fd : files_reread_record(fd, buf, size);
}

bool task_parse_call(const char *buf, size_t n, bool *ret_runs, int64_t *ret_call)
{
        static const char runs[] = "running";
        char number[24], *end;
        if (n >= strlen(runs) && memcmp(buf, runs, strlen(runs)) == 0) {
                *ret_runs = true;
                *ret_call = -1;
                return true;
        }
        const char *blank = memchr(buf, ' ', n);
        size_t len = blank ? (size_t)(blank - buf) : 0;
        if (len == 0 || len >= sizeof(number))
                return false;
        memcpy(number, buf, len);
        number[len] = '\0';
        int64_t v = strtoll(number, &end, 10);
        if (*end || v < -1)
                return false;
        *ret_runs = false;
        *ret_call = v;
        return true;
}

/* From the letter of /proc/PID/task/TID/stat. False when the thread has gone. */
static bool read_state(int folder, int32_t tid, enum stack_state *ret)
{
        char buf[RECORD_MAX];
        struct proc_stat stat;
        ssize_t n = read_task_file(folder, tid, "stat", buf, sizeof(buf));
        if (n < 0 || procfs_stat(buf, (size_t)n, &stat) < 0 || strchr("ZX", stat.state))
                return false;
        *ret = stat.state == 'R'   ? STACK_RUNNING
               : stat.state == 'D' ? STACK_BLOCKED
                                   : STACK_WAITING;
        return true;
}

static uint32_t read_channel(int folder, int32_t tid, struct stack_table *table)
{
        char buf[128];
        ssize_t n = read_task_file(folder, tid, "wchan", buf, sizeof(buf));
        /* "0" where the kernel does not say. */
        return n <= 0 || buf[0] == '0' ? STACK_TEXT_NONE : stack_intern_text(table, buf, (size_t)n);
}

/* By its number; whether it may be in a sleep that no signal ends. */
static bool name_call(int64_t call, struct stack_table *table, uint32_t *ret)
{
        char number[32];
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                if (calls[i].number == call) {
                        *ret = stack_intern_text(table, calls[i].name, strlen(calls[i].name));
                        return calls[i].may_block;
                }
        }
        snprintf(number, sizeof(number), "system call %lld", (long long)call);
        *ret = stack_intern_text(table, number, strlen(number));
        return true;
}

bool task_read_wait(int folder, int32_t tid, struct stack_table *table, struct task_wait *ret)
{
        char buf[RECORD_MAX];
        struct task_wait w = {.state = STACK_WAITING};
        bool runs, ask_state = true;
        int64_t call = -1;
        ssize_t n = read_task_file(folder, tid, "syscall", buf, sizeof(buf));
        if (n > 0 && task_parse_call(buf, (size_t)n, &runs, &call)) {
                if (runs) {
                        *ret = (struct task_wait){.state = STACK_RUNNING};
                        return true;
                }
                /* Outside a call it waits for a page, or was stopped. */
                ask_state = call < 0 || name_call(call, table, &w.call);
        }
        if (ask_state && !read_state(folder, tid, &w.state))
                return false;
        if (w.state == STACK_BLOCKED || (w.state == STACK_WAITING && w.call == STACK_TEXT_NONE))
                w.channel = read_channel(folder, tid, table);
        if (w.state == STACK_RUNNING)
                w.call = STACK_TEXT_NONE;
        *ret = w;
        return true;
}

uint32_t task_read_name(int folder, int32_t tid, struct stack_table *table)
{
        char buf[TASK_NAME_MAX];
        ssize_t n = read_task_file(folder, tid, "comm", buf, sizeof(buf));
        while (n > 0 && buf[n - 1] == '\n')
                n--;
        return n > 0 ? stack_intern_text(table, buf, (size_t)n) : STACK_TEXT_NONE;
}

int32_t task_parse_inner(const char *buf, size_t n)
{
        const char *line = memmem(buf, n, "\nNSpid:", 7), *end = buf + n;
        int64_t last = 0, v;
        if (!line)
                return 0;
        for (const char *s = line + 7; s < end && *s != '\n';) {
                for (v = 0; s < end && *s >= '0' && *s <= '9' && v <= INT32_MAX; s++)
                        last = v = v * 10 + (*s - '0');
                for (; s < end && *s != '\n' && (*s < '0' || *s > '9'); s++)
                        ;
                if (v > INT32_MAX)
                        return 0;
        }
        return (int32_t)last;
}

int32_t task_read_inner(int folder, int32_t tid)
{
        char buf[STATUS_MAX];
        ssize_t n = read_task_file(folder, tid, "status", buf, sizeof(buf));
        return n > 0 ? task_parse_inner(buf, (size_t)n) : 0;
}

/* ---- what a call is about ---- */

bool task_parse_arguments(const char *buf, size_t n, int64_t *ret_call, uint64_t ret[2])
{
        bool runs;
        int64_t call;
        uint64_t list[2];
        char text[64], *at = text, *end;
        if (!task_parse_call(buf, n, &runs, &call) || runs || call < 0)
                return false;
        const char *blank = memchr(buf, ' ', n);
        size_t left = (size_t)(buf + n - blank);
        snprintf(text, sizeof(text), "%.*s", (int)MIN(left, sizeof(text) - 1), blank);
        for (size_t i = 0; i < ARRAY_LEN(list); i++, at = end) {
                list[i] = strtoull(at, &end, 16);
                if (end == at)
                        return false;
        }
        *ret_call = call;
        memcpy(ret, list, sizeof(list));
        return true;
}

static bool read_memory(int32_t pid, uint64_t address, void *to, size_t n)
{
        struct iovec into = {.iov_base = to, .iov_len = n};
        struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = n};
        return process_vm_readv(pid, &into, 1, &from, 1, 0) == (ssize_t)n;
}

/* Up to the end of its page at most; paths that reach further are cut. */
static uint32_t read_path(int32_t pid, uint64_t address, struct stack_table *table)
{
        char path[TARGET_PATH_MAX];
        size_t n = MIN(sizeof(path), (size_t)(4096 - address % 4096));
        if (!read_memory(pid, address, path, n))
                return STACK_TEXT_NONE;
        return stack_intern_text(table, path, strnlen(path, n));
}

static uint32_t read_descriptor(int folder, int64_t fd, struct stack_table *table)
{
        char name[32], path[TARGET_PATH_MAX];
        snprintf(name, sizeof(name), "fd/%lld", (long long)fd);
        ssize_t n = fd >= 0 && fd <= INT32_MAX ? readlinkat(folder, name, path, sizeof(path)) : -1;
        if (n <= 0)
                return STACK_TEXT_NONE;
        const char *bracket = memmem(path, (size_t)n, ":[", 2);
        /* "socket:[1234]" and "pipe:[1234]": the number says nothing to people. */
        return stack_intern_text(table, path, bracket ? (size_t)(bracket - path) : (size_t)n);
}

void task_read_target(int folder, int32_t pid, int32_t tid, struct stack_table *table,
                      struct task_target *ret)
{
        char buf[RECORD_MAX];
        int64_t call;
        int32_t polled;
        uint64_t argument[2];
        struct task_target t = {0};
        ssize_t n = read_task_file(folder, tid, "syscall", buf, sizeof(buf));
        bool known = n > 0 && task_parse_arguments(buf, (size_t)n, &call, argument);
        for (size_t i = 0; known && i < ARRAY_LEN(calls); i++) {
                if (calls[i].number != call)
                        continue;
                switch (calls[i].about) {
                case ABOUT_NOTHING:
                        break;
                case ABOUT_DESCRIPTOR:
                        t.target = read_descriptor(folder, (int64_t)argument[0], table);
                        break;
                case ABOUT_PATH_FIRST:
                        t.target = read_path(pid, argument[0], table);
                        break;
                case ABOUT_PATH_SECOND:
                        t.target = read_path(pid, argument[1], table);
                        break;
                case ABOUT_POLLED:
                        if (argument[1] == 1 &&
                            read_memory(pid, argument[0], &polled, sizeof(polled)))
                                t.target = read_descriptor(folder, polled, table);
                        break;
                case ABOUT_ADDRESS:
                        t.waits_at = argument[0];
                        break;
                }
        }
        *ret = t;
}

/* ---- how much it runs ---- */

static struct cursor after_name(const char *buf, size_t n, const char *name)
{
        struct cursor c = cursor_of(buf, n), line, none = {buf, buf};
        while (cursor_line(&c, &line)) {
                const char *colon = memchr(line.s, ':', (size_t)(line.end - line.s));
                if (colon && cursor_starts(line, name))
                        return (struct cursor){colon + 1, line.end};
        }
        return none;
}

bool task_parse_last_run(const char *buf, size_t n, double *ret_ms)
{
        uint64_t ms;
        struct cursor c = after_name(buf, n, "se.exec_start");
        if (!cursor_u64(&c, &ms))
                return false;
        *ret_ms = (double)ms;
        return true;
}

bool task_parse_runs(const char *buf, size_t n, struct task_runs *ret)
{
        struct proc_schedstat s;
        if (procfs_schedstat(buf, n, &s) < 0)
                return false;
        ret->has_times = true;
        ret->cpu_ns = s.cpu_ns;
        ret->waited_ns = s.queued_ns;
        ret->times = s.times;
        return true;
}

void task_read_runs(int folder, int32_t tid, struct task_runs *ret)
{
        char buf[STATUS_MAX];
        struct task_runs r = {0};
        ssize_t n = read_task_file(folder, tid, "schedstat", buf, sizeof(buf));
        if (n > 0)
                task_parse_runs(buf, (size_t)n, &r);
        n = read_task_file(folder, tid, "sched", buf, sizeof(buf));
        r.has_last = n > 0 && task_parse_last_run(buf, (size_t)n, &r.last_ms);
        *ret = r;
}
