#include "read/nodes/reach.h"

#include "base/attr.h"
#include "life/helper.h"
#include "read/nodes/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Clusters share their folders, so this program is present under the same name; a host that ssh
 * reaches has its own. */
static void name_remote(struct reach *r, const struct source_config *config)
{
        ssize_t n = -1;
        if (r->is_srun && !config->remote)
                n = readlink("/proc/self/exe", r->remote, sizeof(r->remote) - 1);
        if (n > 0)
                r->remote[n] = '\0';
        else
                snprintf(r->remote, sizeof(r->remote), "%s",
                         config->remote ? config->remote : "assay");
}

static int find_program(struct reach *r, const struct source_config *config, struct err *err)
{
        struct node_command words;
        const char *name = "srun", *base;
        if (!config->job) {
                const char *ssh = config->ssh ? config->ssh : "ssh";
                if (!node_command_split(ssh, &words) || words.n == 0) {
                        err_set(err, ERR_USAGE, "--ssh: '%.80s' is no command", ssh);
                        return err_hint(err, "write for example --ssh 'ssh -p 2222 -i key'");
                }
                name = words.argv[0];
        }
        base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        r->is_srun = config->job != NULL;
        name_remote(r, config);
        r->is_ssh = !r->is_srun && strcmp(base, "ssh") == 0;
        if (helper_find(name, helper_path(), r->program, sizeof(r->program)))
                return 0;
        err_set(err, ERR_NO_SOURCE, "cannot reach other hosts: there is no '%.80s' here", name);
        return err_hint(err, r->is_srun ? "run this where jobs are submitted, or use --hosts"
                                        : "install OpenSSH's client, or name another with --ssh");
}

/* The host without the user, unless two are then the same. */
static void name_targets(struct reach *r)
{
        for (size_t i = 0; i < r->n; i++) {
                const char *target = r->targets[i].target, *at = strrchr(target, '@');
                const char *host = at ? at + 1 : target;
                bool twice = false;
                for (size_t k = 0; k < r->n && at && !twice; k++) {
                        const char *other = r->targets[k].target, *present = strrchr(other, '@');
                        twice = k != i && strcmp(present ? present + 1 : other, host) == 0;
                }
                snprintf(r->targets[i].name, sizeof(r->targets[i].name), "%.79s",
                         twice ? target : host);
        }
}

static int take_targets(struct reach *r, const struct hostlist *hosts, const struct slurm_job *job,
                        struct err *err)
{
        r->targets = calloc(hosts->n, sizeof(*r->targets));
        if (!r->targets)
                return err_set(err, -ENOMEM, "out of memory");
        r->n = hosts->n;
        size_t part = 0, left = job->n_parts > 0 ? job->parts[0].n : SIZE_MAX;
        for (size_t i = 0; i < r->n; i++, left--) {
                if (left == 0)
                        left = job->parts[++part].n;
                snprintf(r->targets[i].target, sizeof(r->targets[i].target), "%s", hosts->names[i]);
                snprintf(r->targets[i].job, sizeof(r->targets[i].job), "%s",
                         job->n_parts ? job->parts[part].id : "");
        }
        name_targets(r);
        return 0;
}

int reach_open(const struct source_config *config, int wake, struct reach *ret, struct err *err)
{
        struct hostlist hosts = {0};
        struct slurm_job job = {0};
        int r = find_program(ret, config, err);
        if (r == 0 && config->job)
                r = slurm_query(&job, config->job, wake, err);
        else if (r == 0)
                r = hostlist_read(&hosts, "--hosts", config->hosts, err);
        if (r == 0)
                r = take_targets(ret, config->job ? &job.nodes : &hosts, &job, err);
        hostlist_finish(&hosts);
        slurm_finish(&job);
        return r;
}

void reach_finish(struct reach *r)
{
        free(r->targets);
        *r = (struct reach){0};
}

bool reach_command(const struct reach *r, const struct source_config *config, size_t target,
                   const char *const *words, size_t n_words, struct node_command *ret)
{
        const struct node_command_for f = {
            .program = r->program,
            .words = r->is_srun ? NULL : config->ssh,
            .is_ssh = r->is_ssh,
            .job = r->is_srun ? r->targets[target].job : NULL,
            .host = r->targets[target].target,
            .remote = r->remote,
            .asks = words,
            .n_asks = n_words,
        };
        return node_command_make(&f, ret);
}

bool reach_hides(const char *variable)
{
        static const char *const kept[] = {"SLURM_CONF", "SLURM_JWT", "SLURM_TIME_FORMAT"};
        if (strncmp(variable, "SLURM", 5) != 0 && strncmp(variable, "SRUN_", 5) != 0)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
                if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
                        return false;
        }
        return true;
}
