/*
 * A set of small files: a folder, or a zip from a stranger. A zip is read into memory and never
 * unpacked, so no name in it can lead anywhere; names that try, links and bombs are refused.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#define BUNDLE_FILES_MAX 64
#define BUNDLE_FILE_MAX ((size_t)256 << 20)
#define BUNDLE_TOTAL_MAX ((size_t)512 << 20)

struct bundle_file {
        char name[128]; /* without folders */
        struct strbuf text;
};

struct bundle {
        struct bundle_file files[BUNDLE_FILES_MAX];
        size_t n, total;
};

/* Reads the files that wanted() names. 0, or a negative code with err. */
int bundle_read(const char *path, bool (*wanted)(const char *name), struct bundle *ret,
                struct err *err);
/* Writes one file under its final name. 0, or a negative code with err. */
int bundle_read_file(const char *path, const char *name, struct bundle *ret, struct err *err);
/* The same from a zip in memory, for tests. */
int bundle_read_zip(const void *zip, size_t len, bool (*wanted)(const char *name),
                    struct bundle *ret, struct err *err);
/* A new zip, as bundle_write. */
int bundle_write_zip(const char *path, const struct bundle *b, struct err *err);
/* Writes a folder, or a zip when path ends in ".zip". What is present already is not overwritten.
 */
int bundle_write(const char *path, const struct bundle *b, struct err *err);
void bundle_finish(struct bundle *b);
/* The text of a file; NULL when there is none of that name. */
struct strbuf *bundle_find(struct bundle *b, const char *name);
/* A new file; NULL when there are too many. */
struct strbuf *bundle_add(struct bundle *b, const char *name);
/* Whether a file begins with a text of at most 128 bytes. A pipe is not looked into: what is read
 * there is gone for the reader that comes after. */
bool bundle_begins(const char *path, const char *text);
/* Whether the file is a zip, or a folder that has this file. */
bool bundle_has(const char *path, const char *name);
bool bundle_is_zip(const char *path);
