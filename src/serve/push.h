/*
 * Pushes what /metrics would report to an engine, for nodes that cannot be scraped: Prometheus'
 * remote-write, VictoriaMetrics' text import, or OTLP/HTTP in JSON. One thread takes moments at its
 * beat and puts them into a bounded queue, another sends them in their order; sampling and serving
 * wait for neither.
 */
#pragma once

#include "formats/remote/remote.h"
#include "present/exposition/exposition.h"
#include "serve/live.h"

#define PUSH_URL_MAX 2048
#define PUSH_PATH_MAX 4096
#define PUSH_TEXT_MAX 512

struct push_config {
        const char *url;        /* as push_check made it */
        const char *token_file; /* a bearer token; NULL for none */
        const struct remote_labels *labels;
        int64_t every_ns;
        size_t queue_bytes;
        const char *dir; /* where the queue is kept; NULL for memory only */
        struct live *live;
        const struct exposition_options *exposition; /* copied */
        int64_t started_wall_ns;
        const char *version; /* the program's */
};

struct push;

/* An address of --push with the path that it needs: /api/v1/write unless it has one. 0, or
 * ERR_USAGE with err. */
int push_check(const char *text, char ret[PUSH_URL_MAX], struct err *err);
/* Whether the file has a token that can be used; while it serves, one may come later. */
int push_check_token(const char *path, struct err *err);
/* Starts the threads and asks nobody yet. A folder that cannot be used is reported in notice. */
int push_open(const struct push_config *config, struct push **ret, char *notice, size_t size,
              struct err *err);
/*
 * Takes a last moment, ends all series, sends what waits for a few seconds while the engine
 * answers. Returns how many batches were not sent; they are lost unless there is a folder. NULL is
 * allowed. Before live_close.
 */
size_t push_close(struct push *p);
/* Other options for the text from now on. */
void push_set_exposition(struct push *p, const struct exposition_options *exposition);
void push_counts(struct push *p, struct exposed_push *ret);
/* What keeps it from sending, or kept it since this was asked last; "" when nothing did. And what
 * the engine said last when it refused a batch, "" when it never did. */
void push_trouble(struct push *p, char ret[PUSH_TEXT_MAX], char ret_refusal[PUSH_TEXT_MAX]);
