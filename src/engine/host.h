/* Joins the host's reading with what is computed from it: one host a tick. */
#pragma once

#include "model/frame.h"
#include "read/host/host.h"

struct host_view;

/* 0, or a negative code with err. */
int host_view_open(const struct host_config *config, struct host_view **ret, struct err *err);
void host_view_close(struct host_view *v);
/* As host_listing. */
struct listing *host_view_listing(const struct host_view *v);
/* One tick now. *ret is valid until the next call. 0 or a negative code with err. */
int host_view_tick(struct host_view *v, struct host **ret, struct err *err);
/* Waits until the model servers that are named were asked twice; at most so long. False when none
 * are asked at all. */
bool host_view_settle(struct host_view *v, int64_t patience_ns);
/* As host_servers, of the last tick; with the front ends of model servers that were busy. */
size_t host_view_servers(const struct host_view *v, struct host_server *list, size_t max);
/* As host_levels_of. */
unsigned host_view_levels_of(const struct host_view *v, int32_t pid);

/* What GPUs and the processes on them do, as far as the host needs it: small enough to be copied.
 */
#define GPU_USE_PROCESSES_MAX 1024

struct gpu_use {
        size_t n;
        char labels[HOST_GPUS_MAX][ENTITY_LABEL_MAX];
        int32_t indices[HOST_GPUS_MAX]; /* beside them */
        struct level_gpu devices[HOST_GPUS_MAX];
        bool knows_processes; /* the source says which there are */
        size_t n_processes;   /* that hold a GPU */
        struct {
                int32_t pid;
                uint16_t gpu; /* its place above */
                struct level_gpu use;
        } processes[GPU_USE_PROCESSES_MAX];
};

void gpu_use_take(struct gpu_use *u, const struct frame *frame);
/* Who holds the GPUs, for the evidence of the ticks to come. */
void host_view_see(struct host_view *v, const struct gpu_use *u);
/*
 * Adds the GPUs to the host: what each device does is what the system level does there; what each
 * process does there is added to the levels that it belongs to.
 */
void host_view_join(struct host_view *v, struct host *h, const struct gpu_use *u);
