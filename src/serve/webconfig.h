/* The web configuration file of Prometheus's exporters (exporter-toolkit): TLS and users. */
#pragma once

#include "serve/auth.h"

#define WEBCONFIG_PATH_MAX 512
#define WEBCONFIG_TLS_MAX 96

enum tls_version { TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3, TLS_VERSIONS };

struct webconfig {
        char cert_file[WEBCONFIG_PATH_MAX], key_file[WEBCONFIG_PATH_MAX];
        char client_ca_file[WEBCONFIG_PATH_MAX];
        bool need_client_certificate;
        enum tls_version tls_least, tls_most;
        struct auth_user users[AUTH_USERS_MAX];
        size_t n_users;
};

/* GnuTLS's words for the versions from the least to the most, "NORMAL:-VERS-ALL:+VERS-TLS1.2". */
void webconfig_tls_words(const struct webconfig *w, char ret[WEBCONFIG_TLS_MAX]);
/*
 * Reads YAML text; TLS is 1.2 or 1.3 unless it says otherwise; relative paths are below dir. Keys
 * that are about Go's TLS (cipher suites, curves, HTTP/2) are passed over; others that are not
 * known are errors, because a misspelt one would leave the door open. 0, or a negative code with
 * err.
 */
int webconfig_parse(const char *text, size_t len, const char *dir, struct webconfig *ret,
                    struct err *err);
int webconfig_read(const char *path, struct webconfig *ret, struct err *err);
