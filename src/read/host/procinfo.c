#include "read/host/procinfo.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/redact.h"
#include "read/host/cgroup.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/host/slurm.h"
#include "read/host/users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEPT 512 /* processes remembered; the one not examined for longest goes first */
#define TEXT_MAX (128 * 1024)

struct kept {
        struct procinfo info;
        int64_t checked_ns; /* 0: free */
};

struct procinfo_reader {
        int root;
        bool real;
        double clock_ticks;
        double page_size;
        double boot_s; /* when the machine started, since the Unix epoch; 0 when not known */
        struct kept kept[KEPT];
        char text[TEXT_MAX];
};

static ssize_t read_of(struct procinfo_reader *r, int32_t pid, const char *name, size_t size)
{
        char path[48];
        snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
        return files_read(r->root, path, r->text, MIN(size, (size_t)TEXT_MAX));
}

int procinfo_open(const char *root, struct procinfo_reader **ret)
{
        struct procinfo_reader *r = calloc(1, sizeof(*r));
        if (!r)
                return -ENOMEM;
        uint64_t boot;
        r->root = files_open_root(root);
        if (r->root < 0) {
                int error = r->root;
                free(r);
                return error;
        }
        r->real = !root || root[0] == '\0';
        r->clock_ticks = (double)sysconf(_SC_CLK_TCK);
        r->page_size = (double)sysconf(_SC_PAGESIZE);
        ssize_t n = files_read(r->root, "/proc/stat", r->text, TEXT_MAX);
        if (n > 0 && cgroup_parse_key(r->text, (size_t)n, "btime", &boot))
                r->boot_s = (double)boot;
        *ret = r;
        return 0;
}

void procinfo_close(struct procinfo_reader *r)
{
        if (!r)
                return;
        closep(&r->root);
        free(r);
}

/* Arguments end in NUL; secrets are masked, control characters would upset a terminal. */
static void read_command(struct procinfo_reader *r, struct procinfo *p)
{
        ssize_t n = read_of(r, p->pid, "cmdline", PROCINFO_COMMAND_MAX - 1);
        while (n > 0 && r->text[n - 1] == '\0')
                n--;
        if (n <= 0) {
                snprintf(p->command, sizeof(p->command), "%s", p->comm);
                return;
        }
        struct redact redact = {0};
        size_t len = 0;
        r->text[n] = '\0';
        for (char *s = r->text, *next; s < r->text + n; s = next) {
                next = s + strlen(s) + 1;
                redact_word(&redact, s);
                len += (size_t)snprintf(p->command + len, sizeof(p->command) - len, "%s%s",
                                        len > 0 ? " " : "", s);
        }
        for (char *s = p->command; *s; s++)
                *s = (unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s;
}

static void read_owner(struct procinfo_reader *r, struct procinfo *p)
{
        struct proc_status st;
        ssize_t n = read_of(r, p->pid, "status", 4096);
        if (n < 0) {
                p->uid = p->gid = files_missing(n);
                return;
        }
        if (procfs_status(r->text, (size_t)n, &st) < 0) {
                p->uid = p->gid = value_missing(STATE_ERROR);
                return;
        }
        p->uid = value_ok(st.uid);
        p->gid = value_ok(st.gid);
        users_name(r->real, st.uid, p->user, sizeof(p->user));
        users_group(r->real, st.gid, p->group, sizeof(p->group));
}

/* The control group first: everybody may read it. The environment is the owner's alone. */
static void read_place(struct procinfo_reader *r, struct procinfo *p)
{
        struct cgroup_paths paths;
        struct slurm_place place;
        ssize_t n = read_of(r, p->pid, "cgroup", 8192);
        if (n > 0 && cgroup_parse_paths(r->text, (size_t)n, &paths) == 0) {
                for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                        if (!p->job[0] && slurm_find(paths.path[k], &place))
                                snprintf(p->job, sizeof(p->job), "%s", place.job);
                        if (!p->container[0])
                                cgroup_container(paths.path[k], p->container, sizeof(p->container));
                }
        }
        char job[SLURM_JOB_MAX];
        n = p->job[0] ? 0 : read_of(r, p->pid, "environ", TEXT_MAX);
        if (n > 0 && slurm_job_of_environ(r->text, (size_t)n, job))
                snprintf(p->job, sizeof(p->job), "%s", job);
}

static struct kept *procinfo_keep(struct procinfo_reader *r, int32_t pid, uint64_t start)
{
        struct kept *oldest = &r->kept[0];
        for (size_t i = 0; i < KEPT; i++) {
                struct kept *k = &r->kept[i];
                if (k->checked_ns && k->info.pid == pid && k->info.start_ticks == start)
                        return k;
                if (k->checked_ns < oldest->checked_ns)
                        oldest = k;
        }
        *oldest = (struct kept){.info = {.pid = pid, .start_ticks = start}};
        return oldest;
}

static void set_counters(struct procinfo_reader *r, struct kept *k, const struct proc_stat *st,
                         int64_t mono_ns)
{
        struct procinfo *p = &k->info;
        double now = (double)st->own / r->clock_ticks;
        double seconds = clock_to_seconds(mono_ns - k->checked_ns);
        if (k->checked_ns == 0 || seconds > 0)
                p->cpu = value_rate(value_ok(now), p->cpu_time, seconds);
        p->cpu_time = value_ok(now);
        p->rss = value_ok((double)st->rss_pages * r->page_size);
        p->threads = value_ok((double)st->threads);
        p->start_s = r->boot_s > 0 ? value_ok(r->boot_s + (double)st->start / r->clock_ticks)
                                   : value_missing(STATE_ERROR);
        k->checked_ns = mono_ns;
}

static void set_all_missing(struct procinfo *ret, int32_t pid, ssize_t error)
{
        struct value v = files_missing(error);
        if (error == -ENOENT || error == -ESRCH)
                v = value_missing(STATE_NONE);
        *ret = (struct procinfo){.pid = pid,
                                 .state = (enum state)v.state,
                                 .start_s = v,
                                 .uid = v,
                                 .gid = v,
                                 .cpu_time = v,
                                 .cpu = v,
                                 .rss = v,
                                 .threads = v};
}

void procinfo_read(struct procinfo_reader *r, int32_t pid, int64_t mono_ns, struct procinfo *ret)
{
        struct proc_stat st;
        ssize_t n = read_of(r, pid, "stat", 1024);
        if (n >= 0)
                n = procfs_stat(r->text, (size_t)n, &st);
        if (n < 0) {
                set_all_missing(ret, pid, n);
                return;
        }
        struct kept *k = procinfo_keep(r, pid, st.start);
        /* exec gives a process another name, and with it other arguments. */
        bool new = k->checked_ns == 0 || strcmp(k->info.comm, st.comm) != 0;
        set_counters(r, k, &st, mono_ns);
        if (new) {
                k->info.state = STATE_OK;
                snprintf(k->info.comm, sizeof(k->info.comm), "%s", st.comm);
                read_command(r, &k->info);
                read_owner(r, &k->info);
                read_place(r, &k->info);
        }
        *ret = k->info;
}
