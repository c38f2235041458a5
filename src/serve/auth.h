/*
 * Who may see what. Tokens come from files, users from exporter-toolkit's web configuration;
 * browsers that showed a token once have a cookie. Used by the HTTP thread alone.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_ADMIN };

#define AUTH_TOKEN_MAX 512
#define AUTH_USERS_MAX 64
#define AUTH_USER_MAX 128
#define AUTH_HASH_MAX 128
#define AUTH_VIEWERS_MAX 256 /* sessions of a role at a time */
#define AUTH_ADMINS_MAX 64
#define AUTH_SESSIONS_MAX (AUTH_VIEWERS_MAX + AUTH_ADMINS_MAX)
#define AUTH_CREDENTIAL_MAX 256
#define AUTH_SECRET_MAX 65 /* 256 bits in hexadecimal digits */
#define AUTH_COOKIE_MAX 32

struct auth_user {
        char name[AUTH_USER_MAX], hash[AUTH_HASH_MAX];
        uint64_t known[2]; /* a keyed hash of the password that was right */
        bool has_known;
};

struct auth_session {
        char secret[AUTH_SECRET_MAX];
        enum role role;
        uint64_t owner;   /* a hash of whose it is */
        int64_t until_ns; /* monotonic */
};

struct auth {
        char viewer[AUTH_TOKEN_MAX], admin[AUTH_TOKEN_MAX]; /* "" for none */
        struct auth_user users[AUTH_USERS_MAX];
        size_t n_users;
        struct auth_session sessions[AUTH_SESSIONS_MAX]; /* viewers, then admins */
        char once[AUTH_SECRET_MAX]; /* of the link that is printed; "" when used */
        int64_t once_until_ns;
        /* Browsers do not distinguish ports: through 'ssh -L' several servers are localhost. */
        char cookie[AUTH_COOKIE_MAX];
        uint64_t key[4];
};

enum auth_result {
        AUTH_YES,
        AUTH_NO,   /* nothing was shown, or nothing that is right */
        AUTH_CHECK /* a password that has to be checked, which takes a while */
};

/* What a user says. */
struct auth_claim {
        char user[AUTH_CREDENTIAL_MAX], password[AUTH_CREDENTIAL_MAX];
};

/* Random keys, and a cookie's name that is this place's own. 0 or a negative errno. */
int auth_init(struct auth *a, const char *place);
/* Sessions and the link continue after a reload, except for those whose token or users have
 * changed; the passwords of users that have not are still known. */
void auth_keep_sessions(struct auth *a, const struct auth *old);
/* The first line of a file that others cannot write. 0, or a negative code with err. */
int auth_read_token(const char *path, char ret[AUTH_TOKEN_MAX], struct err *err);
/* Whether anything has to be shown. */
bool auth_is_needed(const struct auth *a);
/* What the headers (NULL when not sent) are worth. The claim is what has to be checked with
 * AUTH_CHECK, and with AUTH_YES the user's name, if one was shown. */
enum auth_result auth_check(struct auth *a, const char *authorization, const char *cookie,
                            int64_t now_ns, struct auth_claim *ret_claim, enum role *ret);
/* What a user's password is compared with; a dummy for a user who does not exist. */
const char *auth_hash(const struct auth *a, const char *user);
/* A password that was checked is right: it is known from now on. False for nobody's. */
bool auth_accept(struct auth *a, const struct auth_claim *claim);
/* A new session for a browser. When a role has too many, the oldest one of the user who has most
 * goes; the other role's stay. */
int auth_start_session(struct auth *a, enum role role, uint64_t owner, int64_t now_ns,
                       char ret[AUTH_SECRET_MAX]);
/* A one-time link's secret, good for ten minutes. */
int auth_make_link(struct auth *a, int64_t now_ns);
/* Whether it is right; it is used up then. */
bool auth_use_link(struct auth *a, const char *secret, int64_t now_ns);
