/*
 * The HTTP side: who is admitted, which path gives what. One thread of libmicrohttpd's answers
 * everything; it takes what the engine has and waits for nobody.
 */
#pragma once

#include "present/exposition/exposition.h"
#include "serve/api.h"
#include "serve/archive.h"
#include "serve/guard.h"
#include "serve/push.h"
#include "serve/webconfig.h"

#define SERVER_PREFIX_MAX 128

/* What a reload may change. */
struct server_settings {
        struct guard_hosts hosts;
        char prefix[SERVER_PREFIX_MAX]; /* "" or "/gpus": a proxy passes paths below it on */
        struct exposition_options exposition;
        /* PEM texts; NULL without TLS. Owned by the caller, who keeps them until the server is
         * closed. */
        char *certificate, *key, *client_ca;
        char tls_words[WEBCONFIG_TLS_MAX]; /* for GnuTLS: which versions */
        bool need_client_certificate;
};

struct server_config {
        const struct server_settings *settings;
        int fd; /* listens; the server closes it */
        bool unix_socket;
        struct auth *auth; /* the caller's; outlives the server */
        struct live *live;
        struct past *past;
        struct journal *journal;
        const char *records;     /* the file of job records; NULL for none */
        struct archive *archive; /* recordings; NULL for none */
        struct push *push;       /* whose counters are reported; NULL for none */
        struct flight *flight;   /* which may be asked for a dump; NULL for none */
        const char *version;
        int64_t started_wall_ns;
};

struct server;

/* Whether a server can be started with these: its library is present, and certificate and key
 * belong together. 0, or a negative code with err. */
int server_check(const struct server_settings *settings, struct err *err);
int server_open(const struct server_config *config, struct server **ret, struct err *err);
/*
 * Accepts nobody any more and lets those who are connected have their answers, for half a second;
 * who comes meanwhile waits in the listening socket, which others hold too. NULL is allowed.
 */
void server_drain(struct server *s);
/* Ends what is being answered. NULL is allowed. */
void server_close(struct server *s);
/* Wakes live streams: there is something new. From any thread. Says whether there are any. */
bool server_wake(struct server *s);
