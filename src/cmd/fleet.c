/* assay fleet: questions to an engine that stores what many nodes export. */
#include "present/fleet/fleet.h"
#include "base/clock.h"
#include "base/suggest.h"
#include "cmd/fleet_idle.h"
#include "cmd/fleet_live.h"
#include "cmd/fleet_targets.h"
#include "cmd/times.h"

#include <string.h>

#define JOB_WINDOW_NS (30 * 86400 * NS_PER_S)
#define WINDOW_MAX_NS (400 * 86400 * NS_PER_S)

static int window_of(const struct config *config, bool job, struct fleet_asked *ret,
                     struct err *err)
{
        const char *window = config_text(config, OPT_WINDOW), *since, *until;
        int64_t now = clock_wall_ns(), from;
        *ret =
            (struct fleet_asked){.to_ns = now, .rows = (unsigned)config_number(config, OPT_LIMIT)};
        since = config_text(config, OPT_SINCE);
        until = config_text(config, OPT_UNTIL);
        if (until && times_moment("--until", until, now, &ret->to_ns, err) < 0)
                return err->code;
        if (!times_span(window, &ret->window_ns) || ret->window_ns < 60 * NS_PER_S) {
                err_set(err, ERR_USAGE, "--window: '%s' is not a span of a minute or more", window);
                return err_hint(err, "write 15m, 90min, 24h or 7d");
        }
        if (job && !config_is_set(config, OPT_WINDOW))
                ret->window_ns = JOB_WINDOW_NS;
        if (since) {
                if (times_moment("--since", since, now, &from, err) < 0)
                        return err->code;
                if (from >= ret->to_ns)
                        return err_set(err, ERR_USAGE, "--since: '%s' is not before the end",
                                       since);
                ret->window_ns = ret->to_ns - from;
        }
        ret->co2_g_per_kwh = config_number(config, OPT_CO2);
        ret->filter = (struct fleet_filter){
            .user = config_text(config, OPT_USER),
            .account = config_text(config, OPT_ACCOUNT),
            .partition = config_text(config, OPT_PARTITION),
            .cluster = config_text(config, OPT_CLUSTER),
            .node = config_text(config, OPT_NODE),
            .model = config_text(config, OPT_MODEL),
        };
        if (ret->window_ns > WINDOW_MAX_NS)
                return err_set(err, ERR_USAGE, "the window is longer than 400 days");
        return 0;
}

static int view_of(const struct config *config, enum fleet_view *ret, struct err *err)
{
        const char *word = config->n_args > 1 ? config->args[1] : "overview";
        *ret = fleet_view_find(word);
        if (*ret < FLEET_VIEW_COUNT && config->n_args <= 2)
                return 0;
        if (*ret < FLEET_VIEW_COUNT)
                return err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[2]);
        err_set(err, ERR_USAGE, "unknown view '%s'", word);
        return err_hint(err, "one of overview, users, jobs, nodes, wasted, limiters, health; or "
                             "'assay fleet job ID', 'assay fleet idle', 'assay fleet targets'");
}

static bool wants_job_card(const struct config *config)
{
        return config->n_args > 1 && strcmp(config->args[1], "job") == 0;
}

static bool wants_idle_list(const struct config *config)
{
        return config->n_args == 2 && strcmp(config->args[1], "idle") == 0;
}

static int engine_of(const struct config *config, struct fleet_config *ret, struct err *err)
{
        *ret = (struct fleet_config){
            .engine = config_text(config, OPT_ENGINE),
            .token_file = config_text(config, OPT_TOKEN_FILE),
            .tenant = config_text(config, OPT_TENANT),
            .timeout_ns = clock_from_seconds(config_number(config, OPT_TIMEOUT)),
            .wake = -1,
        };
        if (ret->engine)
                return 0;
        err_set(err, ERR_USAGE, "no engine to ask");
        return err_hint(err, "--engine http://HOST:9090, or 'engine = URL' below [fleet] in the "
                             "config file");
}

static int query_once(const struct config *config, const struct fleet_config *fc,
                      const struct fleet_asked *asked, enum fleet_view view, struct strbuf *out,
                      struct err *err)
{
        struct fleet *f;
        struct fleet_report report;
        int r = fleet_open(fc, &f, err);
        if (r < 0)
                return r;
        r = wants_job_card(config) ? fleet_collect_job(f, config->args[2], asked, &report, err)
                                   : fleet_collect(f, view, asked, &report, err);
        if (r > 0) {
                int code = fleet_write(&report, out_format(config), 0, out, err);
                fleet_report_finish(&report);
                r = code < 0 ? code : r;
        }
        fleet_close(f);
        return r;
}

/* Options of 'targets' and of a screen that a table would silently ignore, and the other way. */
static int refuse_options(const struct config *config, struct err *err)
{
        static const enum option list[] = {OPT_HOSTS, OPT_SLURM,  OPT_KUBERNETES,
                                           OPT_PORT,  OPT_LABELS, OPT_SELECTOR};
        static const enum option screen[] = {OPT_ASCII, OPT_THEME, OPT_POLL};
        static const enum option tables[] = {OPT_FORMAT, OPT_OUTPUT, OPT_UNTIL, OPT_QUERIES};
        static const enum option windows[] = {OPT_WINDOW};
        static const enum option answers[] = {OPT_FORMAT};
        bool live = config_flag(config, OPT_LIVE);
        int r = config_refuse(config, list, ARRAY_LEN(list), "is for 'assay fleet targets'",
                              "leave it out, or write 'assay fleet targets'", err);
        if (r == 0 && live)
                r = config_refuse(config, tables, ARRAY_LEN(tables), "is for tables",
                                  "leave it out, or --live", err);
        if (r == 0 && config_flag(config, OPT_QUERIES))
                r = config_refuse(config, answers, ARRAY_LEN(answers), "is for answers",
                                  "leave it out, or --queries, which asks nothing", err);
        if (r == 0 && !live)
                r = config_refuse(config, screen, ARRAY_LEN(screen), "is for the screen",
                                  "leave it out, or add --live", err);
        if (r == 0 && config_is_given(config, OPT_SINCE))
                r = config_refuse(config, windows, ARRAY_LEN(windows), "is given beside --since",
                                  "leave out one of them: both say where the window begins", err);
        return r;
}

/* What a GPU or a node did is nobody's: only views by owner can be of some owners. */
static int refuse_owners(const struct config *config, enum fleet_view view, struct err *err)
{
        static const enum option owners[] = {OPT_USER, OPT_ACCOUNT, OPT_PARTITION};
        static const enum option places[] = {OPT_CLUSTER, OPT_NODE, OPT_MODEL};
        bool by_owner = wants_job_card(config) || wants_idle_list(config) || view == FLEET_USERS ||
                        view == FLEET_JOBS || view == FLEET_WASTED;
        int r = by_owner ? 0
                         : config_refuse(config, owners, ARRAY_LEN(owners),
                                         "is for the views users, jobs and wasted, and for a job",
                                         "leave it out, or write 'assay fleet users'", err);
        if (r == 0 && config_flag(config, OPT_LIVE)) {
                r = config_refuse(config, owners, ARRAY_LEN(owners), "is for tables",
                                  "leave it out, or --live", err);
                if (r == 0)
                        r = config_refuse(config, places, ARRAY_LEN(places), "is for tables",
                                          "leave it out, or --live", err);
        }
        return r;
}

static int show_fleet(const struct config *config, struct strbuf *out, int *ret_status,
                      struct err *err)
{
        struct fleet_config fc;
        struct fleet_asked asked;
        enum fleet_view view = FLEET_OVERVIEW;
        bool job = wants_job_card(config);
        if (job && config->n_args != 3) {
                err_set(err, ERR_USAGE, "name one job");
                return err_hint(err, "assay fleet job 4711");
        }
        if (job && !config->args[2][0]) {
                err_set(err, ERR_USAGE, "the job's name is empty");
                return err_hint(err, "a variable may be unset; assay fleet job 4711");
        }
        static const enum option cards[] = {OPT_CO2};
        bool idle = wants_idle_list(config);
        int r = refuse_options(config, err);
        if (r == 0 && !job)
                r = config_refuse(config, cards, ARRAY_LEN(cards), "is for one job",
                                  "leave it out, or write 'assay fleet job ID'", err);
        if (r == 0)
                r = fleet_idle_refuse(config, idle, err);
        if (r == 0 && !job && !idle)
                r = view_of(config, &view, err);
        if (r == 0)
                r = refuse_owners(config, view, err);
        if (r == 0)
                r = window_of(config, job, &asked, err);
        if (r == 0 && idle)
                r = fleet_idle_window(config, &asked.window_ns, err);
        if (r == 0 && config_flag(config, OPT_QUERIES)) {
                r = fleet_write_queries(view, &asked, false, out, err);
                strbuf_puts(out, "\n# with the recording rules\n");
                return r < 0 ? r : fleet_write_queries(view, &asked, true, out, err);
        }
        if (r == 0)
                r = engine_of(config, &fc, err);
        if (r < 0)
                return r;
        if (idle)
                return fleet_idle_show(config, &fc, &asked, out, ret_status, err);
        if (!config_flag(config, OPT_LIVE))
                return query_once(config, &fc, &asked, view, out, err);
        if (job)
                return err_set(err, ERR_USAGE, "one job is no live screen: leave --live out");
        *ret_status = fleet_live_run(config, &fc, view, asked.window_ns);
        return 0;
}

static int fleet_run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        int status = EXIT_FINE;
        if (config->n_args > 1 && strcmp(config->args[1], "targets") == 0)
                return fleet_targets_run(config);
        int r = show_fleet(config, &out, &status, &err);
        if (r >= 0)
                r = write_out(config, NULL, &out, &err);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : status;
}

const struct command command_fleet = {
    .name = "fleet",
    .args = "[VIEW|job ID|idle|targets]",
    .summary = "ask Prometheus or VictoriaMetrics who uses a fleet, and how well",
    .words = WORDS_OWN,
    .examples = {{"assay fleet --engine http://prom:9090", "the last 24 hours"},
                 {"assay fleet wasted --window 7d", "by owner and reason"},
                 {"assay fleet job 4711", "one job as a card"}},
    .run = fleet_run,
};
