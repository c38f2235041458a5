#include "app/setup.h"

#include "app/input.h"
#include "base/clock.h"
#include "base/trust.h"
#include "engine/folder.h"
#include "engine/job_source.h"
#include "engine/session_source.h"
#include "formats/hwmon/hwmon.h"
#include "formats/notebook/notebook.h"
#include "net/address.h"
#include "read/dcgm/local.h"
#include "read/nodes/source.h"
#include "read/nvml/kernel.h"
#include "read/prometheus/many.h"
#include "session/facts.h"
#include "session/session.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const program_version = ASSAY_VERSION;

const char *get_env(const char *name)
{
        return trust_env(name);
}

const char *setup_program(const struct config *config, enum option option)
{
        return trust_is_set_id() ? NULL : config_text(config, option);
}

/* What a file or an address is read by. A session is a capture like any other to the user, and a
 * database to us. */
static const struct source_ops *reader_of(const char *location)
{
        if (input_is_list(location))
                return &source_many;
        if (input_is_address(location))
                return source_find("prometheus");
        if (session_is_one(location) || notebook_is_one(location))
                return &source_session;
        return folder_is_one(location) ? &source_job : source_find("replay");
}

bool setup_reads_nodes(const struct config *config)
{
        return config_is_set(config, OPT_HOSTS) || config_is_set(config, OPT_SLURM);
}

/* Other hosts are a source of their own, whatever the config file says of another. */
static int choose_nodes(const struct config *config, const char *location, struct err *err)
{
        if (config_is_set(config, OPT_HOSTS) && config_is_set(config, OPT_SLURM)) {
                err_set(err, ERR_USAGE, "both --hosts and --slurm are given");
                return err_hint(err, "--slurm finds the job's nodes itself");
        }
        if (location && config->settings[OPT_SOURCE].origin == ORIGIN_FLAG) {
                err_set(err, ERR_USAGE, "two sources: '%s' and the hosts of --%s", location,
                        config_is_set(config, OPT_HOSTS) ? "hosts" : "slurm");
                return err_hint(err, "leave out one of them");
        }
        return 0;
}

/* Both on the command line: one of them is not meant. */
static int refuse_both(const struct source_ops *ops, const char *location, struct err *err)
{
        err_set(err, ERR_USAGE, "--backend %s reads this machine, and not '%s'", ops->name,
                location);
        return err_hint(err, "leave out --backend, or the source");
}

/* What a server does now says nothing of a recording, nor of other hosts' GPUs. */
static int refuse_engines(const struct config *config, const struct source_ops *ops,
                          struct err *err)
{
        bool nodes = ops == &source_nodes;
        bool given = config->settings[OPT_ENGINE].origin == ORIGIN_FLAG;
        if (!ops || (!nodes && !ops->finite) || !given || !setup_names_engines(config))
                return 0;
        err_set(err, ERR_USAGE, "--engine reads a server as it is now, beside GPUs of %s",
                nodes ? "other hosts" : "a recording");
        return err_hint(err, nodes ? "leave it out, or read the GPUs of this host"
                                   : "leave it out: a recording shows the servers that it was made "
                                     "with");
}

/*
 * Without --backend: an address is an exporter, a file is a capture, nothing is this machine. A
 * source that reads this machine takes neither file nor address: of a location and such a backend
 * the one counts that was said closer to the command line, and of two as close the location.
 */
static int choose_source(const struct config *config, const char **location,
                         const struct source_ops **ret, struct err *err)
{
        const struct source_ops *ops = source_find(config_text(config, OPT_BACKEND));
        bool option = *location && *location == config_text(config, OPT_SOURCE);
        enum origin backend = config->settings[OPT_BACKEND].origin;
        enum origin source = option ? config->settings[OPT_SOURCE].origin : ORIGIN_FLAG;
        *ret = ops;
        if (setup_reads_nodes(config)) {
                int r = choose_nodes(config, *location, err);
                *location = NULL;
                *ret = &source_nodes;
                return r;
        }
        if (!*location || !ops)
                return 0;
        if (!ops->local) {
                if (strcmp(ops->name, "prometheus") == 0 && input_is_list(*location))
                        *ret = &source_many;
                if (strcmp(ops->name, "replay") == 0 && !input_is_address(*location))
                        *ret = reader_of(*location);
                return 0;
        }
        bool automatic = strcmp(ops->name, "auto") == 0;
        if (!automatic && option && backend == ORIGIN_FLAG && source == ORIGIN_FLAG)
                return refuse_both(ops, *location, err);
        if (!automatic && backend > source)
                *location = NULL;
        else
                *ret = reader_of(*location);
        return 0;
}

static int check_poll(const struct config *config, const struct source_ops *ops, int64_t *ret,
                      char notice[SETUP_NOTICE_MAX], struct err *err)
{
        double poll = config_number(config, OPT_POLL);
        const char *name = config_name(config, OPT_POLL);
        int64_t ns = clock_from_seconds(poll);
        if (ns >= ops->poll_floor_ns) {
                *ret = ns;
                return 0;
        }
        double floor_s = clock_to_seconds(ops->poll_floor_ns);
        if (ops->poll_floor_is_error) {
                err_set(err, ERR_USAGE,
                        "--%s %g is too short for %s: an exporter has nothing "
                        "new more often than once a second",
                        name, poll, ops->name);
                return err_hint(err, "use --%s %g or more", name, floor_s);
        }
        snprintf(notice, SETUP_NOTICE_MAX,
                 "--%s %g raised to %g: shorter windows of NVIDIA's counters hold no data", name,
                 poll, floor_s);
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

/* An exporter on this machine, or a capture that is played: it may be of this machine, and the
 * variables choose its GPUs. A recorded session and the input of a report are shown whole. */
static bool may_be_local(const struct config *config, const struct source_ops *ops,
                         const char *location)
{
        struct address a;
        if (strcmp(ops->name, "replay") == 0)
                return location && location == config_text(config, OPT_SOURCE);
        if (ops != source_find("prometheus"))
                return false;
        return !location || (address_parse(location, &a, NULL) == 0 && (a.loopback || !a.is_url));
}

static int choose_gpus(const struct config *config, struct pipeline_config *pc, struct err *err)
{
        const char *gpus = config_text(config, OPT_GPUS);
        bool all = config_flag(config, OPT_SHOW_ALL);
        char host[ENTITY_TEXT_MAX] = "";
        /* Of an exporter the address says it; labels may have a pod's name. */
        if (pc->ops->finite && gethostname(host, sizeof(host) - 1) < 0)
                host[0] = '\0';
        if (may_be_local(config, pc->ops, pc->source.location))
                return select_choose_noting(gpus, all, host, get_env, &pc->selection, err);
        bool is_local = pc->ops->local && dcgm_host_is_local(pc->source.dcgm_host);
        return select_choose(gpus, all, is_local, get_env, &pc->selection, err);
}

void setup_state_folder(const struct config *config, char ret[SETUP_PATH_MAX])
{
        const char *given = config_text(config, OPT_STATE), *value;
        ret[0] = '\0';
        if (given && strcmp(given, "none") == 0)
                return;
        if (given)
                snprintf(ret, SETUP_PATH_MAX, "%s", given);
        else if ((value = get_env("STATE_DIRECTORY")) && value[0])
                snprintf(ret, SETUP_PATH_MAX, "%.*s", (int)strcspn(value, ":"), value);
        else if ((value = get_env("XDG_STATE_HOME")) && value[0] == '/')
                snprintf(ret, SETUP_PATH_MAX, "%s/assay", value);
        else if ((value = get_env("HOME")) && value[0] == '/')
                snprintf(ret, SETUP_PATH_MAX, "%s/.local/state/assay", value);
}

/* Programs that use the library keep their own folders. */
static void choose_state_folder(const struct config *config, char ret[PIPELINE_FOLDER_MAX])
{
        char folder[SETUP_PATH_MAX] = "";
        if (config->command)
                setup_state_folder(config, folder);
        if (snprintf(ret, PIPELINE_FOLDER_MAX, "%s", folder) >= PIPELINE_FOLDER_MAX)
                ret[0] = '\0';
}

/* What reading other hosts needs to know. */
static void describe_nodes(const struct config *config, struct source_config *s)
{
        const char *backend = config_text(config, OPT_BACKEND);
        s->hosts = config_text(config, OPT_HOSTS);
        s->job = config_text(config, OPT_SLURM);
        s->ssh = setup_program(config, OPT_SSH);
        s->remote = config_text(config, OPT_REMOTE_ASSAY);
        s->backend = strcmp(backend, "auto") == 0 ? NULL : backend;
        s->version = program_version;
        s->show_all = config_flag(config, OPT_SHOW_ALL);
}

int setup_nodes(const struct config *config, struct source_config *ret, struct err *err)
{
        *ret = (struct source_config){0};
        describe_nodes(config, ret);
        return choose_nodes(config, NULL, err);
}

int setup_pipeline(const struct config *config, const char *location, bool margins, double speed,
                   struct pipeline_config *ret, char notice[SETUP_NOTICE_MAX], struct err *err)
{
        notice[0] = '\0';
        struct pipeline_config pc = {
            .source = {.location = location,
                       .speed = speed,
                       .token_file = config_text(config, OPT_TOKEN_FILE),
                       .dcgmi = setup_program(config, OPT_DCGMI),
                       .dcgm_host = config_text(config, OPT_DCGM_HOST),
                       .nvml_lib = setup_program(config, OPT_NVML_LIB),
                       .rocm_lib = setup_program(config, OPT_ROCM_LIB),
                       .no_profiling = config_flag(config, OPT_NO_PROFILING),
                       .ze_composite = select_by_intel_cards(get_env),
                       .root =
                           config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : ""},
            .compute = {.has_flops = config_is_set(config, OPT_FLOPS),
                        .flops = config_is_set(config, OPT_FLOPS)
                                     ? flops_find(config_text(config, OPT_FLOPS))
                                     : FLOPS_COUNT,
                        .missing_is_zero = strcmp(config_text(config, OPT_MISSING), "zero") == 0,
                        .margins = margins},
        };
        int r = choose_weights(config, &pc.compute.weights, err);
        choose_state_folder(config, pc.state_folder);
        /* Waits for all, so that the frame is one moment of all and not of the fastest. */
        pc.source.settle = config->command && strcmp(config->command, "once") == 0;
        if (setup_reads_nodes(config))
                describe_nodes(config, &pc.source);
        if (r == 0)
                r = choose_source(config, &pc.source.location, &pc.ops, err);
        if (r == 0)
                r = refuse_engines(config, pc.ops, err);
        if (r == 0)
                r = check_poll(config, pc.ops, &pc.source.poll_ns, notice, err);
        if (r == 0)
                r = choose_gpus(config, &pc, err);
        if (r == 0)
                *ret = pc;
        return r;
}

/* The folder of a hardware monitor stands for its file with the GPUs. */
static const char *file_of(const char *location, char *buf, size_t size)
{
        return location && hwmon_is_one(location, buf, size) ? buf : location;
}

static int open_pipeline(const struct config *config, const char *location, bool margins, bool wait,
                         double speed, struct pipeline **ret, char notice[SETUP_NOTICE_MAX],
                         struct err *err)
{
        char inside[SETUP_PATH_MAX];
        struct pipeline_config pc;
        location = file_of(location, inside, sizeof(inside));
        int r = setup_pipeline(config, location, margins, speed, &pc, notice, err);
        if (r == 0) {
                pc.source.wait = wait;
                r = pipeline_open(&pc, ret, err);
        }
        if (r < 0)
                notice[0] = '\0'; /* it was about a source that is absent */
        return r;
}

int setup_open(const struct config *config, const char *location, bool margins, double speed,
               struct pipeline **ret, char notice[SETUP_NOTICE_MAX], struct err *err)
{
        return open_pipeline(config, location, margins, false, speed, ret, notice, err);
}

int setup_open_waiting(const struct config *config, const char *location, double speed,
                       struct pipeline **ret, char notice[SETUP_NOTICE_MAX], struct err *err)
{
        return open_pipeline(config, location, false, true, speed, ret, notice, err);
}

int setup_soon(const struct config *config, const char *location, double speed, int64_t patience_ns,
               bool keep_trying, char inside[SETUP_PATH_MAX], struct pipeline_config *ret,
               char notice[SETUP_NOTICE_MAX], struct err *err)
{
        location = file_of(location, inside, SETUP_PATH_MAX);
        int r = setup_pipeline(config, location, true, speed, ret, notice, err);
        if (r != 0)
                return r;
        /* A capture is present or is not. */
        if (patience_ns > 0 || !ret->ops->finite)
                ret->open_patience_ns = MAX(patience_ns, (int64_t)1);
        ret->keep_trying = keep_trying && !ret->ops->finite;
        return 0;
}

int setup_open_soon(const struct config *config, const char *location, double speed,
                    int64_t patience_ns, bool keep_trying, struct pipeline **ret,
                    char notice[SETUP_NOTICE_MAX], struct err *err)
{
        char inside[SETUP_PATH_MAX];
        struct pipeline_config pc;
        int r =
            setup_soon(config, location, speed, patience_ns, keep_trying, inside, &pc, notice, err);
        return r == 0 ? pipeline_open(&pc, ret, err) : r;
}

static int read_levels(const struct config *config, unsigned *ret, struct err *err)
{
        const char *text = config_text(config, OPT_LEVELS);
        if (levels_parse(text, ret))
                return 0;
        err_set(err, ERR_USAGE, "--levels: '%s' is not a list of levels", text);
        return err_hint(err, "choose among process,user,slurm,cgroup,system, or all");
}

bool setup_names_engines(const struct config *config)
{
        const char *text = config_text(config, OPT_ENGINE);
        return config_is_set(config, OPT_ENGINE) && strcmp(text, "auto") != 0 &&
               strcmp(text, "none") != 0;
}

/* r: what is wrong with the address is in err, said of --source. */
static int refuse_engine(const char *word, int r, struct err *err)
{
        const char *why = r < 0 ? strstr(err->msg, ": ") : NULL;
        char text[sizeof(err->msg)];
        snprintf(text, sizeof(text), "%s", why ? why : "");
        if (why)
                err_set(err, ERR_USAGE, "--engine%s", text);
        else
                err_set(err, ERR_USAGE, "--engine: '%s' is no address", word);
        return err_hint(err, "http://localhost:8000, or auto for those that run here");
}

/* The addresses are examined before a thread asks them. */
static int choose_engines(const struct config *config, const char **ret, struct err *err)
{
        const char *text = config_text(config, OPT_ENGINE);
        *ret = text && strcmp(text, "none") != 0 ? text : "";
        for (const char *at = *ret; *at;) {
                char word[ADDRESS_MAX];
                struct address a;
                size_t len = strcspn(at, ",");
                snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), at);
                at += len + (at[len] == ',');
                if (strcmp(word, "auto") == 0)
                        continue;
                int r = address_parse(word, &a, err);
                if (r < 0 || !a.is_url)
                        return refuse_engine(word, r, err);
        }
        return 0;
}

int setup_engines(const struct config *config, struct host_config *ret, struct err *err)
{
        *ret = (struct host_config){
            .root = config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : "",
            .engines_only = true,
        };
        return choose_engines(config, &ret->engines, err);
}

int setup_host(const struct config *config, struct host_config *ret, struct err *err)
{
        struct host_config hc = {
            .root = config_is_set(config, OPT_ROOT) ? config_text(config, OPT_ROOT) : "",
            .pid = (int32_t)config_number(config, OPT_PID),
            .user = config_text(config, OPT_USER),
            .job = config_text(config, OPT_JOB),
            .cgroup = config_text(config, OPT_CGROUP),
            .pss = config_flag(config, OPT_PSS),
        };
        int r = read_levels(config, &hc.levels, err);
        if (r == 0)
                r = choose_engines(config, &hc.engines, err);
        if (r < 0)
                return r;
        if (config_is_set(config, OPT_PID) && hc.pid == 0) {
                err_set(err, ERR_USAGE, "--pid: 0 is not a process");
                return err_hint(err, "'ps -e' lists those that are there");
        }
        *ret = hc;
        return 0;
}

void setup_name_gpus(const struct pipeline_config *source, char *buf, size_t size)
{
        nvml_kernel_names(source->source.root, buf, size);
}

#define STACKS_HZ_MAX 200

int setup_stacks(const struct config *config, double *ret_hz, struct err *err)
{
        const char *text = config_text(config, OPT_STACKS);
        char *end = NULL;
        double hz = strcmp(text, "off") == 0 ? 0 : strtod(text, &end);
        if (end && (end == text || *end != '\0' || !(hz >= 0.1 && hz <= STACKS_HZ_MAX))) {
                err_set(err, ERR_USAGE, "--stacks: '%s' is not a rate from 0.1 to %d a second",
                        text, STACKS_HZ_MAX);
                return err_hint(err, "20 is the default; 'off' samples none");
        }
        *ret_hz = hz;
        return 0;
}

#define HOST_POLL_MIN_S 0.01

int setup_interval(const struct config *config, int64_t *ret, struct err *err)
{
        double poll = config_number(config, OPT_POLL);
        if (poll >= HOST_POLL_MIN_S)
                return *ret = clock_from_seconds(poll), 0;
        err_set(err, ERR_USAGE, "--%s %g is too short for the host", config_name(config, OPT_POLL),
                poll);
        return err_hint(err, "use --%s %g or more", config_name(config, OPT_POLL), HOST_POLL_MIN_S);
}

bool setup_does_without(const struct config *config, int r)
{
        return r == ERR_NO_SOURCE && !config_is_set(config, OPT_SOURCE) &&
               !setup_reads_nodes(config) && strcmp(config_text(config, OPT_BACKEND), "auto") == 0;
}

bool setup_as_recorded(const struct config *config)
{
        return !config_is_set(config, OPT_WEIGHTS) && !config_is_set(config, OPT_MISSING) &&
               !config_is_set(config, OPT_GPUS) && !config_flag(config, OPT_NO_PROFILING);
}

static const char *plural_s(uint64_t n)
{
        return n == 1 ? "" : "s";
}

void setup_trouble(const struct pipeline *p, struct strbuf *out)
{
        struct source_trouble t;
        char token[ENTITY_TEXT_MAX];
        pipeline_trouble(p, &t);
        if (t.skipped > 0)
                strbuf_putf(out, "%llu line%s could not be understood",
                            (unsigned long long)t.skipped, plural_s(t.skipped));
        /* Nodes write no file: their lines have no numbers. */
        if (t.skipped > 0 && t.first_line > 0)
                strbuf_putf(out, ", the first at line %llu; %llu rows read",
                            (unsigned long long)t.first_line, (unsigned long long)t.rows);
        if (t.skipped > 0)
                strbuf_putc(out, '\n');
        if (t.cut > 0)
                strbuf_putf(out, "the last row was cut off: what it lost is missing\n");
        if (t.too_long > 0)
                strbuf_putf(out, "%llu line%s longer than any source writes, skipped\n",
                            (unsigned long long)t.too_long, plural_s(t.too_long));
        if (t.notice[0])
                strbuf_putf(out, "%s\n", t.notice);
        if (pipeline_unmatched(p, token, sizeof(token)))
                strbuf_putf(out, "there is no GPU '%s', ignoring\n", token);
}
