/* The web configuration file of Prometheus's exporters (exporter-toolkit): TLS and users. */
#pragma once

#include "serve/auth.h"

#define WEBCONFIG_PATH_MAX 512

struct webconfig {
        char cert_file[WEBCONFIG_PATH_MAX], key_file[WEBCONFIG_PATH_MAX];
        char client_ca_file[WEBCONFIG_PATH_MAX];
        bool need_client_certificate;
        struct auth_user users[AUTH_USERS_MAX];
        size_t n_users;
};

/*
 * Reads YAML text; relative paths are below dir. Keys that are about Go's TLS (cipher suites,
 * curves, HTTP/2) are passed over; others that are not known are errors, because a misspelt one
 * would leave the door open. 0, or a negative code with err.
 */
int webconfig_parse(const char *text, size_t len, const char *dir, struct webconfig *ret,
                    struct err *err);
int webconfig_read(const char *path, struct webconfig *ret, struct err *err);
