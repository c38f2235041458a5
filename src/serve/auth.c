#include "serve/auth.h"

#include "base/clock.h"
#include "base/lookup.h"
#include "base/trust.h"
#include "serve/guard.h"
#include "serve/libraries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LINK_NS (600 * NS_PER_S)
#define SESSION_NS (7 * 86400 * NS_PER_S)
#define TOKEN_LEAST 16
/* Compared with when there is no such user, so that both take equally long. */
#define NOBODY "$2b$10$abcdefghijklmnopqrstuuO4nLP7Zs0WQqk5bSGJ0q9cQxQy0m5bC"

static int fill_random(void *to, size_t n)
{
        return getrandom(to, n, 0) == (ssize_t)n ? 0 : -EIO;
}

int auth_init(struct auth *a, const char *place)
{
        *a = (struct auth){0};
        snprintf(a->cookie, sizeof(a->cookie), "assay_session_%016" PRIx64,
                 hash_stable(place, strlen(place)));
        return fill_random(a->key, sizeof(a->key));
}

/* 64 hexadecimal digits of the system's randomness. 0 or a negative errno. */
static int auth_make_secret(char ret[AUTH_SECRET_MAX])
{
        unsigned char bytes[32];
        int r = fill_random(bytes, sizeof(bytes));
        for (size_t i = 0; r == 0 && i < sizeof(bytes); i++)
                snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
        return r;
}

static int refuse_token(const char *path, const char *why, struct err *err)
{
        err_set(err, ERR_USAGE, "token file '%s': %s", path, why);
        return err_hint(err, "make one with 'openssl rand -hex 32 > FILE; chmod 600 FILE'");
}

int auth_read_token(const char *path, char ret[AUTH_TOKEN_MAX], struct err *err)
{
        char text[AUTH_TOKEN_MAX + 1];
        CLEANUP(closep) int fd = -1;
        const char *why = trust_open_secret(path, &fd);
        if (why)
                return refuse_token(path, why, err);
        ssize_t n = read(fd, text, sizeof(text) - 1);
        if (n < 0)
                return refuse_token(path, strerror(errno), err);
        text[n] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        if (strlen(text) < TOKEN_LEAST || strlen(text) >= AUTH_TOKEN_MAX)
                return refuse_token(path, "a token has 16 to 511 letters", err);
        for (const char *c = text; *c; c++) {
                if (*c <= ' ' || *c > '~')
                        return refuse_token(
                            path, "a token has no blanks and no letters beyond ASCII", err);
        }
        memcpy(ret, text, strlen(text) + 1);
        return 0;
}

bool auth_is_needed(const struct auth *a)
{
        return a->viewer[0] || a->admin[0] || a->n_users > 0;
}

/* --- passwords ------------------------------------------------------------------------------- */

static uint64_t rotate_left(uint64_t v, unsigned by)
{
        return v << by | v >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
}

/* SipHash-2-4, so that a right password is remembered without being kept. */
static uint64_t siphash(const uint64_t key[2], const char *s, size_t n)
{
        uint64_t v[4] = {key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
                         key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL};
        for (size_t at = 0; at <= n; at += 8) {
                uint64_t word = n - at < 8 ? (uint64_t)n << 56 : 0;
                for (size_t i = 0; i < 8 && at + i < n; i++)
                        word |= (uint64_t)(unsigned char)s[at + i] << (8 * i);
                v[3] ^= word;
                sip_round(v);
                sip_round(v);
                v[0] ^= word;
        }
        v[2] ^= 0xff;
        for (int i = 0; i < 4; i++)
                sip_round(v);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool is_known(const struct auth *a, const struct auth_user *u, const char *password)
{
        size_t n = strlen(password);
        uint64_t differ = siphash(a->key, password, n) ^ u->known[0];
        differ |= siphash(a->key + 2, password, n) ^ u->known[1];
        return u->has_known && differ == 0;
}

static void remember_password(const struct auth *a, struct auth_user *u, const char *password)
{
        u->known[0] = siphash(a->key, password, strlen(password));
        u->known[1] = siphash(a->key + 2, password, strlen(password));
        u->has_known = true;
}

static struct auth_user *find_user(struct auth *a, const char *name)
{
        for (size_t i = 0; i < a->n_users; i++) {
                if (strcmp(a->users[i].name, name) == 0)
                        return &a->users[i];
        }
        return NULL;
}

const char *auth_hash(const struct auth *a, const char *user)
{
        for (size_t i = 0; i < a->n_users; i++) {
                if (strcmp(a->users[i].name, user) == 0)
                        return a->users[i].hash;
        }
        return NOBODY;
}

bool auth_accept(struct auth *a, const struct auth_claim *claim)
{
        struct auth_user *u = find_user(a, claim->user);
        if (u)
                remember_password(a, u, claim->password);
        return u != NULL;
}

/* --- sessions and links ---------------------------------------------------------------------- */

static enum role role_of_session(const struct auth *a, const char *secret, int64_t now_ns)
{
        enum role role = ROLE_NONE;
        for (size_t i = 0; i < AUTH_SESSIONS_MAX; i++) {
                const struct auth_session *s = &a->sessions[i];
                if (s->role != ROLE_NONE && now_ns < s->until_ns && guard_same(secret, s->secret))
                        role = s->role;
        }
        return role;
}

static size_t count_sessions(const struct auth_session *pool, size_t n, uint64_t owner)
{
        size_t found = 0;
        for (size_t i = 0; i < n; i++)
                found += pool[i].role != ROLE_NONE && pool[i].owner == owner;
        return found;
}

/* A free place, or one that is over; else the oldest of the user who has most, first of one's own.
 */
static struct auth_session *find_place(struct auth_session *pool, size_t n, uint64_t owner,
                                       int64_t now_ns)
{
        struct auth_session *victim = NULL;
        size_t most = 0;
        for (size_t i = 0; i < n; i++) {
                struct auth_session *s = &pool[i];
                if (s->role == ROLE_NONE || now_ns >= s->until_ns)
                        return s;
                size_t has = 2 * count_sessions(pool, n, s->owner) + (s->owner == owner);
                if (has > most || (has == most && s->until_ns < victim->until_ns)) {
                        most = has;
                        victim = s;
                }
        }
        return victim;
}

int auth_start_session(struct auth *a, enum role role, uint64_t owner, int64_t now_ns,
                       char ret[AUTH_SECRET_MAX])
{
        bool admin = role == ROLE_ADMIN;
        struct auth_session *s =
            find_place(a->sessions + (admin ? AUTH_VIEWERS_MAX : 0),
                       admin ? AUTH_ADMINS_MAX : AUTH_VIEWERS_MAX, owner, now_ns);
        int r = auth_make_secret(ret);
        if (r < 0)
                return r;
        *s = (struct auth_session){.role = role, .owner = owner, .until_ns = now_ns + SESSION_NS};
        memcpy(s->secret, ret, AUTH_SECRET_MAX);
        return 0;
}

int auth_make_link(struct auth *a, int64_t now_ns)
{
        a->once_until_ns = now_ns + LINK_NS;
        return auth_make_secret(a->once);
}

bool auth_use_link(struct auth *a, const char *secret, int64_t now_ns)
{
        bool right = a->once[0] && now_ns < a->once_until_ns && guard_same(secret, a->once);
        if (right)
                a->once[0] = '\0';
        return right;
}

static bool same_users(const struct auth *a, const struct auth *b)
{
        bool same = a->n_users == b->n_users;
        for (size_t i = 0; same && i < a->n_users; i++)
                same = strcmp(a->users[i].name, b->users[i].name) == 0 &&
                       strcmp(a->users[i].hash, b->users[i].hash) == 0;
        return same;
}

static void keep_known(struct auth *a, const struct auth *old)
{
        memcpy(a->key, old->key, sizeof(a->key));
        for (size_t i = 0; i < old->n_users; i++) {
                struct auth_user *u = find_user(a, old->users[i].name);
                if (u && strcmp(u->hash, old->users[i].hash) == 0)
                        *u = old->users[i];
        }
}

void auth_keep_sessions(struct auth *a, const struct auth *old)
{
        const bool same[] = {[ROLE_VIEWER] =
                                 guard_same(a->viewer, old->viewer) && same_users(a, old),
                             [ROLE_ADMIN] = guard_same(a->admin, old->admin)};
        for (size_t i = 0; i < AUTH_SESSIONS_MAX; i++) {
                if (same[old->sessions[i].role])
                        a->sessions[i] = old->sessions[i];
        }
        if (same[ROLE_VIEWER]) {
                memcpy(a->once, old->once, sizeof(a->once));
                a->once_until_ns = old->once_until_ns;
        }
        keep_known(a, old);
}

enum auth_result auth_check(struct auth *a, const char *authorization, const char *cookie,
                            int64_t now_ns, struct auth_claim *ret_claim, enum role *ret)
{
        char secret[AUTH_SECRET_MAX];
        const char *bearer = guard_bearer(authorization);
        enum role role = ROLE_NONE;
        ret_claim->user[0] = '\0';
        if (bearer && a->admin[0] && guard_same(bearer, a->admin))
                role = ROLE_ADMIN;
        else if (bearer && a->viewer[0] && guard_same(bearer, a->viewer))
                role = ROLE_VIEWER;
        else if (guard_cookie(cookie, a->cookie, secret, sizeof(secret)))
                role = role_of_session(a, secret, now_ns);
        if (role == ROLE_NONE && a->n_users > 0 &&
            guard_basic(authorization, ret_claim->user, ret_claim->password,
                        sizeof(ret_claim->user))) {
                const struct auth_user *u = find_user(a, ret_claim->user);
                if (!u || !is_known(a, u, ret_claim->password))
                        return AUTH_CHECK;
                role = ROLE_VIEWER;
        }
        *ret = role;
        return role == ROLE_NONE ? AUTH_NO : AUTH_YES;
}
