#include "read/host/cgroup.h"

#include "base/attr.h"
#include "base/num.h"
#include "read/host/cursor.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

static const char *const names[CGROUP_KINDS] = {
    [CGROUP_UNIFIED] = "",        [CGROUP_MEMORY] = "memory",        [CGROUP_CPUACCT] = "cpuacct",
    [CGROUP_CPU] = "cpu",         [CGROUP_CPUSET] = "cpuset",        [CGROUP_PIDS] = "pids",
    [CGROUP_FREEZER] = "freezer", [CGROUP_SYSTEMD] = "name=systemd",
};

static bool list_has(struct cursor list, const char *name)
{
        while (list.s < list.end) {
                const char *comma = memchr(list.s, ',', (size_t)(list.end - list.s));
                struct cursor word = {list.s, comma ? comma : list.end};
                if (cursor_is(word, name))
                        return true;
                list.s = comma ? comma + 1 : list.end;
        }
        return false;
}

/* "4:memory:/a/b", "0::/a". */
static bool take_path(struct cursor line, struct cgroup_paths *ret)
{
        const char *first = memchr(line.s, ':', (size_t)(line.end - line.s));
        const char *second = first ? memchr(first + 1, ':', (size_t)(line.end - first - 1)) : NULL;
        if (!second || second + 1 >= line.end || second[1] != '/')
                return false;
        struct cursor list = {first + 1, second}, path = {second + 1, line.end};
        if ((size_t)(path.end - path.s) >= CGROUP_PATH_MAX)
                return false;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                if (k == CGROUP_UNIFIED ? list.s == list.end : list_has(list, names[k]))
                        cursor_copy(path, ret->path[k], CGROUP_PATH_MAX);
        }
        return true;
}

int cgroup_parse_paths(const char *buf, size_t n, struct cgroup_paths *ret)
{
        struct cursor c = cursor_of(buf, n), line;
        bool any = false;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++)
                ret->path[k][0] = '\0';
        while (cursor_line(&c, &line))
                any |= take_path(line, ret);
        return any ? 0 : -EBADMSG;
}

static void add_mount(struct cgroup_mounts *m, enum cgroup_kind k, struct cursor root,
                      struct cursor point)
{
        /* The first mount wins: later ones are bind mounts of containers. */
        if (m->at[k].point[0] || (size_t)(point.end - point.s) >= sizeof(m->at[k].point) ||
            (size_t)(root.end - root.s) >= sizeof(m->at[k].root))
                return;
        cursor_copy(point, m->at[k].point, sizeof(m->at[k].point));
        cursor_copy(root, m->at[k].root, sizeof(m->at[k].root));
}

/* "36 35 98:0 /root /point options [tags] - type source super-options" */
static void take_mount(struct cursor line, struct cgroup_mounts *ret)
{
        struct cursor w[6], word;
        for (size_t i = 0; i < ARRAY_LEN(w); i++) {
                if (!cursor_word(&line, &w[i]))
                        return;
        }
        while (cursor_word(&line, &word) && !cursor_is(word, "-")) {
        }
        struct cursor type, source, options;
        if (!cursor_word(&line, &type) || !cursor_word(&line, &source) ||
            !cursor_word(&line, &options))
                return;
        if (cursor_is(type, "proc") && cursor_is(w[4], "/proc"))
                ret->hidepid =
                    list_has(options, "hidepid=2") || list_has(options, "hidepid=invisible") ||
                    list_has(options, "hidepid=4") || list_has(options, "hidepid=ptraceable");
        if (cursor_is(type, "cgroup2"))
                add_mount(ret, CGROUP_UNIFIED, w[3], w[4]);
        if (!cursor_is(type, "cgroup"))
                return;
        for (enum cgroup_kind k = CGROUP_MEMORY; k < CGROUP_KINDS; k++) {
                if (list_has(options, names[k]))
                        add_mount(ret, k, w[3], w[4]);
        }
}

int cgroup_parse_mounts(const char *buf, size_t n, struct cgroup_mounts *ret)
{
        struct cursor c = cursor_of(buf, n), line;
        memset(ret, 0, sizeof(*ret));
        while (cursor_line(&c, &line))
                take_mount(line, ret);
        return 0;
}

bool cgroup_parse_key(const char *buf, size_t n, const char *key, uint64_t *ret)
{
        struct cursor c = cursor_of(buf, n), line, word;
        while (cursor_line(&c, &line)) {
                if (cursor_word(&line, &word) && cursor_is(word, key))
                        return cursor_u64(&line, ret);
        }
        return false;
}

bool cgroup_parse_one(const char *buf, size_t n, uint64_t *ret)
{
        struct cursor c = cursor_of(buf, n), word;
        if (cursor_u64(&c, ret))
                return true;
        if (!cursor_word(&c, &word) || !cursor_is(word, "max"))
                return false;
        *ret = UINT64_MAX;
        return true;
}

bool cgroup_parse_cpu_max(const char *buf, size_t n, double *ret)
{
        struct cursor c = cursor_of(buf, n), word;
        uint64_t quota, period;
        if (!cursor_u64(&c, &quota)) {
                if (!cursor_word(&c, &word) || !cursor_is(word, "max"))
                        return false;
                *ret = 0;
                return true;
        }
        if (!cursor_u64(&c, &period) || period == 0 || quota == 0)
                return false;
        *ret = (double)quota / (double)period;
        return true;
}

static bool take_device(struct cursor *line, uint64_t *ret)
{
        uint64_t major, minor;
        if (!cursor_u64(line, &major) || line->s >= line->end || *line->s++ != ':' ||
            !cursor_u64(line, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
                return false;
        *ret = major << 32 | minor;
        return true;
}

void cgroup_parse_io(const char *buf, size_t n, void (*each)(const struct cgroup_io *io, void *arg),
                     void *arg)
{
        static const char *const keys[] = {"rbytes=", "wbytes="};
        struct cursor c = cursor_of(buf, n), line, word;
        while (cursor_line(&c, &line)) {
                struct cgroup_io io = {0};
                uint64_t *const to[] = {&io.read, &io.write};
                if (!take_device(&line, &io.device))
                        continue;
                while (cursor_word(&line, &word)) {
                        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                                struct cursor v = word;
                                if (!cursor_starts(v, keys[i]))
                                        continue;
                                v.s += strlen(keys[i]);
                                cursor_u64(&v, to[i]);
                        }
                }
                each(&io, arg);
        }
}

bool cgroup_container(const char *path, char *ret, size_t size)
{
        enum { ID = 64 };
        size_t run = 0, found = 0;
        const char *end = NULL;
        for (const char *s = path;; s++) {
                if (isxdigit((unsigned char)*s)) {
                        run++;
                        continue;
                }
                if (run == ID) {
                        end = s;
                        found = run;
                }
                run = 0;
                if (*s == '\0')
                        break;
        }
        if (!end || size <= found)
                return false;
        cursor_copy((struct cursor){end - found, end}, ret, size);
        return true;
}

enum cgroup_kind cgroup_main(const struct cgroup_paths *p)
{
        enum cgroup_kind k = 0;
        while (k < CGROUP_KINDS && (p->path[k][0] == '\0' || strcmp(p->path[k], "/") == 0))
                k++;
        return k;
}

bool cgroup_folder(const struct cgroup_mounts *m, enum cgroup_kind kind, const char *path,
                   char *ret, size_t size)
{
        const char *root = m->at[kind].root;
        size_t n = strlen(root);
        /* A group outside of our namespace of groups is below no mount of ours. */
        bool is_outside = strncmp(path, "/../", 4) == 0 || strcmp(path, "/..") == 0;
        if (!m->at[kind].point[0] || is_outside)
                return false;
        if (strcmp(root, "/") != 0 && strncmp(path, root, n) == 0 &&
            (path[n] == '/' || path[n] == '\0'))
                path += n;
        return snprintf(ret, size, "%s%s", m->at[kind].point, strcmp(path, "/") == 0 ? "" : path) <
               (int)size;
}
