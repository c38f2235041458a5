/* assay once: one frame, as a table, CSV or JSON. */
#include "app/collect_now.h"
#include "app/input.h"
#include "app/job.h"
#include "app/stack_snapshot.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "cmd/host.h"
#include "cmd/recording.h"
#include "present/stream/collected.h"
#include "present/stream/csv.h"
#include "present/stream/host_csv.h"
#include "present/stream/host_json.h"
#include "present/stream/json.h"
#include "present/text/host_table.h"
#include "present/text/serving_table.h"
#include "present/text/stack_snapshot.h"
#include "present/text/table.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#define WIDTH_WITHOUT_TERMINAL 100
#define WIDTH_MIN 60

/* Of two formats the one counts that was said closer to the command line. */
static bool is_format(const struct config *config, enum option format, enum option other)
{
        return config_flag(config, format) &&
               (!config_flag(config, other) ||
                config->settings[format].origin >= config->settings[other].origin);
}

static bool is_json(const struct config *config)
{
        return is_format(config, OPT_JSON, OPT_CSV);
}

static bool is_csv(const struct config *config)
{
        return is_format(config, OPT_CSV, OPT_JSON) && !is_json(config);
}

static bool is_table(const struct config *config)
{
        return !is_json(config) && !is_csv(config);
}

/* What the format that was chosen has no use for. */
static int check_format(const struct config *config, struct err *err)
{
        static const enum option drawn[] = {OPT_WIDTH, OPT_ASCII, OPT_FOCUS_GPU};
        static const enum option ends[] = {OPT_CRLF};
        static const enum option rates[] = {OPT_FLOPS};
        if (config_is_given(config, OPT_JSON) && config_is_given(config, OPT_CSV) &&
            config_flag(config, OPT_JSON) && config_flag(config, OPT_CSV)) {
                err_set(err, ERR_USAGE, "both --json and --csv are given");
                return err_hint(err, "leave out one of them");
        }
        static const enum option own[] = {OPT_COLLECT};
        int r = is_table(config)
                    ? 0
                    : config_refuse(config, drawn, ARRAY_LEN(drawn), "is for the table",
                                    "leave it out, or --json and --csv", err);
        if (r == 0 && !is_json(config))
                r = config_refuse(config, rates, ARRAY_LEN(rates), "is for JSON",
                                  "leave it out, or add --json", err);
        if (r == 0 && !is_csv(config))
                r = config_refuse(config, ends, ARRAY_LEN(ends), "is for CSV",
                                  "leave it out, or add --csv", err);
        if (r == 0 && is_csv(config))
                r = config_refuse(config, own, ARRAY_LEN(own), "is for the table and JSON",
                                  "leave it out, or --csv", err);
        return r;
}

static unsigned table_width(const struct config *config)
{
        struct winsize size;
        unsigned width = (unsigned)config_number(config, OPT_WIDTH);
        if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
                width = size.ws_col;
        if (width == 0)
                width = WIDTH_WITHOUT_TERMINAL;
        return MAX(width, (unsigned)WIDTH_MIN);
}

static int write_csv(const struct config *config, const struct frame *frame, struct strbuf *out)
{
        struct csv csv = {.end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n"};
        csv.n = (size_t)columns_choose("all", csv.columns, NULL);
        csv_write_header(&csv, out);
        csv_write_frame(&csv, frame, out);
        return 0;
}

static int has_focus(const struct frame *frame, const char *focus, struct err *err)
{
        for (size_t i = 0; i < frame->n; i++) {
                if (frame_label_matches(frame, frame->rows[i].sample.who, focus))
                        return 0;
        }
        err_set(err, ERR_USAGE, "--focus-gpu: no GPU '%s'", focus);
        return err_hint(err, "'assay devices' lists the GPUs");
}

/* Whose GPUs they are: this host's, or the one's that a recording was made on. "" when unknown. */
static const char *owner_of(const struct config *config, struct pipeline *p, struct utsname *name)
{
        if (pipeline_is_capture(p))
                return pipeline_recorded_host(p);
        bool is_local = !config_text(config, OPT_SOURCE) && !setup_reads_nodes(config) &&
                        !config_text(config, OPT_DCGM_HOST);
        return is_local && uname(name) == 0 ? name->nodename : "";
}

/* The line that each holder of a GPU is in: of this machine, or as it was recorded. */
static int write_lines(const struct config *config, struct pipeline *p, const struct frame *frame,
                       struct strbuf *out)
{
        const char *source = config_text(config, OPT_SOURCE);
        bool is_local = !source && !setup_reads_nodes(config) &&
                        !config_text(config, OPT_DCGM_HOST) && !config_text(config, OPT_ROOT);
        bool session = source && !setup_reads_nodes(config) && pipeline_is_capture(p) &&
                       session_is_one(source);
        struct stack_snapshot snapshot;
        if ((!is_local && !session) || frame->processes.n == 0)
                return 0;
        int r = snapshot_with_frame(frame, session ? source : NULL, &snapshot);
        if (r == 0)
                snapshot_write_main(&snapshot, out);
        stack_snapshot_finish(&snapshot);
        return r;
}

static int write_frame(const struct config *config, struct pipeline *p, const struct frame *frame,
                       struct strbuf *out, struct err *err)
{
        struct utsname name;
        if (is_json(config)) {
                json_write_frame(frame, program_version, out);
                return 0;
        }
        if (is_csv(config))
                return write_csv(config, frame, out);
        struct table_options options = {.version = program_version,
                                        .host = owner_of(config, p, &name),
                                        .width = table_width(config),
                                        .recorded = pipeline_is_capture(p),
                                        .focus = config_text(config, OPT_FOCUS_GPU)};
        if (options.focus && has_focus(frame, options.focus, err) < 0)
                return err->code;
        table_write(frame, &options, out);
        serving_table_write(frame->servings, frame->n_servings, options.width, out);
        return write_lines(config, p, frame, out) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* The shortest time over which the host's rates mean something. */
#define HOST_WINDOW_NS (250 * NS_PER_MS)

/* Model servers without GPUs beside them: what they say themselves. */
static void write_servings(const struct host *h, unsigned width, struct strbuf *out)
{
        for (size_t i = 0; i < h->n_servings; i++) {
                struct served alone = {.s = h->servings[i], .limit = SERVING_LIMIT_UNKNOWN};
                for (size_t k = 0; k < SERVED_COUNT; k++)
                        alone.v[k] = value_missing(STATE_NONE);
                serving_table_write(&alone, 1, width, out);
        }
}

static void write_host(const struct config *config, const struct host *h, bool alone,
                       struct strbuf *out)
{
        const char *end = config_flag(config, OPT_CRLF) ? "\r\n" : "\n";
        if (is_json(config) && alone) {
                host_json_document(h, program_version, out);
        } else if (is_json(config)) {
                host_json_append(h, out);
        } else if (is_csv(config) && alone) {
                host_csv_header(h, end, out);
                host_csv_rows(h, h->n_cores, h->n_gpus, end, out);
        } else if (!is_csv(config)) {
                if (alone)
                        write_servings(h, (unsigned)table_width(config), out);
                strbuf_puts(out, "\n");
                host_table_write(h, table_width(config), out);
        }
}

/* The second look at the host, when enough time has passed since the first. frame may be NULL. */
static int read_host(struct host_view *view, int64_t first_ns, struct pipeline *p,
                     const struct frame *frame, struct host **ret, struct err *err)
{
        struct gpu_use use = {0};
        int r = 0;
        if (frame)
                gpu_use_take(&use, frame);
        host_view_see(view, &use);
        /* What the holders do is counted from here. */
        if (use.n_processes > 0) {
                first_ns = clock_mono_ns();
                r = host_view_tick(view, ret, err);
        }
        int64_t left = first_ns + HOST_WINDOW_NS - clock_mono_ns();
        if (left > 0)
                usleep((unsigned)(left / 1000));
        if (r == 0)
                r = host_view_tick(view, ret, err);
        if (r < 0)
                return r;
        host_view_join(view, *ret, &use);
        /* Processes of a capture are not those of this host. */
        if (frame && !pipeline_is_capture(p)) {
                pipeline_see_host(p, *ret);
                pipeline_decide(p);
        }
        return 0;
}

/* So long the model servers are waited for, which are asked twice with a second between. */
#define ENGINES_NS (3 * NS_PER_S)

/* DCGM leaves its counters blank in its first round: of a capture, the first that has them is
 * shown.
 */
#define ROUNDS_MAX 10

static bool is_blank(const struct frame *frame)
{
        bool blank = false;
        for (size_t i = 0; i < frame->n; i++) {
                struct value v = frame->rows[i].sample.m[METRIC_SM_ACTIVE];
                if (value_is_set(v))
                        return false;
                blank |= v.state == STATE_BLANK;
        }
        return blank;
}

static int await_counters(struct pipeline *p, const struct frame **frame, struct err *err)
{
        int r = 1;
        for (int i = 0; i < ROUNDS_MAX && r > 0 && pipeline_is_capture(p) && is_blank(*frame); i++)
                r = pipeline_next(p, frame, err);
        return r == 0 ? 1 : r; /* at the end the last round is shown */
}

/* Why there are no GPUs, above the host. */
static void print_why_alone(const struct config *config, const struct err *why, struct strbuf *out)
{
        if (is_table(config))
                strbuf_putf(out, "%s\n%s\n", why->msg, why->hint);
}

/* Fills out with the GPUs, the host, or both; ret_alone with why the host is alone. */
static int write_all(const struct config *config, struct host_view *view, struct pipeline **p,
                     struct strbuf *out, struct err *ret_alone, struct err *err)
{
        const struct frame *frame = NULL;
        struct host *first, *host = NULL;
        int64_t begun = clock_mono_ns();
        int r = view ? host_view_tick(view, &first, err) : 0;
        if (r == 0)
                r = open_pipeline(config, true, p, err);
        if (r == 0) {
                pipeline_want_processes(*p, is_table(config));
                r = seek_start(config, *p, &frame, err);
        }
        if (r > 0 && !config_is_set(config, OPT_AT))
                r = await_counters(*p, &frame, err);
        bool alone = r < 0 && view && setup_does_without(config, r);
        if (alone) {
                *ret_alone = *err;
                print_why_alone(config, err, out);
        }
        bool settled = view && (r > 0 || alone) && host_view_settle(view, ENGINES_NS);
        if (settled && r > 0 && pipeline_is_live(*p))
                r = pipeline_next(*p, &frame, err);
        if (view && (r >= 0 || alone)) {
                int got = read_host(view, begun, *p, frame, &host, err);
                r = got < 0 || alone ? got : r;
                /* JSON says of each level why it is absent. */
                if (r >= 0 && !is_json(config) &&
                    (config_is_given(config, OPT_JOB) || config_is_given(config, OPT_LEVELS)))
                        r = check_levels(config, host, err) < 0 ? err->code : r;
        }
        if (r > 0 && frame && !is_table(config)) {
                struct node_reporter teller = {0};
                report_nodes(&teller, frame);
                report_nodes_end(&teller);
        }
        if (r > 0 && frame)
                r = write_frame(config, *p, frame, out, err);
        if (!shows_host(config))
                host = NULL; /* it was opened for the engines alone */
        const struct host *shown = host ? host : view || !frame ? NULL : pipeline_host(*p);
        if (r == 0 && shown)
                write_host(config, shown, frame == NULL, out);
        return r;
}

/* A degree sign goes from its unit; any other letter beyond ASCII is '?'. */
static void make_ascii(struct strbuf *text)
{
        struct strbuf plain = {0};
        uint32_t letter;
        size_t n;
        for (const char *s = strbuf_str(text); *s; s += n) {
                n = text_decode(s, &letter);
                if (letter != 0xb0)
                        strbuf_putc(&plain, letter > 0 && letter < 0x80 ? *s : '?');
        }
        strbuf_finish(text);
        *text = plain;
}

/* A folder of runs that have no moment in common is listed. 1: it is none. */
static int write_runs(const struct config *config, struct strbuf *out, struct err *err)
{
        const char *source = config_text(config, OPT_SOURCE);
        const char *format = is_json(config) ? "json" : is_csv(config) ? "csv" : "text";
        struct strbuf notices = {0};
        const char *backend = config_text(config, OPT_BACKEND);
        bool plays = strcmp(backend, "auto") == 0 || strcmp(backend, "replay") == 0;
        if (!source || !plays || setup_reads_nodes(config) || !input_is_recording(source))
                return 1;
        int r = job_list_folder(config, source, format, table_width(config), out, &notices, err);
        print_notices(&notices);
        strbuf_finish(&notices);
        return r;
}

/* How long a number of the user's own is waited for. */
#define COLLECT_NS (2 * NS_PER_S)

/* The GPUs, the host, or both; and what is collected beside them. */
static int write_with_numbers(const struct config *config, struct host_view *view,
                              struct pipeline **p, struct strbuf *out, struct err *ret_alone,
                              struct err *err)
{
        struct collect_now *numbers = NULL;
        struct collected list[COLLECTED_MAX];
        int r = collect_now_start(config, recording_report_collector, &numbers, err);
        if (r == 0)
                r = write_all(config, view, p, out, ret_alone, err);
        if (r == 0) {
                collect_now_wait(numbers, COLLECT_NS);
                size_t n = collect_now_read(numbers, list);
                if (is_json(config))
                        collected_json_append(list, n, out);
                else
                        collected_put_text(list, n, out);
        }
        collect_now_stop(numbers);
        return r;
}

static int write_moment(const struct config *config, struct host_view **view, struct pipeline **p,
                        struct strbuf *out, struct err *ret_alone, struct err *err)
{
        int r = 0;
        if (shows_host(config))
                r = open_host(config, view, err);
        else
                r = refuse_host_options(config, "add --host, or leave it out", err);
        if (r == 0 && !*view && setup_names_engines(config))
                r = open_engines(config, view, err);
        if (r < 0 && r != ERR_USAGE && !config_flag(config, OPT_HOST) &&
            !setup_names_engines(config))
                r = 0; /* GPUs are shown where the host cannot be read */
        return r == 0 ? write_with_numbers(config, *view, p, out, ret_alone, err) : r;
}

static int once_run(const struct config *config)
{
        struct err err = {0}, alone = {0};
        struct host_view *view = NULL;
        struct pipeline *p = NULL;
        struct strbuf out = {0};
        int r = check_format(config, &err);
        if (r == 0)
                r = write_runs(config, &out, &err);
        if (r > 0)
                r = write_moment(config, &view, &p, &out, &alone, &err);
        if (r == 0 && is_table(config) && config_flag(config, OPT_ASCII))
                make_ascii(&out);
        if (r == 0) {
                r = print_text(&out);
                if (r < 0 && r != -EPIPE)
                        err_set(&err, r, "cannot write: %s", strerror(-r));
                else
                        r = 0;
        }
        if (p && r == 0)
                report_trouble(p);
        pipeline_close(p);
        host_view_close(view);
        strbuf_finish(&out);
        if (r < 0)
                return complain(&err);
        /* The table has said why; readers of JSON or CSV find it on standard error. */
        return !alone.code ? EXIT_FINE : is_table(config) ? EXIT_NO_SOURCE : complain(&alone);
}

const struct command command_once = {
    .name = "once",
    .args = "[FILE|URL]",
    .summary = "print one moment: the GPUs, why each is what it is, and the host",
    .words = WORDS_SOURCE,
    .examples = {{"assay once", "this machine now, to paste into a ticket"},
                 {"assay once run.assay --at 60", "a minute into a recording"},
                 {"assay once --json", "the same for a program"}},
    .run = once_run,
};
