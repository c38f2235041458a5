#include "app/draw.h"

#include "app/input.h"
#include "app/job.h"
#include "app/setup.h"
#include "base/clock.h"
#include "compute/stretches.h"
#include "present/report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDTH_LEAST 300
#define SIZE_MOST 8000
#define NAMES_MAX 4 /* runs that a title names */
#define PLOT_FIRST_MAX 16

struct plotting {
        struct input in;
        struct plot plot;
        struct user_names user;
        struct plot_event *events;
        size_t n_events;
        struct stretches stretches;
        struct stretch_list limits;
        struct strbuf finding;
        const char *first[PLOT_FIRST_MAX];
        size_t n_first;
        const struct host *next_host; /* the sample of the host that lies ahead */
        struct strbuf *notices;
        struct draw_watch watch;
};

/* ---- what is asked for ---- */

static bool ends_in(const char *s, const char *ending)
{
        size_t n = strlen(s), k = strlen(ending);
        return n > k && strcasecmp(s + n - k, ending) == 0;
}

int draw_format(const char *path, enum plot_format *ret, struct err *err)
{
        static const struct {
                const char *ending;
                enum plot_format format;
        } formats[] = {{".svg", PLOT_SVG},
                       {".png", PLOT_PNG},
                       {".pdf", PLOT_PDF},
                       {".jpg", PLOT_JPEG},
                       {".jpeg", PLOT_JPEG}};
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                if (ends_in(path, formats[i].ending)) {
                        *ret = formats[i].format;
                        return 0;
                }
        }
        err_set(err, ERR_USAGE, "cannot write '%s': the name does not say which format", path);
        return err_hint(err, "end the name in .svg, .png or .pdf (or .jpg, which blurs letters); - "
                             "is SVG to the standard output");
}

/* A screen's shape, small enough that its letters can be read from afar. */
#define SLIDE_WIDTH 960
#define SLIDE_HEIGHT 540
#define SLIDE_PANELS 4

static int choose_slide(const struct config *config, struct plot_options *o, struct err *err)
{
        static const enum option list[] = {OPT_WIDTH, OPT_HEIGHT};
        o->width = SLIDE_WIDTH;
        o->height = SLIDE_HEIGHT;
        o->most_panels = SLIDE_PANELS;
        return config_refuse(config, list, ARRAY_LEN(list), "has no use with --size slide",
                             "leave it out, or leave out --size", err);
}

static int choose_size(const struct config *config, struct plot_options *o, struct err *err)
{
        if (strcmp(config_text(config, OPT_SIZE), "slide") == 0)
                return choose_slide(config, o, err);
        o->width = config_number(config, OPT_WIDTH);
        o->height = config_number(config, OPT_HEIGHT);
        if (o->width >= WIDTH_LEAST && o->width <= SIZE_MOST && o->height <= SIZE_MOST)
                return 0;
        err_set(err, ERR_USAGE, "invalid size: %.0f × %.0f", o->width, o->height);
        return err_hint(err, "units are 1/96 inch: widths from %d to %d, heights up to %d",
                        WIDTH_LEAST, SIZE_MOST, SIZE_MOST);
}

/* LEVEL_COUNT when it is left to the plot. */
static int choose_level(const struct config *config, struct input *in, enum level *ret,
                        struct err *err)
{
        const char *name = config_text(config, OPT_LEVEL);
        unsigned present = input_levels(in), asked = 0;
        *ret = LEVEL_COUNT;
        if (!config_is_set(config, OPT_LEVEL))
                return 0;
        levels_parse(name, &asked);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (present & asked & LEVEL_BIT(l))
                        *ret = l;
        }
        if (*ret < LEVEL_COUNT)
                return 0;
        err_set(err, ERR_USAGE, "the level '%s' was not recorded", name);
        return err_hint(err, present ? "leave --level out for one that was"
                                     : "this file has nothing about the host; leave --level out");
}

/*
 * With --phase only those are drawn, from the first one's beginning to the last one's end; with
 * --last what is newest.
 */
static int choose_time(const struct config *config, struct plotting *w, struct plot_options *o,
                       struct err *err)
{
        const char *range = config_text(config, OPT_PHASE);
        o->from_ns = INT64_MIN;
        o->to_ns = INT64_MAX;
        double last = config_number(config, OPT_LAST);
        int64_t newest = input_last_ns(&w->in);
        if (last > 0 && newest != 0)
                o->from_ns = newest - clock_from_seconds(last);
        if (!range)
                return 0;
        int n = phases_choose(w->in.phases, w->in.n_phases, range, err);
        if (n < 0)
                return n;
        w->in.n_phases = (size_t)n;
        o->from_ns = MAX(o->from_ns, w->in.phases[0].begin_ns);
        o->to_ns = INT64_MIN;
        for (size_t i = 0; i < w->in.n_phases; i++)
                o->to_ns = MAX(o->to_ns, w->in.phases[i].end_ns);
        return 0;
}

/* options: where they go. */
static int drawing_prepare(const struct config *config, const char *path, struct plotting *w,
                           struct plot_options *options, struct err *err)
{
        struct plot_options o = {.per_gpu = config_flag(config, OPT_PER_GPU),
                                 .level_gpus = config_is_set(config, OPT_LEVEL),
                                 .title = config_text(config, OPT_TITLE)};
        int r = choose_size(config, &o, err);
        if (r == 0)
                r = input_open(&w->in, path, err);
        const struct run_facts *facts = &w->in.facts;
        for (size_t i = 0; r == 0 && i < MIN(facts->n_metrics, (size_t)USER_NAMES_MAX); i++)
                w->user.names[w->user.n++] = facts->metrics[i].name;
        if (r == 0)
                r = choices_parse(config_text(config, OPT_METRICS), &w->user, &o.choices, err);
        if (r == 0)
                r = choose_level(config, &w->in, &o.level, err);
        if (r == 0)
                r = choose_time(config, w, &o, err);
        *options = o;
        return r;
}

static int64_t start_of(const struct plotting *w)
{
        return w->in.session ? session_start_ns(w->in.session) : 0;
}

/* ---- what was recorded ---- */

static void draw_tick(const struct plotting *w)
{
        if (w->watch.fn)
                w->watch.fn(w->watch.arg);
}

/* The host's samples up to a moment: what limits a GPU is asked of both at the same time. */
static int add_hosts_until(struct plotting *w, int64_t wall_ns, const struct process_list *p,
                           struct err *err)
{
        int r = 0;
        while (r >= 0 && w->next_host && w->next_host->wall_ns <= wall_ns) {
                draw_tick(w);
                stretches_see_host(&w->stretches, w->next_host, p);
                r = plot_add_host(&w->plot, w->next_host);
                if (r < 0)
                        return err_set(err, r, "out of memory");
                r = input_next_host(&w->in, &w->next_host, err);
                if (r <= 0)
                        w->next_host = NULL;
        }
        return MIN(r, 0);
}

static bool is_drawn(const struct plotting *w, int64_t wall_ns)
{
        return wall_ns >= w->plot.options.from_ns && wall_ns <= w->plot.options.to_ns;
}

/* The frame first: the axis begins with it, and hosts belong to GPUs that are known. */
static int add_frame(struct plotting *w, const struct frame *f, struct err *err)
{
        draw_tick(w);
        int r = plot_add_frame(&w->plot, f);
        if (r < 0)
                return err_set(err, r, "out of memory");
        r = add_hosts_until(w, f->wall_ns, &f->processes, err);
        if (r < 0 || !is_drawn(w, f->wall_ns))
                return r;
        r = stretches_add(&w->stretches, f);
        return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int add_session(struct plotting *w, struct err *err)
{
        const struct frame *f;
        int got = 0, r = 0;
        while (r == 0 && (got = session_next(w->in.session, &f, err)) > 0)
                r = add_frame(w, f, err);
        return r < 0 ? r : got;
}

static int add_pipeline(const struct config *config, struct plotting *w, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *f;
        char notice[SETUP_NOTICE_MAX];
        if (w->in.is_log)
                return 0;
        int got = 0, r = setup_open(config, w->in.gpus, false, 0, &p, notice, err);
        if (r < 0)
                return r;
        pipeline_want_limits(p, false);
        if (notice[0])
                strbuf_putf(w->notices, "%s\n", notice);
        while (r == 0 && (got = pipeline_next(p, &f, err)) > 0) {
                if (!w->in.facts.source[0])
                        snprintf(w->in.facts.source, sizeof(w->in.facts.source), "%s",
                                 f->provenance);
                r = add_frame(w, f, err);
        }
        if (r == 0 && got == 0)
                setup_trouble(p, w->notices);
        pipeline_close(p);
        return r < 0 ? r : got;
}

static int add_number(struct plotting *w, const struct mark *m)
{
        for (size_t i = 0; i < w->user.n; i++) {
                if (strcmp(w->user.names[i], m->name) == 0)
                        return plot_add_user(&w->plot, m->wall_ns, i, m->value);
        }
        return 0;
}

/* What the run said about itself: events, and numbers of its own. */
static int add_marks(struct plotting *w, struct err *err)
{
        int r = 0;
        w->events = calloc(w->in.n_marks + 1, sizeof(*w->events));
        if (!w->events)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; r == 0 && i < w->in.n_marks; i++) {
                const struct mark *m = &w->in.marks[i];
                if (m->type == MARK_EVENT)
                        w->events[w->n_events++] = (struct plot_event){m->wall_ns, m->name};
                if (m->type == MARK_METRIC)
                        r = add_number(w, m);
        }
        return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* What limited the GPUs in the time that is drawn; of a job, who holds the others up. */
static int drawing_find(const struct config *config, struct plotting *w, struct err *err)
{
        stretches_name_gpus(&w->stretches, &w->stretches.naming);
        int r = stretches_cut(&w->stretches, w->in.phases, w->in.n_phases, &w->limits);
        if (r < 0)
                return err_set(err, r, "out of memory");
        w->n_first = report_charts_first(&w->limits, w->first, PLOT_FIRST_MAX);
        if (job_finding(config, w->in.path, &w->finding))
                return 0;
        if (w->limits.n_findings > 0)
                report_finding(&w->limits, &w->limits.findings[0], &w->finding);
        return 0;
}

static int drawing_draw(const struct config *config, struct plotting *w, enum plot_format format,
                        struct strbuf *out, struct err *err)
{
        bool session = w->in.session && setup_as_recorded(config);
        int r = input_next_host(&w->in, &w->next_host, err);
        if (r <= 0)
                w->next_host = NULL;
        if (r >= 0)
                r = session ? add_session(w, err) : add_pipeline(config, w, err);
        if (r == 0)
                r = add_hosts_until(w, INT64_MAX, NULL, err);
        if (r == 0)
                r = add_marks(w, err);
        if (r == 0)
                r = drawing_find(config, w, err);
        if (r < 0)
                return r;
        const struct plot_context context = {.facts = &w->in.facts,
                                             .phases = w->in.phases,
                                             .n_phases = w->in.n_phases,
                                             .events = w->events,
                                             .n_events = w->n_events,
                                             .limits = &w->limits,
                                             .limits_ns = w->stretches.first_wall_ns,
                                             .first = w->first,
                                             .n_first = w->n_first,
                                             .finding =
                                                 w->finding.len ? strbuf_str(&w->finding) : NULL};
        plot_name_gpus(&w->plot, &w->stretches.naming);
        return plot_draw(&w->plot, &context, format, out, err);
}

static int draw_one(const struct config *config, const char *path, enum plot_format format,
                    const struct draw_watch *watch, struct strbuf *out, struct strbuf *notices,
                    struct err *err)
{
        struct plotting *w = calloc(1, sizeof(*w));
        if (!w)
                return err_set(err, -ENOMEM, "out of memory");
        w->notices = notices;
        w->watch = watch ? *watch : (struct draw_watch){0};
        struct plot_options o;
        int r = drawing_prepare(config, path, w, &o, err);
        if (r == 0) {
                plot_init(&w->plot, &o, start_of(w));
                r = drawing_draw(config, w, format, out, err);
        }
        plot_finish(&w->plot);
        stretches_finish(&w->stretches);
        stretch_list_finish(&w->limits);
        strbuf_finish(&w->finding);
        input_finish(&w->in);
        free(w->events);
        free(w);
        return r;
}

/* ---- several runs ---- */

static const char *name_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash && slash[1] ? slash + 1 : path;
}

/* The frames of one more run; the plot goes from run to run. */
static int add_run(const struct config *config, const char *path, struct plot *plot,
                   const struct draw_watch *watch, struct strbuf *notices, struct err *err)
{
        struct plotting *w = calloc(1, sizeof(*w));
        struct plot_options o;
        if (!w)
                return err_set(err, -ENOMEM, "out of memory");
        w->notices = notices;
        w->watch = watch ? *watch : (struct draw_watch){0};
        int r = drawing_prepare(config, path, w, &o, err);
        if (r == 0 && !plot->n_panels)
                plot_init(plot, &o, 0);
        if (r == 0 && !plot_begin_run(plot, name_of(path), start_of(w), o.from_ns, o.to_ns))
                r = err_set(err, ERR_USAGE, "at most %d runs fit in one plot", PLOT_GPUS_MAX);
        w->plot = *plot;
        if (r == 0)
                r = w->in.session && setup_as_recorded(config) ? add_session(w, err)
                                                               : add_pipeline(config, w, err);
        *plot = w->plot;
        stretches_finish(&w->stretches);
        input_finish(&w->in);
        free(w);
        return r;
}

int draw_files(const struct config *config, const char *const *paths, size_t n,
               enum plot_format format, const struct draw_watch *watch, struct strbuf *out,
               struct strbuf *notices, struct err *err)
{
        struct plot *plot = calloc(1, sizeof(*plot));
        struct run_facts *facts = calloc(1, sizeof(*facts));
        struct strbuf title = {0};
        int r = plot && facts ? 0 : err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = add_run(config, paths[i], plot, watch, notices, err);
                if (n <= NAMES_MAX)
                        strbuf_putf(&title, "%s%s", i ? " and " : "", name_of(paths[i]));
        }
        if (r == 0) {
                facts_init(facts, paths[0]);
                if (n > NAMES_MAX)
                        strbuf_putf(&title, "%zu runs", n);
                if (!plot->options.title)
                        plot->options.title = strbuf_str(&title);
                const struct plot_context context = {.facts = facts};
                r = plot_draw(plot, &context, format, out, err);
                facts_finish(facts);
        }
        if (plot)
                plot_finish(plot);
        strbuf_finish(&title);
        free(facts);
        free(plot);
        return r;
}

int draw_file(const struct config *config, const char *path, enum plot_format format,
              const struct draw_watch *watch, struct strbuf *out, struct strbuf *notices,
              struct err *err)
{
        struct folder f;
        int r = folder_read(path, &f);
        if (r < 0)
                return err_set(err, r, "out of memory");
        if (f.notices.len > 0)
                strbuf_put(notices, f.notices.s, f.notices.len);
        if (f.kind == FOLDER_RUNS && f.n > 1)
                r = draw_files(config, (const char *const *)f.paths, f.n, format, watch, out,
                               notices, err);
        else
                r = draw_one(config, f.n == 1 ? f.paths[0] : path, format, watch, out, notices,
                             err);
        folder_finish(&f);
        return r;
}
