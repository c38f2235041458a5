#include "app/diff.h"

#include "app/digest.h"
#include "app/setup.h"
#include "base/duration.h"
#include "base/num.h"
#include "base/suggest.h"
#include "base/text.h"
#include "engine/folder.h"
#include "present/diff/diff.h"
#include "session/session.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

/* "5%", "2GiB", "10s", "1m", "300J": a number and its unit. */
static bool parse_most(const char *s, struct diff_gate *gate)
{
        static const struct {
                const char *unit;
                enum diff_gate_of of; /* COUNT: any */
                double scale;
        } units[] = {{"%", DIFF_GATE_COUNT, 0.01},          {"J", DIFF_GATE_ENERGY, 1},
                     {"kJ", DIFF_GATE_ENERGY, 1e3},         {"B", DIFF_GATE_MEMORY, 1},
                     {"KiB", DIFF_GATE_MEMORY, 1024},       {"MiB", DIFF_GATE_MEMORY, 1048576},
                     {"GiB", DIFF_GATE_MEMORY, 1073741824}, {"MB", DIFF_GATE_MEMORY, 1e6},
                     {"GB", DIFF_GATE_MEMORY, 1e9}};
        double v;
        size_t k = num_parse(s, strlen(s), &v);
        if (gate->of == DIFF_GATE_TIME && duration_has_unit(s) && duration_parse(s, &gate->most))
                return true;
        for (size_t i = 0; k > 0 && i < ARRAY_LEN(units); i++) {
                bool fits = units[i].of == DIFF_GATE_COUNT || units[i].of == gate->of;
                if (!fits || strcmp(s + k, units[i].unit) != 0)
                        continue;
                gate->relative = i == 0;
                gate->most = v * units[i].scale;
                return v >= 0 && isfinite(gate->most);
        }
        return false;
}

static int add_gate(struct run_diff *r, char *word, struct err *err)
{
        char *equals = strchr(word, '=');
        struct diff_gate gate = {.of = DIFF_GATE_COUNT};
        if (equals)
                *equals = '\0';
        for (enum diff_gate_of of = 0; of < DIFF_GATE_COUNT; of++) {
                if (strcmp(diff_gate_name(of), word) == 0)
                        gate.of = of;
        }
        if (gate.of == DIFF_GATE_COUNT) {
                err_set(err, ERR_USAGE, "--gate: unknown figure '%s'", word);
                return err_hint(err, "choose time, energy or memory: --gate time=5%%");
        }
        if (!equals || !parse_most(equals + 1, &gate)) {
                err_set(err, ERR_USAGE, "--gate: '%s' is not a limit for %s",
                        equals ? equals + 1 : "", word);
                return err_hint(err, "write for example time=5%%,energy=10%%,memory=2GiB");
        }
        for (size_t i = 0; i < r->n_gates; i++) {
                if (r->gates[i].of == gate.of)
                        return err_set(err, ERR_USAGE, "--gate: '%s' stands twice", word);
        }
        r->gates[r->n_gates++] = gate;
        return 0;
}

int run_diff_gates(struct run_diff *r, const char *text, struct err *err)
{
        char copy[256], *rest = copy, *word;
        int code = 0;
        if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
                return err_set(err, ERR_USAGE, "--gate: too long");
        while (code == 0 && (word = strsep(&rest, ",")))
                code = add_gate(r, word, err);
        return code;
}

int run_diff_allow(struct run_diff *r, const char *text, struct err *err)
{
        char copy[256], *rest = copy, *word;
        if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
                return err_set(err, ERR_USAGE, "--allow: too long");
        while ((word = strsep(&rest, ","))) {
                enum diff_allow i = 0;
                while (i < DIFF_ALLOW_COUNT && strcmp(diff_allow_name(i), word) != 0)
                        i++;
                if (i == DIFF_ALLOW_COUNT) {
                        err_set(err, ERR_USAGE, "--allow: unknown difference '%s'", word);
                        return err_hint(err, "choose of gpus, model, mig, coverage, exit, ranks");
                }
                r->allow |= 1u << i;
        }
        return 0;
}

/* ---- reading ---- */

/* curves: where the run's go; NULL: nowhere. */
static int read_file(struct run_diff *r, const struct config *config, const char *path,
                     struct traces *curves, struct diff_run *ret, struct err *err)
{
        struct run_summary *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->on_tick = r->on_tick;
        s->arg = r->arg;
        s->curves = true;
        int code = run_summary_read(s, config, path, "json", err);
        if (s->notices.len > 0)
                strbuf_put(&r->notices, s->notices.s, s->notices.len);
        if (code == 0)
                code = digest_take(s, ret);
        if (code == 0 && curves) {
                *curves = s->traces;
                s->traces = (struct traces){0};
        }
        run_summary_finish(s);
        free(s);
        return code;
}

static int read_rank(struct run_diff *r, const struct config *config, const char *path,
                     struct traces *curves, struct diff_run *run, bool first, struct err *err)
{
        CLEANUP(freep) struct diff_run *rank = calloc(1, sizeof(*rank));
        if (!rank)
                return err_set(err, -ENOMEM, "out of memory");
        int code = read_file(r, config, path, first ? curves : NULL, rank, err);
        if (code < 0)
                return code;
        if (first)
                *run = *rank;
        else
                diff_run_join(run, rank);
        return 0;
}

/* The ranks of a job, which are one run. */
static int read_job(struct run_diff *r, const struct config *config, const struct folder *f,
                    struct traces *curves, struct diff_run *run, struct err *err)
{
        int code = 0;
        for (size_t i = 0; code == 0 && i < f->n; i++)
                code = read_rank(r, config, f->paths[i], curves, run, i == 0, err);
        return code;
}

/* A place for one more run; the curves are the first one's. NULL when there are too many. */
static struct diff_run *next_run(struct diff_side *side, struct err *err)
{
        if (side->n < DIFF_RUNS_MAX)
                return &side->runs[side->n++];
        err_set(err, ERR_USAGE, "a side has 1 to %d runs", DIFF_RUNS_MAX);
        err_hint(err, "write for example: assay diff base.assay new.assay");
        return NULL;
}

/* A file, a job, or a folder of repeats. */
static int read_path(struct run_diff *r, const struct config *config, struct diff_side *side,
                     const char *path, struct traces *curves, struct err *err)
{
        struct folder f;
        int code = folder_read(path, &f);
        if (code < 0)
                return err_set(err, code, "out of memory");
        size_t n = f.kind == FOLDER_RUNS ? f.n : 1;
        for (size_t i = 0; code == 0 && i < n; i++) {
                struct traces *to = side->n == 0 ? curves : NULL;
                struct diff_run *run = next_run(side, err);
                if (!run)
                        code = ERR_USAGE;
                else if (f.kind == FOLDER_JOB)
                        code = read_job(r, config, &f, to, run, err);
                else
                        code = read_file(r, config, f.n > 0 ? f.paths[i] : path, to, run, err);
                if (code == 0 && f.kind == FOLDER_JOB) {
                        snprintf(run->name, sizeof(run->name), "%s", path);
                        text_clean(run->name);
                }
        }
        folder_finish(&f);
        return code;
}

int run_diff_read(struct run_diff *r, const struct config *config, bool is_new,
                  const char *const *paths, size_t n, struct err *err)
{
        struct diff_side *side = is_new ? &r->now : &r->base;
        if (n == 0) {
                err_set(err, ERR_USAGE, "a side has 1 to %d runs", DIFF_RUNS_MAX);
                return err_hint(err, "write for example: assay diff base.assay new.assay");
        }
        side->runs = calloc(DIFF_RUNS_MAX, sizeof(*side->runs));
        if (!side->runs)
                return err_set(err, -ENOMEM, "out of memory");
        int code = 0;
        for (size_t i = 0; code == 0 && i < n; i++)
                code = read_path(r, config, side, paths[i], &r->traces[is_new], err);
        return code;
}

void run_diff_compare(struct run_diff *r)
{
        diff_compare(&r->base, &r->now, r->allow, r->gates, r->n_gates, &r->result);
}

void run_diff_finish(struct run_diff *r)
{
        for (size_t i = 0; i < r->base.n; i++)
                diff_run_finish(&r->base.runs[i]);
        for (size_t i = 0; i < r->now.n; i++)
                diff_run_finish(&r->now.runs[i]);
        free(r->base.runs);
        free(r->now.runs);
        traces_finish(&r->traces[0]);
        traces_finish(&r->traces[1]);
        strbuf_finish(&r->notices);
}

int run_diff_write(const struct run_diff *r, const char *format, struct strbuf *out,
                   struct err *err)
{
        const struct diff_page page = {.d = &r->result,
                                       .base = &r->base,
                                       .now = &r->now,
                                       .traces = {&r->traces[0], &r->traces[1]},
                                       .status = diff_status(&r->result),
                                       .version = program_version};
        return diff_write(&page, format, out, err);
}
