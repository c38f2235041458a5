/* Samples of GPUs as rows of a Parquet file: time, who, all metrics in SI units, verdicts. */
#pragma once

#include "model/frame.h"
#include "present/stream/parquet.h"

/* 0 or -ENOMEM; parquet_finish it either way. */
int parquet_begin_frames(struct parquet *p, struct strbuf *out);
int parquet_put_frame(struct parquet *p, const struct frame *f);
