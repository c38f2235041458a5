/* From options, variables and files to what the server takes. Read again at every reload. */
#pragma once

#include "cmd/command.h"
#include "serve/auth.h"
#include "serve/listen.h"
#include "serve/server.h"

#define SERVE_PATH_MAX 4096

struct serve_setup {
        struct listen_place place;
        struct server_settings settings;
        struct auth auth;
        char state[SERVE_PATH_MAX]; /* "" for none */
        char mapping_dir[SERVE_PATH_MAX], kubelet[SERVE_PATH_MAX];
        int64_t keep_jobs_ns;
        char push_url[PUSH_URL_MAX]; /* "" for none */
        char push_token_file[SERVE_PATH_MAX];
        struct remote_labels push_labels;
};

/* The options of a server with dcgm-exporter's variables filled in where nothing else says it. */
int serve_setup_options(const struct config *config, struct config *ret, struct err *err);
/* Everything else. Notices are lines. 0 or a negative code with err; serve_setup_finish either way.
 */
int serve_setup_read(const struct config *config, struct serve_setup *ret, struct strbuf *notices,
                     struct err *err);
/*
 * What a server with the fresh settings would no longer ask for, in words; NULL when nothing. A
 * file that is being written, or was emptied, must not open a server that runs.
 */
const char *serve_setup_opens(const struct serve_setup *old, const struct serve_setup *fresh);
void serve_setup_finish(struct serve_setup *s);
