/* The columns of a notebook monitor's perf files, between time and cell_index, and its units. */
#pragma once

#include "model/frame.h"
#include "model/host.h"

#define NOTEBOOK_GPUS_MAX 256
#define NOTEBOOK_NAME_MAX 40

struct notebook_layout {
        size_t n_cores, n_gpus;
        uint32_t slots[NOTEBOOK_GPUS_MAX]; /* of frames' GPUs, by column */
};

/* What the first tick has is what all ticks have. */
void notebook_layout_of_host(struct notebook_layout *l, const struct host *h);
void notebook_layout_of_frame(struct notebook_layout *l, const struct frame *f);

size_t notebook_columns(const struct notebook_layout *l);
void notebook_column_name(const struct notebook_layout *l, size_t column,
                          char ret[NOTEBOOK_NAME_MAX]);
/* One row: GiB, percent, bytes a second. ret has room for all columns. */
void notebook_host_row(const struct notebook_layout *l, const struct host *h, enum level level,
                       struct value *ret);
/* The same from a frame alone, which knows the GPUs only. */
void notebook_frame_row(const struct notebook_layout *l, const struct frame *f, struct value *ret);
