/*
 * From options to what the layers take, for the program's commands and the library alike. Nothing
 * is printed: what is worth reporting is put into a notice, which is empty when there is nothing.
 */
#pragma once

#include "base/strbuf.h"
#include "config/config.h"
#include "engine/host.h"
#include "engine/pipeline.h"

#define SETUP_NOTICE_MAX 256

/* Whether the options name other hosts: --hosts or --slurm. */
bool setup_reads_nodes(const struct config *config);

/* A pipeline's configuration, poll limits and selection included; a NULL location is the default.
 */
int setup_pipeline(const struct config *config, const char *location, bool margins, double speed,
                   struct pipeline_config *ret, char notice[SETUP_NOTICE_MAX], struct err *err);
/* The same, and opens it. The folder of a hardware monitor stands for its file with the GPUs. */
int setup_open(const struct config *config, const char *location, bool margins, double speed,
               struct pipeline **ret, char notice[SETUP_NOTICE_MAX], struct err *err);
/* The same for a recording: an engine that is yet to start is waited for, its ticks have no GPUs.
 */
int setup_open_waiting(const struct config *config, const char *location, double speed,
                       struct pipeline **ret, char notice[SETUP_NOTICE_MAX], struct err *err);
/*
 * The same for a program that must not block: after patience_ns the frames wait for the driver
 * instead. keep_trying: so is one that is not found when that took long.
 */
#define SETUP_PATIENCE_NS 2000000000LL
#define SETUP_PATH_MAX 4096
/* Without opening it. inside holds the location of the configuration where that is not one's. */
int setup_soon(const struct config *config, const char *location, double speed, int64_t patience_ns,
               bool keep_trying, char inside[SETUP_PATH_MAX], struct pipeline_config *ret,
               char notice[SETUP_NOTICE_MAX], struct err *err);
/* The same, and opens it. */
int setup_open_soon(const struct config *config, const char *location, double speed,
                    int64_t patience_ns, bool keep_trying, struct pipeline **ret,
                    char notice[SETUP_NOTICE_MAX], struct err *err);
/* What the options say of the host; text is borrowed from config. 0 or a negative code with err. */
int setup_host(const struct config *config, struct host_config *ret, struct err *err);
/* Whether --engine names model servers: they are read also beside GPUs of elsewhere. */
bool setup_names_engines(const struct config *config);
/* A host of which only the model servers are read. */
int setup_engines(const struct config *config, struct host_config *ret, struct err *err);
/* The GPUs of this machine as the kernel names them, before a source answers; "" for none. */
void setup_name_gpus(const struct pipeline_config *source, char *buf, size_t size);
/* What asking other hosts needs to know, of --hosts or --slurm. 0 or a negative code with err. */
int setup_nodes(const struct config *config, struct source_config *ret, struct err *err);
/* How often a second stacks are examined; 0 for never. 0 or a negative code with err. */
int setup_stacks(const struct config *config, double *ret_hz, struct err *err);
/* Time between ticks of the host alone: interval, else poll, else a second. */
int setup_interval(const struct config *config, int64_t *ret, struct err *err);
/* Whether r says that there is no GPU source where none was asked for: then the host does alone. */
bool setup_does_without(const struct config *config, int r);

/* A session has its verdicts; they are decided again only when other rules or GPUs are asked for.
 */
bool setup_as_recorded(const struct config *config);
/* The folder that --state or the environment names for what is kept; "" for none. */
void setup_state_folder(const struct config *config, char ret[SETUP_PATH_MAX]);
/* What could not be read, and which GPU never came: a line each. */
void setup_trouble(const struct pipeline *p, struct strbuf *out);

/*
 * A program, library or config file that an option names: what decides which code runs. NULL when
 * it names none, and always in a set-id program.
 */
const char *setup_program(const struct config *config, enum option option);
/* getenv with the type our parameters have; nothing in a set-id program. */
const char *get_env(const char *name);

extern const char *const program_version;
