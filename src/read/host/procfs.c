#include "read/host/procfs.h"

#include "base/attr.h"
#include "read/host/cursor.h"

#include <errno.h>

/* A pid-like number: may be negative or 0 (a kernel thread's session, a foreign parent). */
static bool take_i32(struct cursor *c, int32_t *ret)
{
        cursor_skip_blanks(c);
        bool negative = c->s < c->end && *c->s == '-';
        uint64_t v;
        if (negative)
                c->s++;
        if (!cursor_u64(c, &v) || v > INT32_MAX)
                return false;
        *ret = negative ? -(int32_t)v : (int32_t)v;
        return true;
}

static bool skip_words(struct cursor *c, unsigned n)
{
        struct cursor word;
        for (; n > 0; n--) {
                if (!cursor_word(c, &word))
                        return false;
        }
        return true;
}

/* The times: utime stime cutime cstime. The last two are signed in the kernel's format. */
static bool take_times(struct cursor *c, struct proc_stat *ret)
{
        uint64_t t[4];
        for (size_t i = 0; i < ARRAY_LEN(t); i++) {
                if (!cursor_u64(c, &t[i]))
                        return false;
        }
        return !__builtin_add_overflow(t[0], t[1], &ret->own) &&
               !__builtin_add_overflow(t[2], t[3], &ret->waited);
}

int procfs_stat(const char *buf, size_t n, struct proc_stat *ret)
{
        struct proc_stat s = {0};
        struct cursor c = cursor_of(buf, n);
        /* A program may name itself anything, ") R 1" included: the last bracket is the kernel's.
         */
        const char *open = memchr(buf, '(', n);
        const char *close = memrchr(buf, ')', n);
        if (!take_i32(&c, &s.pid) || s.pid <= 0 || !open || !close || close < open)
                return -EBADMSG;
        cursor_copy((struct cursor){open + 1, close}, s.comm, sizeof(s.comm));
        c.s = close + 1;
        cursor_skip_blanks(&c);
        if (c.s >= c.end)
                return -EBADMSG;
        s.state = *c.s++;
        bool ok = take_i32(&c, &s.ppid) && take_i32(&c, &s.pgrp) && take_i32(&c, &s.session) &&
                  skip_words(&c, 3) && cursor_u64(&c, &s.minor) && skip_words(&c, 1) &&
                  cursor_u64(&c, &s.major) && skip_words(&c, 1) && take_times(&c, &s) &&
                  skip_words(&c, 2) && cursor_u64(&c, &s.threads) && skip_words(&c, 1) &&
                  cursor_u64(&c, &s.start) && skip_words(&c, 1) && cursor_u64(&c, &s.rss_pages);
        if (!ok)
                return -EBADMSG;
        *ret = s;
        return 0;
}

int procfs_schedstat(const char *buf, size_t n, struct proc_schedstat *ret)
{
        struct cursor c = cursor_of(buf, n);
        struct proc_schedstat s;
        if (!cursor_u64(&c, &s.cpu_ns) || !cursor_u64(&c, &s.queued_ns) ||
            !cursor_u64(&c, &s.times))
                return -EBADMSG;
        if (s.times == 0)
                return -ENOTSUP;
        *ret = s;
        return 0;
}

int procfs_io(const char *buf, size_t n, struct proc_io *ret)
{
        static const char *const names[PROC_IO_COUNT] = {
            "rchar:", "wchar:", "syscr:", "syscw:", "read_bytes:", "write_bytes:"};
        struct proc_io io = {0};
        struct cursor c = cursor_of(buf, n), line;
        for (size_t i = 0; i < PROC_IO_COUNT; i++) {
                if (!cursor_line(&c, &line) || !cursor_starts(line, names[i]))
                        return -EBADMSG;
                line.s += strlen(names[i]);
                if (!cursor_u64(&line, &io.v[i]))
                        return -EBADMSG;
        }
        *ret = io;
        return 0;
}

bool procfs_cpu_list(const char *buf, size_t n, uint32_t *ret)
{
        struct cursor c = cursor_of(buf, n);
        uint64_t count = 0, first, last;
        while (cursor_u64(&c, &first)) {
                last = first;
                if (c.s < c.end && *c.s == '-') {
                        c.s++;
                        if (!cursor_u64(&c, &last))
                                return false;
                }
                if (last < first || last - first > 65535 || count > 65535)
                        return false;
                count += last - first + 1;
                if (c.s >= c.end || *c.s != ',')
                        break;
                c.s++;
        }
        *ret = (uint32_t)count;
        return count > 0;
}

static bool take_id(struct cursor line, uint32_t *ret)
{
        uint64_t v;
        if (!cursor_u64(&line, &v) || v > UINT32_MAX)
                return false;
        *ret = (uint32_t)v;
        return true;
}

int procfs_status(const char *buf, size_t n, struct proc_status *ret)
{
        struct proc_status s = {0};
        bool uid = false, gid = false;
        struct cursor c = cursor_of(buf, n), line, key;
        while (cursor_line(&c, &line)) {
                if (!cursor_word(&line, &key))
                        continue;
                if (cursor_is(key, "Uid:")) {
                        uid = take_id(line, &s.uid);
                } else if (cursor_is(key, "Gid:")) {
                        gid = take_id(line, &s.gid);
                } else if (cursor_is(key, "Cpus_allowed_list:")) {
                        procfs_cpu_list(line.s, (size_t)(line.end - line.s), &s.cpus);
                        break;
                }
        }
        if (!uid || !gid)
                return -EBADMSG;
        *ret = s;
        return 0;
}

int procfs_limits(const char *buf, size_t n, uint64_t *ret_address_space)
{
        static const char name[] = "Max address space";
        struct cursor c = cursor_of(buf, n), line, word;
        while (cursor_line(&c, &line)) {
                if (!cursor_starts(line, name))
                        continue;
                line.s += sizeof(name) - 1;
                if (cursor_u64(&line, ret_address_space))
                        return 0;
                if (!cursor_word(&line, &word) || !cursor_is(word, "unlimited"))
                        return -EBADMSG;
                *ret_address_space = UINT64_MAX;
                return 0;
        }
        return -EBADMSG;
}

int procfs_smaps(const char *buf, size_t n, struct proc_smaps *ret)
{
        uint64_t pss = 0, private = 0, v;
        bool found = false;
        struct cursor c = cursor_of(buf, n), line, key;
        while (cursor_line(&c, &line)) {
                if (!cursor_word(&line, &key) || !cursor_u64(&line, &v) || v > UINT64_MAX / 4096)
                        continue;
                if (cursor_is(key, "Pss:")) {
                        pss = v * 1024;
                        found = true;
                } else if (cursor_is(key, "Private_Clean:") || cursor_is(key, "Private_Dirty:") ||
                           cursor_is(key, "Private_Hugetlb:")) {
                        private += v * 1024;
                }
        }
        if (!found)
                return -EBADMSG;
        *ret = (struct proc_smaps){.pss = pss, .uss = private};
        return 0;
}

bool procfs_environ(const char *buf, size_t n, const char *name, char *ret, size_t size)
{
        size_t len = strlen(name);
        const char *end = buf + n;
        while (buf < end) {
                const char *stop = memchr(buf, '\0', (size_t)(end - buf));
                if (!stop)
                        stop = end;
                size_t entry = (size_t)(stop - buf);
                if (entry > len && buf[len] == '=' && memcmp(buf, name, len) == 0) {
                        cursor_copy((struct cursor){buf + len + 1, stop}, ret, size);
                        return true;
                }
                buf = stop + 1;
        }
        return false;
}

bool procfs_halted(const char *buf, size_t n, int32_t *ret_tracer, uint64_t *ret_swap)
{
        struct cursor c = cursor_of(buf, n), line;
        uint64_t tracer = 0, kib = 0;
        bool has_tracer = false, has_swap = false;
        while (cursor_line(&c, &line)) {
                if (cursor_starts(line, "TracerPid:")) {
                        line.s += strlen("TracerPid:");
                        has_tracer = cursor_u64(&line, &tracer) && tracer <= INT32_MAX;
                } else if (cursor_starts(line, "VmSwap:")) {
                        line.s += strlen("VmSwap:");
                        has_swap = cursor_u64(&line, &kib) && kib < UINT64_MAX / 1024;
                }
        }
        if (!has_tracer || !has_swap)
                return false;
        *ret_tracer = (int32_t)tracer;
        *ret_swap = kib * 1024;
        return true;
}
