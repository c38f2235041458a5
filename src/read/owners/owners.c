#include "read/owners/owners.h"

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "read/host/cgroup.h"
#include "read/host/files.h"
#include "read/host/procinfo.h"
#include "read/host/slurm.h"
#include "read/listing.h"
#include "read/owners/job_seek.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PLACES 512 /* processes remembered; the one not asked for longest goes first */
#define TEXT_MAX (128 * 1024)
#define PATH_LEN 512
#define POD_FOLDERS "/var/log/pods"
#define JOBS_A_FILE 64
#define FOLDER_ENTRIES_MAX 4096
#define QUIET_JOBS 32                   /* jobs remembered that no process on a GPU reports */
#define USES 64                         /* users of GPUs remembered */
#define CHECK_LONGEST_NS (2 * NS_PER_S) /* between looks that belong together */
#define SEEK_EVERY_NS (20 * NS_PER_S)   /* a job that has no process yet */

/* What is known of a process: it does not change while it lives. */
struct place {
        int32_t pid;
        int64_t start_ns;
        int64_t asked_ns;          /* 0: free */
        struct owner who;          /* kind and names */
        struct cgroup_paths paths; /* of the job or container; "" for none */
};

/* A job of which no process uses a GPU: whose it is does not change. */
struct quiet_job {
        char job[OWNER_NAME_MAX];
        int64_t asked_ns, sought_ns; /* asked 0: free */
        bool known;
        struct place place;
};

/* CPU time of a user's processes on a GPU. */
struct use {
        char uuid[OWNER_ID_MAX], user[OWNER_NAME_MAX];
        int32_t gi;
        double cpu_s;
        int64_t seen_ns; /* 0: free */
};

struct owners {
        int root;
        struct listing *listing; /* NULL where there is no /proc */
        char root_path[PATH_LEN], mapping_dir[PATH_LEN];
        struct kubelet *kubelet; /* NULL for none */
        struct cgroup_mounts mounts;
        struct place places[PLACES];
        struct procinfo_reader *procs; /* NULL for none */
        struct quiet_job quiet[QUIET_JOBS];
        struct use uses[USES];
        struct allocation allocations[KUBELET_DEVICES_MAX];
        char text[TEXT_MAX];
};

/* --- opening
 * --------------------------------------------------------------------------------------- */

struct owners *owners_open(const struct owners_config *config)
{
        struct owners *o = calloc(1, sizeof(*o));
        if (!o)
                return NULL;
        o->root = files_open_root(config->root);
        o->listing =
            config->listing ? listing_share(config->listing) : listing_open_root(config->root);
        snprintf(o->root_path, sizeof(o->root_path), "%s", config->root);
        snprintf(o->mapping_dir, sizeof(o->mapping_dir), "%s", config->mapping_dir);
        ssize_t n =
            o->root >= 0 ? files_read(o->root, "/proc/self/mountinfo", o->text, TEXT_MAX) : -1;
        if (n > 0)
                cgroup_parse_mounts(o->text, (size_t)n, &o->mounts);
        if (procinfo_open(config->root, &o->procs) < 0)
                o->procs = NULL;
        if (config->kubelet[0])
                o->kubelet = kubelet_open(config->kubelet);
        return o;
}

void owners_close(struct owners *o)
{
        if (!o)
                return;
        kubelet_close(o->kubelet);
        procinfo_close(o->procs);
        listing_close(o->listing);
        closep(&o->root);
        free(o);
}

/* --- one process
 * ------------------------------------------------------------------------------------- */

static ssize_t read_of(struct owners *o, int32_t pid, const char *name)
{
        char path[48];
        snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
        return files_read(o->root, path, o->text, TEXT_MAX);
}

/* What the job's environment adds, where it may be read. */
static void read_job_texts(struct owners *o, struct place *p)
{
        ssize_t n = read_of(o, p->pid, "environ");
        if (n <= 0)
                return;
        owners_variable(o->text, (size_t)n, "SLURM_JOB_ACCOUNT", p->who.account,
                        sizeof(p->who.account));
        owners_variable(o->text, (size_t)n, "SLURM_JOB_PARTITION", p->who.partition,
                        sizeof(p->who.partition));
        owners_variable(o->text, (size_t)n, "SLURM_JOB_USER", p->who.user, sizeof(p->who.user));
        char cpus[32];
        if (owners_variable(o->text, (size_t)n, "SLURM_JOB_CPUS_PER_NODE", cpus, sizeof(cpus)))
                p->who.cpus = owners_cpus(cpus);
}

/* A container's name, when the pod has only one. */
static void read_container(struct owners *o, const char *pod_folder, struct owner *who)
{
        char path[PATH_LEN * 2];
        size_t found = 0;
        snprintf(path, sizeof(path), "%s" POD_FOLDERS "/%s", o->root_path, pod_folder);
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir)) && found < 2;) {
                if (e->d_name[0] == '.')
                        continue;
                snprintf(who->container, sizeof(who->container), "%.*s",
                         (int)sizeof(who->container) - 1, e->d_name);
                found++;
        }
        if (dir)
                closedir(dir);
        if (found != 1)
                who->container[0] = '\0';
        text_clean(who->container);
}

static void read_pod(struct owners *o, const char *uid, struct owner *who)
{
        char path[PATH_LEN + sizeof(POD_FOLDERS)];
        snprintf(path, sizeof(path), "%s" POD_FOLDERS, o->root_path);
        DIR *dir = opendir(path);
        size_t seen = 0;
        for (struct dirent *e; dir && (e = readdir(dir)) && seen < FOLDER_ENTRIES_MAX; seen++) {
                if (owners_pod_folder(e->d_name, uid, who)) {
                        read_container(o, e->d_name, who);
                        break;
                }
        }
        if (dir)
                closedir(dir);
        /* Without the folder its UID names it. */
        if (!who->pod[0])
                snprintf(who->pod, sizeof(who->pod), "%s", uid);
}

static void identify_place(struct owners *o, struct place *p, const struct process *process)
{
        struct slurm_place slurm;
        char uid[OWNERS_UID_MAX] = "";
        p->who.kind = OWNER_PROCESS;
        snprintf(p->who.user, sizeof(p->who.user), "%s", process->user);
        ssize_t n = read_of(o, p->pid, "cgroup");
        if (n <= 0 || cgroup_parse_paths(o->text, (size_t)n, &p->paths) != 0)
                p->paths = (struct cgroup_paths){0};
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                if (slurm_find(p->paths.path[k], &slurm)) {
                        p->paths.path[k][slurm.folder_len] = '\0';
                        p->who.kind = OWNER_SLURM;
                } else if (owners_pod_uid(p->paths.path[k], uid, sizeof(uid))) {
                        p->who.kind = OWNER_KUBERNETES;
                } else {
                        /* Of a hierarchy in which the job has no group the figures are the node's.
                         */
                        p->paths.path[k][0] = '\0';
                }
        }
        if (process->slurm_job[0])
                p->who.kind = OWNER_SLURM;
        if (p->who.kind == OWNER_SLURM) {
                snprintf(p->who.job, sizeof(p->who.job), "%s", process->slurm_job);
                read_job_texts(o, p);
        } else if (p->who.kind == OWNER_KUBERNETES) {
                read_pod(o, uid, &p->who);
        } else {
                p->paths = (struct cgroup_paths){0};
        }
}

/* A process elsewhere: what this machine says of its pid is of another process. */
static void identify_remote(struct place *p, const struct process *process)
{
        p->who.kind = process->slurm_job[0] ? OWNER_SLURM : OWNER_PROCESS;
        snprintf(p->who.user, sizeof(p->who.user), "%s", process->user);
        snprintf(p->who.job, sizeof(p->who.job), "%s", process->slurm_job);
}

static struct place *owners_place_of(struct owners *o, const struct process *process, bool is_local,
                                     int64_t now)
{
        struct place *oldest = &o->places[0];
        for (size_t i = 0; i < PLACES; i++) {
                struct place *p = &o->places[i];
                if (p->asked_ns && p->pid == process->pid && p->start_ns == process->start_ns) {
                        p->asked_ns = now;
                        return p;
                }
                if (p->asked_ns < oldest->asked_ns)
                        oldest = p;
        }
        *oldest =
            (struct place){.pid = process->pid, .start_ns = process->start_ns, .asked_ns = now};
        if (is_local)
                identify_place(o, oldest, process);
        else
                identify_remote(oldest, process);
        return oldest;
}

/* --- the list
 * ---------------------------------------------------------------------------------------- */

struct list {
        struct owner *owners;
        size_t n, max;
};

/* The GPU's own UUID, its parent's for a slice. */
static const char *uuid_of(const struct owners_view *b, const struct entity *g)
{
        for (size_t i = 0; i < b->n && g->kind != ENTITY_GPU; i++) {
                if (b->gpus[i]->kind == ENTITY_GPU && entity_same_gpu(b->gpus[i], g))
                        return b->gpus[i]->text[ENTITY_TEXT_UUID];
        }
        return g->text[ENTITY_TEXT_UUID];
}

/* The owner of a GPU, added when it is new; NULL when there are too many. */
static struct owner *owners_add(struct list *l, const struct owners_view *b, const struct entity *g,
                                const struct owner *who)
{
        const char *uuid = uuid_of(b, g);
        size_t n = 0;
        for (size_t i = 0; i < l->n; i++) {
                struct owner *o = &l->owners[i];
                if (o->index != g->index || o->gi != g->gi || strcmp(o->uuid, uuid) != 0)
                        continue;
                if (owner_same(o, who))
                        return o;
                n++;
        }
        if (l->n == l->max || n == OWNERS_GPU_MAX)
                return NULL;
        struct owner *o = &l->owners[l->n++];
        *o = *who;
        snprintf(o->uuid, sizeof(o->uuid), "%s", uuid);
        o->index = g->index;
        o->gi = g->gi;
        return o;
}

static const struct entity *gpu_of_slot(const struct owners_view *b, uint32_t slot)
{
        for (size_t i = 0; i < b->n; i++) {
                if (b->gpus[i]->slot == slot)
                        return b->gpus[i];
        }
        return NULL;
}

static const struct entity *gpu_at(const struct owners_view *b, int32_t index, int32_t gi)
{
        for (size_t i = 0; i < b->n; i++) {
                if (b->gpus[i]->index == index && b->gpus[i]->gi == gi && b->gpus[i]->ci < 0)
                        return b->gpus[i];
        }
        return NULL;
}

static void read_use(struct owners *o, const struct place *p, struct owner *who)
{
        struct cgroup_counters c;
        cgroup_read(o->root, &o->mounts, &p->paths, &c);
        who->cpu_s = c.cpu_s;
        who->memory = c.memory;
        who->memory_limit = c.memory_limit;
        who->read_bytes = c.read;
        who->written_bytes = c.write;
}

static void add_value(struct value *sum, struct value v)
{
        if (value_is_set(v))
                *sum = value_ok((value_is_set(*sum) ? sum->v : 0) + v.v);
}

/* The one that was seen longest ago makes room. */
static struct use *use_of(struct owners *o, const struct owner *who)
{
        struct use *oldest = &o->uses[0];
        for (size_t i = 0; i < USES; i++) {
                struct use *u = &o->uses[i];
                if (u->seen_ns && u->gi == who->gi && strcmp(u->uuid, who->uuid) == 0 &&
                    strcmp(u->user, who->user) == 0)
                        return u;
                if (u->seen_ns < oldest->seen_ns)
                        oldest = u;
        }
        *oldest = (struct use){.gi = who->gi};
        snprintf(oldest->uuid, sizeof(oldest->uuid), "%s", who->uuid);
        snprintf(oldest->user, sizeof(oldest->user), "%s", who->user);
        return oldest;
}

/* Cores of the last second become CPU time, whichever processes come and go. */
static void add_cpu(struct owners *o, struct list *l, int64_t now)
{
        for (size_t i = 0; i < l->n; i++) {
                struct owner *who = &l->owners[i];
                if (who->kind != OWNER_PROCESS || !value_is_set(who->process_cpu_s))
                        continue;
                struct use *u = use_of(o, who);
                if (u->seen_ns && now - u->seen_ns < CHECK_LONGEST_NS)
                        u->cpu_s += who->process_cpu_s.v * clock_to_seconds(now - u->seen_ns);
                u->seen_ns = now;
                who->process_cpu_s = value_ok(u->cpu_s);
        }
}

static void add_processes(struct owners *o, const struct owners_view *b, struct list *l)
{
        int64_t now = clock_mono_ns();
        for (size_t i = 0; i < b->n_processes; i++) {
                const struct process *p = &b->processes[i];
                const struct entity *g = p->child ? NULL : gpu_of_slot(b, p->slot);
                if (!g)
                        continue;
                const struct place *place = owners_place_of(o, p, b->is_local, now);
                struct owner *who = owners_add(l, b, g, &place->who);
                if (!who)
                        return;
                if (who->processes++ == 0 && b->is_local)
                        read_use(o, place, who);
                add_value(&who->gpu_memory, p->gpu_memory);
                add_value(&who->gpu_util, p->sm_util);
                add_value(&who->process_memory, p->rss);
                add_value(&who->process_cpu_s, p->cpu); /* cores, until add_cpu */
        }
        add_cpu(o, l, now);
}

/* What a source knows itself: another exporter's labels. */
static void add_reported(const struct owners_view *b, struct list *l)
{
        for (size_t i = 0; i < b->n; i++) {
                const struct entity *e = b->gpus[i];
                struct owner who = {.gi = -1};
                if (e->text[ENTITY_TEXT_JOB][0]) {
                        who.kind = OWNER_SLURM;
                        snprintf(who.job, sizeof(who.job), "%.*s", (int)sizeof(who.job) - 1,
                                 e->text[ENTITY_TEXT_JOB]);
                        owners_add(l, b, b->gpus[i], &who);
                }
                if (e->text[ENTITY_TEXT_POD][0]) {
                        who = (struct owner){.kind = OWNER_KUBERNETES};
                        snprintf(who.pod, sizeof(who.pod), "%s", e->text[ENTITY_TEXT_POD]);
                        snprintf(who.namespace, sizeof(who.namespace), "%.*s",
                                 (int)sizeof(who.namespace) - 1, e->text[ENTITY_TEXT_NAMESPACE]);
                        snprintf(who.container, sizeof(who.container), "%.*s",
                                 (int)sizeof(who.container) - 1, e->text[ENTITY_TEXT_CONTAINER]);
                        owners_add(l, b, b->gpus[i], &who);
                }
        }
}

/* One job a line; the process list may know more of it. Users may write the folder, and we may read
 * what they may not: links are not followed. */
static void add_mapped_file(struct owners *o, const struct owners_view *b, const char *name,
                            struct list *l)
{
        char path[PATH_LEN * 2];
        int32_t index, gi;
        snprintf(path, sizeof(path), "%s/%s", o->mapping_dir, name);
        const struct entity *g =
            owners_mapping_name(name, &index, &gi) ? gpu_at(b, index, gi) : NULL;
        CLEANUP(closep)
        int fd = g ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
        ssize_t n = fd >= 0 ? read(fd, o->text, 8192) : -1;
        if (n <= 0)
                return;
        o->text[n] = '\0';
        size_t lines = 0;
        for (char *save = NULL, *line = strtok_r(o->text, "\r\n", &save);
             line && lines < JOBS_A_FILE; line = strtok_r(NULL, "\r\n", &save), lines++) {
                struct owner who = {.kind = OWNER_SLURM};
                snprintf(who.job, sizeof(who.job), "%.*s", (int)sizeof(who.job) - 1,
                         text_trim(line));
                text_clean(who.job);
                if (who.job[0])
                        owners_add(l, b, g, &who);
        }
}

static void add_mapped(struct owners *o, const struct owners_view *b, struct list *l)
{
        DIR *dir = o->mapping_dir[0] ? opendir(o->mapping_dir) : NULL;
        size_t seen = 0;
        for (struct dirent *e; dir && (e = readdir(dir)) && seen < FOLDER_ENTRIES_MAX; seen++)
                add_mapped_file(o, b, e->d_name, l);
        if (dir)
                closedir(dir);
}

static struct quiet_job *quiet_job_of(struct owners *o, const char *job, int64_t now)
{
        struct quiet_job *oldest = &o->quiet[0];
        for (size_t i = 0; i < QUIET_JOBS; i++) {
                struct quiet_job *q = &o->quiet[i];
                if (q->asked_ns && strcmp(q->job, job) == 0) {
                        q->asked_ns = now;
                        return q;
                }
                if (q->asked_ns < oldest->asked_ns)
                        oldest = q;
        }
        *oldest = (struct quiet_job){.asked_ns = now};
        snprintf(oldest->job, sizeof(oldest->job), "%s", job);
        return oldest;
}

static void seek_job(struct owners *o, struct quiet_job *q, int64_t now)
{
        struct procinfo info;
        struct process process = {.pid = job_seek(o->root, o->listing, q->job, o->text, TEXT_MAX)};
        q->sought_ns = now;
        if (process.pid == 0)
                return;
        procinfo_read(o->procs, process.pid, now, &info);
        snprintf(process.user, sizeof(process.user), "%.*s", (int)sizeof(process.user) - 1,
                 info.user);
        snprintf(process.slurm_job, sizeof(process.slurm_job), "%.*s",
                 (int)sizeof(process.slurm_job) - 1, q->job);
        q->place = (struct place){.pid = process.pid, .asked_ns = now};
        identify_place(o, &q->place, &process);
        q->known = true;
}

/* Whose the jobs are that hold GPUs and do not use them: their other processes report. */
static void find_quiet_jobs(struct owners *o, struct list *l, size_t first)
{
        int64_t now = clock_mono_ns();
        for (size_t i = first; o->procs && i < l->n; i++) {
                struct owner *who = &l->owners[i];
                if (who->kind != OWNER_SLURM || who->processes > 0 || who->user[0])
                        continue;
                struct quiet_job *q = quiet_job_of(o, who->job, now);
                if (!q->known && (q->sought_ns == 0 || now - q->sought_ns > SEEK_EVERY_NS))
                        seek_job(o, q, now);
                if (!q->known)
                        continue;
                memcpy(who->user, q->place.who.user, sizeof(who->user));
                memcpy(who->account, q->place.who.account, sizeof(who->account));
                memcpy(who->partition, q->place.who.partition, sizeof(who->partition));
                read_use(o, &q->place, who);
        }
}

static const struct entity *gpu_of_device(const struct owners_view *b, const char *id)
{
        for (size_t i = 0; i < b->n; i++) {
                const struct entity *e = b->gpus[i];
                bool whole = e->kind == ENTITY_GPU;
                if (e->ci < 0 && owners_is_device(id, e->text[ENTITY_TEXT_UUID],
                                                  whole ? e->text[ENTITY_TEXT_DEVICE] : "",
                                                  whole ? e->text[ENTITY_TEXT_PCI] : ""))
                        return b->gpus[i];
        }
        return NULL;
}

static void add_allocated(struct owners *o, const struct owners_view *b, struct list *l)
{
        size_t n = o->kubelet ? kubelet_take(o->kubelet, o->allocations, KUBELET_DEVICES_MAX) : 0;
        for (size_t i = 0; i < n; i++) {
                const struct allocation *a = &o->allocations[i];
                const struct entity *g = gpu_of_device(b, a->device);
                if (g)
                        owners_add(l, b, g, &a->who);
        }
}

/* A pod that uses what it was allocated is one owner: the kubelet names its container. */
static void name_containers(struct list *l)
{
        for (size_t i = 0; i < l->n; i++) {
                struct owner *o = &l->owners[i];
                if (o->kind != OWNER_KUBERNETES || o->container[0])
                        continue;
                for (size_t k = 0; k < l->n; k++) {
                        const struct owner *other = &l->owners[k];
                        if (other != o && other->kind == OWNER_KUBERNETES && other->container[0] &&
                            other->index == o->index && other->gi == o->gi &&
                            strcmp(other->pod, o->pod) == 0 &&
                            strcmp(other->namespace, o->namespace) == 0) {
                                char name[OWNER_NAME_MAX];
                                memcpy(name, other->container, sizeof(name));
                                memcpy(o->container, name, sizeof(name));
                                l->owners[k] = l->owners[--l->n];
                                break;
                        }
                }
        }
}

size_t owners_find(struct owners *o, const struct owners_view *b, struct owner *ret, size_t max)
{
        struct list l = {.owners = ret, .max = max};
        add_reported(b, &l);
        add_processes(o, b, &l);
        /* The folder's jobs are this machine's, whatever machine the GPUs' values are of. */
        size_t is_first_local = b->is_local ? 0 : l.n;
        add_mapped(o, b, &l);
        add_allocated(o, b, &l);
        name_containers(&l);
        find_quiet_jobs(o, &l, is_first_local);
        return l.n;
}
