/* assay diff: whether a run is faster than another, by how much, and why. */
#include "app/diff.h"
#include "app/baseline.h"
#include "cmd/command.h"
#include "cmd/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Exit statuses of its own: a failure must not look like a gate. */
enum { DIFF_WRONG_USAGE = 2, DIFF_NO_ANSWER = 3 };

struct sides {
        const char *base[DIFF_RUNS_MAX + 1], *now[DIFF_RUNS_MAX + 1];
        size_t n_base, n_now;
        struct baseline baseline;
};

static void add_path(const char **list, size_t *n, const char *path)
{
        /* One more than there may be: reading reports. */
        if (*n <= DIFF_RUNS_MAX)
                list[(*n)++] = path;
}

/* "--base A B --new C D": words belong to the option that precedes them. */
static void take_options(const struct config *config, struct sides *ret)
{
        const char *base = config_text(config, OPT_BASE), *now = config_text(config, OPT_NEW);
        int base_at = config->settings[OPT_BASE].place, now_at = config->settings[OPT_NEW].place;
        if (base)
                add_path(ret->base, &ret->n_base, base);
        if (now)
                add_path(ret->now, &ret->n_now, now);
        for (size_t i = 1; i < config->n_args; i++) {
                int at = config->places[i];
                bool after_base = base && at > base_at, after_now = now && at > now_at;
                bool is_base = after_base && (!after_now || base_at > now_at);
                bool is_now = after_now && !is_base;
                /* Words before either belong to the side that is not named. */
                if (is_base || (!is_now && !base))
                        add_path(ret->base, &ret->n_base, config->args[i]);
                else
                        add_path(ret->now, &ret->n_now, config->args[i]);
        }
}

static int refuse_usage(struct err *err)
{
        err_set(err, ERR_USAGE, "a comparison needs two sides");
        return err_hint(err, "write for example: assay diff base.assay new.assay, or "
                             "--base A B C --new D E F for repeats");
}

/* All words are NEW then. */
static int take_baseline(const struct config *config, const char *name, struct sides *ret,
                         struct err *err)
{
        char folder[BASELINE_PATH_MAX];
        const char *now = config_text(config, OPT_NEW);
        if (config_text(config, OPT_BASE)) {
                err_set(err, ERR_USAGE, "both --base and --baseline");
                return err_hint(err, "give one of them");
        }
        int code = baseline_folder(config_text(config, OPT_BASELINES), get_env, folder, err);
        if (code == 0)
                code = baseline_find(folder, name, &ret->baseline, err);
        for (size_t i = 0; i < ret->baseline.n; i++)
                add_path(ret->base, &ret->n_base, ret->baseline.paths[i]);
        if (now)
                add_path(ret->now, &ret->n_now, now);
        for (size_t i = 1; i < config->n_args; i++)
                add_path(ret->now, &ret->n_now, config->args[i]);
        return code < 0 || ret->n_now > 0 ? code : refuse_usage(err);
}

static int take_sides(const struct config *config, struct sides *ret, struct err *err)
{
        bool named = config_text(config, OPT_BASE) || config_text(config, OPT_NEW);
        const char *baseline = config_text(config, OPT_BASELINE);
        if (baseline)
                return take_baseline(config, baseline, ret, err);
        if (named) {
                take_options(config, ret);
        } else if (config->n_args == 3) {
                add_path(ret->base, &ret->n_base, config->args[1]);
                add_path(ret->now, &ret->n_now, config->args[2]);
        }
        return ret->n_base > 0 && ret->n_now > 0 ? 0 : refuse_usage(err);
}

static int take_limits(const struct config *config, struct run_diff *r, struct err *err)
{
        const char *gate = config_text(config, OPT_GATE), *allow = config_text(config, OPT_ALLOW);
        int code = gate ? run_diff_gates(r, gate, err) : 0;
        return code == 0 && allow ? run_diff_allow(r, allow, err) : code;
}

static int read_sides(const struct config *config, const struct sides *s, struct run_diff *r,
                      struct err *err)
{
        struct progress progress = {0};
        r->on_tick = progress_tick;
        r->arg = &progress;
        int code = run_diff_read(r, config, false, s->base, s->n_base, err);
        if (code == 0)
                code = run_diff_read(r, config, true, s->now, s->n_now, err);
        progress_end(&progress);
        print_notices(&r->notices);
        return code;
}

/* A name that is mistyped is wrong usage, not an answer. */
static int check_exist(const char *const *paths, size_t n, struct err *err)
{
        for (size_t i = 0; i < n; i++) {
                if (access(paths[i], F_OK) < 0 && errno == ENOENT) {
                        err_set(err, ERR_USAGE, "no such file: '%s'", paths[i]);
                        return err_hint(err, "check the name and the folder");
                }
        }
        return 0;
}

/* No input is written over. */
static int check_outs(const struct config *config, const struct sides *s, struct err *err)
{
        int code = 0;
        for (size_t i = 0; code == 0 && i < s->n_base; i++)
                code = check_out(config, s->base[i], err);
        for (size_t i = 0; code == 0 && i < s->n_now; i++)
                code = check_out(config, s->now[i], err);
        return code;
}

static int diff_runs(const struct config *config, struct run_diff *r, struct err *err)
{
        struct sides sides = {0};
        struct strbuf out = {0};
        int code = take_sides(config, &sides, err);
        if (code == 0)
                code = take_limits(config, r, err);
        if (code == 0)
                code = check_exist(sides.base, sides.n_base, err);
        if (code == 0)
                code = check_exist(sides.now, sides.n_now, err);
        if (code == 0)
                code = check_outs(config, &sides, err);
        if (code == 0)
                code = read_sides(config, &sides, r, err);
        if (code == 0) {
                run_diff_compare(r);
                code = run_diff_write(r, out_format(config), &out, err);
        }
        if (code == 0)
                code = write_out(config, sides.base[0], &out, err);
        strbuf_finish(&out);
        baseline_finish(&sides.baseline);
        return code;
}

static int diff_run_command(const struct config *config)
{
        struct err err = {0};
        struct run_diff *r = calloc(1, sizeof(*r));
        int code = r ? diff_runs(config, r, &err) : err_set(&err, -ENOMEM, "out of memory");
        int status = code == 0 ? diff_status(&r->result) : 0;
        if (code < 0) {
                complain(&err);
                status = code == ERR_USAGE ? DIFF_WRONG_USAGE : DIFF_NO_ANSWER;
        }
        if (r)
                run_diff_finish(r);
        free(r);
        return status;
}

const struct command command_diff = {
    .name = "diff",
    .args = "BASE NEW",
    .summary = "whether a run is faster than another, by how much, and why",
    .words = WORDS_OWN,
    .examples = {{"assay diff a.assay b.assay", "two runs with marked steps"},
                 {"assay diff --base a b c --new d e f", "repeats"},
                 {"assay diff a.assay b.assay --gate time=5%", "for CI: exit 0, 1 or 3"}},
    .run = diff_run_command,
};
