/*
 * Event files as TensorBoard reads them: records with checksums (TFRecord), each a protocol buffer
 * of one number or text at a time and a step.
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

/* The first record of every file. */
void tfevents_begin(struct strbuf *out, double wall_s);
void tfevents_scalar(struct strbuf *out, double wall_s, int64_t step, const char *tag, double v);
/* Markdown, shown by the plugin for texts. */
void tfevents_text(struct strbuf *out, double wall_s, int64_t step, const char *tag,
                   const char *text);
