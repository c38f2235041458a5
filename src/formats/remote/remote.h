/*
 * Prometheus remote-write 1.0: an exposition's samples as a WriteRequest (protocol buffers) in a
 * snappy block. What was present in the last text and is missing in the next one is ended with
 * Prometheus' stale marker, as a scrape does. No I/O.
 */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

#define REMOTE_LABELS_MAX 64      /* of one series */
#define REMOTE_ADDED_MAX 16       /* labels that are added to all */
#define REMOTE_LABEL_TEXT_MAX 256 /* bytes of an added label's name or value, with its end */
#define REMOTE_SERIES_MAX 200000  /* of one text; more are left out */
#define REMOTE_PREFIX "exported_" /* what a series' own label of an added name is called */

struct remote_label {
        char name[REMOTE_LABEL_TEXT_MAX], value[REMOTE_LABEL_TEXT_MAX];
};

struct remote_labels {
        struct remote_label list[REMOTE_ADDED_MAX];
        size_t n;
};

/* Sets a label, over one of the same name. False when a name or value is not one, or there are too
 * many. */
bool remote_label_set(struct remote_labels *l, const char *name, const char *value);
/* Reads "job=assay,instance=node7". False with the place of what is wrong in *ret_bad. */
bool remote_labels_parse(struct remote_labels *l, const char *text, const char **ret_bad);

struct remote_writer;

/* labels is copied. NULL when memory is short. */
struct remote_writer *remote_open(const struct remote_labels *labels);
void remote_close(struct remote_writer *w);

/*
 * Appends one request, in a snappy block, to out: every sample of the text at one time, and the
 * ends of series that are gone; an empty text ends all. Lines that cannot be read are left out.
 * False when memory is short: nothing is remembered then.
 */
bool remote_encode(struct remote_writer *w, const char *text, size_t len, int64_t time_ms,
                   struct strbuf *out);
/* Series of the last request, without those that ended. */
size_t remote_series(const struct remote_writer *w);

/*
 * The text with the labels added to each sample, for VictoriaMetrics' /api/v1/import/prometheus.
 * Lines that cannot be read are left out, and comments.
 */
void remote_relabel(const struct remote_labels *labels, const char *text, size_t len,
                    struct strbuf *out);

/*
 * The text as a request of OTLP/HTTP in JSON: counters are cumulative sums, all else gauges; the
 * labels are the resource's attributes, job and instance as service.name and service.instance.id.
 * Lines that cannot be read, and values that are no numbers, are left out.
 */
void otlp_encode(const struct remote_labels *labels, const char *version, const char *text,
                 size_t len, int64_t time_ms, struct strbuf *out);

/* A snappy block of n bytes (at most UINT32_MAX). The format is google/snappy's format_description.
 */
void snappy_put(const char *s, size_t n, struct strbuf *out);
