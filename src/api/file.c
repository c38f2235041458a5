/* Recorded runs: what they are, reports, plots, conversions, tables. */
#include "api/api.h"
#include "api/describe.h"
#include "api/findings.h"
#include "api/table.h"
#include "app/convert.h"
#include "app/draw.h"
#include "app/output.h"
#include "app/setup.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "base/outfile.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int no_path(struct assay_error *error)
{
        return api_fail(error, ASSAY_E_USAGE, "there is no file to read",
                        "give the name of a session or of another recording");
}

/* Hands the text over: whatever names are in it, it does nothing to a terminal. Its notices are of
 * no use to a program. */
static int give_text(struct strbuf *out, char **ret, struct err *err)
{
        text_clean_lines(out, 0);
        char *text = out->failed ? NULL : strdup(strbuf_str(out));
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        *ret = text;
        return 0;
}

/* ---- describing ---- */

int assay_file_describe(const char *path, char **ret, struct assay_error *error)
{
        struct err err = {0};
        struct strbuf out = {0};
        if (!path || !ret)
                return no_path(error);
        int r = describe_file(path, &out, &err);
        if (r == 0)
                r = give_text(&out, ret, &err);
        strbuf_finish(&out);
        return r < 0 ? api_file_error(path, &err, error) : 0;
}

/* ---- reports ---- */

static int write_report(struct run_summary *s, const char *format, char **ret, struct err *err)
{
        struct strbuf out = {0};
        int r = run_summary_write(s, format, &out, err);
        if (r == 0)
                r = give_text(&out, ret, err);
        strbuf_finish(&out);
        return r;
}

int assay_file_report(const char *path, const char *format, const assay_options *options,
                      char **ret, struct assay_error *error)
{
        struct err err = {0};
        if (!path || !ret)
                return no_path(error);
        struct run_summary *s = calloc(1, sizeof(*s));
        if (!s)
                return api_fail(error, -ENOMEM, "out of memory", "");
        format = format ? format : "text";
        s->wants_steps = true;
        int r = run_summary_read(s, api_config(options), path, format, &err);
        if (r == 0)
                r = write_report(s, format, ret, &err);
        run_summary_finish(s);
        free(s);
        return r < 0 ? api_file_error(path, &err, error) : 0;
}

int assay_resource_summary(const char *gpu_csv, const char *cpu_csv, const char *dmon_csv,
                           char **ret, struct assay_error *error)
{
        static const char format[] = "resource-summary";
        struct err err = {0};
        if (!ret)
                return no_path(error);
        struct run_summary *s = calloc(1, sizeof(*s));
        if (!s)
                return api_fail(error, -ENOMEM, "out of memory", "");
        int r = input_open_files(&s->in, gpu_csv, cpu_csv, dmon_csv, &err);
        if (r == 0)
                r = run_summary_take(s, api_config(NULL), format, &err);
        if (r == 0)
                r = write_report(s, format, ret, &err);
        run_summary_finish(s);
        free(s);
        return r < 0 ? api_file_error(NULL, &err, error) : 0;
}

int assay_file_findings(const char *path, const assay_options *options, assay_findings **ret,
                        struct assay_error *error)
{
        struct err err = {0};
        struct stretch_list list;
        if (!path || !ret)
                return no_path(error);
        int r = findings_read(path, api_config(options), &list, &err);
        if (r < 0)
                return api_file_error(path, &err, error);
        struct assay_findings *f = findings_make(&list);
        if (!f)
                return api_fail(error, -ENOMEM, "out of memory", "");
        *ret = f;
        return 0;
}

/* ---- plots and conversions ---- */

/* Under a name of this thread's own first, so that nobody ever sees half a picture. */
static int write_file(const char *path, const char *input, struct strbuf *out, struct err *err)
{
        char part[4200];
        int checked = output_check(path, input, false, err);
        if (checked < 0)
                return checked;
        snprintf(part, sizeof(part), "%s.%d-%" PRIx64 ".part", path, (int)gettid(),
                 (uint64_t)clock_mono_ns());
        int fd = outfile_open(part, O_WRONLY | O_CREAT | O_EXCL, 0666, "", err);
        int r = fd < 0 ? fd : strbuf_flush(out, fd);
        if (fd >= 0 && close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && rename(part, path) < 0)
                r = -errno;
        if (r == 0)
                return 0;
        if (fd >= 0)
                unlink(part);
        err_set(err, r, "cannot write '%s': %s", path, strerror(-r));
        return err_hint(err, "give a name in a folder that is yours to write");
}

int assay_file_plot(const char *path, const char *out, const assay_options *options,
                    struct assay_error *error)
{
        struct strbuf text = {0}, notices = {0};
        struct err err = {0};
        enum plot_format format;
        if (!path || !out)
                return no_path(error);
        int r = draw_format(out, &format, &err);
        if (r == 0)
                r = draw_file(api_config(options), path, format, NULL, &text, &notices, &err);
        if (r == 0)
                r = write_file(out, path, &text, &err);
        strbuf_finish(&text);
        strbuf_finish(&notices);
        return r < 0 ? api_file_error(path, &err, error) : 0;
}

int assay_file_convert(const char *path, const char *out, const assay_options *options,
                       struct assay_error *error)
{
        struct strbuf notices = {0};
        struct err err = {0};
        if (!path || !out)
                return no_path(error);
        const struct convert_job job = {.config = api_config(options),
                                        .in = path,
                                        .out = out,
                                        .standard = -1,
                                        .notices = &notices};
        int r = convert_file(&job, &err);
        strbuf_finish(&notices);
        return r < 0 ? api_file_error(path, &err, error) : 0;
}

/* ---- tables ---- */

static int choose_part(struct table_job *job, struct err *err)
{
        const char *range = config_text(job->config, OPT_PHASE);
        double last = config_number(job->config, OPT_LAST);
        job->from_ns = INT64_MIN;
        job->to_ns = INT64_MAX;
        int64_t newest = input_last_ns(&job->in);
        if (last > 0 && newest != 0)
                job->from_ns = newest - clock_from_seconds(last);
        if (!range)
                return 0;
        int n = phases_choose(job->in.phases, job->in.n_phases, range, err);
        job->in.n_phases = n < 0 ? 0 : (size_t)n;
        if (n >= 0 && phase_order_init(&job->order, job->in.phases, job->in.n_phases) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        return MIN(n, 0);
}

/* What is neither a session nor a folder is a capture, or there is nothing to ask. */
static int check_capture(const struct table_job *job, struct err *err)
{
        struct pipeline *p = NULL;
        char notice[SETUP_NOTICE_MAX];
        if (job->in.session || job->in.notebook || job->in.cpu)
                return 0;
        int r = setup_open(job->config, job->in.gpus, false, 0, &p, notice, err);
        pipeline_close(p);
        return r;
}

static int file_fill(struct assay_table *t, const char *what, struct table_job *job,
                     struct err *err)
{
        if (strcmp(what, "gpus") == 0)
                return table_fill_gpus(t, job, err);
        int r = check_capture(job, err);
        if (r < 0)
                return r;
        static const char prefix[] = "notebook:";
        bool notebook = strncmp(what, prefix, sizeof(prefix) - 1) == 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (strcmp(what + (notebook ? sizeof(prefix) - 1 : 0), level_name(l)) == 0)
                        return notebook ? table_fill_level(t, job, l, err)
                                        : table_fill_figures(t, job, l, err);
        }
        if (strcmp(what, "phases") == 0)
                return table_fill_phases(t, job);
        if (strcmp(what, "steps") == 0)
                return table_fill_steps(t, job);
        if (strcmp(what, "events") == 0)
                return table_fill_events(t, job);
        if (strcmp(what, "user_metrics") == 0)
                return table_fill_metrics(t, job);
        if (strcmp(what, "stacks") == 0)
                return table_fill_stacks(t, job, err);
        err_set(err, ERR_USAGE, "there is no table '%.60s'", what);
        return err_hint(err, "choose gpus, process, user, slurm, cgroup, system, phases, steps, "
                             "events, user_metrics, stacks, or notebook:LEVEL");
}

int assay_table_open(const char *path, const char *what, const assay_options *options,
                     assay_table **ret, struct assay_error *error)
{
        struct err err = {0};
        struct table_job job = {.config = api_config(options)};
        if (!path || !what || !ret)
                return no_path(error);
        struct assay_table *t = calloc(1, sizeof(*t));
        if (!t)
                return api_fail(error, -ENOMEM, "out of memory", "");
        int r = input_open(&job.in, path, &err);
        if (r == 0)
                r = choose_part(&job, &err);
        if (r == 0)
                r = file_fill(t, what, &job, &err);
        if (r == 0)
                r = table_end(t);
        phase_order_finish(&job.order);
        input_finish(&job.in);
        if (r < 0) {
                assay_table_free(t);
                return err.code ? api_file_error(path, &err, error)
                                : api_fail(error, r, "out of memory", "take a part of it");
        }
        *ret = t;
        return 0;
}
