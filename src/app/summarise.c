#include "app/summarise.h"

#include "app/lines.h"
#include "app/mfu.h"
#include "app/serving_lines.h"
#include "app/setup.h"
#include "app/stall_causes.h"
#include "app/thresholds.h"
#include "base/clock.h"
#include "present/text/where.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void run_summary_finish(struct run_summary *r)
{
        free(r->servings);
        serving_samples_finish(&r->serving_samples);
        summary_finish(&r->summary);
        traces_finish(&r->traces);
        stretches_finish(&r->stretches);
        where_finish(&r->where);
        flame_maker_finish(&r->flame_maker);
        flame_finish(&r->flame);
        strbuf_finish(&r->notices);
        free(r->events);
        run_steps_finish(&r->steps);
        step_samples_finish(&r->samples);
        declared_finish(&r->declared);
        input_finish(&r->in);
}

static void summarise_tick(const struct run_summary *r)
{
        if (r->on_tick)
                r->on_tick(r->arg);
}

static int choose_phases(const struct config *config, struct run_summary *r, struct err *err)
{
        const char *range = config_text(config, OPT_PHASE);
        if (!range)
                return 0;
        int code = phases_choose(r->in.phases, r->in.n_phases, range, err);
        if (code < 0)
                return code;
        r->in.n_phases = (size_t)code;
        return 0;
}

static void add_host(struct run_summary *r, const struct host *h, const struct process_list *p)
{
        summarise_tick(r);
        if (r->on_host)
                r->on_host(r->watch, h);
        r->has_servings |= h->n_servings > 0;
        summary_add_level(&r->summary, h, r->level);
        step_samples_add_host(&r->samples, h, r->level);
        stretches_see_host(&r->stretches, h, p);
        /* What does not fit into memory is not a part of a comparison. */
        if (r->curves && h->n_servings > 0)
                serving_samples_add(&r->serving_samples, h);
        if (r->curves)
                traces_add_level(&r->traces, h, r->level);
}

/* Adds the host's samples up to a moment: what limits a GPU is asked of both at the same time. */
static int add_hosts_until(struct run_summary *r, int64_t wall_ns, const struct process_list *p,
                           struct err *err)
{
        int got = 1;
        while (got > 0 && r->next_host && r->next_host->wall_ns <= wall_ns) {
                add_host(r, r->next_host, p);
                got = input_next_host(&r->in, &r->next_host, err);
                if (got <= 0)
                        r->next_host = NULL;
        }
        return MIN(got, 0);
}

static int summarise_add(struct run_summary *r, const struct frame *f, struct err *err)
{
        summarise_tick(r);
        if (r->on_frame)
                r->on_frame(r->watch, f);
        int code = add_hosts_until(r, f->wall_ns, &f->processes, err);
        if (code < 0)
                return code;
        step_samples_add(&r->samples, f);
        code = summary_add(&r->summary, f);
        if (code == 0 && r->stacks)
                code = where_see_processes(&r->where, &f->processes);
        if (code == 0 && summary_holds(&r->summary))
                code = stretches_add(&r->stretches, f);
        if (code == 0 && r->curves && summary_holds(&r->summary))
                code = traces_add(&r->traces, f);
        return code < 0 ? err_set(err, code, "out of memory") : 0;
}

static int add_session(struct run_summary *r, struct err *err)
{
        const struct frame *f;
        int got, code = 0;
        while (code == 0 && (got = session_next(r->in.session, &f, err)) > 0)
                code = summarise_add(r, f, err);
        return code < 0 ? code : got;
}

static int add_pipeline(const struct config *config, struct run_summary *r, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        char notice[SETUP_NOTICE_MAX];
        int code = setup_open(config, r->in.gpus, false, 0, &p, notice, err);
        if (notice[0])
                strbuf_putf(&r->notices, "%s\n", notice);
        if (code == 0)
                pipeline_want_limits(p, false); /* stretches have theirs */
        while (code == 0) {
                int got = pipeline_next(p, &f, err);
                if (got <= 0) {
                        code = got;
                        break;
                }
                if (!r->in.session)
                        snprintf(r->in.facts.source, sizeof(r->in.facts.source), "%s",
                                 f->provenance);
                code = summarise_add(r, f, err);
        }
        if (code == 0)
                setup_trouble(p, &r->notices);
        pipeline_close(p);
        return code;
}

/* Model servers are decided by the limiters of their GPUs as a live source has them: the recording
 * is played once more. */
static int sum_servings(const struct config *config, struct run_summary *r, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        char notice[SETUP_NOTICE_MAX];
        CLEANUP(freep) struct serving_sums *sums = calloc(1, sizeof(*sums));
        r->servings = calloc(1, sizeof(*r->servings));
        if (!sums || !r->servings)
                return err_set(err, -ENOMEM, "out of memory");
        int got = setup_open(config, r->in.gpus, false, 0, &p, notice, err);
        while (got >= 0 && (got = pipeline_next(p, &f, err)) > 0)
                serving_sums_add(sums, f);
        pipeline_close(p);
        serving_sums_total(sums, r->servings);
        return got < 0 ? got : serving_lines_find(r->in.gpus, r->servings, err);
}

/* A monitor's files of GPUs may hold nothing but what nvidia-smi had to complain about. */
static int add_files(const struct config *config, struct run_summary *r, struct err *err)
{
        int code = add_pipeline(config, r, err);
        if (!r->in.lenient || (code != ERR_NO_SOURCE && code != ERR_DATA))
                return code;
        strbuf_putf(&r->notices, "%s, skipping\n", err->msg);
        *err = (struct err){0};
        if (!r->in.gpus_else[0])
                return 0;
        memcpy(r->in.gpus, r->in.gpus_else, sizeof(r->in.gpus));
        r->in.gpus_else[0] = '\0';
        return add_files(config, r, err);
}

/* The level that is reported: the one asked for, or the first that there is of those people mean.
 */
static int choose_level(const struct config *config, unsigned present, enum level *ret,
                        struct err *err)
{
        static const enum level order[] = {LEVEL_PROCESS, LEVEL_SLURM, LEVEL_SYSTEM, LEVEL_CGROUP,
                                           LEVEL_USER};
        unsigned asked = 0;
        bool chosen = config_is_set(config, OPT_LEVEL);
        if (chosen)
                levels_parse(config_text(config, OPT_LEVEL), &asked);
        for (size_t i = 0; i < ARRAY_LEN(order); i++) {
                *ret = order[i];
                if (present & LEVEL_BIT(order[i]) & (chosen ? asked : LEVELS_ALL))
                        return 0;
        }
        if (!chosen)
                return 0;
        char names[64] = "";
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                size_t len = strlen(names);
                if (present & LEVEL_BIT(l))
                        snprintf(names + len, sizeof(names) - len, " %s", level_name(l));
        }
        err_set(err, ERR_USAGE, "the level '%s' was not recorded", config_text(config, OPT_LEVEL));
        return err_hint(err, "recorded:%s", present ? names : " nothing of the host");
}

/* The first of the host's samples. */
static int begin_hosts(const struct config *config, struct run_summary *r, struct err *err)
{
        int code = choose_level(config, input_levels(&r->in), &r->level, err);
        if (code < 0)
                return code;
        code = input_next_host(&r->in, &r->next_host, err);
        if (code <= 0)
                r->next_host = NULL;
        return MIN(code, 0);
}

/* A phase that nobody ended ends with the last tick when the session does not say when it ended. */
static void close_phases(struct run_summary *r)
{
        for (size_t i = 0; i < r->in.n_phases; i++) {
                struct phase *p = &r->in.phases[i];
                if (!p->open || phase_has_end(p))
                        continue;
                p->end_ns = MAX(MAX(r->summary.last_ns, input_last_ns(&r->in)), p->begin_ns);
        }
}

/* All is reported, unless phases were chosen. */
static bool is_worth_reporting(const struct run_summary *r, int64_t wall_ns)
{
        for (size_t i = 0; r->summary.only_phases && i < r->in.n_phases; i++) {
                if (r->in.phases[i].begin_ns <= wall_ns && wall_ns <= r->in.phases[i].end_ns)
                        return true;
        }
        return !r->summary.only_phases;
}

/* What the run said about itself, in order of time. */
static int take_events(struct run_summary *r, struct err *err)
{
        size_t n = 0;
        r->events = calloc(r->in.n_marks + 1, sizeof(*r->events));
        if (!r->events)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; i < r->in.n_marks; i++) {
                const struct mark *m = &r->in.marks[i];
                if (m->type == MARK_EVENT && is_worth_reporting(r, m->wall_ns))
                        r->events[n++] = (struct report_event){m->wall_ns, m->name, m->data};
        }
        r->view.events = r->events;
        r->view.n_events = n;
        return 0;
}

/* Whether a window belongs to what is reported; without a GPU all of them do, as there is no other
 * clock to go by. */
static bool is_window_worth_reporting(const struct run_summary *r,
                                      const struct stack_window *window)
{
        int64_t since_ns = window->mono_ns - r->stretches.first_ns;
        return r->stretches.begun ? is_worth_reporting(r, r->stretches.first_wall_ns + since_ns)
                                  : !r->summary.only_phases;
}

static int add_window(struct run_summary *r, const struct stack_window *window)
{
        const struct stretch_list *list = &r->summary.limits;
        double begin_s = clock_to_seconds(window->mono_ns - r->stretches.first_ns);
        summarise_tick(r);
        int code = where_add(&r->where, list, r->stacks, begin_s, window);
        if (code == 0 && r->stacks_drawn && is_window_worth_reporting(r, window))
                code = flame_add(&r->flame_maker, &r->where, list, r->stacks, begin_s, window);
        return code;
}

/* The lines in which the time of each stretch went, of a session that has stacks. */
static int find_lines(struct run_summary *r, struct err *err)
{
        struct stack_window window;
        int code = 0, got = 1;
        flame_begin(&r->flame_maker, &r->summary.limits);
        while (code == 0 && (got = session_next_stacks(r->in.session, &window, err)) > 0)
                code = add_window(r, &window);
        if (got < 0)
                return got;
        if (code == 0)
                code = where_conclude(&r->where, r->stacks, &r->summary.limits);
        if (code == 0 && r->stacks_drawn)
                code = flame_conclude(&r->flame_maker, r->stacks, &r->flame);
        flame_maker_finish(&r->flame_maker);
        return code < 0 ? err_set(err, code, "out of memory") : 0;
}

/* The line that each slow step was in; a second of stacks is the least that is known. */
static int find_slow_lines(struct run_summary *r, struct step_series *s, struct err *err)
{
        for (size_t i = 0; i < s->n_reported; i++) {
                struct slow_step *slow = &s->slow[i];
                struct line_profile lines = {0};
                struct strbuf text = {0};
                if (slow->step.seconds < 1)
                        continue;
                int code = lines_take(r, slow->step.begin_ns, slow->step.end_ns, WHERE_EVERY_GPU,
                                      &lines, err);
                if (code == 0 && lines.n > 0 && !lines.lines[0].of_workers) {
                        where_put_line(&text, &lines.lines[0].own);
                        snprintf(slow->line, sizeof(slow->line), "%s", strbuf_str(&text));
                        slow->line_share = lines.lines[0].share;
                }
                strbuf_finish(&text);
                line_profile_finish(&lines);
                if (code < 0)
                        return code;
        }
        return 0;
}

static int find_steps(struct run_summary *r, struct err *err)
{
        int code = run_steps_find(&r->in, &r->steps);
        r->samples.wanted = r->steps.n > 0;
        return code < 0 ? err_set(err, code, "out of memory") : 0;
}

/* What the slow steps had otherwise. */
static int explain_steps(const struct config *config, struct run_summary *r, struct err *err)
{
        int code = 0;
        run_steps_explain(&r->steps, &r->samples, &r->in, &r->summary.limits,
                          r->stretches.first_wall_ns);
        mfu_take(config, r, &r->steps.mfu);
        for (size_t i = 0; code == 0 && r->stacks && i < r->steps.n; i++)
                code = find_slow_lines(r, &r->steps.list[i], err);
        return code;
}

static int summarise_run(const struct config *config, const char *format, struct run_summary *r,
                         struct err *err)
{
        const struct tag_thresholds thresholds = tag_thresholds(config);
        bool only = config_is_set(config, OPT_PHASE);
        const struct report_format *f = report_format_find(format);
        r->view.charts = config_is_set(config, OPT_CHARTS) ? config_text(config, OPT_CHARTS) : NULL;
        r->stacks_drawn = f && f->pictures && !r->view.charts;
        r->curves = r->curves || (f && f->pictures);
        int code = summary_init(&r->summary, r->in.phases, r->in.n_phases, only);
        if (code < 0)
                return err_set(err, code, "out of memory");
        r->summary.means_only = f && !f->percentiles && !r->view.all;
        code = declared_take(config, &r->in, &r->declared, &r->notices);
        if (code < 0)
                return err_set(err, code, "out of memory");
        declared_use(&r->declared, &r->stretches, &r->summary);
        code = begin_hosts(config, r, err);
        if (code == 0 && r->wants_steps)
                code = find_steps(r, err);
        if (code == 0 && r->in.session)
                code = session_stacks(r->in.session, &r->stacks, err);
        if (code < 0)
                return code;
        if (r->in.session && (r->as_recorded || setup_as_recorded(config)))
                code = add_session(r, err);
        else if (r->in.gpus[0])
                code = add_files(config, r, err);
        if (code == 0)
                code = add_hosts_until(r, INT64_MAX, NULL, err);
        if (code == 0 && r->has_servings && r->in.gpus[0])
                code = sum_servings(config, r, err);
        if (code < 0)
                return code;
        close_phases(r);
        summary_time_phases(&r->summary);
        if (r->in.n_skipped > 0)
                strbuf_putf(&r->notices, "%zu line%s of '%s' could not be understood, skipping\n",
                            r->in.n_skipped, r->in.n_skipped == 1 ? "" : "s", r->in.path);
        if (r->in.is_log)
                r->summary.first_ns =
                    r->in.facts.start_ns; /* events are distinguished from there on */
        if (r->in.is_log && !only)
                r->summary.scopes[0].seconds =
                    clock_to_seconds(r->in.facts.stop_ns - r->in.facts.start_ns);
        summary_set_tags(&r->summary, &thresholds);
        summary_name_gpus(&r->summary, &r->stretches.naming);
        traces_name_gpus(&r->traces, &r->stretches.naming);
        declared_report(&r->declared, &r->summary, &r->notices);
        code = take_events(r, err);
        if (code < 0)
                return code;
        code = stretches_cut(&r->stretches, r->in.phases, r->in.n_phases, &r->summary.limits);
        if (code < 0)
                return err_set(err, code, "out of memory");
        summary_limit(&r->summary);
        code = r->stacks ? find_lines(r, err) : 0;
        if (code == 0 && r->stacks && r->summary.limits.n_stalls > 0)
                code = stall_causes_find(r->in.path, &r->summary.limits, err);
        return code == 0 && r->wants_steps ? explain_steps(config, r, err) : code;
}

int run_summary_take(struct run_summary *r, const struct config *config, const char *format,
                     struct err *err)
{
        int code = choose_phases(config, r, err);
        return code == 0 ? summarise_run(config, format, r, err) : code;
}

int run_summary_read(struct run_summary *r, const struct config *config, const char *path,
                     const char *format, struct err *err)
{
        int code = input_open(&r->in, path, err);
        return code == 0 ? run_summary_take(r, config, format, err) : code;
}

int run_summary_recorded(struct run_summary *r, const struct config *config, const char *path,
                         struct err *err)
{
        int code = input_open(&r->in, path, err);
        if (code == 0 && !r->in.session)
                code = err_set(err, ERR_DATA, "'%s' is not a session", path);
        r->as_recorded = true;
        return code == 0 ? summarise_run(config, "text", r, err) : code;
}

int run_summary_write(const struct run_summary *r, const char *format, struct strbuf *out,
                      struct err *err)
{
        const struct report report = {.facts = &r->in.facts,
                                      .summary = &r->summary,
                                      .traces = &r->traces,
                                      .flame = &r->flame,
                                      .view = &r->view,
                                      .steps = &r->steps,
                                      .servings = r->servings,
                                      .version = program_version};
        return report_write(&report, format, out, err);
}
