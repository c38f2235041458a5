#include "app/manifest.h"

#include "app/rank.h"
#include "app/setup.h"
#include "base/clock.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "present/stream/json.h"

#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

/* Secrets are masked; when asked for, or when the process is another user's, only its name is kept.
 */
static void set_command(struct session *s, char *const *argv, bool name_only)
{
        struct redact redact = {0};
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        if (!argv || !argv[0])
                return;
        jsonw_array(&j, NULL);
        for (size_t i = 0; argv[i] && (i == 0 || !name_only); i++) {
                CLEANUP(freep) char *word = strdup(argv[i]);
                if (!word)
                        break;
                redact_word(&redact, word);
                jsonw_text(&j, NULL, word);
        }
        jsonw_end(&j);
        session_set_text(s, "command", strbuf_str(&out));
        strbuf_finish(&out);
}

/* The first "key : value" of a file in /proc. */
static bool proc_value(const char *path, const char *key, char *buf, size_t size)
{
        char line[512];
        FILE *f = fopen(path, "re");
        bool found = false;
        while (f && !found && fgets(line, sizeof(line), f)) {
                const char *colon = strchr(line, ':');
                if (strncmp(line, key, strlen(key)) != 0 || !colon)
                        continue;
                colon += 1 + strspn(colon + 1, " \t");
                snprintf(buf, size, "%.*s", (int)strcspn(colon, "\n"), colon);
                found = true;
        }
        if (f)
                fclose(f);
        return found;
}

static void set_machine(struct session *s)
{
        struct utsname name;
        char text[300];
        cpu_set_t cpus;
        if (uname(&name) == 0) {
                session_set_text(s, "host", name.nodename);
                snprintf(text, sizeof(text), "%s %s %s", name.sysname, name.release, name.machine);
                session_set_text(s, "os", text);
        }
        if (proc_value("/proc/cpuinfo", "model name", text, sizeof(text)))
                session_set_text(s, "cpu_model", text);
        if (proc_value("/proc/meminfo", "MemTotal", text, sizeof(text)))
                session_set_number(s, "memory_bytes", strtod(text, NULL) * 1024);
        session_set_number(s, "cpus_online", (double)sysconf(_SC_NPROCESSORS_ONLN));
        if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
                session_set_number(s, "cpus_usable", CPU_COUNT(&cpus));
        struct rlimit limit;
        if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
                session_set_number(s, "memory_limit_bytes", (double)limit.rlim_cur);
}

/* Variables that say which GPUs, which job, which rank. */
static void set_environment(struct session *s)
{
        static const char *const names[] = {
            "CUDA_VISIBLE_DEVICES",
            "NVIDIA_VISIBLE_DEVICES",
            "SLURM_JOB_ID",
            "SLURM_STEP_ID",
            "SLURM_ARRAY_JOB_ID",
            "SLURM_ARRAY_TASK_ID",
            "SLURM_RESTART_COUNT",
            "SLURM_NODEID",
            "SLURM_PROCID",
            "SLURM_LOCALID",
            "SLURM_JOB_GPUS",
            "SLURM_STEP_GPUS",
            "SLURM_JOB_NODELIST",
            "SLURM_JOB_NUM_NODES",
            "SLURM_JOB_USER",
            "SLURM_JOB_ACCOUNT",
            "SLURM_JOB_PARTITION",
            "SLURM_JOB_NAME",
            "SLURMD_NODENAME",
            "OMPI_COMM_WORLD_RANK",
            "PMIX_RANK",
            "PMI_RANK",
            "MV2_COMM_WORLD_RANK",
            "RANK",
            "LOCAL_RANK",
            "GROUP_RANK",
            "WORLD_SIZE",
            "TORCHELASTIC_RUN_ID",
            "TORCHELASTIC_RESTART_COUNT",
            "OMP_NUM_THREADS",
            "PYTORCH_CUDA_ALLOC_CONF",
            "XLA_FLAGS",
        };
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                char key[64];
                const char *value = get_env(names[i]);
                snprintf(key, sizeof(key), "env.%s", names[i]);
                if (value)
                        session_set_text(s, key, value);
        }
}

static void set_fact(struct session *s, const char *key, struct value v)
{
        if (value_is_set(v))
                session_set_number(s, key, v.v);
}

static void set_rank(struct session *s)
{
        struct rank_facts r = rank_facts(get_env);
        if (!r.launcher)
                return;
        session_set_text(s, "launcher", r.launcher);
        set_fact(s, "rank", r.rank);
        set_fact(s, "mpi_rank", r.rank); /* its name in files of 0.1.0 */
        set_fact(s, "local_rank", r.local_rank);
        set_fact(s, "node_rank", r.node_rank);
        set_fact(s, "world_size", r.world);
        if (r.job[0])
                session_set_text(s, "job_id", r.job);
}

/* Who runs here, and where. */
static void set_run(struct session *s, char *const *argv, bool name_only)
{
        char text[4096];
        struct passwd user, *found = NULL;
        getpwuid_r(getuid(), &user, text, sizeof(text), &found);
        session_set_text(s, "user", found ? found->pw_name : "");
        session_set_number(s, "uid", (double)getuid());
        set_command(s, argv, name_only);
        set_machine(s);
        set_environment(s);
        set_rank(s);
}

/* What is played ran elsewhere, and nothing of this machine is true of it. */
static void set_recorded(struct session *s, struct pipeline *p)
{
        const char *host = pipeline_recorded_host(p);
        if (host[0])
                session_set_text(s, "host", host);
}

void manifest_describe(struct session *s, const struct config *config, char *const *argv,
                       struct pipeline *p)
{
        char cwd[4096];
        session_set_text(s, "program_version", program_version);
        session_set_number(s, "recorder_pid", (double)getpid());
        session_set_time(s, "start_mono_ns", clock_mono_ns());
        if (getcwd(cwd, sizeof(cwd)))
                session_set_text(s, "cwd", cwd);
        bool all = config_flag(config, OPT_ALL_COMMANDS), none = config_flag(config, OPT_REDACT);
        session_keep_commands(s, none ? COMMANDS_NONE : all ? COMMANDS_ALL : COMMANDS_OWN);
        if (p && pipeline_is_capture(p))
                set_recorded(s, p);
        else
                set_run(s, argv, none);
        if (config_is_set(config, OPT_FLOPS_PER_STEP))
                session_set_number(s, "flops_per_step", config_number(config, OPT_FLOPS_PER_STEP));
        session_set_text(s, "backend", p ? pipeline_source_name(p) : "none");
        session_set_number(
            s, "interval_s",
            clock_to_seconds(p ? pipeline_interval_ns(p) : manifest_interval_ns(config)));
}

#define INTERVAL_MIN_S 0.01

int64_t manifest_interval_ns(const struct config *config)
{
        return clock_from_seconds(MAX(config_number(config, OPT_POLL), INTERVAL_MIN_S));
}

static void note_limit(struct session *s, const char *what, enum level level, struct value v,
                       struct value *known)
{
        char key[64];
        if (!value_is_set(v) || (value_is_set(*known) && known->v == v.v))
                return;
        *known = v;
        snprintf(key, sizeof(key), "%s.%s", what, level_name(level));
        session_set_number(s, key, v.v);
}

void manifest_note_limits(struct session *s, struct manifest_limits *known, const struct host *host)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                const struct level_state *state = &host->levels[l];
                if (!state->asked || !state->present)
                        continue;
                note_limit(s, "memory_limit", l, state->f[FIGURE_MEMORY_LIMIT], &known->memory[l]);
                note_limit(s, "cpus", l, state->f[FIGURE_CPUS], &known->cpus[l]);
        }
        const struct level_state *job = &host->levels[LEVEL_SLURM];
        if (!known->has_job && job->asked && job->present && job->name[0])
                known->has_job = session_set_text(s, "slurm_job", job->name) == 0;
}

int manifest_end(struct session *s, const struct engine_result *result, struct err *err)
{
        session_set_time(s, "stop_ns", result->stop_wall_ns);
        session_set_time(s, "stop_mono_ns", clock_mono_ns());
        if (result->host_asked > 0) {
                session_set_number(s, "host_ticks_asked", (double)result->host_asked);
                session_set_number(s, "host_ticks_taken", (double)result->host_taken);
                session_set_number(s, "host_ticks_late", (double)result->host_late);
                session_set_number(s, "host_ticks_missed", (double)result->host_missed);
        }
        return result->hung ? session_commit(s, err) : session_close(s, err);
}
