#include "serve/webconfig.h"

#include "base/symbol.h"
#include "base/trust.h"
#include "serve/libraries.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define FILE_MAX (256 * 1024)
#define DEPTH_MAX 4
#define KEY_MAX 128

struct yaml_api {
        __typeof__(yaml_parser_initialize) *initialize;
        __typeof__(yaml_parser_delete) *finish;
        __typeof__(yaml_parser_set_input_string) *set_input;
        __typeof__(yaml_parser_parse) *next;
        __typeof__(yaml_event_delete) *drop;
};

static bool load_libyaml(struct yaml_api *y)
{
        void *library = dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);
        return symbol_find(library, "yaml_parser_initialize", &y->initialize) &&
               symbol_find(library, "yaml_parser_delete", &y->finish) &&
               symbol_find(library, "yaml_parser_set_input_string", &y->set_input) &&
               symbol_find(library, "yaml_parser_parse", &y->next) &&
               symbol_find(library, "yaml_event_delete", &y->drop);
}

/* Where the reader stands: keys from the outside in. */
struct reader {
        struct webconfig *ret;
        const char *dir;
        char keys[DEPTH_MAX][KEY_MAX];
        bool has_key[DEPTH_MAX]; /* the next scalar is its value */
        int depth;               /* mappings that are open */
        int skipping;            /* sequences that are open: their scalars are passed over */
        struct err *err;
};

static int refuse_config(struct reader *r, const char *what)
{
        err_set(r->err, ERR_USAGE, "web configuration: %s", what);
        return err_hint(r->err, "docs/SERVE.md has an example");
}

static int set_path(struct reader *r, char ret[WEBCONFIG_PATH_MAX], const char *value)
{
        int n = value[0] == '/' || !value[0]
                    ? snprintf(ret, WEBCONFIG_PATH_MAX, "%s", value)
                    : snprintf(ret, WEBCONFIG_PATH_MAX, "%s/%s", r->dir, value);
        return n < WEBCONFIG_PATH_MAX ? 0 : refuse_config(r, "a path is too long");
}

static int add_user(struct reader *r, const char *name, const char *hash)
{
        struct webconfig *w = r->ret;
        if (w->n_users == AUTH_USERS_MAX || strlen(name) >= AUTH_USER_MAX || !name[0])
                return refuse_config(r, "too many users, or a name is too long");
        if (strlen(hash) >= AUTH_HASH_MAX || !crypt_supports(hash))
                return refuse_config(
                    r, "a password is not a hash that this system knows; make one with "
                       "'htpasswd -nBC 10 USER'");
        struct auth_user *u = &w->users[w->n_users++];
        *u = (struct auth_user){0};
        snprintf(u->name, sizeof(u->name), "%s", name);
        snprintf(u->hash, sizeof(u->hash), "%s", hash);
        return 0;
}

static int set_client_auth(struct reader *r, const char *value)
{
        if (strcmp(value, "RequireAndVerifyClientCert") == 0)
                r->ret->need_client_certificate = true;
        else if (value[0] && strcmp(value, "NoClientCert") != 0 &&
                 strcmp(value, "RequestClientCert") != 0 &&
                 strcmp(value, "VerifyClientCertIfGiven") != 0)
                return refuse_config(
                    r, "client_auth_type is NoClientCert or RequireAndVerifyClientCert");
        return 0;
}

/* By exporter-toolkit's names and GnuTLS's. */
static const struct {
        const char *name, *word;
} tls_versions[TLS_VERSIONS] = {
    [TLS_1_0] = {"TLS10", "TLS1.0"},
    [TLS_1_1] = {"TLS11", "TLS1.1"},
    [TLS_1_2] = {"TLS12", "TLS1.2"},
    [TLS_1_3] = {"TLS13", "TLS1.3"},
};

static int set_version(struct reader *r, enum tls_version *ret, const char *value)
{
        for (enum tls_version v = 0; v < TLS_VERSIONS; v++) {
                if (strcmp(value, tls_versions[v].name) == 0)
                        return *ret = v, 0;
        }
        return value[0] ? refuse_config(r, "a version is TLS10, TLS11, TLS12 or TLS13") : 0;
}

void webconfig_tls_words(const struct webconfig *w, char ret[WEBCONFIG_TLS_MAX])
{
        int n = snprintf(ret, WEBCONFIG_TLS_MAX, "NORMAL:-VERS-ALL");
        for (enum tls_version v = w->tls_least; v <= w->tls_most; v++)
                n += snprintf(ret + n, WEBCONFIG_TLS_MAX - (size_t)n, ":+VERS-%s",
                              tls_versions[v].word);
}

static int set_tls(struct reader *r, const char *key, const char *value)
{
        if (strcmp(key, "min_version") == 0)
                return set_version(r, &r->ret->tls_least, value);
        if (strcmp(key, "max_version") == 0)
                return set_version(r, &r->ret->tls_most, value);
        if (strcmp(key, "cert_file") == 0)
                return set_path(r, r->ret->cert_file, value);
        if (strcmp(key, "key_file") == 0)
                return set_path(r, r->ret->key_file, value);
        if (strcmp(key, "client_ca_file") == 0)
                return set_path(r, r->ret->client_ca_file, value);
        if (strcmp(key, "client_auth_type") == 0)
                return set_client_auth(r, value);
        if (strcmp(key, "prefer_server_cipher_suites") == 0)
                return 0;
        return refuse_config(r, "tls_server_config has a key that is not known");
}

static int set_value(struct reader *r, const char *value)
{
        const char *section = r->keys[0], *key = r->keys[1];
        if (r->depth == 2 && strcmp(section, "tls_server_config") == 0)
                return set_tls(r, key, value);
        if (r->depth == 2 && strcmp(section, "basic_auth_users") == 0)
                return add_user(r, key, value);
        if (strcmp(section, "http_server_config") == 0)
                return 0;
        /* A section without members: "tls_server_config:" alone. */
        if (r->depth == 1 && !value[0])
                return 0;
        return refuse_config(r, "it has a section that is not known");
}

static int take_scalar(struct reader *r, const char *text)
{
        if (r->skipping > 0 || r->depth == 0)
                return r->depth == 0 && text[0] ? refuse_config(r, "it is not a mapping") : 0;
        int at = r->depth - 1;
        if (r->has_key[at]) {
                r->has_key[at] = false;
                return set_value(r, text);
        }
        if (strlen(text) >= KEY_MAX)
                return refuse_config(r, "a key is too long");
        snprintf(r->keys[at], KEY_MAX, "%s", text);
        r->has_key[at] = true;
        return 0;
}

static int webconfig_take(struct reader *r, const yaml_event_t *e)
{
        switch ((int)e->type) {
        case YAML_ALIAS_EVENT:
                return refuse_config(r, "aliases are not allowed");
        case YAML_SCALAR_EVENT:
                if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
                        return refuse_config(r, "a text holds a NUL");
                return take_scalar(r, (const char *)e->data.scalar.value);
        case YAML_SEQUENCE_START_EVENT:
                r->skipping++;
                break;
        case YAML_SEQUENCE_END_EVENT:
                r->skipping--;
                if (r->skipping == 0 && r->depth > 0)
                        r->has_key[r->depth - 1] = false;
                break;
        case YAML_MAPPING_START_EVENT:
                if (r->depth == DEPTH_MAX || r->skipping > 0)
                        return refuse_config(r, "it is nested too deeply");
                r->has_key[r->depth++] = false;
                break;
        case YAML_MAPPING_END_EVENT:
                r->depth--;
                if (r->depth > 0)
                        r->has_key[r->depth - 1] = false;
                break;
        default:
                break;
        }
        return 0;
}

static int check_config(struct reader *r)
{
        const struct webconfig *w = r->ret;
        if (!w->cert_file[0] != !w->key_file[0])
                return refuse_config(r, "cert_file and key_file go together");
        if (w->need_client_certificate && !w->client_ca_file[0])
                return refuse_config(r, "client certificates need client_ca_file");
        if (w->client_ca_file[0] && !w->cert_file[0])
                return refuse_config(r, "client_ca_file needs cert_file and key_file");
        if (w->tls_least > w->tls_most)
                return refuse_config(r, "min_version is above max_version");
        return 0;
}

static int parse_config(struct reader *r, const struct yaml_api *y, const char *text, size_t len)
{
        yaml_parser_t parser;
        bool end = false;
        int done = 0;
        if (!y->initialize(&parser))
                return err_set(r->err, -ENOMEM, "out of memory");
        y->set_input(&parser, (const unsigned char *)text, len);
        while (done == 0 && !end) {
                yaml_event_t event;
                if (!y->next(&parser, &event)) {
                        done = err_set(r->err, ERR_USAGE, "web configuration: line %zu is not YAML",
                                       parser.problem_mark.line + 1);
                        break;
                }
                end = event.type == YAML_STREAM_END_EVENT;
                done = webconfig_take(r, &event);
                y->drop(&event);
        }
        y->finish(&parser);
        return done;
}

int webconfig_parse(const char *text, size_t len, const char *dir, struct webconfig *ret,
                    struct err *err)
{
        struct yaml_api y = {0};
        struct webconfig *w = calloc(1, sizeof(*w));
        if (!w)
                return err_set(err, -ENOMEM, "out of memory");
        struct reader r = {.ret = w, .dir = dir, .err = err};
        w->tls_least = TLS_1_2;
        w->tls_most = TLS_1_3;
        int done = 0;
        if (!load_libyaml(&y)) {
                err_set(err, ERR_USAGE,
                        "cannot read a web configuration: libyaml is not installed");
                done = err_hint_install(err, "libyaml-0-2", "libyaml", NULL);
        }
        if (done == 0)
                done = parse_config(&r, &y, text, len);
        if (done == 0)
                done = check_config(&r);
        if (done == 0)
                *ret = *w;
        free(w);
        return done;
}

static int refuse_file(const char *path, const char *why, struct err *err)
{
        err_set(err, ERR_USAGE, "cannot read the web configuration '%s': %s", path, why);
        return err_hint(err, "it must be a file of yours, or root's, that others cannot write");
}

int webconfig_read(const char *path, struct webconfig *ret, struct err *err)
{
        CLEANUP(closep) int fd = -1;
        CLEANUP(freep) char *text = malloc(FILE_MAX);
        const char *why = text ? trust_open_secret(path, &fd) : strerror(ENOMEM);
        if (why)
                return refuse_file(path, why, err);
        ssize_t n = read(fd, text, FILE_MAX);
        if (n < 0 || n == FILE_MAX)
                return refuse_file(path, n < 0 ? strerror(errno) : "it is too long", err);
        char dir[WEBCONFIG_PATH_MAX];
        const char *slash = strrchr(path, '/');
        snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
        return webconfig_parse(text, (size_t)n, dir, ret, err);
}
