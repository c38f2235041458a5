/*
 * What SQLite keeps beside a database: its log, the log's index, a journal. It uses what it finds
 * there, no matter who put it there; so check first, before the first statement.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The name of the i-th of these files; false when there are no more. */
bool beside_name(const char *path, size_t i, char *ret, size_t size);
/* Why one of them should not be used, with its name in ret; NULL when all may be. */
const char *beside_why_not(const char *path, char *ret, size_t size);

/*
 * The URI by which SQLite reads a database that no program has open through its log, without making
 * anything beside it: it works in a folder that may not be written. False when one may have it open
 * (the log's index exists) or left a journal, and the path is to be opened as usual.
 */
bool beside_reading_uri(const char *path, char *ret, size_t size);
/* To be run first on what was opened by that URI: the log's index is kept in memory. */
#define BESIDE_READING_SQL "PRAGMA locking_mode=EXCLUSIVE"

#define BESIDE_HINT                                                                                \
        "it may be made to harm; remove it if it is not yours, or use another name or folder"
