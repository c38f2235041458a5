/* What `assay run` and `assay record` share: the session's name, its manifest, the end. */
#pragma once

#include "app/manifest.h"
#include "cmd/command.h"
#include "cmd/host.h"

#define RECORDING_PATH_MAX 4096

/* Whether -o names a file in a folder that exists: 0, or ERR_USAGE with err. */
int recording_check(const struct config *config, struct err *err);
/* Whether this is not a rank of a job, or its first: the others leave reporting to that one. */
bool recording_is_announced(void);
/* Reports what is wrong with a collector of --collect. */
void recording_report_collector(const char *name, const char *why);
/* Says that this machine has no GPU to see, why, and what is recorded; nothing where the
 * standard error takes nothing now. */
void recording_report_no_gpu(const struct err *why);
/* The folder that the ranks of this job record into; false when this is not a rank of one. */
bool recording_folder(const char *path, char folder[RECORDING_PATH_MAX]);
/*
 * Makes the session: at -o, in a folder that -o names, in the folder of the job whose rank this
 * is, or under a name made of the time. When fall_back is set and the place
 * cannot be written, the folder for temporary files is used instead, and that is said.
 */
int recording_create(const struct config *config, int64_t start_ns, bool fall_back,
                     char path[RECORDING_PATH_MAX], struct session **ret, struct err *err);

/* Writes the stop time, closes the session and says what went wrong. path becomes its new name when
 * it was moved meanwhile. Returns an exit status. */
int recording_end(struct session *s, char path[RECORDING_PATH_MAX],
                  const struct engine_result *result, bool quiet);
