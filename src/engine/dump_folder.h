/*
 * The folder of dumps: this user's alone, bounded in number and bytes. Only files that are named
 * as dumps and belong to this user are counted and removed, the oldest first. A dump appears under
 * its name when all of it is on the disk; what a program that was killed left is removed later.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one folder. */
#define DUMP_FOLDER_FILES 32
#define DUMP_FOLDER_BYTES ((uint64_t)256 << 20)
/* A dump leaves so much room on the disk. */
#define DUMP_FOLDER_ROOM ((uint64_t)64 << 20)

/* Makes and opens it. A descriptor, or a negative code with err. */
int dump_folder_open(const char *path, struct err *err);
/* Whether a name is that of a dump: "dump-20261119-030507-4242.assay", with "-2" and so on before
 * the dot where the same second has more than one. */
bool dump_folder_is_name(const char *name);
/* The name of a dump of this process, of a moment. */
void dump_folder_name(int64_t wall_ns, int number, char *ret, size_t size);
/*
 * Writes a dump and removes the oldest that are too many, never the new one. Its name may get a
 * number. 0, or a negative code with err.
 */
int dump_folder_put(int folder, int64_t wall_ns, const unsigned char *image, size_t len, char *ret,
                    size_t size, struct err *err);
