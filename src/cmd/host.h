/* What the commands share about the host: options, the beat, output. */
#pragma once

#include "cmd/command.h"
#include "engine/host.h"

/* Descriptors kept open save most of the cost of a tick: takes as many as the system grants. */
void raise_descriptor_limit(void);
/* Of GPUs that are read more often than once a second beside a model server. */
extern const char reads_fast_words[];
/* Opens the host view the options ask for. 0 or a negative code with err. */
int open_host(const struct config *config, struct host_view **ret, struct err *err);
/* The same for a command that 'run' started, unless pid is 0; it is among the levels in any case.
 */
/* Only the model servers that --engine names, beside GPUs of elsewhere. */
int open_engines(const struct config *config, struct host_view **ret, struct err *err);
int open_host_of(const struct config *config, int32_t pid, struct host_view **ret, struct err *err);
/* After a tick: fails when not one of the levels that were asked for is present, or not the job
 * that was named. */
int check_levels(const struct config *config, const struct host *h, struct err *err);
/* Refuses what is about the host where it is not examined. 0, or ERR_USAGE with the hint. */
int refuse_host_options(const struct config *config, const char *hint, struct err *err);
/* Whether the host is shown: a capture comes from another machine or another day, and this host
 * says nothing about it unless it is asked for. */
bool shows_host(const struct config *config);
/* assay export --host. Returns the exit status. */
int export_host(const struct config *config);
