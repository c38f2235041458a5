#include "cmd/command.h"

#include "base/clock.h"
#include "pipeline/session_source.h"
#include "read/dcgm_local.h"
#include "store/facts.h"
#include "store/notebook.h"
#include "store/session.h"
#include "version.h"

#include <stdarg.h>
#include <string.h>

#define COMMAND(name) extern const struct command command_##name;
#include "cmd/commands.def"
#undef COMMAND

static const struct command *const table[] = {
#define COMMAND(name) &command_##name,
#include "cmd/commands.def"
#undef COMMAND
    NULL,
};

const char *const program_version = ASSAY_VERSION;

const struct command *command_at(size_t i)
{
        return i < ARRAY_LEN(table) ? table[i] : NULL;
}

const struct command *command_find(const char *name)
{
        for (size_t i = 0; table[i]; i++) {
                if (strcmp(table[i]->name, name) == 0)
                        return table[i];
        }
        return NULL;
}

const char *get_env(const char *name)
{
        return getenv(name);
}

int complain(const struct err *err)
{
        fprintf(stderr, "assay: %s\n", err->msg);
        if (err->hint[0])
                fprintf(stderr, "       %s\n", err->hint);
        switch (err->code) {
        case ERR_USAGE:
                return EXIT_USAGE;
        case ERR_NO_SOURCE:
                return EXIT_NO_SOURCE;
        default:
                return EXIT_FAILED;
        }
}

void notice(const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        fputs("assay: ", stderr);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
}

static bool is_address(const char *location)
{
        return strncmp(location, "http://", 7) == 0 || strncmp(location, "https://", 8) == 0;
}

/* Without --backend: an address is an exporter, a file is a capture, nothing is this machine. */
static const struct source_ops *choose_source(const struct config *config, const char *location)
{
        const char *backend = config_text(config, OPT_BACKEND);
        if (location && strcmp(backend, "auto") == 0)
                backend = is_address(location) ? "prometheus" : "replay";
        /* A session is a capture like any other to the user, and a database to us. */
        if (location && strcmp(backend, "replay") == 0 &&
            (session_is_one(location) || notebook_is_one(location)))
                return &source_session;
        return source_find(backend);
}

#define DEFAULT_POLL_S 1.0

static int check_poll(const struct config *config, const struct source_ops *ops, int64_t *ret,
                      struct err *err)
{
        double poll = config_is_set(config, OPT_INTERVAL) ? config_number(config, OPT_INTERVAL)
                      : config_is_set(config, OPT_POLL)   ? config_number(config, OPT_POLL)
                                                          : DEFAULT_POLL_S;
        if (!(poll > 0) || poll > 86400) {
                err_set(err, ERR_USAGE, "--poll %g is not a time above 0 and up to a day", poll);
                return err_hint(err, "write --poll 0.1 for a tenth of a second, --poll 2 for two");
        }
        int64_t ns = clock_from_seconds(poll);
        if (ns >= ops->poll_floor_ns) {
                *ret = ns;
                return 0;
        }
        double floor_s = clock_to_seconds(ops->poll_floor_ns);
        if (ops->poll_floor_is_error) {
                err_set(err, ERR_USAGE,
                        "--poll %g is too short for %s: an exporter has nothing "
                        "new more often than once a second",
                        poll, ops->name);
                return err_hint(err, "use --poll %g or more", floor_s);
        }
        notice("--poll %g raised to %g: shorter windows of NVIDIA's counters hold no data", poll,
               floor_s);
        *ret = ops->poll_floor_ns;
        return 0;
}

static int choose_weights(const struct config *config, struct weights *ret, struct err *err)
{
        static const struct {
                const char *name;
                enum weights_preset preset;
        } presets[] = {{"ai", WEIGHTS_AI}, {"hpc", WEIGHTS_HPC}, {"mem", WEIGHTS_MEM}};
        const char *text = config_text(config, OPT_WEIGHTS);
        for (size_t i = 0; i < ARRAY_LEN(presets); i++) {
                if (strcmp(text, presets[i].name) == 0) {
                        *ret = weights_preset(presets[i].preset);
                        return 0;
                }
        }
        return weights_parse(text, ret, err);
}

/* Turns the options into a pipeline's configuration, for a source at that place. */
static int fill_config(const struct config *config, const char *location, bool margins,
                       double speed, struct pipeline_config *ret, struct err *err)
{
        struct pipeline_config pc = {
            .source = {.location = location,
                       .speed = speed,
                       .token_file = config_text(config, OPT_TOKEN_FILE),
                       .dcgmi = config_text(config, OPT_DCGMI),
                       .dcgm_host = config_text(config, OPT_DCGM_HOST),
                       .nvml_lib = config_text(config, OPT_NVML_LIB),
                       .rocm_lib = config_text(config, OPT_ROCM_LIB),
                       .root =
                           config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : ""},
            .compute = {.missing_is_zero = strcmp(config_text(config, OPT_MISSING), "zero") == 0,
                        .margins = margins},
        };
        int r = choose_weights(config, &pc.compute.weights, err);
        pc.ops = choose_source(config, location);
        if (r == 0)
                r = check_poll(config, pc.ops, &pc.source.poll_ns, err);
        if (r == 0)
                r = select_choose(config_text(config, OPT_GPUS), config_flag(config, OPT_SHOW_ALL),
                                  pc.ops->local && dcgm_host_is_here(pc.source.dcgm_host), get_env,
                                  &pc.selection, err);
        if (r == 0)
                *ret = pc;
        return r;
}

int prepare_pipeline(const struct config *config, bool margins, struct pipeline_config *ret,
                     struct err *err)
{
        return fill_config(config, config_text(config, OPT_SOURCE), margins,
                           config_number(config, OPT_SPEED), ret, err);
}

int open_pipeline_at(const struct config *config, const char *location, bool margins, double speed,
                     struct pipeline **ret, struct err *err)
{
        char inside[4096];
        struct pipeline_config pc;
        /* The folder of a hardware monitor stands for its file with the GPUs. */
        if (location && hwmon_is_one(location, inside, sizeof(inside)))
                location = inside;
        int r = fill_config(config, location, margins, speed, &pc, err);
        return r < 0 ? r : pipeline_open(&pc, ret, err);
}

int open_pipeline(const struct config *config, bool margins, struct pipeline **ret, struct err *err)
{
        return open_pipeline_at(config, config_text(config, OPT_SOURCE), margins,
                                config_number(config, OPT_SPEED), ret, err);
}

static const char *plural(uint64_t n)
{
        return n == 1 ? "" : "s";
}

void report_trouble(const struct pipeline *p)
{
        struct source_trouble t;
        char token[ENTITY_TEXT_MAX];
        pipeline_trouble(p, &t);
        if (t.skipped > 0)
                notice(
                    "%llu line%s could not be understood, the first at line %llu; %llu rows read",
                    (unsigned long long)t.skipped, plural(t.skipped),
                    (unsigned long long)t.first_line, (unsigned long long)t.rows);
        if (t.cut > 0)
                notice("the last row was cut off: what it lost is missing");
        if (t.too_long > 0)
                notice("%llu line%s longer than any source writes, skipped",
                       (unsigned long long)t.too_long, plural(t.too_long));
        if (t.notice[0])
                notice("%s", t.notice);
        if (pipeline_unmatched(p, token, sizeof(token)))
                notice("there is no GPU '%s', ignoring", token);
}

int seek_start(const struct config *config, struct pipeline *p, const struct frame **ret,
               struct err *err)
{
        int64_t skip = clock_from_seconds(config_number(config, OPT_AT)), first = 0;
        bool started = false;
        int r;
        while ((r = pipeline_next(p, ret, err)) > 0) {
                if (!started)
                        first = (*ret)->wall_ns;
                started = true;
                if ((*ret)->wall_ns - first >= skip)
                        return 1;
        }
        if (r == 0 && started) {
                err_set(err, ERR_USAGE, "--at %g is beyond the end of the capture",
                        config_number(config, OPT_AT));
                return err_hint(err, "it is %.1f s long",
                                clock_to_seconds((*ret)->wall_ns - first));
        }
        return r;
}
