#include "read/stacks/process.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/numbered.h"
#include "read/stacks/attach.h"
#include "read/stacks/task.h"
#include "read/stacks/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_MAX 8                   /* threads beside the first that every snapshot reads */
#define TURN_MAX 64                  /* others that one snapshot reads */
#define LISTED_PER_S 128             /* thread states that are listed in a second */
#define ALL_MAX 1024                 /* that SAMPLE_ALL reads */
#define TRY_AGAIN_NS (NS_PER_S / 10) /* doubled each time */
#define STARTING_MAX_NS (NS_PER_S / 2)
#define TRY_AGAIN_MAX_NS (64 * NS_PER_S)
#define FAILURES_MAX 2 /* looks that read nothing, before the program is searched for again */
#define HOLDERS_MAX 8
#define WALKS_MORE 3 /* of a stack that changed meanwhile */
/* Where glibc and musl keep a thread's number in its pthread structure, for versions of CPython
 * that do not. */
#if defined(__aarch64__)
#define GLIBC_TID_AT 208
#else
#define GLIBC_TID_AT 720
#endif
#define MUSL_TID_AT 48

/* A thread that is known, by its thread state, or by its number in native code. */
struct thread {
        uint64_t address, interpreter, pthread;
        uint32_t native;
        int32_t tid; /* 0: unknown */
        uint32_t name;
        int64_t seen_ns;  /* of the process's clock: time up to here is represented */
        uint32_t ran;     /* looks of this turn that found it running or with the GIL */
        bool every;       /* every snapshot reads it */
        bool holds_gil;   /* now */
        bool is_listed;   /* still there */
        uint64_t current; /* its innermost frame, now */
};

struct process {
        struct stack_process is;
        int folder;    /* of /proc/PID: of this process alone, even when its number is used again */
        ino_t program; /* the executable's */
        bool nested;   /* in a PID namespace of its own: numbers differ */
        struct runtime runtime;
        struct remote_plan plan;
        struct code_cache codes;
        struct thread *threads;
        size_t n, cap, turn;
        int64_t clock_ns; /* time that looks stood for */
        int64_t list_ns;  /* of that, when threads are listed next */
        int64_t listed_ns;
        int64_t read_ns;   /* the last snapshot that read stacks */
        int64_t attach_ns; /* monotonic, when to look for a runtime next */
        unsigned tries, failures;
};

int process_reader_open(struct stack_table *table, bool any_user, struct process_reader **ret)
{
        struct process_reader *r = calloc(1, sizeof(*r));
        if (!r)
                return -ENOMEM;
        r->table = table;
        r->any_user = any_user;
        r->threads = calloc(PROCESS_THREADS_MAX, sizeof(*r->threads));
        r->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int e = r->proc < 0 ? -errno : !r->threads ? -ENOMEM : remote_init(&r->remote);
        if (e == 0)
                e = procinfo_open("", &r->info);
        if (e < 0) {
                process_reader_close(r);
                return e;
        }
        *ret = r;
        return 0;
}

void process_reader_close(struct process_reader *r)
{
        if (!r)
                return;
        remote_finish(&r->remote);
        procinfo_close(r->info);
        free(r->threads);
        closep(&r->proc);
        free(r);
}

static void set_access(struct process *p, enum stack_access access, const char *why)
{
        p->is.access = access;
        snprintf(p->is.why, sizeof(p->is.why), "%s", why);
}

/* Its number of threads and, the first time, since when it runs. False when it has gone. */
static bool read_identity(struct process *p)
{
        char buf[1024];
        struct proc_stat stat;
        ssize_t n = files_read(p->folder, "stat", buf, sizeof(buf));
        if (n < 0 || procfs_stat(buf, (size_t)n, &stat) < 0 || strchr("ZX", stat.state))
                return false;
        p->is.ppid = stat.ppid;
        p->is.threads = (uint32_t)MIN(stat.threads, (uint64_t)UINT32_MAX);
        p->is.start_ticks = stat.start;
        return true;
}

/* Who it is: whose, what it runs, and whether its numbers are the ones seen here. */
static void describe_process(struct process *p, struct process_reader *r)
{
        struct procinfo info;
        struct stat program;
        procinfo_read(r->info, p->is.pid, clock_mono_ns(), &info);
        snprintf(p->is.command, sizeof(p->is.command), "%.*s", (int)sizeof(p->is.command) - 1,
                 info.command);
        p->program = fstatat(p->folder, "exe", &program, 0) == 0 ? program.st_ino : 0;
        int32_t inner = task_read_inner(p->folder, p->is.pid);
        p->nested = inner > 0 && inner != p->is.pid;
        if (!r->any_user && value_is_set(info.uid) && (uid_t)info.uid.v != getuid())
                set_access(p, STACK_FOREIGN, "another user's process");
}

int process_open(struct process_reader *r, int32_t pid, struct process **ret)
{
        char name[16];
        struct process *p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        p->is.pid = pid;
        snprintf(name, sizeof(name), "%d", pid);
        p->folder = openat(r->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (p->folder < 0 || !read_identity(p))
                set_access(p, STACK_GONE, "no such process");
        else
                describe_process(p, r);
        *ret = p;
        return 0;
}

void process_close(struct process *p)
{
        if (!p)
                return;
        closep(&p->folder);
        remote_plan_finish(&p->plan);
        code_cache_finish(&p->codes);
        free(p->threads);
        free(p);
}

const struct stack_process *process_describe(const struct process *p)
{
        return &p->is;
}

/* The program that was known is another one now, or went away. */
static void forget_runtime(struct process *p)
{
        p->n = p->failures = p->tries = 0;
        p->attach_ns = 0;
        p->listed_ns = p->read_ns; /* time up to there is reported: the other program's */
        p->plan.n = 0;
        code_cache_clear(&p->codes);
        p->is.runtime[0] = '\0';
        set_access(p, STACK_PENDING, "");
}

static void note_attached(struct process *p)
{
        char version[24];
        runtime_put_version(&p->runtime, version, sizeof(version));
        snprintf(p->is.runtime, sizeof(p->is.runtime), "CPython %s", version);
        p->plan.n = 0;
        code_cache_clear(&p->codes);
        p->n = 0;
        p->list_ns = p->clock_ns;
}

static void attach_runtime(struct process *p, struct process_reader *r, int64_t now_ns)
{
        struct attach_result found;
        attach_find(&r->remote, p->folder, p->is.pid, &p->runtime, &found);
        set_access(p, found.access, found.why);
        if (found.access == STACK_READABLE)
                note_attached(p);
        /* A program that starts is soon there; the others rarely change their mind. */
        int64_t most = found.access == STACK_PENDING ? STARTING_MAX_NS : TRY_AGAIN_MAX_NS;
        p->attach_ns = now_ns + MIN(TRY_AGAIN_NS << MIN(p->tries, 16u), most);
        p->tries++;
}

struct tid_list {
        int32_t *list;
        size_t n, max;
};

static void add_tid(void *arg, const struct numbered *entry)
{
        struct tid_list *l = arg;
        if (l->n < l->max)
                l->list[l->n++] = entry->number;
}

static size_t list_tasks(const struct process *p, int32_t *list, size_t max)
{
        char buf[4096] __attribute__((aligned(16)));
        struct tid_list l = {.list = list, .max = max};
        CLEANUP(closep) int folder = openat(p->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0)
                numbered_each(folder, buf, sizeof(buf), add_tid, &l);
        return l.n;
}

/* Of a thread in a PID namespace of its own. All numbers are read once for a list of threads. */
static int32_t find_outer_tid(struct process *p, struct process_reader *r, int32_t inner)
{
        int32_t tids[TASKS_MAX];
        size_t n = r->knows_tasks ? 0 : list_tasks(p, tids, TASKS_MAX);
        if (!r->knows_tasks)
                r->n_tasks = n;
        for (size_t i = 0; i < n; i++)
                r->tasks[i] = (struct task_number){tids[i], task_read_inner(p->folder, tids[i])};
        r->knows_tasks = true;
        for (size_t i = 0; i < r->n_tasks; i++) {
                if (r->tasks[i].inner == inner)
                        return r->tasks[i].tid;
        }
        return 0;
}

static bool is_task(const struct process *p, int32_t tid)
{
        char path[32];
        snprintf(path, sizeof(path), "task/%d", tid);
        return tid > 0 && files_exist(p->folder, path);
}

/* The kernel's number of a thread, in this namespace. 0 when it cannot be found. */
static int32_t find_tid(struct process *p, struct process_reader *r, const struct runtime_thread *t)
{
        static const uint32_t places[] = {GLIBC_TID_AT, MUSL_TID_AT};
        int32_t inner = (int32_t)t->native;
        for (size_t i = 0; i < ARRAY_LEN(places) && !t->native; i++) {
                const uint8_t *at = remote_get(&r->remote, t->pthread + places[i], 4);
                inner = at ? (int32_t)remote_u32(at) : 0;
                if (inner > 0 && (p->nested || is_task(p, inner)))
                        break;
        }
        if (!p->nested)
                return is_task(p, inner) ? inner : 0;
        return inner > 0 ? find_outer_tid(p, r, inner) : 0;
}

static struct thread *find_thread(struct process *p, uint64_t address, uint64_t pthread)
{
        for (size_t i = 0; i < p->n; i++) {
                if (p->threads[i].address == address && p->threads[i].pthread == pthread)
                        return &p->threads[i];
        }
        return NULL;
}

static struct thread *add_thread(struct process *p, struct process_reader *r, int32_t tid)
{
        if (p->n == PROCESS_THREADS_MAX || !LIST_ROOM(p->threads, p->n, p->cap))
                return NULL;
        struct thread *t = &p->threads[p->n++];
        *t = (struct thread){.tid = tid};
        t->name = tid ? task_read_name(p->folder, tid, r->table) : STACK_TEXT_NONE;
        t->every = tid == p->is.pid;
        /* It began somewhere between the last list and this one. */
        t->seen_ns = p->listed_ns + (p->clock_ns - p->listed_ns) / 2;
        return t;
}

static void drop_unlisted(struct process *p)
{
        size_t kept = 0;
        for (size_t i = 0; i < p->n; i++) {
                if (p->threads[i].is_listed)
                        p->threads[kept++] = p->threads[i];
        }
        p->n = kept;
}

/* Brings the list of threads up to date; the thread states are in r->threads. */
static void match_threads(struct process *p, struct process_reader *r, size_t n)
{
        for (size_t i = 0; i < p->n; i++)
                p->threads[i].is_listed = false;
        for (size_t i = 0; i < n; i++) {
                const struct runtime_thread *now = &r->threads[i];
                struct thread *t = i < p->n && p->threads[i].address == now->address
                                       ? &p->threads[i]
                                       : find_thread(p, now->address, now->pthread);
                if (!t || t->pthread != now->pthread)
                        t = add_thread(p, r, find_tid(p, r, now));
                if (!t)
                        break;
                t->address = now->address;
                t->interpreter = now->interpreter;
                t->pthread = now->pthread;
                t->native = now->native;
                t->current = now->current;
                t->holds_gil = now->holds_gil;
                t->is_listed = true;
        }
        drop_unlisted(p);
}

/* The busiest of the last turn are examined every time in the next one. */
static void choose_busy(struct process *p)
{
        for (size_t i = 0; i < p->n; i++)
                p->threads[i].every = p->threads[i].tid == p->is.pid;
        for (int k = 0; k < BUSY_MAX; k++) {
                struct thread *best = NULL;
                for (size_t i = 0; i < p->n; i++) {
                        struct thread *t = &p->threads[i];
                        if (!t->every && t->ran > (best ? best->ran : 0))
                                best = t;
                }
                if (!best)
                        break;
                best->every = true;
        }
        for (size_t i = 0; i < p->n; i++)
                p->threads[i].ran = 0;
}

/* All thread states, from the interpreters on. False when there are none. */
static bool list_threads(struct process *p, struct process_reader *r)
{
        size_t n = runtime_list_threads(&r->remote, &p->runtime, r->threads, PROCESS_THREADS_MAX);
        if (n == 0)
                return false;
        r->knows_tasks = false;
        match_threads(p, r, n);
        choose_busy(p);
        p->listed_ns = p->clock_ns;
        p->list_ns = p->clock_ns + MAX(NS_PER_S, (int64_t)(n * (NS_PER_S / LISTED_PER_S)));
        return true;
}

/* Those that every snapshot reads, and who holds a GIL, by what is known of them. False when that
 * is out of date. */
static bool refresh_threads(struct process *p, struct process_reader *r)
{
        uint64_t holders[HOLDERS_MAX];
        size_t n = runtime_list_holders(&r->remote, &p->runtime, holders, HOLDERS_MAX), found = 0;
        for (size_t i = 0; i < p->n; i++) {
                struct thread *t = &p->threads[i];
                t->holds_gil = false;
                for (size_t k = 0; k < n; k++)
                        t->holds_gil |= holders[k] == t->address;
                found += t->holds_gil;
                if (!t->every && !t->holds_gil)
                        continue;
                struct runtime_thread now = {.address = t->address, .interpreter = t->interpreter};
                if (!runtime_read_thread(&r->remote, &p->runtime, &now) ||
                    now.pthread != t->pthread)
                        return false;
                t->current = now.current;
        }
        return found == n && p->n > 0;
}

/* Reads everything again, and the stack of t with it, as the program moved on. */
static bool walk_again(struct process *p, struct process_reader *r, const struct thread *t,
                       uint32_t *ret)
{
        for (int i = 0; i < WALKS_MORE; i++) {
                struct runtime_thread now = {.address = t->address, .interpreter = t->interpreter};
                remote_begin_again(&r->remote, &p->plan);
                if (!runtime_read_thread(&r->remote, &p->runtime, &now))
                        return false;
                if (walk_stack(&p->codes, &r->remote, &p->runtime, r->table, now.current, ret))
                        return true;
        }
        return false;
}

/* One sample of a thread. False when there is none to take. */
static bool sample_thread(struct process *p, struct process_reader *r,
                          const struct sample_plan *sample_plan, struct thread *t, bool whole,
                          struct stack_sample *ret)
{
        struct task_wait wait = {.state = STACK_STATE_UNKNOWN};
        uint32_t stack = STACK_EMPTY;
        if (t->tid && !task_read_wait(p->folder, t->tid, r->table, &wait))
                return false;
        if (t->address &&
            !walk_stack(&p->codes, &r->remote, &p->runtime, r->table, t->current, &stack) &&
            !walk_again(p, r, t, &stack)) {
                p->is.torn++;
                return false;
        }
        int64_t stands_for = whole ? p->clock_ns - t->seen_ns : sample_plan->stands_for_ns;
        t->seen_ns += stands_for;
        t->ran += wait.state == STACK_RUNNING || t->holds_gil;
        p->is.samples++;
        *ret = (struct stack_sample){.mono_ns = sample_plan->now_ns,
                                     .stands_for_ns = stands_for,
                                     .start_ticks = p->is.start_ticks,
                                     .pid = p->is.pid,
                                     .tid = t->tid,
                                     .thread = t->name,
                                     .stack = stack,
                                     .call = wait.call,
                                     .channel = wait.channel,
                                     .state = (uint8_t)wait.state,
                                     .holds_gil = t->holds_gil,
                                     .is_main = t->tid == p->is.pid,
                                     .has_no_lines = p->is.access != STACK_READABLE};
        return true;
}

static size_t count_busy(const struct process *p)
{
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++)
                n += p->threads[i].every && p->threads[i].tid != p->is.pid;
        return n;
}

/* The threads of a snapshot whose frames are at hand. */
static size_t sample_threads(struct process *p, struct process_reader *r,
                             const struct sample_plan *sample_plan, bool listed,
                             struct stack_sample *list, size_t max)
{
        size_t n = 0, others = 0, limit = sample_plan->kind == SAMPLE_ALL ? ALL_MAX : TURN_MAX;
        size_t busy = listed ? count_busy(p) : BUSY_MAX;
        bool fresh = listed; /* frames of all of them are known */
        for (size_t i = 0; i < p->n && n < max; i++) {
                struct thread *t = &p->threads[(i + p->turn) % p->n];
                bool in_turn = fresh && !t->every && others < limit;
                if (!t->every && !in_turn && !t->holds_gil)
                        continue;
                others += in_turn;
                n += sample_thread(p, r, sample_plan, t, t->every || in_turn, &list[n]);
                /* Met at work: it need not wait a turn for the next snapshot. */
                if (t->ran > 0 && !t->every && busy < BUSY_MAX) {
                        t->every = true;
                        busy++;
                }
        }
        if (fresh && p->n > 0)
                p->turn = others < limit ? 0 : (p->turn + limit) % p->n;
        return n;
}

/* Threads without an interpreter: every task of the process that is not known by its thread
 * state. */
static size_t sample_native(struct process *p, struct process_reader *r,
                            const struct sample_plan *sample_plan, struct stack_sample *list,
                            size_t max)
{
        int32_t tids[ALL_MAX];
        size_t n = 0, limit = sample_plan->kind == SAMPLE_ALL ? ALL_MAX : TURN_MAX,
               n_tasks = list_tasks(p, tids, limit);
        for (size_t i = 0; i < n_tasks && n < max; i++) {
                bool known = false;
                for (size_t k = 0; k < p->n && !known; k++)
                        known = p->threads[k].tid == tids[i];
                if (known)
                        continue;
                struct thread t = {.tid = tids[i],
                                   .name = task_read_name(p->folder, tids[i], r->table),
                                   .seen_ns = p->listed_ns};
                n += sample_thread(p, r, sample_plan, &t, true, &list[n]);
        }
        p->listed_ns = p->clock_ns;
        p->list_ns = p->clock_ns + NS_PER_S;
        return n;
}

static size_t read_python_threads(struct process *p, struct process_reader *r,
                                  const struct sample_plan *sample_plan, struct stack_sample *list,
                                  size_t max)
{
        struct remote *m = &r->remote;
        bool due = sample_plan->kind == SAMPLE_ALL ||
                   (sample_plan->kind == SAMPLE_TURNS && p->clock_ns >= p->list_ns),
             listed = false;
        remote_use(m, p->is.pid, NULL, NULL);
        remote_begin(m, &p->plan);
        if (due || !refresh_threads(p, r)) {
                listed = list_threads(p, r);
                if (!listed) {
                        p->failures++;
                        return 0;
                }
        }
        p->failures = 0;
        p->read_ns = p->clock_ns;
        size_t n = sample_threads(p, r, sample_plan, listed, list, max);
        remote_end(m, &p->plan);
        return n;
}

/* Whether it runs another program than when it was examined last. */
static bool has_changed_program(struct process *p)
{
        struct stat program;
        return fstatat(p->folder, "exe", &program, 0) == 0 && program.st_ino != p->program;
}

/* What is examined now and then only: whether it is present at all, and as what. */
static bool check_process(struct process *p, struct process_reader *r)
{
        if (!read_identity(p)) {
                set_access(p, STACK_GONE, "it has ended");
                return false;
        }
        if (has_changed_program(p) || p->failures >= FAILURES_MAX) {
                forget_runtime(p);
                describe_process(p, r);
        }
        return p->is.access != STACK_FOREIGN;
}

size_t process_read_stacks(struct process *p, struct process_reader *r,
                           const struct sample_plan *sample_plan, struct stack_sample *list,
                           size_t max)
{
        if (p->is.access == STACK_GONE || p->is.access == STACK_FOREIGN)
                return 0;
        p->clock_ns += sample_plan->stands_for_ns;
        bool due = sample_plan->kind == SAMPLE_ALL || p->clock_ns >= p->list_ns || p->failures > 0;
        if (due && !check_process(p, r))
                return 0;
        if (p->is.access != STACK_READABLE && sample_plan->now_ns >= p->attach_ns)
                attach_runtime(p, r, sample_plan->now_ns);
        size_t n = 0;
        if (p->is.access == STACK_READABLE)
                n = read_python_threads(p, r, sample_plan, list, max);
        bool lists_native = p->is.access != STACK_READABLE ? due : sample_plan->kind == SAMPLE_ALL;
        if (lists_native)
                n += sample_native(p, r, sample_plan, list + n, max - n);
        return n;
}
