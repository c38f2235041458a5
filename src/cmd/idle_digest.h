/* One message a user about idle jobs, and the ways it takes. */
#pragma once

#include "fleet/fleet.h"
#include "model/document.h"

struct idle_way {
        const char *to;         /* "mail", or the address of a web hook */
        const char *domain;     /* of mail; NULL for none */
        const char *token_file; /* of the web hook; NULL for none */
        int64_t timeout_ns;
        int64_t grace_ns;
};

/* The jobs of one user: rows of fleet_collect_idle's table. */
struct idle_digest {
        const char *user;
        const struct doc_cell *const *rows;
        size_t n;
};

/* What a user reads. */
void idle_digest_text(const struct idle_digest *d, const struct idle_way *way, struct strbuf *out);
/* Who gets it: "ada@example.org". False when the user's name cannot be an address. */
bool idle_digest_address(const struct idle_digest *d, const struct idle_way *way, char *ret,
                         size_t size);
/* Sends it. 0, or a negative code with err. */
int idle_digest_send(const struct idle_digest *d, const struct idle_way *way, struct err *err);
/* Whether the job is a number that scancel takes: "4711", "4711_3". */
bool idle_is_slurm_job(const struct doc_cell *row);
