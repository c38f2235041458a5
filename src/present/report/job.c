#include "present/report/job.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_EACH 16 /* of more, only those that differ have a row on a screen */
#define FINDINGS_SHOWN 3
#define CURVE_POINTS 300

static struct value set_if(bool is_known, double v)
{
        return is_known ? value_ok(v) : value_missing(STATE_NONE);
}

static void take_words(struct doc_cell *cell, struct strbuf *words)
{
        doc_cell_text(cell, strbuf_str(words));
        strbuf_clear(words);
}

/* ---- the head ---- */

enum {
        HEAD_SCHEMA,
        HEAD_VERSION,
        HEAD_JOB,
        HEAD_START,
        HEAD_SECONDS,
        HEAD_WORLD,
        HEAD_N_MISSING,
        HEAD_MISSING,
        HEAD_CLOCKS,
        HEAD_MOVED,
        HEAD_STEP,
        HEAD_STEPS,
        HEAD_STEP_S
};

static const struct doc_column head_columns[] = {
    {.key = "job_schema_version", .kind = DOC_COUNT},
    {.key = "version"},
    {.key = "job"},
    {.key = "start", .kind = DOC_TIME},
    {.key = "seconds", .kind = DOC_LENGTH},
    {.key = "world_size", .kind = DOC_COUNT},
    {.key = "missing_ranks", .kind = DOC_COUNT},
    {.key = "missing", .kind = DOC_NUMBERS},
    {.key = "clocks"},
    {.key = "clocks_moved", .kind = DOC_LENGTH},
    {.key = "step"},
    {.key = "steps", .kind = DOC_COUNT},
    {.key = "step_seconds", .kind = DOC_LENGTH},
};

static void add_head(const struct job *j, const char *version, struct document *d)
{
        struct doc_part *p =
            document_add(d, DOC_FACTS, "facts", "", head_columns, ARRAY_LEN(head_columns));
        struct doc_cell *row = doc_add_row(d, p);
        if (!row)
                return;
        row[HEAD_SCHEMA].v = value_ok(JOB_SCHEMA_VERSION);
        doc_cell_text(&row[HEAD_VERSION], version);
        doc_cell_text(&row[HEAD_JOB], j->n > 0 ? j->ranks[0].job : "");
        row[HEAD_START].v = value_ok(clock_to_seconds(j->start_ns));
        row[HEAD_SECONDS].v = value_ok(clock_to_seconds(j->end_ns - j->start_ns));
        row[HEAD_WORLD].v = set_if(j->world > 0, j->world);
        row[HEAD_N_MISSING].v = value_ok((double)j->n_missing);
        for (size_t i = 0; i < MIN(j->n_missing, ARRAY_LEN(j->missing)); i++) {
                char number[24];
                snprintf(number, sizeof(number), "%zu", j->missing[i]);
                doc_cell_item(&row[HEAD_MISSING], number);
        }
        doc_cell_text(&row[HEAD_CLOCKS], j->align == JOB_BY_MARKS ? "marks" : "wall");
        row[HEAD_MOVED].v = value_ok(j->moved_s);
        doc_cell_text(&row[HEAD_STEP], j->step);
        row[HEAD_STEPS].v = value_ok((double)j->n_steps);
        row[HEAD_STEP_S].v = set_if(j->n_steps > 0, j->step_s);
}

static void add_note(struct document *d, unsigned flags,
                     void (*put)(const struct job *j, struct strbuf *out), const struct job *j)
{
        struct strbuf words = {0};
        put(j, &words);
        if (words.len > 0)
                document_note(d, flags, strbuf_str(&words));
        strbuf_finish(&words);
}

static void add_notes(const struct job *j, struct document *d)
{
        add_note(d, 0, job_put_shared_names, j);
        add_note(d, 0, job_put_twice, j);
        add_note(d, 0, job_put_apart, j);
        add_note(d, DOC_PEOPLE, job_put_clocks, j);
        add_note(d, DOC_PEOPLE, job_put_missing, j);
}

/* ---- findings ---- */

enum {
        LATE_RANK,
        LATE_NODE,
        LATE_CAUSE,
        LATE_BY,
        LATE_STEP,
        LATE_SECONDS,
        LATE_TIMES,
        LATE_COST,
        LATE_SHARE,
        LATE_SINCE,
        LATE_OWN,
        LATE_OTHERS,
        LATE_REASONS,
        LATE_LINE,
        LATE_LINE_SHARE,
        LATE_LINE_PEERS,
        LATE_OTHERS_LINE,
        LATE_TEXT,
        LATE_TRY
};

static const struct doc_column late_columns[] = {
    {.key = "rank"},
    {.key = "node"},
    {.key = "cause"},
    {.key = "by"},
    {.key = "step"},
    {.key = "late_seconds", .kind = DOC_LENGTH},
    {.key = "times", .kind = DOC_COUNT},
    {.key = "cost_seconds", .kind = DOC_LENGTH},
    {.key = "share", .kind = DOC_RATIO},
    {.key = "since", .kind = DOC_LENGTH},
    {.key = "own", .kind = DOC_NUMBER},
    {.key = "others", .kind = DOC_NUMBER},
    {.key = "clock_reasons"},
    {.key = "line"},
    {.key = "line_share", .kind = DOC_RATIO},
    {.key = "line_share_of_others", .kind = DOC_RATIO},
    {.key = "others_line"},
    {.key = "text"},
    {.key = "try"},
};

static void fill_straggler(const struct job *j, const struct straggler *s, struct doc_cell *row)
{
        struct strbuf words = {0};
        doc_cell_text(&row[LATE_RANK], j->ranks[s->rank].label);
        doc_cell_text(&row[LATE_NODE], j->ranks[s->rank].node);
        doc_cell_text(&row[LATE_CAUSE], cause_name(s->cause));
        doc_cell_text(&row[LATE_BY], s->by_marks ? "marks" : "counters");
        doc_cell_text(&row[LATE_STEP], s->by_marks ? s->step : "");
        row[LATE_SECONDS].v = set_if(s->late_s > 0, s->late_s);
        row[LATE_TIMES].v = set_if(s->times > 0, (double)s->times);
        row[LATE_COST].v = value_ok(s->cost_s);
        row[LATE_SHARE].v = value_ok(s->share);
        row[LATE_SINCE].v = value_ok(s->begin_s);
        row[LATE_OWN].v = s->own;
        row[LATE_OTHERS].v = s->peers;
        if (s->reason)
                throttle_put(&words, s->reason);
        take_words(&row[LATE_REASONS], &words);
        if (s->line.is_known)
                job_put_line(&s->line, &words);
        take_words(&row[LATE_LINE], &words);
        row[LATE_LINE_SHARE].v = set_if(s->line.is_known, s->line.own_share);
        row[LATE_LINE_PEERS].v = set_if(s->line.is_known, s->line.peers_share);
        if (s->others_line.is_known)
                job_put_line(&s->others_line, &words);
        take_words(&row[LATE_OTHERS_LINE], &words);
        job_put_straggler(j, s, &words);
        take_words(&row[LATE_TEXT], &words);
        doc_cell_text(&row[LATE_TRY], cause_try(s->cause));
        strbuf_finish(&words);
}

static void add_stragglers(const struct job *j, struct document *d)
{
        struct doc_part *p = document_add(d, DOC_FINDINGS, "stragglers", "stragglers", late_columns,
                                          ARRAY_LEN(late_columns));
        for (size_t i = 0; i < j->n_stragglers; i++) {
                struct doc_cell *row = doc_add_row(d, p);
                if (row)
                        fill_straggler(j, &j->stragglers[i], row);
        }
        if (j->n_stragglers == 0)
                add_note(d, DOC_PEOPLE, job_put_no_straggler, j);
}

enum {
        FOUND_LIMITER,
        FOUND_HELD_BY,
        FOUND_BASIS,
        FOUND_BEFORE,
        FOUND_GPU_S,
        FOUND_SHARE,
        FOUND_WON,
        FOUND_RANKS,
        FOUND_TEXT,
        FOUND_TRY
};

static const struct doc_column found_columns[] = {
    {.key = "limiter"},
    {.key = "held_by"},
    {.key = "basis"},
    {.key = "before_work", .kind = DOC_FLAG},
    {.key = "gpu_seconds", .kind = DOC_GPU_HOURS},
    {.key = "share", .kind = DOC_RATIO},
    {.key = "won_gpu_seconds", .kind = DOC_GPU_HOURS},
    {.key = "ranks", .kind = DOC_LIST},
    {.key = "text"},
    {.key = "try", .flags = DOC_PEOPLE},
};

static void fill_finding(const struct job *j, const struct job_joined *f, struct doc_cell *row)
{
        struct strbuf words = {0};
        const char *held = held_by_name(f->finding.held_by), *advice = job_joined_try(j, f);
        doc_cell_text(&row[FOUND_LIMITER], limiter_name(f->finding.limiter));
        doc_cell_text(&row[FOUND_HELD_BY], held ? held : "");
        doc_cell_text(&row[FOUND_BASIS], basis_name(f->finding.basis));
        row[FOUND_BEFORE].v = value_ok(f->finding.before_work);
        row[FOUND_GPU_S].v = value_ok(f->finding.gpu_s);
        row[FOUND_SHARE].v = value_ok(f->finding.share);
        row[FOUND_WON].v = value_ok(f->finding.won_s);
        for (size_t i = 0; i < j->n; i++) {
                if (f->has[i])
                        doc_cell_item(&row[FOUND_RANKS], j->ranks[i].label);
        }
        job_put_joined(j, f, &words);
        take_words(&row[FOUND_TEXT], &words);
        doc_cell_text(&row[FOUND_TRY], advice ? advice : "");
        strbuf_finish(&words);
}

static void add_findings(const struct job *j, bool complete, struct document *d)
{
        struct doc_part *p = document_add(d, DOC_FINDINGS, "findings", "findings of all ranks",
                                          found_columns, ARRAY_LEN(found_columns));
        size_t n = complete ? j->n_joined : MIN(j->n_joined, (size_t)FINDINGS_SHOWN);
        for (size_t i = 0; i < n; i++) {
                struct doc_cell *row = doc_add_row(d, p);
                if (row)
                        fill_finding(j, &j->joined[i], row);
        }
}

/* ---- ranks ---- */

/* RANK_COLUMN(id, key, title, kind, flags, unit, group) */
#define RANK_COLUMNS(RANK_COLUMN)                                                                  \
        RANK_COLUMN(LABEL, "label", "rank", DOC_TEXT, 0, 0, NULL)                                  \
        RANK_COLUMN(RANK, "rank", "", DOC_COUNT, DOC_MACHINE_ONLY, 0, NULL)                        \
        RANK_COLUMN(LOCAL, "local_rank", "", DOC_COUNT, DOC_MACHINE_ONLY, 0, NULL)                 \
        RANK_COLUMN(NODE_RANK, "node_rank", "", DOC_COUNT, DOC_MACHINE_ONLY, 0, NULL)              \
        RANK_COLUMN(NODE, "node", "node", DOC_TEXT, 0, 0, NULL)                                    \
        RANK_COLUMN(GPU, "gpu", "GPU", DOC_TEXT, 0, 0, NULL)                                       \
        RANK_COLUMN(LAUNCHER, "launcher", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, NULL)                 \
        RANK_COLUMN(FILE, "file", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, NULL)                         \
        RANK_COLUMN(COMMAND, "command", "", DOC_TEXT, DOC_MACHINE_ONLY, 0, NULL)                   \
        RANK_COLUMN(START, "start", "", DOC_LENGTH, DOC_MACHINE_ONLY, 0, NULL)                     \
        RANK_COLUMN(OFFSET, "clock_offset", "", DOC_LENGTH, DOC_MACHINE_ONLY, 0, NULL)             \
        RANK_COLUMN(SECONDS, "seconds", "", DOC_LENGTH, DOC_MACHINE_ONLY, 0, NULL)                 \
        RANK_COLUMN(STATUS, "exit_status", "", DOC_COUNT, DOC_MACHINE_ONLY, 0, NULL)               \
        RANK_COLUMN(SIGNAL, "exit_signal", "", DOC_COUNT, DOC_MACHINE_ONLY, 0, NULL)               \
        RANK_COLUMN(ENERGY, "energy", "", DOC_ENERGY, DOC_MACHINE_ONLY, 0, NULL)                   \
        RANK_COLUMN(MEMORY, "peak_memory", "", DOC_NUMBER, DOC_MACHINE_ONLY, UNIT_BYTES, NULL)     \
        RANK_COLUMN(SM_CLOCK, "sm_clock", "", DOC_NUMBER, DOC_MACHINE_ONLY, UNIT_HERTZ, NULL)      \
        RANK_COLUMN(OWN_CPU, "own_cpu", "", DOC_NUMBER, DOC_MACHINE_ONLY, UNIT_NUMBER, NULL)       \
        RANK_COLUMN(STEP, "step_seconds", "", DOC_LENGTH, DOC_MACHINE_ONLY, 0, NULL)               \
        RANK_COLUMN(LATE, "late_seconds", "", DOC_LENGTH, DOC_MACHINE_ONLY, 0, NULL)               \
        JOB_FIGURES(RANK_MEAN)                                                                     \
        JOB_FIGURES(RANK_OUTLIER)                                                                  \
        RANK_COLUMN(SHOWN_BUSY, "", "busy", DOC_RATIO, DOC_PEOPLE, 0, NULL)                        \
        RANK_COLUMN(SHOWN_SM, "", "SM", DOC_RATIO, DOC_PEOPLE, 0, NULL)                            \
        RANK_COLUMN(SHOWN_POWER, "", "W", DOC_NUMBER, DOC_PEOPLE, UNIT_WATTS, NULL)                \
        RANK_COLUMN(SHOWN_CLOCK, "", "MHz", DOC_NUMBER, DOC_PEOPLE, UNIT_HERTZ, NULL)              \
        RANK_COLUMN(SHOWN_CPU, "", "CPU", DOC_NUMBER, DOC_PEOPLE, UNIT_NUMBER, NULL)               \
        RANK_COLUMN(SHOWN_LATE, "", "late", DOC_LENGTH, DOC_PEOPLE, 0, NULL)                       \
        RANK_COLUMN(SHOWN_ENDED, "", "ended", DOC_NUMBER, DOC_PEOPLE, 0, NULL)                     \
        RANK_COLUMN(SHOWN_CURVE, "", "GPU busy over time", DOC_CURVE, DOC_PEOPLE, 0, NULL)

enum {
#define RANK_COLUMN(id, ...) RANK_##id,
#define RANK_MEAN(id, ...) RANK_MEAN_##id,
#define RANK_OUTLIER(id, ...) RANK_OUTLIER_##id,
        RANK_COLUMNS(RANK_COLUMN)
#undef RANK_COLUMN
#undef RANK_MEAN
#undef RANK_OUTLIER
};

static const struct doc_column rank_columns[] = {
#define RANK_COLUMN(id, key, title, kind, flags, of, group) {key, title, kind, 0, flags, of, group},
#define RANK_MEAN(id, name, of, help)                                                              \
        {name, "", DOC_NUMBER, 0, DOC_MACHINE_ONLY, UNIT_##of, "means"},
#define RANK_OUTLIER(id, name, of, help)                                                           \
        {name, "", DOC_TEXT, 0, DOC_MACHINE_ONLY | DOC_OPTIONAL, 0, "outliers"},
    RANK_COLUMNS(RANK_COLUMN)
#undef RANK_COLUMN
#undef RANK_MEAN
#undef RANK_OUTLIER
};

static void fill_facts(const struct job *j, const struct job_rank *r, struct doc_cell *row)
{
        const struct job_gpu *g = &r->use;
        doc_cell_text(&row[RANK_LABEL], r->label);
        row[RANK_RANK].v = r->rank;
        row[RANK_LOCAL].v = r->local_rank;
        row[RANK_NODE_RANK].v = r->node_rank;
        doc_cell_text(&row[RANK_NODE], r->node);
        doc_cell_text(&row[RANK_GPU], r->gpu);
        doc_cell_text(&row[RANK_LAUNCHER], r->launcher);
        doc_cell_text(&row[RANK_FILE], r->file);
        doc_cell_text(&row[RANK_COMMAND], r->command);
        row[RANK_START].v = value_ok(clock_to_seconds(r->start_ns - j->start_ns));
        row[RANK_OFFSET].v = value_ok(r->offset_s + r->clock_s);
        row[RANK_SECONDS].v = r->seconds;
        row[RANK_STATUS].v = r->exit_status;
        row[RANK_SIGNAL].v = r->exit_signal;
        row[RANK_ENERGY].v = r->energy_j;
        row[RANK_MEMORY].v = r->peak_memory;
        row[RANK_SM_CLOCK].v = set_if(g->clocks > 0, g->clock / MAX(g->clocks, 1));
        row[RANK_OWN_CPU].v = r->own_cpu;
        row[RANK_STEP].v = r->step_s;
        row[RANK_LATE].v = r->late_s;
        for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++) {
                row[RANK_MEAN_ENGINE + f].v = r->mean[f];
                if (r->outlier[f] != JOB_USUAL)
                        doc_cell_text(&row[RANK_OUTLIER_ENGINE + f],
                                      r->outlier[f] == JOB_LOW ? "low" : "high");
        }
}

/* What stands out from the other ranks has < or > behind it. */
static void fill_marked(struct doc_cell *cell, const char *number, struct value v,
                        enum job_outlier o)
{
        static const char *const marks[] = {"", "<", ">"};
        char text[FORMAT_MAX + 2];
        snprintf(text, sizeof(text), "%s%s", number, marks[o]);
        doc_cell_text(cell, text);
        cell->v = v;
        cell->loud = o != JOB_USUAL;
}

static void fill_figure(struct doc_cell *cell, enum unit unit, struct value v, enum job_outlier o)
{
        char number[FORMAT_MAX];
        format_short(number, sizeof(number), unit, v);
        if (value_is_set(v))
                fill_marked(cell, number, v, o);
}

static void fill_ended(const struct job_rank *r, struct doc_cell *cell)
{
        char text[FORMAT_MAX] = "";
        if (value_is_set(r->exit_signal) && r->exit_signal.v > 0)
                snprintf(text, sizeof(text), "sig %.0f", r->exit_signal.v);
        else if (value_is_set(r->exit_status))
                snprintf(text, sizeof(text), "%.0f", r->exit_status.v);
        else
                snprintf(text, sizeof(text), "%s", r->stop_ns ? "" : "cut off");
        doc_cell_text(cell, text);
}

static void fill_curve(const struct job *j, const struct job_rank *r, struct document *d,
                       struct doc_cell *cell)
{
        int64_t wide = (j->end_ns - j->start_ns) / CURVE_POINTS;
        cell->curve = calloc(CURVE_POINTS, sizeof(*cell->curve));
        if (!cell->curve) {
                d->failed = true;
                return;
        }
        cell->n = CURVE_POINTS;
        for (size_t i = 0; i < CURVE_POINTS; i++) {
                int64_t from = j->start_ns + (int64_t)i * wide;
                bool before = from + wide < r->start_ns;
                cell->curve[i] = before ? NAN : (float)job_mean(r, JOB_ENGINE, from, from + wide);
        }
}

static void fill_shown(const struct job *j, size_t rank, struct document *d, struct doc_cell *row)
{
        const struct job_rank *r = &j->ranks[rank];
        struct value clock = row[RANK_SM_CLOCK].v;
        struct value cpu = value_is_set(r->own_cpu) ? r->own_cpu : r->mean[JOB_CPU];
        char number[FORMAT_MAX];
        row[RANK_LABEL].loud = job_is_straggler(j, rank);
        fill_figure(&row[RANK_SHOWN_BUSY], UNIT_RATIO, r->mean[JOB_ENGINE], r->outlier[JOB_ENGINE]);
        fill_figure(&row[RANK_SHOWN_SM], UNIT_RATIO, r->mean[JOB_SM], r->outlier[JOB_SM]);
        fill_figure(&row[RANK_SHOWN_POWER], UNIT_WATTS, r->mean[JOB_POWER], r->outlier[JOB_POWER]);
        fill_figure(&row[RANK_SHOWN_CLOCK], UNIT_HERTZ, clock, r->outlier[JOB_CLOCK]);
        snprintf(number, sizeof(number), "%.1f", cpu.v);
        if (value_is_set(cpu))
                fill_marked(&row[RANK_SHOWN_CPU], number, cpu, r->outlier[JOB_CPU]);
        /* Of -0 this makes +0. */
        snprintf(number, sizeof(number), "%+.0f ms", round(r->late_s.v * 1000) + 0.0);
        if (value_is_set(r->late_s))
                fill_marked(&row[RANK_SHOWN_LATE], number, r->late_s, JOB_USUAL);
        fill_ended(r, &row[RANK_SHOWN_ENDED]);
        fill_curve(j, r, d, &row[RANK_SHOWN_CURVE]);
}

static bool is_outlier_rank(const struct job *j, size_t rank)
{
        if (job_is_straggler(j, rank))
                return true;
        for (size_t f = 0; f < JOB_FIGURE_COUNT; f++) {
                if (j->ranks[rank].outlier[f] != JOB_USUAL)
                        return true;
        }
        return false;
}

static void add_ranks(const struct job *j, bool complete, struct document *d)
{
        struct doc_part *p =
            document_add(d, DOC_ROWS, "ranks", "ranks (< and >: apart from the others)",
                         rank_columns, ARRAY_LEN(rank_columns));
        p->rest = "within the spread of the others: --all shows them";
        p->curve_s = clock_to_seconds(j->end_ns - j->start_ns);
        for (size_t i = 0; i < j->n; i++) {
                bool shown = complete || j->n <= RANKS_EACH || is_outlier_rank(j, i);
                struct doc_cell *row = shown ? doc_add_row(d, p) : NULL;
                p->left_out += !shown;
                if (!row)
                        continue;
                fill_facts(j, &j->ranks[i], row);
                fill_shown(j, i, d, row);
        }
}

/* ---- spread ---- */

static const struct doc_column spread_columns[] = {
    {.key = "figure", .title = "figure"},
    {.key = "least", .title = "least", .kind = DOC_NUMBER},
    {.key = "middle", .title = "middle", .kind = DOC_NUMBER},
    {.key = "most", .title = "most", .kind = DOC_NUMBER},
    {.key = "between", .title = "from rank to rank"},
};

static void add_spread_row(const struct job *j, enum job_figure figure, const char *title,
                           enum unit unit, struct document *d)
{
        double sum = 0, n = 0;
        size_t low = 0, high = 0;
        char text[FORMAT_MAX], who[2 * sizeof(j->ranks[0].label) + 8];
        for (size_t i = 0; i < j->n; i++) {
                struct value v = j->ranks[i].mean[figure];
                if (!value_is_set(v))
                        continue;
                low = n == 0 || v.v < j->ranks[low].mean[figure].v ? i : low;
                high = n == 0 || v.v > j->ranks[high].mean[figure].v ? i : high;
                sum += v.v;
                n++;
        }
        struct doc_cell *row = n > 0 ? doc_add_row(d, &d->parts[d->n - 1]) : NULL;
        if (!row)
                return;
        const double shown[] = {j->ranks[low].mean[figure].v, sum / n,
                                j->ranks[high].mean[figure].v};
        doc_cell_text(&row[0], title);
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                format_value(text, sizeof(text), FORMAT_WORDS, unit, value_ok(shown[i]));
                doc_cell_text(&row[1 + i], text);
                row[1 + i].v = value_ok(shown[i]);
        }
        snprintf(who, sizeof(who), "%s to %s", j->ranks[low].label, j->ranks[high].label);
        doc_cell_text(&row[4], who);
}

static void add_spread(const struct job *j, struct document *d)
{
        if (j->n < 2)
                return;
        struct doc_part *p = document_add(d, DOC_ROWS, "spread", "spread", spread_columns,
                                          ARRAY_LEN(spread_columns));
        p->flags = DOC_PEOPLE;
        add_spread_row(j, JOB_ENGINE, "GPU busy", UNIT_RATIO, d);
        add_spread_row(j, JOB_SM, "SM active", UNIT_RATIO, d);
        add_spread_row(j, JOB_POWER, "power", UNIT_WATTS, d);
}

void job_document(const struct job *j, const char *version, bool complete, struct document *ret)
{
        struct strbuf title = {0};
        *ret = (struct document){.what = "the report of a job"};
        job_put_title(j, &title);
        document_set_title(ret, strbuf_str(&title));
        strbuf_finish(&title);
        add_head(j, version, ret);
        add_notes(j, ret);
        add_stragglers(j, ret);
        add_findings(j, complete, ret);
        add_ranks(j, complete, ret);
        add_spread(j, ret);
        document_note(ret, DOC_SCREEN,
                      "more: --all (every rank and finding), --format html; assay report FILE "
                      "is about one rank");
}
