#include "app/convert.h"

#include "app/input.h"
#include "app/output.h"
#include "app/setup.h"
#include "base/clock.h"
#include "base/outfile.h"
#include "formats/dmon/write.h"
#include "formats/hwmon/write.h"
#include "present/stream/csv.h"
#include "present/stream/json.h"
#include "present/stream/parquet_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct conversion {
        const struct convert_job *job;
        const struct config *config;
        struct input in;
        const char *out;
        int fd; /* of a text file */
        struct strbuf text;
        struct csv csv;
        struct session *session;
        const struct frame *own; /* what the input's session has at this tick */
        struct parquet parquet;
        struct notebook_writer notebook;
        struct bundle files;
        uint64_t ticks;
        int64_t first_ns, last_ns;
};

/* What can be written. begin may be NULL, and host where the kind has no place for it. */
struct output_format {
        const char *name, *ending;
        int (*begin)(struct conversion *c, struct err *err);
        int (*frame)(struct conversion *c, const struct frame *f, struct err *err);
        int (*host)(struct conversion *c, const struct host *h, struct err *err);
        int (*end)(struct conversion *c, struct err *err);
};

/* ---- text ---- */

static int begin_text(struct conversion *c, struct err *err)
{
        bool standard = c->job->standard >= 0 && strcmp(c->out, "-") == 0;
        c->fd = standard ? fcntl(c->job->standard, F_DUPFD_CLOEXEC, 0)
                         : outfile_open(c->out, O_WRONLY | O_CREAT | O_EXCL, 0666, "", err);
        if (c->fd >= 0)
                return 0;
        return err_hint(err, "give a new name in a folder that is yours to write");
}

#define FLUSH_BYTES 262144

static int flush_frames(struct conversion *c, size_t above, struct err *err)
{
        int r = c->text.len > above ? strbuf_flush(&c->text, c->fd) : 0;
        return r < 0 ? err_set(err, r, "cannot write '%s': %s", c->out, strerror(-r)) : 0;
}

static int end_text(struct conversion *c, struct err *err)
{
        return flush_frames(c, 0, err);
}

static int begin_csv(struct conversion *c, struct err *err)
{
        int n = columns_choose("full", c->csv.columns, err);
        c->csv.n = (size_t)MAX(n, 0);
        c->csv.end = config_flag(c->config, OPT_CRLF) ? "\r\n" : "\n";
        csv_write_header(&c->csv, &c->text);
        return n < 0 ? n : begin_text(c, err);
}

static int frame_csv(struct conversion *c, const struct frame *f, struct err *err)
{
        csv_write_frame(&c->csv, f, &c->text);
        return flush_frames(c, FLUSH_BYTES, err);
}

static int frame_jsonl(struct conversion *c, const struct frame *f, struct err *err)
{
        for (size_t i = 0; i < f->n; i++)
                json_write_row(f, &f->rows[i], &c->text);
        return flush_frames(c, FLUSH_BYTES, err);
}

static int begin_dmon(struct conversion *c, struct err *err)
{
        dmon_write_header(&c->text);
        return begin_text(c, err);
}

static int frame_dmon(struct conversion *c, const struct frame *f, struct err *err)
{
        dmon_write_frame(f, &c->text);
        return flush_frames(c, FLUSH_BYTES, err);
}

/* ---- Parquet ---- */

static int begin_parquet(struct conversion *c, struct err *err)
{
        if (parquet_begin_frames(&c->parquet, &c->text) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        return begin_text(c, err);
}

static int frame_parquet(struct conversion *c, const struct frame *f, struct err *err)
{
        if (parquet_put_frame(&c->parquet, f) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        return flush_frames(c, FLUSH_BYTES, err);
}

static int end_parquet(struct conversion *c, struct err *err)
{
        char producer[64];
        snprintf(producer, sizeof(producer), "assay %s", program_version);
        if (parquet_end(&c->parquet, producer) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        return flush_frames(c, 0, err);
}

/* ---- a hardware monitor's folder ---- */

static int frame_hwmon(struct conversion *c, const struct frame *f, struct err *err)
{
        int r = hwmon_write_frame(&c->files, f);
        return r < 0 ? err_set(err, r, "the recording is too large for this format") : 0;
}

static int host_hwmon(struct conversion *c, const struct host *h, struct err *err)
{
        int r = hwmon_write_host(&c->files, h);
        return r < 0 ? err_set(err, r, "the recording is too large for this format") : 0;
}

static int end_hwmon(struct conversion *c, struct err *err)
{
        int r = bundle_find(&c->files, "cpu_metrics.csv")
                    ? 0
                    : hwmon_write_cpu(&c->files, c->in.marks, c->in.n_marks);
        return r < 0 ? err_set(err, r, "out of memory") : bundle_write(c->out, &c->files, err);
}

/* ---- a notebook's session ---- */

static void take_file(void *arg, const char *key, const char *value)
{
        struct bundle *files = arg;
        struct strbuf *to = bundle_add(files, key + strlen("file."));
        if (to)
                strbuf_puts(to, value);
}

/* Phases that nobody ended would reach to the end of time. */
static void close_phases(struct conversion *c, int64_t end_ns)
{
        for (size_t i = 0; i < c->in.n_phases; i++) {
                if (!phase_has_end(&c->in.phases[i]))
                        c->in.phases[i].end_ns = MAX(end_ns, c->in.phases[i].begin_ns);
        }
}

static int begin_notebook(struct conversion *c, struct err *err)
{
        /* What came from a notebook goes back as it was. */
        if (c->in.session)
                session_each_fact(c->in.session, "file.", take_file, &c->files);
        if (notebook_writer_init(&c->notebook, c->in.phases, c->in.n_phases) < 0)
                return err_set(err, -ENOMEM, "out of memory");
        c->notebook.by_host = input_levels(&c->in) & NOTEBOOK_LEVELS;
        return 0;
}

static int host_notebook(struct conversion *c, const struct host *h, struct err *err)
{
        int r = notebook_writer_add_host(&c->notebook, h);
        return r < 0 ? err_set(err, r, "the recording is too large for this format") : 0;
}

static int frame_notebook(struct conversion *c, const struct frame *f, struct err *err)
{
        int r = notebook_writer_add(&c->notebook, f);
        return r < 0 ? err_set(err, r, "the recording is too large for this format") : 0;
}

static int end_notebook(struct conversion *c, struct err *err)
{
        struct bundle *files = c->in.notebook ? notebook_files(c->in.notebook) : NULL;
        if (files)
                return bundle_write(c->out, files, err);
        if (bundle_find(&c->files, "manifest.json"))
                return bundle_write(c->out, &c->files, err);
        close_phases(c, c->last_ns);
        return notebook_writer_end(&c->notebook, c->out, program_version, &c->in.facts, err);
}

/* ---- a session ---- */

static void take_fact(void *arg, const char *key, const char *value)
{
        static const char *const own[] = {"schema_version", "start_ns", "start_mono_ns",
                                          "stop_mono_ns"};
        for (size_t i = 0; i < ARRAY_LEN(own); i++) {
                if (strcmp(key, own[i]) == 0)
                        return;
        }
        if (strncmp(key, "ticks_", 6) != 0)
                session_set_text(arg, key, value);
}

/* What a notebook monitor's manifest reported. */
static void keep_facts(struct session *s, const struct run_facts *f)
{
        const struct {
                const char *key;
                struct value v;
        } facts[] = {{"interval_s", f->interval_s},
                     {"cpus_usable", f->cpus},
                     {"cpus_online", f->system_cpus},
                     {"target_pid", f->pid},
                     {"uid", f->uid}};
        for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
                if (value_is_set(facts[i].v))
                        session_set_number(s, facts[i].key, facts[i].v.v);
        }
        if (f->slurm_job[0])
                session_set_text(s, "slurm_job", f->slurm_job);
}

static int begin_session(struct conversion *c, struct err *err)
{
        int64_t start = c->in.session ? session_start_ns(c->in.session) : SESSION_START_FIRST;
        int r = session_create(c->out, start, &c->session, err);
        if (r < 0)
                return r;
        if (c->in.session)
                session_each_fact(c->in.session, "", take_fact, c->session);
        if (c->in.session && c->in.facts.stop_ns)
                session_set_time(c->session, "stop_ns", c->in.facts.stop_ns);
        if (c->in.notebook)
                keep_facts(c->session, &c->in.facts);
        struct bundle *files = c->in.notebook ? notebook_files(c->in.notebook) : NULL;
        for (size_t i = 0; files && i < files->n; i++) {
                char key[160];
                snprintf(key, sizeof(key), "file.%s", files->files[i].name);
                session_set_text(c->session, key, strbuf_str(&files->files[i].text));
        }
        session_set_text(c->session, "program_version", program_version);
        session_set_text(c->session, "converted_from", c->in.path);
        return session_import(c->session, c->in.marks, c->in.n_marks, err);
}

/* The pipeline decides verdicts again and knows nothing of processes: those the session itself has.
 */
static int frame_session(struct conversion *c, const struct frame *f, struct err *err)
{
        struct frame with = *f;
        int got = 1;
        if (c->ticks == 0)
                session_set_text(c->session, "provenance", f->provenance);
        while (c->in.session && got > 0 && (!c->own || c->own->wall_ns < f->wall_ns))
                got = session_next(c->in.session, &c->own, err);
        if (got < 0)
                return got;
        if (c->own && c->own->wall_ns == f->wall_ns) {
                with.knows_processes = c->own->knows_processes;
                with.processes = c->own->processes;
        }
        got = session_add(c->session, &with, err);
        return got > 0 ? session_commit(c->session, err) : got;
}

static int host_session(struct conversion *c, const struct host *h, struct err *err)
{
        int r = session_add_host(c->session, h, err);
        return r > 0 ? session_commit(c->session, err) : r;
}

#define COMMIT_SECONDS 60 /* of stacks at a time */

/* A count is as many samples, which share its time. */
static void copy_stack(struct conversion *c, const struct stack_log *log, int64_t mono_ns,
                       const struct stack_count *from)
{
        const struct stack_thread *thread = &log->threads[from->thread];
        const struct stack_process *process = &log->processes[thread->process];
        uint32_t n_samples = MAX(from->n_samples, 1u);
        int64_t ns = clock_from_seconds(from->seconds), rest = ns % n_samples;
        struct stack_sample sample = {.mono_ns = mono_ns,
                                      .stands_for_ns = ns / n_samples + rest,
                                      .start_ticks = process->start_ticks,
                                      .pid = process->pid,
                                      .tid = thread->tid,
                                      .thread = thread->name,
                                      .stack = from->stack,
                                      .call = from->call,
                                      .state = from->state,
                                      .holds_gil = from->holds_gil,
                                      .is_main = thread->is_main};
        for (uint32_t i = 0; i < n_samples; i++) {
                session_add_stacks(c->session, log->table, &sample, 1);
                sample.stands_for_ns = ns / n_samples;
        }
}

/* Their table lives as long as the input. */
static int copy_stacks(struct conversion *c, struct err *err)
{
        const struct stack_log *log = NULL;
        struct stack_window w;
        size_t seconds = 0;
        int got = c->in.session ? session_stacks(c->in.session, &log, err) : 0;
        for (size_t i = 0; log && i < log->n_processes; i++)
                session_add_stack_process(c->session, &log->processes[i]);
        while (got >= 0 && log && (got = session_next_stacks(c->in.session, &w, err)) > 0) {
                for (size_t i = 0; i < w.n; i++)
                        copy_stack(c, log, w.mono_ns, &w.counts[i]);
                if (++seconds % COMMIT_SECONDS == 0)
                        got = session_commit(c->session, err);
        }
        return got;
}

static int end_session(struct conversion *c, struct err *err)
{
        struct session_counts counts = {.asked = c->ticks, .taken = c->ticks};
        const struct run_facts *f = &c->in.facts;
        int copied = copy_stacks(c, err);
        if (copied < 0)
                return copied;
        if (c->in.session)
                session_counts(c->in.session, &counts);
        else
                session_set_time(c->session, "stop_ns", MAX(c->last_ns, f->stop_ns));
        if (c->in.notebook)
                counts = (struct session_counts){
                    .asked = f->asked, .taken = f->taken, .late = f->late, .missed = f->missed};
        session_set_counts(c->session, &counts);
        int r = session_close(c->session, err);
        c->session = NULL;
        return r;
}

/* ---- all of them ---- */

static const struct output_format targets[] = {
    {"session", ".assay", begin_session, frame_session, host_session, end_session},
    {"csv", ".csv", begin_csv, frame_csv, NULL, end_text},
    {"jsonl", ".jsonl", begin_text, frame_jsonl, NULL, end_text},
    {"parquet", ".parquet", begin_parquet, frame_parquet, NULL, end_parquet},
    {"dmon", ".txt", begin_dmon, frame_dmon, NULL, end_text},
    {"notebook", ".zip", begin_notebook, frame_notebook, host_notebook, end_notebook},
    {"hardware-monitor", NULL, NULL, frame_hwmon, host_hwmon, end_hwmon},
};

static const struct output_format *choose_target(const struct config *config, const char *out,
                                                 struct err *err)
{
        const char *name = config_text(config, OPT_TO);
        size_t len = strlen(out);
        for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
                const char *ending = targets[i].ending;
                size_t n = ending ? strlen(ending) : 0;
                bool fits = name ? strcmp(name, targets[i].name) == 0
                                 : ending && len > n && strcmp(out + len - n, ending) == 0;
                if (fits)
                        return &targets[i];
        }
        err_set(err, ERR_USAGE, "'%s' does not say what to write", out);
        err_hint(err,
                 "end it in .assay, .csv, .jsonl, .parquet, .txt (dmon) or .zip (notebook), or say "
                 "--to hardware-monitor or --to notebook for a folder");
        return NULL;
}

static void convert_tick(const struct conversion *c)
{
        if (c->job->on_tick)
                c->job->on_tick(c->job->arg);
}

static int convert_hosts(struct conversion *c, const struct output_format *target, struct err *err)
{
        const struct host *h;
        int got = 0, r = 0;
        while (r == 0 && (got = input_next_host(&c->in, &h, err)) > 0) {
                r = target->host(c, h, err);
                c->last_ns = MAX(c->last_ns, h->wall_ns);
                convert_tick(c);
        }
        return r < 0 ? r : got;
}

static int convert_recording(struct conversion *c, const struct output_format *target,
                             struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        char notice[SETUP_NOTICE_MAX];
        bool margins = strcmp(target->name, "jsonl") == 0;
        if (c->in.is_log) {
                err_set(err, ERR_DATA, "'%s' is a run log: it has no samples", c->in.path);
                return err_hint(err, "convert the session that was recorded beside it");
        }
        int got = 0, r = setup_open(c->config, c->in.gpus, margins, 0, &p, notice, err);
        if (notice[0])
                strbuf_putf(c->job->notices, "%s\n", notice);
        if (r == 0)
                pipeline_want_limits(p, margins || strcmp(target->name, "csv") == 0 ||
                                            strcmp(target->name, "parquet") == 0);
        if (r == 0 && target->begin)
                r = target->begin(c, err);
        while (r == 0 && (got = pipeline_next(p, &f, err)) > 0) {
                r = target->frame(c, f, err);
                c->last_ns = f->wall_ns;
                c->ticks++;
                convert_tick(c);
        }
        if (r == 0)
                r = got;
        if (r == 0 && target->host)
                r = convert_hosts(c, target, err);
        if (r == 0)
                r = target->end(c, err);
        if (r == 0)
                setup_trouble(p, c->job->notices);
        pipeline_close(p);
        return r;
}

static void finish_conversion(struct conversion *c)
{
        input_finish(&c->in);
        session_close(c->session, NULL);
        closep(&c->fd);
        strbuf_finish(&c->text);
        bundle_finish(&c->files);
        notebook_writer_finish(&c->notebook);
        parquet_finish(&c->parquet);
        free(c);
}

/* The library's options are for all of its functions. */
static int check_lines(const struct config *config, const struct output_format *target,
                       struct err *err)
{
        static const enum option list[] = {OPT_CRLF};
        if (!config->command || strcmp(target->name, "csv") == 0)
                return 0;
        return config_refuse(config, list, ARRAY_LEN(list), "is for CSV",
                             "leave it out, or write to a file that ends in .csv", err);
}

int convert_file(const struct convert_job *job, struct err *err)
{
        const struct output_format *target = choose_target(job->config, job->out, err);
        if (!target || check_lines(job->config, target, err) < 0)
                return ERR_USAGE;
        struct conversion *c = calloc(1, sizeof(*c));
        if (!c)
                return err_set(err, -ENOMEM, "out of memory");
        c->job = job;
        c->config = job->config;
        c->out = job->out;
        c->fd = -1;
        bool standard = job->standard >= 0 && strcmp(job->out, "-") == 0;
        int r = standard ? output_check_fd(job->standard, "the standard output", job->in, err)
                         : output_check(job->out, job->in, true, err);
        if (r == 0)
                r = input_open(&c->in, job->in, err);
        if (r == 0)
                r = convert_recording(c, target, err);
        finish_conversion(c);
        return r;
}
