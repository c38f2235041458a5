/* What threads wait for, and what shows that a process makes progress. */
#include "base/attr.h"
#include "compute/why/rules.h"

#include <string.h>

/* Calls, and what a thread that is asleep in one waits for. */
static const struct {
        const char *name;
        enum wait_kind kind;
} kinds[] = {
    {"futex", WAIT_LOCK},
    {"flock", WAIT_FLOCK},
    {"fcntl", WAIT_FLOCK},
    {"recvfrom", WAIT_DATA},
    {"recvmsg", WAIT_DATA},
    {"recvmmsg", WAIT_DATA},
    {"sendto", WAIT_DATA},
    {"sendmsg", WAIT_DATA},
    {"connect", WAIT_DATA},
    {"accept", WAIT_DATA},
    {"accept4", WAIT_DATA},
    {"poll", WAIT_DATA},
    {"ppoll", WAIT_DATA},
    {"select", WAIT_DATA},
    {"pselect6", WAIT_DATA},
    {"epoll_wait", WAIT_DATA},
    {"epoll_pwait", WAIT_DATA},
    {"epoll_pwait2", WAIT_DATA},
    {"nanosleep", WAIT_TIME},
    {"clock_nanosleep", WAIT_TIME},
    {"wait4", WAIT_CHILD},
    {"waitid", WAIT_CHILD},
    {"read", WAIT_FILE},
    {"pread64", WAIT_FILE},
    {"preadv", WAIT_FILE},
    {"readv", WAIT_FILE},
    {"write", WAIT_FILE},
    {"pwrite64", WAIT_FILE},
    {"pwritev", WAIT_FILE},
    {"writev", WAIT_FILE},
    {"open", WAIT_FILE},
    {"openat", WAIT_FILE},
    {"close", WAIT_FILE},
    {"stat", WAIT_FILE},
    {"fstat", WAIT_FILE},
    {"newfstatat", WAIT_FILE},
    {"statx", WAIT_FILE},
    {"getdents64", WAIT_FILE},
    {"fsync", WAIT_FILE},
    {"fdatasync", WAIT_FILE},
    {"sync_file_range", WAIT_FILE},
    {"sendfile", WAIT_FILE},
    {"copy_file_range", WAIT_FILE},
    {"fallocate", WAIT_FILE},
    {"unlink", WAIT_FILE},
    {"unlinkat", WAIT_FILE},
    {"rename", WAIT_FILE},
    {"renameat2", WAIT_FILE},
    {"mkdir", WAIT_FILE},
    {"msync", WAIT_FILE},
};

/* A call on a descriptor is about what that is. */
static enum wait_kind kind_of_target(const char *target)
{
        static const char *const terminals[] = {"/dev/pts/", "/dev/tty", "/dev/console"};
        for (size_t i = 0; i < ARRAY_LEN(terminals); i++) {
                if (strncmp(target, terminals[i], strlen(terminals[i])) == 0)
                        return WAIT_PEOPLE;
        }
        return strcmp(target, "socket") == 0 || strcmp(target, "pipe") == 0 ? WAIT_DATA : WAIT_FILE;
}

enum wait_kind why_wait_kind(const struct stack_snapshot *l, const struct snapshot_thread *t)
{
        const char *call = stack_text(l->table, t->call), *target = stack_text(l->table, t->target);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                if (strcmp(kinds[i].name, call) != 0)
                        continue;
                if (kinds[i].kind == WAIT_DATA && kind_of_target(target) == WAIT_PEOPLE)
                        return WAIT_PEOPLE;
                if (kinds[i].kind != WAIT_FILE)
                        return kinds[i].kind;
                /* Without a name it may be a pipe: only a sleep that no signal ends says more. */
                return target[0]                   ? kind_of_target(target)
                       : t->state == STACK_BLOCKED ? WAIT_FILE
                                                   : WAIT_DATA;
        }
        return WAIT_OTHER;
}

#define ASLEEP_PLACES                                                                              \
        1 /* one that goes back and forth between two lines waits for nothing                      \
           */
#define THREAD_PLACES 3
#define ASLEEP_BUSY 0.1
#define ASLEEP_WAKES 20.0 /* a second: one that wakes more often goes from step to step */

bool why_is_asleep(const struct snapshot_thread *t)
{
        return (t->state == STACK_WAITING || t->state == STACK_BLOCKED) &&
               t->places <= ASLEEP_PLACES && value_or(t->busy, 0) < ASLEEP_BUSY &&
               value_or(t->wakes, 0) < ASLEEP_WAKES;
}

bool why_has_own_code(const struct stack_snapshot *l, const struct snapshot_thread *t)
{
        struct stack_place place = stack_find_place(l->table, t->stack);
        return place.own != STACK_EMPTY &&
               stack_frame(l->table, stack_node(l->table, place.own)->frame)->whose == STACK_USER;
}

bool why_waits_directly(const struct stack_snapshot *l, const struct snapshot_thread *t)
{
        return why_has_own_code(l, t) && stack_find_place(l->table, t->stack).inner == STACK_EMPTY;
}

static const struct stack_frame *frame_at(const struct stack_snapshot *l, uint32_t stack)
{
        return stack_frame(l->table, stack_node(l->table, stack)->frame);
}

bool why_in_collective(const struct stack_snapshot *l, uint32_t stack)
{
        for (; stack != STACK_EMPTY; stack = stack_node(l->table, stack)->parent) {
                if (why_is_collective(stack_text(l->table, frame_at(l, stack)->function)))
                        return true;
        }
        return false;
}

bool why_in_debugger(const struct stack_snapshot *l, uint32_t stack)
{
        static const char *const parts[] = {"/pdb.py", "/bdb.py", "/debugpy/", "/ipdb/", "/pudb/"};
        for (; stack != STACK_EMPTY; stack = stack_node(l->table, stack)->parent) {
                const char *file = stack_text(l->table, frame_at(l, stack)->file);
                for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                        if (strstr(file, parts[i]))
                                return true;
                }
        }
        return false;
}

/* ---- progress ---- */

/* More of a figure than programs that only wait have. */
static const struct {
        enum snapshot_figure figure;
        double least;
} signs[] = {
    {SNAPSHOT_IO, 16e3},       /* bytes of reads and writes a second */
    {SNAPSHOT_MINOR, 100},     /* memory that it begins to use */
    {SNAPSHOT_CHILDREN, 0.02}, /* what it started ends, one after the other */
};
#define HELPER_WORKS 0.05 /* cores: a process that it started, such as a compiler */
#define THREAD_WORKS 0.05
#define DATA_WAKES 3.0 /* a second: that often ends no wait that brings nothing */
#define GPU_WORKS 0.02

static bool gpu_works(const struct stack_snapshot *l, const struct snapshot_process *p)
{
        for (size_t i = 0; i < p->n_gpus; i++) {
                const struct snapshot_gpu *g = &l->gpus[p->gpus[i]];
                if (value_or(g->data, 0) >= GPU_WORKS && value_or(g->lost, 0) <= 0)
                        return true;
        }
        return false;
}

/* Threads that go from line to line; of the first one, data that comes in. */
static bool threads_work(const struct stack_snapshot *l, const struct snapshot_process *p)
{
        for (size_t i = 0; i < p->n_threads; i++) {
                const struct snapshot_thread *t = &l->threads[p->first_thread + i];
                if (t->is_main && why_is_asleep(t) && value_or(t->wakes, 0) >= DATA_WAKES &&
                    why_wait_kind(l, t) == WAIT_DATA)
                        return true;
                if (!t->is_main && t->places > THREAD_PLACES &&
                    value_or(t->busy, 0) >= THREAD_WORKS)
                        return true;
        }
        return false;
}

static bool process_works(const struct why *w, const struct snapshot_process *p, bool is_helper)
{
        for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
                if (value_or(p->figures[signs[i].figure], 0) >= signs[i].least)
                        return true;
        }
        if (is_helper)
                return value_or(p->figures[SNAPSHOT_CPU], 0) >= HELPER_WORKS;
        return gpu_works(w->snapshot, p) || threads_work(w->snapshot, p);
}

bool why_shows_progress(const struct why *w, uint32_t process)
{
        for (uint32_t i = 0; i < w->snapshot->n_processes; i++) {
                bool is_own = i == process;
                if (!is_own && why_rank_of(w, i) != why_rank_of(w, process))
                        continue;
                if (process_works(w, &w->snapshot->processes[i], !is_own))
                        return true;
        }
        return false;
}
