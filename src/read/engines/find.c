#include "read/engines/find.h"

#include "base/attr.h"
#include "read/host/files.h"
#include "read/host/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct habit {
        enum engine_kind kind;
        const char *word, *flag, *path;
        uint16_t port;
} habits[] = {
#define HABIT(engine, word, flag, port, path) {ENGINE_##engine, word, flag, path, port},
#include "read/engines/habits.def"
#undef HABIT
};

#define COMMAND_MAX 4096
#define TCP_MAX (256 * 1024)
#define FDS_MAX 4096
#define PROCESSES_MAX 16384
#define DEPTH_MAX 16
#define SOCKETS_MAX 8

/* --- command lines --------------------------------------------------------------------------- */

static uint16_t parse_port(const char *s)
{
        char *end;
        unsigned long port = strtoul(s, &end, 10);
        return end != s && *end == '\0' && port > 0 && port < 65536 ? (uint16_t)port : 0;
}

/* The last path component of an argument holds the word, or the argument is a module of it: not a
 * file that only lies in a folder of that name. */
static bool names_engine(const char *arg, const char *word)
{
        const char *base = strrchr(arg, '/');
        return strncmp(base ? base + 1 : arg, word, strlen(word)) == 0;
}

/* Its program, or what an interpreter runs: the first words of the line. */
#define WORDS_OF_PROGRAM 4

static const struct habit *find_habit(const char *command, size_t len)
{
        size_t word = 0;
        for (size_t at = 0; at < len && word < WORDS_OF_PROGRAM; word++) {
                for (size_t i = 0; i < ARRAY_LEN(habits); i++) {
                        if (names_engine(command + at, habits[i].word))
                                return &habits[i];
                }
                at += strnlen(command + at, len - at) + 1;
        }
        return NULL;
}

uint16_t engines_command_port(const char *command, size_t len, enum engine_kind *ret_kind,
                              const char **ret_path)
{
        const struct habit *h =
            len > 0 && command[len - 1] == '\0' ? find_habit(command, len) : NULL;
        if (!h)
                return 0;
        uint16_t port = h->port;
        size_t n = strlen(h->flag);
        for (size_t at = 0; at < len;) {
                const char *arg = command + at;
                size_t next = at + strlen(arg) + 1;
                if (strncmp(arg, h->flag, n) == 0 && arg[n] == '=')
                        port = parse_port(arg + n + 1);
                else if (strcmp(arg, h->flag) == 0 && next < len)
                        port = parse_port(command + next);
                at = next;
        }
        *ret_kind = h->kind;
        *ret_path = h->path;
        return port;
}

/* --- sockets --------------------------------------------------------------------------------- */

#define STATE_LISTEN 0x0a

/* "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 12345 …"
 * The address is in the machine's byte order, four bytes a word. */
static uint64_t read_socket(const char *line, uint16_t port, bool *ret_loopback)
{
        char address[33];
        unsigned local, state;
        unsigned long long inode;
        if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %llu",
                   address, &local, &state, &inode) != 4 ||
            state != STATE_LISTEN || local != port)
                return 0;
        bool any = strspn(address, "0") == strlen(address);
        bool v4 = strlen(address) == 8;
        *ret_loopback = any || (v4 && strcasecmp(address, "0100007F") == 0);
        return inode;
}

uint64_t engines_next_socket(const char *text, size_t len, size_t *at, uint16_t port,
                             bool *ret_loopback)
{
        while (*at < len) {
                char line[256];
                const char *end = memchr(text + *at, '\n', len - *at);
                size_t n = end ? (size_t)(end - text) - *at : len - *at;
                size_t kept = MIN(n, sizeof(line) - 1);
                memcpy(line, text + *at, kept);
                line[kept] = '\0';
                *at += n + 1;
                uint64_t inode = read_socket(line, port, ret_loopback);
                if (inode > 0)
                        return inode;
        }
        return 0;
}

struct sockets {
        size_t n;
        uint64_t inodes[SOCKETS_MAX];
};

/* The sockets of this host that listen on a port and are reached through 127.0.0.1. */
static void find_sockets(int root, uint16_t port, struct sockets *ret)
{
        static const char *const files[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
        ret->n = 0;
        CLEANUP(freep) char *text = malloc(TCP_MAX);
        for (size_t i = 0; text && i < ARRAY_LEN(files); i++) {
                ssize_t n = files_read(root, files[i], text, TCP_MAX);
                size_t at = 0;
                bool loopback;
                uint64_t inode;
                while (n > 0 && ret->n < SOCKETS_MAX &&
                       (inode = engines_next_socket(text, (size_t)n, &at, port, &loopback)) > 0) {
                        if (loopback)
                                ret->inodes[ret->n++] = inode;
                }
        }
}

/* --- descriptors of a process ---------------------------------------------------------------- */

typedef bool (*fd_test)(const char *target, const void *arg);

static bool is_gpu(const char *target, const void *arg)
{
        static const char *const devices[] = {"/dev/nvidia", "/dev/dri/renderD", "/dev/kfd"};
        (void)arg;
        for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
                size_t n = strlen(devices[i]);
                /* nvidiactl and nvidia-uvm are open in whatever loads the driver. */
                if (strncmp(target, devices[i], n) == 0 &&
                    (i > 0 || (target[n] >= '0' && target[n] <= '9')))
                        return true;
        }
        return false;
}

static bool is_socket(const char *target, const void *arg)
{
        const struct sockets *s = arg;
        unsigned long long inode;
        if (sscanf(target, "socket:[%llu]", &inode) != 1)
                return false;
        for (size_t i = 0; i < s->n; i++) {
                if (s->inodes[i] == inode)
                        return true;
        }
        return false;
}

static bool has_fd(int root, int32_t pid, fd_test test, const void *arg)
{
        char path[64], target[256];
        snprintf(path, sizeof(path), "proc/%d/fd", pid);
        int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir) {
                closep(&fd);
                return false;
        }
        bool found = false;
        const struct dirent *e;
        for (size_t n = 0; !found && n < FDS_MAX && (e = readdir(dir)); n++) {
                ssize_t len = readlinkat(fd, e->d_name, target, sizeof(target) - 1);
                if (len <= 0)
                        continue;
                target[len] = '\0';
                found = test(target, arg);
        }
        closedir(dir);
        return found;
}

/* --- processes ------------------------------------------------------------------------------- */

struct own_process {
        int32_t pid, ppid;
};

struct own_processes {
        struct own_process *list; /* by pid */
        size_t n;
};

static bool is_own(int root, int32_t pid)
{
        char path[32];
        struct stat st;
        snprintf(path, sizeof(path), "proc/%d", pid);
        return fstatat(root, path, &st, 0) == 0 && st.st_uid == geteuid();
}

static int32_t parent_of(int root, int32_t pid)
{
        char path[48], text[1024];
        struct proc_stat st;
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        ssize_t n = files_read(root, path, text, sizeof(text));
        return n > 0 && procfs_stat(text, (size_t)n, &st) == 0 ? st.ppid : 0;
}

static int compare_pids(const void *a, const void *b)
{
        const struct own_process *x = a, *y = b;
        return (x->pid > y->pid) - (x->pid < y->pid);
}

static int list_own_processes(int root, struct listing *listing, struct own_processes *ret)
{
        struct listed_processes all = {0};
        int r = listing_take(listing, &all);
        struct own_processes p = {.list = r < 0 ? NULL : malloc(PROCESSES_MAX * sizeof(*p.list))};
        for (size_t i = 0; p.list && p.n < PROCESSES_MAX && i < all.n; i++) {
                if (is_own(root, all.list[i].pid))
                        p.list[p.n++] = (struct own_process){.pid = all.list[i].pid};
        }
        listed_finish(&all);
        if (!p.list)
                return r < 0 ? r : -ENOMEM;
        qsort(p.list, p.n, sizeof(*p.list), compare_pids);
        *ret = p;
        return 0;
}

static size_t read_command(int root, int32_t pid, char command[COMMAND_MAX])
{
        char path[48];
        snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
        ssize_t n = files_read(root, path, command, COMMAND_MAX - 1);
        if (n <= 0)
                return 0;
        command[n] = '\0';
        return (size_t)n + (command[n - 1] != '\0');
}

static bool descends_from(const struct own_processes *all, int32_t pid, int32_t from)
{
        for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++) {
                struct own_process key = {.pid = pid};
                const struct own_process *p =
                    bsearch(&key, all->list, all->n, sizeof(key), compare_pids);
                if (!p)
                        return false;
                if (p->ppid == from)
                        return true;
                pid = p->ppid;
        }
        return false;
}

static void find_parents(int root, struct own_processes *all)
{
        for (size_t i = 0; i < all->n; i++) {
                if (all->list[i].ppid == 0)
                        all->list[i].ppid = parent_of(root, all->list[i].pid);
        }
}

static bool holds_gpu(int root, struct own_processes *all, int32_t pid)
{
        if (has_fd(root, pid, is_gpu, NULL))
                return true;
        find_parents(root, all);
        for (size_t i = 0; i < all->n; i++) {
                if (descends_from(all, all->list[i].pid, pid) &&
                    has_fd(root, all->list[i].pid, is_gpu, NULL))
                        return true;
        }
        return false;
}

static const struct habit *find_process_habit(int root, int32_t pid)
{
        char command[COMMAND_MAX];
        size_t len = read_command(root, pid, command);
        return len > 0 ? find_habit(command, len) : NULL;
}

/* A front end that holds no GPU, and has no children that do, is a child of what started both. */
static int32_t find_head(int root, struct own_processes *all, int32_t pid)
{
        const struct habit *own = find_process_habit(root, pid);
        int32_t head = pid;
        for (int depth = 0; own && depth < DEPTH_MAX && !holds_gpu(root, all, head); depth++) {
                int32_t parent = parent_of(root, head);
                const struct habit *its = parent > 1 ? find_process_habit(root, parent) : NULL;
                if (!its || its->kind != own->kind)
                        return head;
                head = parent;
        }
        return head;
}

static bool find_place(int root, struct own_processes *all, int32_t pid, struct engine_place *ret)
{
        char command[COMMAND_MAX];
        struct sockets sockets;
        const char *path;
        size_t len = read_command(root, pid, command);
        uint16_t port = len > 0 ? engines_command_port(command, len, &ret->kind, &path) : 0;
        if (port == 0)
                return false;
        find_sockets(root, port, &sockets);
        if (sockets.n == 0 || !has_fd(root, pid, is_socket, &sockets) ||
            !holds_gpu(root, all, find_head(root, all, pid)))
                return false;
        ret->pid = pid;
        snprintf(ret->url, sizeof(ret->url), "http://127.0.0.1:%u%s", port, path);
        return true;
}

static bool is_listed(const struct engine_place *list, size_t n, const char *url)
{
        for (size_t i = 0; i < n; i++) {
                if (strcmp(list[i].url, url) == 0)
                        return true;
        }
        return false;
}

size_t engines_find(int root, struct listing *listing, struct engine_place *ret, size_t max)
{
        struct own_processes all = {0};
        size_t n = 0;
        if (list_own_processes(root, listing, &all) < 0)
                return 0;
        for (size_t i = 0; i < all.n && n < max; i++) {
                struct engine_place place = {0};
                if (find_place(root, &all, all.list[i].pid, &place) &&
                    !is_listed(ret, n, place.url))
                        ret[n++] = place;
        }
        free(all.list);
        return n;
}

int32_t engines_listener(int root, struct listing *listing, uint16_t port)
{
        struct own_processes all = {0};
        struct sockets sockets;
        int32_t pid = 0;
        find_sockets(root, port, &sockets);
        if (sockets.n == 0 || list_own_processes(root, listing, &all) < 0)
                return 0;
        for (size_t i = 0; i < all.n && pid == 0; i++) {
                if (has_fd(root, all.list[i].pid, is_socket, &sockets))
                        pid = all.list[i].pid;
        }
        free(all.list);
        return pid;
}

static void fill_family(int root, struct own_processes *all, struct engine_family *f)
{
        f->head = find_head(root, all, f->pid);
        f->n = 0;
        f->fronts[f->n++] = f->pid;
        for (size_t i = 0; i < all->n && f->n < ENGINE_FRONTS_MAX; i++) {
                int32_t pid = all->list[i].pid;
                bool belongs = pid == f->head || descends_from(all, pid, f->head);
                if (belongs && pid != f->pid && !has_fd(root, pid, is_gpu, NULL))
                        f->fronts[f->n++] = pid;
        }
}

void engines_fill_families(int root, struct listing *listing, struct engine_family *list, size_t n)
{
        struct own_processes all = {0};
        if (list_own_processes(root, listing, &all) < 0)
                return;
        find_parents(root, &all);
        for (size_t i = 0; i < n; i++) {
                size_t k = 0;
                while (k < i && list[k].pid != list[i].pid)
                        k++;
                if (list[i].pid > 0 && k < i)
                        list[i] = list[k];
                else if (list[i].pid > 0)
                        fill_family(root, &all, &list[i]);
        }
        free(all.list);
}
