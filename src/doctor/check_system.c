/* What is around the GPUs: the environment, the job, the container, the terminal. */
#include "doctor/checks.h"

#include "entity/select.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static struct entity entity_at(const struct doctor *d, size_t i)
{
        struct entity e = {.kind = ENTITY_GPU, .index = (int32_t)i, .gi = -1, .ci = -1, .flat = -1};
        e.vendor = VENDOR_NVIDIA;
        e.ordinal = e.index;
        e.ordinals = 1;
        bool nvml = d->nvml.count > 0;
        const char *uuid = nvml ? d->nvml.gpus[i].uuid : d->gpus[i].uuid;
        const char *pci = nvml ? d->nvml.gpus[i].pci : d->gpus[i].pci;
        entity_set_text(&e, ENTITY_TEXT_UUID, uuid, strlen(uuid));
        entity_set_text(&e, ENTITY_TEXT_PCI, pci, strlen(pci));
        return e;
}

/* Slices are not listed here. */
static void pass_over_slices(struct selection *s)
{
        for (size_t i = 0; i < s->n; i++) {
                if (s->tokens[i].kind == SELECT_SLICE ||
                    (s->tokens[i].kind == SELECT_UUID &&
                     strncmp(s->tokens[i].text, "MIG-", 4) == 0))
                        s->tokens[i].matched = true;
        }
}

/* False when the list names a GPU that is not here; token says which. */
static bool names_what_exists(const struct doctor *d, struct selection *s, char *token, size_t size)
{
        size_t n = d->nvml.count > 0 ? d->nvml.count : d->n_gpus;
        if (n + d->n_drm == 0)
                return true; /* of no GPU there is nothing to say */
        for (size_t i = 0; i < n; i++) {
                struct entity e = entity_at(d, i);
                select_includes(s, &e);
        }
        for (size_t i = 0; i < d->n_drm; i++) {
                struct entity e = doctor_drm_entity(d, i);
                e.index += (int32_t)n;
                select_includes(s, &e);
        }
        pass_over_slices(s);
        return !select_unmatched(s, token, size);
}

/* HIP counts what ROCR leaves, so its numbers alone say nothing. */
static bool has_dependency(const struct doctor *d, const char *name)
{
        const char *rocr = d->get_env("ROCR_VISIBLE_DEVICES");
        return strcmp(name, "HIP_VISIBLE_DEVICES") == 0 && rocr && *rocr;
}

void check_visible(const struct doctor *d, struct result *ret)
{
        const struct select_variable *v;
        char token[ENTITY_TEXT_MAX];
        size_t seen = 0;
        for (size_t i = 0; (v = select_variable_at(i)); i++) {
                const char *list = d->get_env(v->name);
                struct selection s;
                if (!list)
                        continue;
                seen++;
                if (select_parse_variable(list, v, &s, NULL) < 0) {
                        result_set(ret, OUTCOME_WARN, "%s is not a list of GPUs: '%.60s'", v->name,
                                   list);
                } else if (!s.all && s.n == 0) {
                        result_set(ret, OUTCOME_WARN, "%s hides all GPUs: '%.60s'", v->name, list);
                } else if (!has_dependency(d, v->name) &&
                           !names_what_exists(d, &s, token, sizeof(token))) {
                        result_set(ret, OUTCOME_WARN, "%s names a GPU that is not here: '%s'",
                                   v->name, token);
                } else {
                        if (ret->outcome != OUTCOME_WARN)
                                result_set(ret, OUTCOME_OK, "%s=%.60s", v->name, list);
                        continue;
                }
                result_remedy(ret, "correct or unset it; --show-all ignores it, --gpus LIST wins "
                                   "over it");
                return;
        }
        if (seen == 0)
                result_set(ret, OUTCOME_OK, "all: no variable chooses");
}

/* The last line of /proc/self/cgroup (version 2's, or any of version 1's). */
static bool own_cgroup(const struct doctor *d, char *buf, size_t size)
{
        char text[4096];
        if (!doctor_read(d, "/proc/self/cgroup", text, sizeof(text)))
                return false;
        const char *job = strstr(text, "/job_");
        const char *line = text;
        while (job && line < job && strchr(line, '\n') && strchr(line, '\n') < job)
                line = strchr(line, '\n') + 1;
        size_t len = strcspn(line, "\n");
        const char *path = memchr(line, '/', len);
        snprintf(buf, size, "%.*s", path ? (int)(line + len - path) : 0, path ? path : "");
        return true;
}

void check_slurm(const struct doctor *d, struct result *ret)
{
        const char *job = d->get_env("SLURM_JOB_ID");
        const char *gpus = d->get_env("SLURM_STEP_GPUS");
        char cgroup[1024] = "";
        if (!gpus)
                gpus = d->get_env("SLURM_JOB_GPUS");
        own_cgroup(d, cgroup, sizeof(cgroup));
        if (!job) {
                result_set(ret, OUTCOME_NOTE, "not in a job");
        } else if (!strstr(cgroup, "/job_") && !strstr(cgroup, "slurm")) {
                result_set(ret, OUTCOME_WARN, "job %.20s has no cgroup: its limits are not known",
                           job);
                result_remedy(ret, "the cluster uses no cgroups for jobs "
                                   "(ProctrackType=proctrack/cgroup); figures of the job come from "
                                   "its processes");
        } else {
                result_set(ret, OUTCOME_OK, "job %.20s, GPUs of the node: %.60s", job,
                           gpus ? gpus : "none given");
        }
}

void check_cgroup(const struct doctor *d, struct result *ret)
{
        char text[256], path[256];
        bool v2 = doctor_read(d, "/sys/fs/cgroup/cgroup.controllers", text, sizeof(text));
        if (!own_cgroup(d, path, sizeof(path))) {
                result_set(ret, OUTCOME_WARN, "/proc/self/cgroup cannot be read");
                result_remedy(ret, "figures of the job and container will be missing; is /proc "
                                   "mounted?");
        } else {
                result_set(ret, OUTCOME_OK, "%s, %s", v2 ? "version 2" : "version 1",
                           path[0] ? path : "/");
        }
}

static bool path_exists(const struct doctor *d, const char *path)
{
        char full[4096];
        struct stat st;
        snprintf(full, sizeof(full), "%s%s", d->source.root, path);
        return stat(full, &st) == 0;
}

/* The kernel's first PID namespace has this inode number (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

void check_pids(const struct doctor *d, struct result *ret)
{
        char path[4096], link[64] = "";
        bool container = path_exists(d, "/.dockerenv") || path_exists(d, "/run/.containerenv") ||
                         d->get_env("container") || d->get_env("KUBERNETES_SERVICE_HOST");
        snprintf(path, sizeof(path), "%s/proc/self/ns/pid", d->source.root);
        ssize_t n = readlink(path, link, sizeof(link) - 1);
        bool first = n > 0 && strcmp(link, FIRST_PID_NAMESPACE) == 0;
        if (n <= 0 || first) {
                result_set(ret, OUTCOME_OK, "%spids are those of the host",
                           container ? "in a container; " : "");
                return;
        }
        result_set(ret, container ? OUTCOME_WARN : OUTCOME_NOTE,
                   "%s PID namespace of its own: GPU processes of others are shown without a name",
                   container ? "a container with a" : "a");
        if (container)
                result_remedy(ret,
                              "start the container with '--pid=host' (Kubernetes: hostPID: true) "
                              "to see them");
}

void check_hidepid(const struct doctor *d, struct result *ret)
{
        char text[16384];
        if (!doctor_read(d, "/proc/mounts", text, sizeof(text))) {
                result_set(ret, OUTCOME_NOTE, "/proc/mounts cannot be read");
                return;
        }
        for (const char *line = text; *line;) {
                size_t len = strcspn(line, "\n");
                const char *end = line + len;
                const char *hide = memmem(line, len, "hidepid=", 8);
                bool proc = memmem(line, len, " /proc proc ", 12) != NULL;
                if (proc && hide && hide[8] != '0' && strncmp(hide + 8, "off", 3) != 0) {
                        result_set(ret, OUTCOME_WARN, "on: processes of others cannot be seen");
                        result_remedy(ret,
                                      "their GPU memory is still shown; an administrator can add "
                                      "you to /proc's gid= group");
                        return;
                }
                line = end + (*end == '\n');
        }
        result_set(ret, OUTCOME_OK, "off");
}

static bool is_utf8(const struct doctor *d)
{
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *v = d->get_env(names[i]);
                if (v && *v)
                        return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
        }
        return false;
}

void check_terminal(const struct doctor *d, struct result *ret)
{
        const char *term = d->get_env("TERM"), *color = d->get_env("COLORTERM");
        bool utf8 = is_utf8(d);
        if (!d->to_terminal) {
                result_set(ret, OUTCOME_NOTE, "the output does not go to one");
                return;
        }
        if (!term || !*term || strcmp(term, "dumb") == 0) {
                result_set(ret, OUTCOME_WARN, "TERM is %s: the live view cannot draw",
                           term && *term ? "dumb" : "not set");
                result_remedy(ret, "set TERM, for example to xterm-256color");
                return;
        }
        const char *colors = color && strcmp(color, "truecolor") == 0 ? "16 million colours"
                             : strstr(term, "256")                    ? "256 colours"
                                                                      : "8 colours";
        result_set(ret, utf8 ? OUTCOME_OK : OUTCOME_WARN, "%.40s, %ux%u, %s, %s", term, d->columns,
                   d->rows, colors, utf8 ? "UTF-8" : "no UTF-8: bars are drawn with ASCII");
        if (!utf8)
                result_remedy(ret, "set LANG=C.UTF-8");
}
