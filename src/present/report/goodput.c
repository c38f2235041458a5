#include "present/report/goodput.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/document/document.h"
#include "present/format.h"

#include <stdio.h>
#include <string.h>

#define GOODPUT_SCHEMA_VERSION 1

static const struct doc_column facts[] = {
    {.key = "goodput_schema_version", .kind = DOC_COUNT},
    {.key = "version"},
    {.key = "start", .kind = DOC_TIME},
    {.key = "seconds", .kind = DOC_LENGTH},
    {.key = "goodput", .kind = DOC_RATIO},
    {.key = "basis"},
    {.key = "steps", .kind = DOC_COUNT},
    {.key = "lost_steps", .kind = DOC_COUNT},
    {.key = "repeated_steps", .kind = DOC_COUNT},
};

enum part_column { PART_NAME, PART_WORDS, PART_SECONDS, PART_SHARE, PART_HELP, PART_COLUMNS };
static const struct doc_column part_columns[PART_COLUMNS] = {
    {.key = "part", .flags = DOC_MACHINE_ONLY},
    {.key = "words", .title = "WHERE THE TIME WENT", .flags = DOC_PEOPLE},
    {.key = "seconds", .title = "TIME", .kind = DOC_LENGTH},
    {.key = "share", .title = "%", .kind = DOC_RATIO},
    {.key = "help", .title = "", .flags = DOC_PEOPLE},
};

enum run_part {
        RUNS_FILE,
        RUNS_NAME,
        RUNS_START,
        RUNS_SECONDS,
        RUNS_GOODPUT,
        RUNS_STEPS,
        RUNS_LOST,
        RUNS_REPEATED,
        RUNS_ENDED,
        RUNS_PARTS /* a column of seconds each from here on */
};
#define RUNS_COLUMNS (RUNS_PARTS + GOODPUT_COUNT)
static const struct doc_column run_columns[RUNS_COLUMNS] = {
    {.key = "file", .flags = DOC_MACHINE_ONLY},
    {.key = "name", .title = "RUN", .flags = DOC_PEOPLE},
    {.key = "start", .title = "WHEN", .kind = DOC_TIME},
    {.key = "seconds", .title = "LENGTH", .kind = DOC_LENGTH},
    {.key = "goodput", .title = "GOODPUT", .kind = DOC_RATIO},
    {.key = "steps", .title = "STEPS", .kind = DOC_COUNT},
    {.key = "lost_steps", .title = "LOST", .kind = DOC_COUNT},
    {.key = "repeated_steps", .title = "REPEATED", .kind = DOC_COUNT},
    {.key = "ended", .title = "ENDED", .flags = DOC_MINOR},
#define GOODPUT(id, name, words, help)                                                             \
        {.key = name "_seconds", .title = words, .kind = DOC_LENGTH, .flags = DOC_MACHINE_ONLY},
#include "model/goodput.def"
#undef GOODPUT
};

static double length_of(const struct ledger *l)
{
        return clock_to_seconds(l->end_ns - l->begin_ns);
}

/* A run that failed without a checkpoint that was marked has lost nobody knows how much. */
static bool lost_is_known(const struct ledger *l)
{
        return l->has_steps && (l->has_checkpoints || !l->is_failed);
}

static struct value value_if(bool is_known, double v)
{
        return is_known ? value_ok(v) : value_missing(STATE_NONE);
}

static struct value goodput_of(const struct ledger *l)
{
        double length = length_of(l);
        return value_if(length > 0, length > 0 ? l->seconds[GOODPUT_PRODUCTIVE] / length : 0);
}

/* Whether it is known how long the part was. */
static bool part_is_known(const struct ledger *l, enum goodput part)
{
        return part == GOODPUT_WAITING ? l->has_waiting : part != GOODPUT_LOST || lost_is_known(l);
}

static void add_ledger(const struct ledger *l, struct document *d)
{
        struct doc_part *p =
            document_add(d, DOC_ROWS, "ledger", "", part_columns, ARRAY_LEN(part_columns));
        double length = length_of(l);
        for (enum goodput g = 0; g < GOODPUT_COUNT; g++) {
                const struct goodput_info *info = goodput_info(g);
                struct doc_cell *row = doc_add_row(d, p);
                if (!row)
                        continue;
                doc_cell_text(&row[PART_NAME], info->name);
                doc_cell_text(&row[PART_WORDS], info->words);
                doc_cell_text(&row[PART_HELP], info->help);
                row[PART_SECONDS].v = value_if(part_is_known(l, g), l->seconds[g]);
                row[PART_SHARE].v = value_if(part_is_known(l, g) && length > 0,
                                             length > 0 ? l->seconds[g] / length : 0);
        }
}

static void add_run(const struct ledger *l, struct document *d, struct doc_part *p)
{
        struct doc_cell *row = doc_add_row(d, p);
        if (!row)
                return;
        const char *slash = strrchr(l->file, '/');
        doc_cell_text(&row[RUNS_FILE], l->file);
        doc_cell_text(&row[RUNS_NAME], slash ? slash + 1 : l->file);
        row[RUNS_START].v = value_if(format_is_date(l->begin_ns), clock_to_seconds(l->begin_ns));
        row[RUNS_SECONDS].v = value_ok(length_of(l));
        row[RUNS_GOODPUT].v = goodput_of(l);
        row[RUNS_STEPS].v = value_if(l->has_steps, (double)l->n_steps);
        row[RUNS_LOST].v = value_if(lost_is_known(l), (double)l->n_lost);
        row[RUNS_REPEATED].v = value_if(l->has_steps, (double)l->n_repeated);
        doc_cell_text(&row[RUNS_ENDED], l->ended);
        for (enum goodput g = 0; g < GOODPUT_COUNT; g++)
                row[RUNS_PARTS + g].v = value_if(part_is_known(l, g), l->seconds[g]);
}

static void add_notes(const struct goodput_list *l, struct document *d)
{
        char text[160];
        if (!l->all.has_steps)
                document_note(d, DOC_PEOPLE,
                              "no steps were marked (assay.step_end(), assay mark step): the "
                              "limiters of the GPUs say what was productive");
        else if (!l->all.has_waiting)
                document_note(d, DOC_PEOPLE,
                              "waiting for data is not known: use assay.steps(loader), or a hook");
        if (l->all.is_failed && l->all.has_steps && !l->all.has_checkpoints)
                document_note(d, DOC_PEOPLE,
                              "lost steps are not known: no checkpoint was marked, as with "
                              "assay.phase(\"checkpoint\")");
        if (l->n_ranks == 0)
                return;
        snprintf(text, sizeof(text), "%zu recording%s of the same time: one of each is counted",
                 l->n_ranks, l->n_ranks == 1 ? "" : "s");
        document_note(d, DOC_PEOPLE, text);
}

static void set_title(const struct goodput_list *l, struct document *d)
{
        char title[DOC_TITLE_MAX], share[FORMAT_MAX], length[FORMAT_MAX];
        struct value goodput = goodput_of(&l->all);
        snprintf(title, sizeof(title), "goodput %s of %s, %zu run%s",
                 value_is_set(goodput) ? format_share(share, goodput.v) : "--",
                 format_length(length, sizeof(length), length_of(&l->all)), l->n,
                 l->n == 1 ? "" : "s");
        document_set_title(d, title);
}

void goodput_document(const struct goodput_list *l, const char *version, struct document *ret)
{
        const struct ledger *all = &l->all;
        *ret = (struct document){.what = "a ledger"};
        struct doc_part *head = document_add(ret, DOC_FACTS, "facts", "", facts, ARRAY_LEN(facts));
        struct doc_cell *fact = doc_add_row(ret, head);
        if (fact) {
                fact[0].v = value_ok(GOODPUT_SCHEMA_VERSION);
                doc_cell_text(&fact[1], version);
                fact[2].v =
                    value_if(format_is_date(all->begin_ns), clock_to_seconds(all->begin_ns));
                fact[3].v = value_ok(length_of(all));
                fact[4].v = goodput_of(all);
                doc_cell_text(&fact[5], all->has_steps ? "steps" : "limiters");
                fact[6].v = value_if(all->has_steps, (double)all->n_steps);
                fact[7].v = value_if(lost_is_known(all), (double)all->n_lost);
                fact[8].v = value_if(all->has_steps, (double)all->n_repeated);
        }
        add_ledger(all, ret);
        struct doc_part *runs = document_add(ret, DOC_ROWS, "runs", l->n > 1 ? "Runs" : "",
                                             run_columns, ARRAY_LEN(run_columns));
        for (size_t i = 0; i < l->n; i++)
                add_run(&l->list[i], ret, runs);
        add_notes(l, ret);
        set_title(l, ret);
}
