/* What `assay run` and `assay record` share: the session's name, its manifest, the end. */
#pragma once

#include "cmd/command.h"
#include "cmd/host.h"
#include "pipeline/recorder.h"

#define RECORDING_PATH_MAX 4096

/*
 * Makes the session: at -o, or under a name made of the time. When fall_back is set and the place
 * cannot be written, the folder for temporary files is used instead, and that is said.
 */
int recording_create(const struct config *config, int64_t start_ns, bool fall_back,
                     char path[RECORDING_PATH_MAX], struct session **ret, struct err *err);

/* Who, where, on what machine, with which options. argv may be NULL. */
void recording_describe(struct session *s, const struct config *config, char *const *argv,
                        const struct pipeline *p);

/* --interval, --poll or a second, for recordings without a source that has its own. */
int64_t recording_interval_ns(const struct config *config);

/* The limits of the levels, as the manifest tells them. */
struct recording_limits {
        struct value memory[LEVEL_COUNT], cpus[LEVEL_COUNT];
        bool has_job;
};

/* Notes in the manifest what is new in the host's limits. Starts with all zeros. */
void recording_note_limits(struct session *s, struct recording_limits *known,
                           const struct host *host);

/* Writes the stop time, closes the session and tells what went wrong. Returns an exit status. */
int recording_end(struct session *s, const char *path, const struct recorder_result *result,
                  bool quiet);
