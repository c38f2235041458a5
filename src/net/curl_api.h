/*
 * libcurl, loaded when an exporter is asked and not before: it brings some thirty libraries along,
 * and most runs of the program read a file or the driver.
 */
#pragma once

#include "base/err.h"
#include "net/address.h"

#include <stdint.h>

/* Calls go through pointers, which its checking macros do not know. */
#define CURL_DISABLE_TYPECHECK
/* CURLOPT_PROTOCOLS: libcurl before 7.85 does not know what replaces it, and limits nothing. */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

/* CURL_FUNCTION(name): the functions of libcurl that are used, without their curl_. */
#define CURL_FUNCTIONS(CURL_FUNCTION)                                                              \
        CURL_FUNCTION(global_init)                                                                 \
        CURL_FUNCTION(easy_init)                                                                   \
        CURL_FUNCTION(easy_cleanup)                                                                \
        CURL_FUNCTION(easy_setopt)                                                                 \
        CURL_FUNCTION(easy_getinfo)                                                                \
        CURL_FUNCTION(easy_strerror)                                                               \
        CURL_FUNCTION(multi_init)                                                                  \
        CURL_FUNCTION(multi_cleanup)                                                               \
        CURL_FUNCTION(multi_add_handle)                                                            \
        CURL_FUNCTION(multi_remove_handle)                                                         \
        CURL_FUNCTION(multi_perform)                                                               \
        CURL_FUNCTION(multi_poll)                                                                  \
        CURL_FUNCTION(multi_info_read)                                                             \
        CURL_FUNCTION(multi_strerror)                                                              \
        CURL_FUNCTION(multi_setopt)                                                                \
        CURL_FUNCTION(multi_assign)                                                                \
        CURL_FUNCTION(multi_socket_action)                                                         \
        CURL_FUNCTION(slist_append)                                                                \
        CURL_FUNCTION(slist_free_all)

struct curl_api {
#define CURL_FUNCTION(name) __typeof__(curl_##name) *name;
        CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
};

/*
 * Loads the library and initialises it. 0, or ERR_NO_SOURCE with what to install. It is never
 * unloaded: a name lookup that timed out may still run on a thread of its own.
 */
int curl_api_load(struct curl_api *ret, struct err *err);
/* The options of every request: what may be asked, for how long, how much may come. */
void curl_api_set(const struct curl_api *api, CURL *easy, const struct address *address,
                  int64_t timeout_ns, int64_t bytes_max);
/* What is asked for; the caller frees it with slist_free_all. NULL when memory is short. */
struct curl_slist *curl_api_accept(const struct curl_api *api);
