/*
 * What happened lately: findings that came and went, sources that failed, owners that changed. A
 * ring in memory, the newest at the end. Safe from several threads.
 */
#pragma once

#include "base/jsonw.h"
#include "serve/live.h"

#define JOURNAL_MAX 500
#define JOURNAL_TEXT_MAX 240

struct journal;

struct journal *journal_open(void);
void journal_close(struct journal *j);
/* gpu is its name, "" for the machine; kind: "health", "owner", "source", "xid", "dump". */
void journal_add(struct journal *j, int64_t wall_ns, const char *gpu, const char *kind,
                 const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Also reports every entry to somebody, on the thread that adds it. Before anybody adds one. */
void journal_log(struct journal *j,
                 void (*on_entry)(void *arg, int64_t wall_ns, const char *gpu, const char *kind,
                                  const char *text),
                 void *arg);
/* Compares with the last time and says what changed. By one thread. */
void journal_watch(struct journal *j, const struct live_books *books, int64_t wall_ns);
/* The member "log", an array, the newest first. */
void journal_write(struct journal *j, struct jsonw *to);
