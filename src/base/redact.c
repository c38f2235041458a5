#include "base/redact.h"

#include "base/attr.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define STARS 3

/* Leaves at most three stars of s, and what comes after it. */
static char *mask_secret(char *s, size_t len)
{
        size_t stars = MIN(len, (size_t)STARS);
        memset(s, '*', stars);
        memmove(s + stars, s + len, strlen(s + len) + 1);
        return s + stars;
}

/* ---- names ---- */

static bool is_one_of(const char *s, size_t len, const char *const *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (strlen(list[i]) == len && strncasecmp(s, list[i], len) == 0)
                        return true;
        }
        return false;
}

/* What means one thing wherever it ends a name: PGPASSWORD. */
static bool ends_as_secret(const char *s, size_t len)
{
        static const char *const ends[] = {"password", "passwd", "passphrase", "secret", "apikey"};
        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                size_t n = strlen(ends[i]);
                if (len >= n && strncasecmp(s + len - n, ends[i], n) == 0)
                        return true;
        }
        return false;
}

/* Whether the last part of a name says that its value is secret: hf_token, --api-key, authToken. */
static bool is_secret_name(const char *s, size_t len)
{
        static const char *const parts[] = {
            "token",     "password",    "passwd",   "pwd",        "pass",         "passphrase",
            "secret",    "secrets",     "key",      "apikey",     "secretkey",    "accesskey",
            "authkey",   "auth",        "jwt",      "credential", "credentials",  "bearer",
            "authtoken", "accesstoken", "apitoken", "cookie",     "authorization"};
        size_t from = len;
        if (ends_as_secret(s, len))
                return true;
        while (from > 0 && isalnum((unsigned char)s[from - 1])) {
                from--;
                bool hump = isupper((unsigned char)s[from]) && from > 0 &&
                            islower((unsigned char)s[from - 1]);
                if (hump && is_one_of(s + from, len - from, parts, ARRAY_LEN(parts)))
                        return true;
        }
        return is_one_of(s + from, len - from, parts, ARRAY_LEN(parts));
}

/* ---- shapes ---- */

static size_t word_length(const char *s, const char *more)
{
        size_t n = 0;
        while (s[n] && (isalnum((unsigned char)s[n]) || strchr(more, s[n])))
                n++;
        return n;
}

/* How long the token is that starts here; 0 when none does. */
static size_t token_at(const char *s)
{
        static const struct {
                const char *start;
                size_t least; /* with its start */
        } shapes[] = {{"hf_", 20},  {"ghp_", 20},  {"gho_", 20},        {"ghu_", 20},
                      {"ghs_", 20}, {"ghr_", 20},  {"github_pat_", 30}, {"glpat-", 20},
                      {"sk-", 20},  {"xoxb-", 20}, {"xoxp-", 20},       {"xoxa-", 20},
                      {"AKIA", 20}, {"ASIA", 20},  {"AIza", 35},        {"nvapi-", 20},
                      {"npm_", 30}, {"pypi-", 30}, {"dckr_pat_", 20},   {"eyJ", 60}};
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
                size_t len = strlen(shapes[i].start);
                if (strncmp(s, shapes[i].start, len) != 0)
                        continue;
                /* A JSON web token has dots in it. */
                size_t n = word_length(s, s[0] == 'e' ? "-_." : "-_");
                if (n >= shapes[i].least)
                        return n;
        }
        return 0;
}

static void mask_tokens(char *s)
{
        bool inside = false; /* of a word of letters, where no token starts */
        while (*s) {
                size_t n = inside ? 0 : token_at(s);
                inside = isalnum((unsigned char)*s);
                s = n > 0 ? mask_secret(s, n) : s + 1;
        }
}

/* scheme://user:password@host */
static void mask_urls(char *s)
{
        while ((s = strstr(s, "://"))) {
                s += 3;
                size_t end = strcspn(s, "/?#\"' ");
                char *at = NULL;
                for (size_t i = 0; i < end; i++)
                        at = s[i] == '@' ? s + i : at;
                char *colon = at ? memchr(s, ':', (size_t)(at - s)) : NULL;
                if (colon && at > colon + 1)
                        mask_secret(colon + 1, (size_t)(at - colon) - 1);
        }
}

/* ---- words ---- */

static bool is_herald(const char *s)
{
        return strcasecmp(s, "bearer") == 0 || strcasecmp(s, "basic") == 0;
}

/* A part between blanks, whose end is a terminator. True when what comes next is a secret. */
static bool mask_part(char *s)
{
        if (is_herald(s))
                return true;
        bool option = s[0] == '-';
        size_t at = strcspn(s, "=:");
        size_t name = at;
        while (name > 0 && strchr("\"'", s[name - 1]))
                name--;
        bool secret = is_secret_name(s, name);
        if (!s[at])
                return option && secret;
        size_t value = at + 1;
        value += strspn(s + value, "\"'");
        if (!secret || strncmp(s + at, "://", 3) == 0)
                return false;
        if (!s[value])
                return true; /* "password: X" */
        if (is_herald(s + value))
                return true;
        mask_secret(s + value, strcspn(s + value, "\"',}&"));
        return false;
}

void redact_word(struct redact *r, char *word)
{
        bool whole = r->next && word[0] != '-' && !is_herald(word);
        if (whole || word[0] == '-')
                r->next = false;
        if (whole) {
                mask_secret(word, strlen(word)); /* --password 'three words' */
                return;
        }
        mask_urls(word);
        mask_tokens(word);
        for (char *s = word + strspn(word, " \t\n"); *s; s += strspn(s, " \t\n")) {
                size_t len = strcspn(s, " \t\n");
                char end = s[len];
                s[len] = '\0';
                if (r->next && !is_herald(s)) {
                        mask_secret(s, len);
                        r->next = false;
                } else {
                        r->next = mask_part(s);
                }
                size_t now = strlen(s);
                s[len] = end;
                memmove(s + now, s + len, strlen(s + len) + 1);
                s += now;
        }
}
