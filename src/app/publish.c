#include "app/publish.h"

#include "app/output.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "base/outfile.h"
#include "base/text.h"
#include "present/report/scalars.h"
#include "present/stream/tfevents.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct publication {
        struct run_summary *run;
        const char *path, *place;
};

static int write_all(const char *path, int flags, struct strbuf *out, struct err *err)
{
        CLEANUP(closep) int fd = outfile_open(path, flags, 0666, "", err);
        if (fd < 0)
                return fd;
        int r = out->failed ? -ENOMEM : strbuf_flush(out, fd);
        return r < 0 ? err_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}

/* ---- lines of JSON ---- */

static int publish_jsonl(const struct publication *p, struct err *err)
{
        struct strbuf out = {0};
        int r = output_check(p->place, p->path, false, err);
        if (r == 0)
                r = run_summary_write(p->run, "scalars", &out, err);
        if (r == 0)
                r = write_all(p->place, O_WRONLY | O_CREAT | O_APPEND, &out, err);
        strbuf_finish(&out);
        return r;
}

/* ---- TensorBoard ---- */

/* Curves of the means over the GPUs; a point's step is the seconds since the start. */
static void put_curves(const struct run_summary *r, struct strbuf *out)
{
        const struct traces *t = &r->traces;
        char tag[96];
        for (enum trace_metric m = 0; m < TRACE_COUNT; m++) {
                snprintf(tag, sizeof(tag), "assay/gpu/%s", metric_info(trace_metric(m))->name);
                for (size_t i = 0; t->n > 0 && i < TRACE_POINTS; i++) {
                        int64_t at_ns = (int64_t)i * t->width_ns;
                        double v = traces_mean(t, m, i);
                        if (!isnan(v))
                                tfevents_scalar(out, clock_to_seconds(t->start_ns + at_ns),
                                                at_ns / NS_PER_S, tag, v);
                }
        }
}

/* Numbers that the program logged, and lengths of steps, counted from 0. */
static void put_own_numbers(const struct run_summary *r, struct strbuf *out)
{
        char name[MARK_NAME_MAX];
        for (size_t i = 0; i < r->in.n_marks; i++) {
                const struct mark *m = &r->in.marks[i];
                int64_t since = (m->wall_ns - r->summary.first_ns) / NS_PER_S;
                if (m->type != MARK_METRIC)
                        continue;
                snprintf(name, sizeof(name), "%s", m->name);
                text_clean(name);
                tfevents_scalar(out, clock_to_seconds(m->wall_ns), MAX(since, 0), name, m->value);
        }
        for (size_t i = 0; r->steps.n > 0 && i < r->steps.list[0].n; i++) {
                const struct run_step *step = &r->steps.list[0].list[i];
                tfevents_scalar(out, clock_to_seconds(step->end_ns), (int64_t)i,
                                "assay/step/seconds", step->seconds);
                if (!isnan(step->waited))
                        tfevents_scalar(out, clock_to_seconds(step->end_ns), (int64_t)i,
                                        "assay/step/waited", step->waited);
        }
}

static void put_findings(const struct run_summary *r, double end_s, struct strbuf *out)
{
        const struct stretch_list *l = &r->summary.limits;
        struct strbuf text = {0};
        for (size_t i = 0; i < MIN(l->n_findings, (size_t)REPORT_FINDINGS); i++) {
                strbuf_putf(&text, "%zu. ", i + 1);
                report_finding(l, &l->findings[i], &text);
                strbuf_putf(&text, "  \n   try: %s\n", report_finding_try(l, &l->findings[i]));
        }
        if (text.len > 0)
                tfevents_text(out, end_s, 0, "assay/findings", strbuf_str(&text));
        strbuf_finish(&text);
}

static void put_scalars(const struct run_summary *r, double end_s, struct strbuf *out)
{
        const struct report report = {
            .facts = &r->in.facts, .summary = &r->summary, .steps = &r->steps, .view = &r->view};
        struct scalars s;
        report_take_scalars(&report, &s);
        for (size_t i = 0; i < s.n; i++)
                tfevents_scalar(out, end_s, 0, s.list[i].name, s.list[i].v);
}

static int publish_tensorboard(const struct publication *p, struct err *err)
{
        const struct run_summary *r = p->run;
        double start_s = clock_to_seconds(r->summary.first_ns);
        double end_s = clock_to_seconds(r->summary.last_ns);
        char path[4096], host[64] = "";
        struct strbuf out = {0};
        if (gethostname(host, sizeof(host) - 1) < 0 || strchr(host, '/'))
                host[0] = '\0';
        int n = snprintf(path, sizeof(path), "%s/events.out.tfevents.%010.0f.%s.assay.%d", p->place,
                         start_s, host, (int)getpid());
        if (n >= (int)sizeof(path))
                return err_set(err, -ENAMETOOLONG, "the folder's name is too long");
        int code = outfile_check_way(path, err);
        if (code == 0 && mkdir(p->place, 0777) < 0 && errno != EEXIST)
                code = err_set(err, -errno, "cannot make '%s': %s", p->place, strerror(errno));
        if (code < 0)
                return code;
        tfevents_begin(&out, start_s);
        put_curves(r, &out);
        put_own_numbers(r, &out);
        put_scalars(r, end_s, &out);
        put_findings(r, end_s, &out);
        code = write_all(path, O_WRONLY | O_CREAT | O_EXCL, &out, err);
        strbuf_finish(&out);
        return code;
}

/* ---- all of them ---- */

static const struct publisher {
        const char *prefix;
        int (*write)(const struct publication *p, struct err *err);
} publishers[] = {
    {"tensorboard:", publish_tensorboard},
    {"jsonl:", publish_jsonl},
};

static const struct publisher *find_publisher(const char *target, struct err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(publishers); i++) {
                size_t n = strlen(publishers[i].prefix);
                if (strncmp(target, publishers[i].prefix, n) == 0 && target[n])
                        return &publishers[i];
        }
        err_set(err, ERR_USAGE, "'%s' does not say where to publish", target);
        err_hint(err, "write tensorboard:FOLDER or jsonl:FILE");
        return NULL;
}

int publish_run(const struct config *config, const char *path, const char *target,
                struct strbuf *notices, struct err *err)
{
        const struct publisher *to = find_publisher(target, err);
        if (!to)
                return ERR_USAGE;
        struct run_summary *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->curves = r->wants_steps = true;
        int code = run_summary_read(r, config, path, "text", err);
        strbuf_put(notices, strbuf_str(&r->notices), r->notices.len);
        const struct publication p = {r, path, target + strlen(to->prefix)};
        if (code == 0)
                code = to->write(&p, err);
        run_summary_finish(r);
        free(r);
        return code;
}
