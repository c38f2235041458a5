/* A request that was let in, and its answer. Only the HTTP thread is here. */
#pragma once

#include "serve/checks.h"
#include "serve/conns.h"
#include "serve/expose.h"
#include "serve/libraries.h"
#include "serve/server.h"
#include "serve/stream.h"

enum cached { CACHED_TEXT, CACHED_OPENMETRICS, CACHED_KINDS };

/* The text of the newest moment, made for the first that asks. */
struct cached_text {
        uint64_t number;
        int64_t made_ns;
        struct MHD_Response *plain, *gzip;
};

struct server {
        struct server_config config;
        struct mhd_api mhd;
        struct MHD_Daemon *daemon;
        int quiet_fd; /* where a drained server listened; -1 else */
        struct conns *conns;
        struct checks *checks;
        struct streams *streams;
        struct cached_text cached[CACHED_KINDS];
        struct exposer exposer;
        double scrapes, scrape_seconds;
        int64_t dump_asked_ns; /* monotonic: the last time; 0 for never */
};

/* A request and what is known about it. */
struct request {
        struct server *s;
        struct MHD_Connection *connection;
        struct conn *conn;
        void **context;   /* what the library keeps of it until it is answered */
        const char *path; /* below the prefix */
        bool head, post;
        bool shown;   /* a token, a password or a certificate, and it was right */
        bool checked; /* its password was, and is not right or was not examined: */
        enum check_result result;
        struct viewer viewer;
        uint64_t owner; /* a hash of its address and user */
};

struct route {
        const char *path;
        enum MHD_Result (*get)(const struct request *q);
        bool open;                                        /* to everybody: it says nothing */
        enum MHD_Result (*post)(const struct request *q); /* NULL: it is only read */
};

/* NULL when there is none of exactly that path. */
const struct route *route_find(const char *path);
/* Whether a path is one of the page's parts, which say nothing without the API. */
bool page_is_part(const char *path);
enum MHD_Result answer_page(const struct request *q);
/* An answer that says no, with one more header when name is not NULL. */
enum MHD_Result answer_refuse(const struct request *q, unsigned status, const char *why,
                              const char *name, const char *value);
/* Sends a browser to "FOLDER/". */
enum MHD_Result answer_elsewhere(const struct request *q, const char *folder);
/* A header of the request; NULL when it was not sent. */
const char *answer_header(const struct request *q, const char *name);
void answer_drop_cached(struct server *s, struct cached_text *c);
