/* assay mark: phases, events and numbers of the user's own, from inside a run. */
#include "base/clock.h"
#include "base/num.h"
#include "cmd/command.h"
#include "cmd/run_child.h"
#include "session/runlog.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>

static int write_mark(const struct config *config, const struct mark *m, struct err *err)
{
        const char *session = config_text(config, OPT_SESSION), *log = config_text(config, OPT_LOG);
        if (!session && !log) {
                err_set(err, ERR_USAGE, "no session to mark");
                return err_hint(err, "run under 'assay run', or give --session FILE or --log FILE");
        }
        int r = session ? session_put_mark(session, m, err) : 0;
        if (r == 0 && log)
                r = runlog_append(log, m, err);
        return r;
}

static int set_name(struct mark *m, const char *name, size_t len, struct err *err)
{
        if (len == 0 || len >= sizeof(m->name)) {
                err_set(err, ERR_USAGE, "a name has 1 to %d bytes", MARK_NAME_MAX - 1);
                return err_hint(err, "'%.40s' has %zu", name, len);
        }
        memcpy(m->name, name, len);
        m->name[len] = '\0';
        return 0;
}

static const enum option for_phases[] = {OPT_BEGIN, OPT_END, OPT_SECONDS};
static const enum option for_events[] = {OPT_DATA};

/* An event and a number are of one moment. */
static int refuse_stretch(const struct config *config, struct err *err)
{
        return config_refuse(config, for_phases, ARRAY_LEN(for_phases), "is for a phase",
                             "leave it out, or write 'assay mark phase NAME' with it", err);
}

/* Which of --begin, --end and --seconds: exactly one of them. */
static int phase_type(const struct config *config, enum mark_type *ret, struct err *err)
{
        bool begin = config_flag(config, OPT_BEGIN), end = config_flag(config, OPT_END);
        bool whole = config_is_set(config, OPT_SECONDS);
        if (begin + end + whole != 1) {
                err_set(err, ERR_USAGE, "a phase needs one of --begin, --end and --seconds");
                return err_hint(err, "--begin when it starts and --end when it ends, or "
                                     "--seconds S afterwards, or -- COMMAND");
        }
        *ret = begin ? MARK_BEGIN : end ? MARK_END : MARK_PHASE;
        return 0;
}

static int mark_phase(const struct config *config, struct err *err)
{
        struct mark m;
        enum mark_type type = MARK_PHASE;
        int r =
            config_refuse(config, for_events, ARRAY_LEN(for_events), "is for an event",
                          "give a phase's details as words: assay mark phase NAME KEY=VALUE", err);
        if (r == 0)
                r = phase_type(config, &type, err);
        if (r < 0)
                return r;
        mark_init(&m, type);
        m.has_seconds = type == MARK_PHASE;
        m.seconds = m.has_seconds ? config_number(config, OPT_SECONDS) : 0;
        if (m.seconds > MARK_SECONDS_MAX) {
                err_set(err, ERR_USAGE, "--seconds: a phase takes 0 to 1e9 seconds");
                return err_hint(err, "give the seconds it took");
        }
        r = set_name(&m, config->args[2], strlen(config->args[2]), err);
        if (r == 0)
                r = runlog_keys(config->args + 3, config->n_args - 3, &m.data, err);
        if (r == 0)
                r = write_mark(config, &m, err);
        mark_finish(&m);
        return r;
}

static int mark_event(const struct config *config, struct err *err)
{
        struct mark m;
        const char *data = config_text(config, OPT_DATA);
        mark_init(&m, MARK_EVENT);
        int r = refuse_stretch(config, err);
        if (r == 0)
                r = set_name(&m, config->args[2], strlen(config->args[2]), err);
        if (r == 0 && config->n_args > 3) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[3]);
                r = err_hint(err, "give details with --data JSON");
        }
        if (r == 0 && data)
                r = runlog_data(data, &m.data, err);
        if (r == 0)
                r = write_mark(config, &m, err);
        mark_finish(&m);
        return r;
}

static int mark_metric(const struct config *config, const char *word, struct err *err)
{
        struct mark m;
        const char *equals = strrchr(word, '=');
        mark_init(&m, MARK_METRIC);
        if (!equals || !num_parse_all(equals + 1, strlen(equals + 1), &m.value)) {
                err_set(err, ERR_USAGE, "'%s' is not NAME=VALUE", word);
                return err_hint(err, "write for example loss=0.25");
        }
        int r = set_name(&m, word, (size_t)(equals - word), err);
        return r == 0 ? write_mark(config, &m, err) : r;
}

/* The command is the phase: it begins, ends, and takes as long as it takes. */
static int refuse_beside_command(const struct config *config, struct err *err)
{
        bool phase = config->n_args > 2 && strcmp(config->args[1], "phase") == 0;
        int r = config_refuse(config, for_phases, ARRAY_LEN(for_phases), "is not for a command",
                              "leave it out: the phase lasts as long as the command", err);
        if (r == 0)
                r = config_refuse(config, for_events, ARRAY_LEN(for_events), "is for an event",
                                  "write 'assay mark phase NAME KEY=VALUE -- COMMAND'", err);
        if (r < 0 || phase || config->n_args < 2)
                return r;
        err_set(err, ERR_USAGE, "unexpected argument '%s' before a command", config->args[1]);
        return err_hint(err, "write 'assay mark -- COMMAND' or 'assay mark phase NAME -- COMMAND'");
}

/* Runs a command as a phase: named by the user, or after the program. */
static int mark_command(const struct config *config, struct err *err)
{
        struct child child;
        struct mark m = {0};
        const char *slash = strrchr(config->rest[0], '/');
        const char *name = slash ? slash + 1 : config->rest[0];
        bool named = config->n_args > 1;
        if (refuse_beside_command(config, err) < 0)
                return complain(err);
        if (named)
                name = config->args[2];
        child_init(&child, true);
        int64_t started = clock_mono_ns();
        int r = child_start(&child, config->rest, err);
        if (r < 0) {
                complain(err);
                return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        }
        child_wait(&child);
        mark_init(&m, MARK_PHASE);
        m.has_seconds = true;
        m.seconds = clock_to_seconds(child.ended_ns - started);
        r = set_name(&m, name, MIN(strlen(name), (size_t)MARK_NAME_MAX - 1), err);
        if (r == 0 && named)
                r = runlog_keys(config->args + 3, config->n_args - 3, &m.data, err);
        if (r == 0)
                r = write_mark(config, &m, err);
        if (r < 0)
                complain(err);
        mark_finish(&m);
        return child_exit(&child);
}

/* A step of the program ends. */
static int mark_step(const struct config *config, struct err *err)
{
        static const enum option others[] = {OPT_BEGIN, OPT_END, OPT_DATA};
        const char *name = config->n_args > 2 ? config->args[2] : "step";
        struct mark m;
        int r = config_refuse(config, others, ARRAY_LEN(others), "is not for a step",
                              "leave it out: a step is marked when it ends", err);
        if (r == 0 && config->n_args > 3) {
                err_set(err, ERR_USAGE, "unexpected argument '%s'", config->args[3]);
                r = err_hint(err, "write 'assay mark step' or 'assay mark step NAME'");
        }
        mark_init(&m, MARK_STEP);
        m.has_seconds = config_is_set(config, OPT_SECONDS);
        m.seconds = m.has_seconds ? config_number(config, OPT_SECONDS) : 0;
        if (r == 0 && m.seconds > MARK_SECONDS_MAX) {
                err_set(err, ERR_USAGE, "--seconds: a step takes 0 to 1e9 seconds");
                r = err_hint(err, "give the seconds it took");
        }
        if (r == 0)
                r = set_name(&m, name, strlen(name), err);
        return r == 0 ? write_mark(config, &m, err) : r;
}

static int refuse_usage(struct err *err)
{
        err_set(err, ERR_USAGE, "nothing to mark");
        return err_hint(err, "write 'assay mark phase NAME --begin', 'assay mark step', "
                             "'assay mark event NAME', 'assay mark metric NAME=VALUE' or "
                             "'assay mark -- COMMAND'");
}

static int mark_words(const struct config *config, struct err *err)
{
        const char *what = config->n_args > 2 ? config->args[1] : "";
        int r = 0;
        if (config->n_args > 1 && strcmp(config->args[1], "step") == 0)
                return mark_step(config, err);
        if (strcmp(what, "phase") == 0)
                return mark_phase(config, err);
        if (strcmp(what, "event") == 0)
                return mark_event(config, err);
        if (strcmp(what, "metric") != 0)
                return refuse_usage(err);
        r = refuse_stretch(config, err);
        if (r == 0)
                r = config_refuse(config, for_events, ARRAY_LEN(for_events), "is for an event",
                                  "leave it out: a metric is a number", err);
        for (size_t i = 2; r == 0 && i < config->n_args; i++)
                r = mark_metric(config, config->args[i], err);
        return r;
}

static int mark_run(const struct config *config)
{
        struct err err = {0};
        if (config->n_rest > 0)
                return mark_command(config, &err);
        return mark_words(config, &err) < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_mark = {
    .name = "mark",
    .args = "phase|step|event NAME | metric N=V | -- COMMAND",
    .summary = "mark a phase, a step, an event or a number in the recording",
    .words = WORDS_OWN,
    .examples = {{"assay mark phase train --begin", "from a script under assay run"},
                 {"assay mark step", "at the end of each step of a loop"},
                 {"assay mark metric loss=0.25", "a number of your own"}},
    .run = mark_run,
};
