/*
 * What SQLite keeps beside a database: its log, the log's index, a journal. It uses what it finds
 * there, whoever put it there; so look first, before the first statement.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The name of the i-th of these files; false when there are no more. */
bool beside_name(const char *path, size_t i, char *ret, size_t size);
/* Why one of them should not be used, with its name in ret; NULL when all may be. */
const char *beside_why_not(const char *path, char *ret, size_t size);

#define BESIDE_HINT                                                                                \
        "it may be made to harm; remove it if it is not yours, or use another name or folder"
