/* What programs are doing at one moment, down to the line: of this machine, or of a recording. */
#pragma once

#include "app/setup.h"
#include "model/stack_snapshot.h"
#include "session/session.h"

/* Whose stacks they are. */
enum snapshot_whose {
        SNAPSHOT_OF_PID,     /* a process and what it started */
        SNAPSHOT_OF_HOLDERS, /* the processes that hold a GPU, and what they started */
        SNAPSHOT_OF_USER,    /* no GPU is held: this user's Python processes */
        SNAPSHOT_OF_FILE,
};

/*
 * A view of this machine, now: at a process, or with 0 at those that hold a GPU. What could not be
 * read of GPUs is added to notices. 0, or ERR_NO_SOURCE when there is no such process or none to
 * examine; finish the snapshot either way.
 */
int snapshot_now(const struct config *config, int32_t pid, struct stack_snapshot *ret,
                 enum snapshot_whose *ret_whose, struct strbuf *notices, struct err *err);
/*
 * The same of the hosts that --hosts or --slurm names: an assay on each examines the processes that
 * hold a GPU there. Those that gave nothing say why. 0 or a negative code with err.
 */
int snapshot_nodes(const struct config *config, struct stack_snapshot *ret, struct err *err);
/* The second of a session that begins so long after its start; its last one below 0. */
int snapshot_recorded(const char *path, double at_s, struct stack_snapshot *ret, struct err *err);
/*
 * The last seconds of a session, or of each in a folder, as if they had been watched: span_s long,
 * up to a time after the start, the end below 0. Each file of a folder is a host of the snapshot;
 * of one that ends long before the others that is why it gives nothing.
 */
int snapshot_recorded_span(const char *path, double at_s, double span_s, struct stack_snapshot *ret,
                           struct err *err);
/*
 * What the processes that hold the GPUs of a frame are in: of this machine, now, or of the session
 * at path in the second of the frame. Empty where that cannot be known. 0 or -ENOMEM; finish it
 * either way.
 */
int snapshot_with_frame(const struct frame *frame, const char *path, struct stack_snapshot *ret);
/* That of the session alone. */
int snapshot_recorded_beside(const struct frame *frame, const char *path,
                             struct stack_snapshot *ret);
/* The GPUs of a frame that the processes of a host of the snapshot hold; and also those that none
 * holds. */
void snapshot_add_gpus(struct stack_snapshot *l, uint32_t host, const struct frame *frame);
void snapshot_add_all_gpus(struct stack_snapshot *l, uint32_t host, const struct frame *frame);
/* Opens a session that has stacks; they stay until the reader is closed. 0 or a negative code. */
int stacks_open(const char *path, struct session_reader **ret, const struct stack_log **ret_log,
                struct err *err);
