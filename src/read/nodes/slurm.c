#include "read/nodes/slurm.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "life/helper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_NS (10 * NS_PER_S)
#define ANSWER_MAX (256 * 1024)

bool slurm_is_job(const char *text)
{
        size_t n = strspn(text, "0123456789");
        if (n == 0 || n > 10)
                return false;
        if (text[n] == '_' || text[n] == '+') {
                size_t more = strspn(text + n + 1, "0123456789");
                if (more == 0 || more > 10)
                        return false;
                n += more + 1;
        }
        return text[n] == '\0';
}

void slurm_finish(struct slurm_job *job)
{
        hostlist_finish(&job->nodes);
}

/* One line: state, id, nodes. Lines of another form are passed over. */
static int read_line(struct slurm_job *job, char *line, struct err *err)
{
        char *id = strchr(line, '|'), *nodes = id ? strchr(id + 1, '|') : NULL;
        if (!nodes)
                return 0;
        *id++ = '\0';
        *nodes++ = '\0';
        if (strcmp(line, "RUNNING") != 0 || nodes[0] == '\0') {
                snprintf(job->state, sizeof(job->state), "%.31s", line);
                text_clean(job->state);
                return 0;
        }
        if (job->n_parts >= SLURM_PARTS_MAX || !slurm_is_job(id))
                return 0;
        size_t before = job->nodes.n;
        int r = hostlist_add(&job->nodes, nodes, err);
        struct slurm_part *p = &job->parts[job->n_parts];
        snprintf(p->id, sizeof(p->id), "%.31s", id);
        p->n = job->nodes.n - before;
        job->n_parts += r == 0 && p->n > 0;
        return r;
}

int slurm_read_job(struct slurm_job *job, const char *text, struct err *err)
{
        char line[32768];
        int r = 0;
        while (*text && r == 0) {
                size_t len = strcspn(text, "\n");
                if (len < sizeof(line)) {
                        memcpy(line, text, len);
                        line[len] = '\0';
                        r = read_line(job, line, err);
                }
                text += len + (text[len] == '\n');
        }
        return r;
}

static int report_failure(const char *id, struct strbuf *said, struct err *err)
{
        char why[160];
        const char *text = strbuf_str(said);
        const char *colon = strstr(text, "error: ");
        text = colon ? colon + strlen("error: ") : text;
        snprintf(why, sizeof(why), "%.*s", (int)MIN(strcspn(text, "\r\n"), sizeof(why) - 1), text);
        text_clean(why);
        err_set(err, ERR_NO_SOURCE, "cannot ask Slurm for job %s: %s", id,
                why[0] ? why : "squeue gives no answer");
        return err_hint(err, "'squeue --me' lists your jobs");
}

static int check_job(const struct slurm_job *job, const char *id, struct err *err)
{
        if (job->nodes.n > 0)
                return 0;
        if (job->state[0])
                err_set(err, ERR_NO_SOURCE, "job %s is %s and has no nodes now", id, job->state);
        else
                err_set(err, ERR_NO_SOURCE, "there is no job %s that runs", id);
        return err_hint(err, "'squeue --me' lists your jobs");
}

int slurm_query(struct slurm_job *job, const char *id, int wake, struct err *err)
{
        char program[4096], which[64];
        struct helper c = HELPER_NONE;
        struct strbuf out = {0}, said = {0};
        if (!slurm_is_job(id)) {
                err_set(err, ERR_USAGE, "--slurm: '%s' is no job id", id);
                return err_hint(err, "write a number, as 'squeue --me' lists them: 4242 or 4242_7");
        }
        if (!helper_find("squeue", helper_path(), program, sizeof(program))) {
                err_set(err, ERR_NO_SOURCE,
                        "--slurm needs Slurm's commands, and there is no squeue");
                return err_hint(err,
                                "run this where jobs are submitted, or name the nodes: --hosts "
                                "node[01-16]");
        }
        snprintf(which, sizeof(which), "--jobs=%s", id);
        const char *argv[] = {program, "--noheader", which, "--format=%T|%A|%N", NULL};
        int r = helper_start(&c, argv, &(struct helper_options){0});
        if (r < 0) {
                err_set(err, ERR_NO_SOURCE, "cannot start '%s': %s", program, strerror(-r));
                return err_hint(err, "name the nodes instead: --hosts node[01-16]");
        }
        const struct helper_limits limits = {ASK_NS, ANSWER_MAX, wake};
        bool answered = helper_collect(&c, &limits, &out, &said) == 0;
        int status = answered ? helper_finish(&c) : 1;
        helper_stop(&c);
        if (status != 0 || out.failed)
                r = report_failure(id, &said, err);
        else
                r = slurm_read_job(job, strbuf_str(&out), err);
        if (r == 0)
                r = check_job(job, id, err);
        strbuf_finish(&out);
        strbuf_finish(&said);
        return r;
}
