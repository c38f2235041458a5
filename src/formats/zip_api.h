/* libarchive, loaded when a zip is met: it brings a dozen libraries that no other command needs. */
#pragma once

#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>

/* ZIP_CALL(name): a function we use. */
#define ZIP_CALLS(ZIP_CALL)                                                                        \
        ZIP_CALL(archive_read_new)                                                                 \
        ZIP_CALL(archive_read_free)                                                                \
        ZIP_CALL(archive_read_support_format_zip)                                                  \
        ZIP_CALL(archive_read_open_memory)                                                         \
        ZIP_CALL(archive_read_next_header)                                                         \
        ZIP_CALL(archive_read_data)                                                                \
        ZIP_CALL(archive_error_string)                                                             \
        ZIP_CALL(archive_errno)                                                                    \
        ZIP_CALL(archive_entry_pathname)                                                           \
        ZIP_CALL(archive_entry_filetype)                                                           \
        ZIP_CALL(archive_entry_new)                                                                \
        ZIP_CALL(archive_entry_free)                                                               \
        ZIP_CALL(archive_entry_set_pathname)                                                       \
        ZIP_CALL(archive_entry_set_filetype)                                                       \
        ZIP_CALL(archive_entry_set_perm)                                                           \
        ZIP_CALL(archive_entry_set_size)                                                           \
        ZIP_CALL(archive_write_new)                                                                \
        ZIP_CALL(archive_write_free)                                                               \
        ZIP_CALL(archive_write_close)                                                              \
        ZIP_CALL(archive_write_set_format_zip)                                                     \
        ZIP_CALL(archive_write_open_fd)                                                            \
        ZIP_CALL(archive_write_header)                                                             \
        ZIP_CALL(archive_write_data)

struct zip_api {
#define ZIP_CALL(name) __typeof__(&name) name;
        ZIP_CALLS(ZIP_CALL)
#undef ZIP_CALL
};

/* Loads the library. 0, or a negative code with err. It stays loaded. */
int zip_api_load(struct zip_api *ret, struct err *err);
