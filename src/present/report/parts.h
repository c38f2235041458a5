/* What the parts of the text share. Only for the files of this folder. */
#pragma once

#include "present/report/report.h"

/* "1.2 s", "3 min 20 s", "5 h 12 min". */
void report_put_seconds(struct strbuf *out, double s);
/* "lr=0.1, epoch=3" of a JSON object; other JSON as it is. Nothing for NULL. No newline. */
void report_put_data(struct strbuf *out, const char *json);

/* The mean over a scope's GPUs of their means; missing when none has the metric. */
struct value report_mean(const struct scope *scope, enum metric metric);

/* A run of more GPUs than this is reported as a spread with its outliers. */
#define REPORT_GPUS_EACH 8

/* "GPUs 0-3 stalled for 41 s (from 60.0 to 101.0 s): …; rank 2 (pid 4711) …". */
void report_stall(const struct stretch_list *list, const struct stretch_stall *s,
                  struct strbuf *out);
const char *report_stall_try(const struct stretch_stall *s);

/* "tensor cores, power", "--". */
void report_put_limiter(struct strbuf *out, const struct limited *l, bool with_held);
#define REPORT_LIKELY_COLUMNS 7 /* "likely " */
/* Whether any of it was decided without profiling counters. */
bool report_any_likely(const struct stretch_list *list);

/* One row a GPU and phase; of many GPUs a spread and the outliers. */
void report_rows(const struct summary *s, const struct report_view *v, struct strbuf *out);
/* Each time a phase ran. */
void report_each(const struct summary *s, const struct report_view *v, struct strbuf *out);
void report_events(const struct summary *s, const struct report_view *v, struct strbuf *out);
void report_stretches(const struct summary *s, const struct report_view *v, struct strbuf *out);
/* All numbers of one GPU. */
void report_gpu(const struct gpu_summary *g, const struct report_view *v, struct strbuf *out);
/* How long steps took, and the slow ones. Nothing where none were marked. */
void report_steps(const struct report *r, struct strbuf *out);
/* The same as a sentence: "1240 steps, 0.81 s on average, …". No newline. */
void report_steps_line(const struct step_series *s, struct strbuf *out);
/* How a slow step differed from the others: its time and its figures. No newline. */
void report_slow_step(const struct step_series *s, const struct slow_step *slow, int64_t first_ns,
                      struct strbuf *out);
void report_json_steps(const struct report *r, struct jsonw *j);
/* Model servers: nothing where none were read. */
void report_servings(const struct report *r, struct strbuf *out);
/* The same line by line, 0 the name; false after the last. A line may be empty. */
bool report_serving_line(const struct serving_total *t, unsigned line, struct strbuf *out);
void report_html_servings(const struct report *r, struct strbuf *out);
void report_json_servings(const struct report *r, struct jsonw *j);
void report_user_metrics(const struct run_facts *f, struct strbuf *out);
