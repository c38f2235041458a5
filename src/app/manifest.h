/* What a session says of the run it holds, for all that record. */
#pragma once

#include "config/config.h"
#include "engine/engine.h"

/* Who, where, on what machine, with which options. argv may be NULL. */
void manifest_describe(struct session *s, const struct config *config, char *const *argv,
                       struct pipeline *p);

/* --interval, --poll or a second, for recordings without a source that has its own. */
int64_t manifest_interval_ns(const struct config *config);

/* The limits of the levels, as the manifest reports them. */
struct manifest_limits {
        struct value memory[LEVEL_COUNT], cpus[LEVEL_COUNT];
        bool has_job;
};

/* Notes in the manifest what is new in the host's limits. Starts with all zeros. */
void manifest_note_limits(struct session *s, struct manifest_limits *known,
                          const struct host *host);

/* Writes the stop time and closes the session, or only commits what a hanging thread still uses. */
int manifest_end(struct session *s, const struct engine_result *result, struct err *err);
