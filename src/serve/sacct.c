#include "serve/sacct.h"

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "life/helper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS (20 * NS_PER_S)
#define OUTPUT_MAX (1u << 20)
#define FIELD_MAX 256

enum field { JOB, ELAPSED, LIMIT, CPUS, NODES, TRES, FIELD_COUNT };
static const char columns[] = "JobIDRaw,ElapsedRaw,TimelimitRaw,AllocCPUS,NNodes,AllocTRES";

static struct value number_of(const char *text, double scale)
{
        uint64_t v;
        return num_parse_u64(text, strlen(text), &v) ? value_ok((double)v * scale)
                                                     : value_missing(STATE_NONE);
}

/* "billing=8,cpu=8,mem=64000M,node=1": the bytes of memory. */
static struct value memory_of(const char *tres)
{
        static const char units[] = "KMGTP";
        for (const char *at = tres; *at; at += strcspn(at, ","), at += *at == ',') {
                double v;
                if (strncmp(at, "mem=", 4) != 0)
                        continue;
                size_t n = strcspn(at + 4, ","), digits = strspn(at + 4, "0123456789.");
                const char *unit = digits + 1 == n ? strchr(units, at[4 + digits]) : NULL;
                if ((digits != n && !unit) || !num_parse_all(at + 4, digits, &v) || v > 1e12)
                        return value_missing(STATE_NONE);
                for (long i = unit ? unit - units + 1 : 2; i > 0; i--)
                        v *= 1024;
                return value_ok(v);
        }
        return value_missing(STATE_NONE);
}

static bool sacct_take_line(const char *line, size_t n, const char *job, struct job_request *ret)
{
        char fields[FIELD_COUNT][FIELD_MAX];
        for (enum field f = 0; f < FIELD_COUNT; f++) {
                const char *bar = memchr(line, '|', n);
                size_t have = bar ? (size_t)(bar - line) : n;
                if (have >= FIELD_MAX || (!bar && f + 1 < FIELD_COUNT))
                        return false;
                memcpy(fields[f], line, have);
                fields[f][have] = '\0';
                line += have + (bar != NULL);
                n -= have + (bar != NULL);
        }
        if (strcmp(fields[JOB], job) != 0)
                return false;
        *ret = (struct job_request){
            .cpus = number_of(fields[CPUS], 1),
            .memory = memory_of(fields[TRES]),
            .elapsed_s = number_of(fields[ELAPSED], 1),
            .limit_s = number_of(fields[LIMIT], 60), /* no number: without a limit */
            .nodes = number_of(fields[NODES], 1),
        };
        return true;
}

bool sacct_parse(const char *text, size_t n, const char *job, struct job_request *ret)
{
        for (const char *end = text + n; text < end;) {
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                size_t have = (size_t)((stop ? stop : end) - text);
                if (sacct_take_line(text, have, job, ret))
                        return true;
                text += have + 1;
        }
        return false;
}

int sacct_query(const char *job, struct job_request *ret, struct err *err)
{
        static const struct helper_limits limits = {PATIENCE_NS, OUTPUT_MAX, -1};
        char program[PATH_MAX];
        const char *argv[] = {program, "-n", "-P", "-X", "-j", job, "-o", columns, NULL};
        struct helper c = HELPER_NONE;
        struct strbuf out = {0}, said = {0};
        if (!job[0] || strspn(job, "0123456789") != strlen(job))
                return err_set(err, ERR_NO_SOURCE, "'%s' is not the number of a Slurm job", job);
        bool found = helper_find("sacct", helper_path(), program, sizeof(program));
        int r = found ? helper_start(&c, argv, &(struct helper_options){0}) : -ENOENT;
        if (r == 0) {
                r = helper_collect(&c, &limits, &out, &said);
                if (r == 0 && helper_finish(&c) != 0)
                        r = -EIO;
                helper_stop(&c);
        }
        if (r == 0 && !sacct_parse(out.s, out.len, job, ret))
                r = -ESRCH;
        if (r < 0)
                err_set(err, ERR_NO_SOURCE, "sacct says nothing of job '%s': %s", job,
                        r == -ESRCH ? "it has no such job" : strerror(-r));
        strbuf_finish(&out);
        strbuf_finish(&said);
        return r < 0 ? err->code : 0;
}
