#include "read/host/sysfiles.h"

#include "base/attr.h"
#include "base/num.h"
#include "read/host/cursor.h"

#include <errno.h>

#define SECTOR 512 /* of diskstats, whatever the disk's own is */

static bool take_cpu_times(struct cursor *line, struct cpu_times *ret)
{
        struct cpu_times t = {0};
        for (size_t i = 0; i < CPU_TIMES; i++) {
                /* Kernels before 2.6.11 have no steal; none lacks the first four. */
                if (!cursor_u64(line, &t.t[i]) && i < 4)
                        return false;
        }
        *ret = t;
        return true;
}

int sysfiles_stat(const char *buf, size_t n, struct cpu_times *ret_total, struct cpu_times *cores,
                  size_t max, size_t *ret_n)
{
        struct cpu_times total;
        size_t count = 0;
        bool found = false;
        struct cursor c = cursor_of(buf, n), line, key;
        memset(cores, 0, max * sizeof(*cores));
        while (cursor_line(&c, &line) && cursor_word(&line, &key) && cursor_starts(key, "cpu")) {
                uint64_t number;
                key.s += 3;
                if (key.s == key.end) {
                        found = take_cpu_times(&line, &total);
                } else if (cursor_u64(&key, &number) && number < max &&
                           take_cpu_times(&line, &cores[number])) {
                        count = MAX(count, (size_t)number + 1);
                }
        }
        if (!found)
                return -EBADMSG;
        *ret_total = total;
        *ret_n = count;
        return 0;
}

int sysfiles_meminfo(const char *buf, size_t n, struct meminfo *ret)
{
        enum { TOTAL, FREE, AVAILABLE, CACHED, SWAP_TOTAL, SWAP_FREE, COUNT };
        static const char *const names[COUNT] = {
            "MemTotal:", "MemFree:", "MemAvailable:", "Cached:", "SwapTotal:", "SwapFree:"};
        uint64_t v[COUNT] = {0}, kib;
        bool present[COUNT] = {0};
        struct cursor c = cursor_of(buf, n), line, key;
        while (cursor_line(&c, &line)) {
                if (!cursor_word(&line, &key) || !cursor_u64(&line, &kib) ||
                    kib > UINT64_MAX / 4096)
                        continue;
                for (size_t i = 0; i < COUNT; i++) {
                        if (cursor_is(key, names[i])) {
                                v[i] = kib * 1024;
                                present[i] = true;
                        }
                }
        }
        if (!present[TOTAL] || (!present[AVAILABLE] && !present[FREE]))
                return -EBADMSG;
        *ret =
            (struct meminfo){.total = v[TOTAL],
                             .available = present[AVAILABLE] ? v[AVAILABLE] : v[FREE] + v[CACHED],
                             .swap_total = v[SWAP_TOTAL],
                             .swap_free = v[SWAP_FREE]};
        return 0;
}

int sysfiles_loadavg(const char *buf, size_t n, struct loadavg *ret)
{
        struct cursor c = cursor_of(buf, n), word;
        double load[3];
        for (size_t i = 0; i < 3; i++) {
                if (!cursor_word(&c, &word) ||
                    !num_parse_all(word.s, (size_t)(word.end - word.s), &load[i]))
                        return -EBADMSG;
        }
        uint64_t running, threads;
        if (!cursor_u64(&c, &running) || c.s >= c.end || *c.s++ != '/' || !cursor_u64(&c, &threads))
                return -EBADMSG;
        *ret = (struct loadavg){load[0], load[1], load[2], threads};
        return 0;
}

static bool take_total(struct cursor line, uint64_t *ret)
{
        struct cursor word;
        while (cursor_word(&line, &word)) {
                if (cursor_starts(word, "total=")) {
                        word.s += strlen("total=");
                        return cursor_u64(&word, ret);
                }
        }
        return false;
}

int sysfiles_pressure(const char *buf, size_t n, struct pressure *ret)
{
        struct pressure p = {0};
        bool some = false;
        struct cursor c = cursor_of(buf, n), line;
        while (cursor_line(&c, &line)) {
                if (cursor_starts(line, "some "))
                        some = take_total(line, &p.some);
                else if (cursor_starts(line, "full "))
                        take_total(line, &p.full);
        }
        if (!some)
                return -EBADMSG;
        *ret = p;
        return 0;
}

int sysfiles_number(const char *buf, size_t n, uint64_t *ret)
{
        struct cursor c = cursor_of(buf, n), rest;
        uint64_t v;
        if (!cursor_u64(&c, &v) || cursor_word(&c, &rest))
                return -EBADMSG;
        *ret = v;
        return 0;
}

/* "major minor name reads merged sectors ms writes merged sectors …" */
static bool take_disk(struct cursor line, struct device_io *ret)
{
        uint64_t v[9];
        struct cursor name;
        if (!cursor_u64(&line, &v[0]) || !cursor_u64(&line, &v[1]) || !cursor_word(&line, &name))
                return false;
        for (size_t i = 0; i < 7; i++) {
                if (!cursor_u64(&line, &v[i]))
                        return false;
        }
        *ret = (struct device_io){
            .in_ops = v[0], .in = v[2] * SECTOR, .out_ops = v[4], .out = v[6] * SECTOR};
        cursor_copy(name, ret->name, sizeof(ret->name));
        return v[2] <= UINT64_MAX / SECTOR && v[6] <= UINT64_MAX / SECTOR;
}

void sysfiles_diskstats(const char *buf, size_t n,
                        void (*each)(const struct device_io *d, void *arg), void *arg)
{
        struct cursor c = cursor_of(buf, n), line;
        struct device_io d;
        while (cursor_line(&c, &line)) {
                if (take_disk(line, &d))
                        each(&d, arg);
        }
}

/* " eth0: bytes packets errs drop fifo frame compressed multicast bytes packets …" */
static bool take_interface(struct cursor line, struct device_io *ret)
{
        cursor_skip_blanks(&line);
        const char *colon = memchr(line.s, ':', (size_t)(line.end - line.s));
        uint64_t v[10];
        if (!colon)
                return false;
        struct cursor name = {line.s, colon};
        line.s = colon + 1;
        for (size_t i = 0; i < ARRAY_LEN(v); i++) {
                if (!cursor_u64(&line, &v[i]))
                        return false;
        }
        *ret = (struct device_io){.in = v[0], .in_ops = v[1], .out = v[8], .out_ops = v[9]};
        cursor_copy(name, ret->name, sizeof(ret->name));
        return true;
}

void sysfiles_netdev(const char *buf, size_t n, void (*each)(const struct device_io *d, void *arg),
                     void *arg)
{
        struct cursor c = cursor_of(buf, n), line;
        struct device_io d;
        while (cursor_line(&c, &line)) {
                if (take_interface(line, &d))
                        each(&d, arg);
        }
}
