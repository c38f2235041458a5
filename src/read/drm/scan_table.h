/* Growing arrays with a hash beside them: the scanner's memory of clients and processes. */
#pragma once

#include "read/drm/scan.h"

/* The client of that GPU and id, or NULL. */
struct scan_client *scan_find_client(const struct scan_table *t, uint16_t gpu, uint64_t id);
/* Adds it. NULL when memory is short or there are too many. */
struct scan_client *scan_add_client(struct scan_table *t, const struct scan_client *client);
struct scan_visit *scan_find_process(const struct scan_table *t, uint32_t pid);
struct scan_visit *scan_add_process(struct scan_table *t, const struct scan_visit *process);
/* Forgets the entries and keeps the memory. */
void scan_table_clear(struct scan_table *t);
void scan_table_finish(struct scan_table *t);
