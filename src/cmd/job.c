/* assay job: what one job did with its GPUs. */
#include "app/setup.h"
#include "base/num.h"
#include "cmd/job_card.h"
#include "cmd/joblist.h"
#include "serve/job_comment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A job has that many stays at most; those beyond are left out. */
#define STAYS_MAX 1000

/* The newest record that a query finds, with the earlier stays of its job. */
struct newest {
        struct record record;
        bool done; /* an older one is another job's */
        size_t n;
};

static void keep_stays(void *arg, const struct record *r)
{
        struct newest *newest = arg;
        if (newest->n++ == 0) {
                newest->record = *r;
                return;
        }
        newest->done |= !record_continues(&newest->record, r);
        if (!newest->done)
                record_join(&newest->record, r);
}

/* What Slurm calls this node. */
static const char *node_name(char *buf, size_t size)
{
        const char *slurm = get_env("SLURMD_NODENAME");
        if (slurm && slurm[0])
                return slurm;
        if (gethostname(buf, size) < 0)
                snprintf(buf, size, "localhost");
        buf[size - 1] = '\0';
        buf[strcspn(buf, ".")] = '\0';
        return buf;
}

/* Slurm is asked where it can add something; without an answer the request is unknown. */
static void query_request(const struct record *r, struct job_request *ret)
{
        struct err err = {0};
        *ret = (struct job_request){0};
        if (r->who.kind == OWNER_SLURM)
                (void)sacct_query(r->who.job, ret, &err);
}

static int write_record(const struct config *config, const struct record *r, struct strbuf *out,
                        struct err *err)
{
        const char *format = config_text(config, OPT_FORMAT),
                   *before = config_text(config, OPT_MERGE);
        struct job_request request;
        char node[256];
        if (config_flag(config, OPT_BRIEF)) {
                job_card_put_brief(out, r);
                return 0;
        }
        if (strcmp(format, "json") == 0) {
                struct jsonw j = {.out = out};
                record_json(r, &j);
                strbuf_putc(out, '\n');
                return 0;
        }
        query_request(r, &request);
        if (strcmp(format, "text") == 0) {
                job_card_put(out, r, &request, config_number(config, OPT_CO2));
                return 0;
        }
        int code = job_comment_write(r, &request, node_name(node, sizeof(node)),
                                     before ? before : "", out, err);
        strbuf_putc(out, '\n');
        return code;
}

static int check_options(const struct config *config, struct err *err)
{
        static const enum option merge[] = {OPT_MERGE}, format[] = {OPT_FORMAT};
        if (config_flag(config, OPT_BRIEF))
                return config_refuse(config, format, ARRAY_LEN(format), "is given beside --brief",
                                     "leave out one of them", err);
        if (strcmp(config_text(config, OPT_FORMAT), "jobstats") != 0)
                return config_refuse(config, merge, ARRAY_LEN(merge), "is for a job's comment",
                                     "leave it out, or add --format jobstats", err);
        return 0;
}

static int find_newest(const struct config *config, const char *word, struct newest *ret,
                       struct err *err)
{
        char path[SERVE_PATH_MAX];
        uint64_t id;
        struct records_query q = {.limit = STAYS_MAX, .job = word};
        int r = joblist_path(config, path, err);
        /* The number of a job, of a pod, or of a record. */
        if (r == 0)
                r = joblist_each(path, &q, keep_stays, ret, err);
        if (r == 0 && ret->n == 0 && num_parse_u64(word, strlen(word), &id) && id <= INT64_MAX) {
                q = (struct records_query){.limit = 1, .id = (int64_t)id};
                r = joblist_each(path, &q, keep_stays, ret, err);
        }
        if (r == 0 && ret->n == 0) {
                err_set(err, ERR_USAGE, "there is no job '%s'", word);
                r = err_hint(err, "'assay jobs' lists those that were recorded");
        }
        return r;
}

static int show_job(const struct config *config, struct newest *newest, struct strbuf *out,
                    struct err *err)
{
        if (config->n_args != 2) {
                err_set(err, ERR_USAGE, "name one record or job");
                return err_hint(err, "'assay jobs' lists them");
        }
        if (!config->args[1][0]) {
                err_set(err, ERR_USAGE, "the job's name is empty");
                return err_hint(err, "a variable may be unset; 'assay jobs' lists the records");
        }
        int r = check_options(config, err);
        if (r == 0)
                r = find_newest(config, config->args[1], newest, err);
        return r == 0 ? write_record(config, &newest->record, out, err) : r;
}

static int job_run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        struct newest *newest = calloc(1, sizeof(*newest));
        int r =
            newest ? show_job(config, newest, &out, &err) : err_set(&err, -ENOMEM, "out of memory");
        free(newest);
        if (r == 0)
                print_text(&out);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_job = {
    .name = "job",
    .args = "JOB|RECORD",
    .summary = "show what one job did with its GPUs, as a report card",
    .words = WORDS_OWN,
    .examples = {{"assay job 4711", "the Slurm job 4711"},
                 {"assay job llm-0", "a pod"},
                 {"assay job 4711 --brief", "one line, for the job's comment"}},
    .run = job_run,
};
