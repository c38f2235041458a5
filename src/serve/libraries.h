/*
 * The libraries that only `assay serve` needs, loaded when it starts and not before: other commands
 * start in a millisecond. Loading fails with ERR_NO_SOURCE and what to install. None is unloaded.
 */
#pragma once

#include "base/err.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* MHD_FUNCTION(name): what is used of libmicrohttpd, without its MHD_. */
#define MHD_FUNCTIONS(MHD_FUNCTION)                                                                \
        MHD_FUNCTION(start_daemon)                                                                 \
        MHD_FUNCTION(quiesce_daemon)                                                               \
        MHD_FUNCTION(stop_daemon)                                                                  \
        MHD_FUNCTION(queue_response)                                                               \
        MHD_FUNCTION(create_response_from_buffer)                                                  \
        MHD_FUNCTION(create_response_from_callback)                                                \
        MHD_FUNCTION(destroy_response)                                                             \
        MHD_FUNCTION(add_response_header)                                                          \
        MHD_FUNCTION(lookup_connection_value)                                                      \
        MHD_FUNCTION(get_connection_values)                                                        \
        MHD_FUNCTION(get_connection_info)                                                          \
        MHD_FUNCTION(set_connection_option)                                                        \
        MHD_FUNCTION(suspend_connection)                                                           \
        MHD_FUNCTION(resume_connection)                                                            \
        MHD_FUNCTION(is_feature_supported)                                                         \
        MHD_FUNCTION(set_panic_func)

struct mhd_api {
#define MHD_FUNCTION(name) __typeof__(MHD_##name) *name;
        MHD_FUNCTIONS(MHD_FUNCTION)
#undef MHD_FUNCTION
        /* GnuTLS's, which libmicrohttpd brings along; NULL when it was built without. */
        int (*verify_peers)(void *session, unsigned *status);
};

int mhd_api_load(struct mhd_api *ret, struct err *err);

/* gzip of a text. Owned by the caller; false when zlib is absent or memory is short. */
bool zlib_gzip(const char *s, size_t n, char **ret, size_t *ret_n);

/*
 * The text in a gzip, at most this many bytes. Owned by the caller, terminated. False when it is
 * not one, longer, or zlib is absent.
 */
bool zlib_gunzip(const char *s, size_t n, size_t most, char **ret, size_t *ret_n);

/* Whether a password has this hash, in crypt(3)'s forms; bcrypt is what exporter-toolkit writes. */
bool crypt_matches(const char *password, const char *hash);
/* Whether this system's crypt(3) can check such a hash. */
bool crypt_supports(const char *hash);
