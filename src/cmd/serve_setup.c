#include "cmd/serve_setup.h"

#include "app/input.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/trust.h"
#include "serve/webconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define FILE_MAX (1024 * 1024)

/* --- dcgm-exporter's variables ---------------------------------------------------------------- */

static bool is_true(const char *text)
{
        return strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0 ||
               strcasecmp(text, "t") == 0;
}

int serve_setup_options(const struct config *config, struct config *ret, struct err *err)
{
        static const struct {
                const char *variable;
                enum option option;
        } table[] = {
            {"DCGM_EXPORTER_LISTEN", OPT_LISTEN},
            {"DCGM_EXPORTER_INTERVAL", OPT_COLLECT_INTERVAL},
            {"DCGM_EXPORTER_COLLECTORS", OPT_COLLECTORS},
            {"DCGM_EXPORTER_KUBERNETES", OPT_KUBERNETES},
            {"DCGM_EXPORTER_NO_HOSTNAME", OPT_NO_HOSTNAME},
            {"DCGM_EXPORTER_WEB_CONFIG_FILE", OPT_WEB_CONFIG_FILE},
            {"DCGM_HPC_JOB_MAPPING_DIR", OPT_HPC_JOB_MAPPING_DIR},
            {"DCGM_POD_RESOURCES_KUBELET_SOCKET", OPT_KUBELET_SOCKET},
        };
        int r = config_copy(config, ret);
        if (r < 0)
                return err_set(err, r, "out of memory");
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(table); i++) {
                const char *value = get_env(table[i].variable);
                if (!value || !value[0] || config_is_set(ret, table[i].option))
                        continue;
                if (option_info(table[i].option)->type != OPTION_FLAG)
                        r = config_put(ret, table[i].option, value, err);
                else if (is_true(value))
                        r = config_put(ret, table[i].option, "true", err);
                if (r < 0)
                        err_hint(err, "it comes from the variable %s", table[i].variable);
        }
        if (r == 0 && config_is_set(ret, OPT_COLLECT_INTERVAL) && !config_is_set(ret, OPT_POLL)) {
                char seconds[32];
                snprintf(seconds, sizeof(seconds), "%g",
                         config_number(ret, OPT_COLLECT_INTERVAL) / 1000);
                r = config_put(ret, OPT_POLL, seconds, err);
        }
        return r;
}

/* --- files ------------------------------------------------------------------------------------ */

static int refuse_file(const char *path, const char *why, const char *hint, struct err *err)
{
        err_set(err, ERR_USAGE, "cannot read '%s': %s", path, why);
        return err_hint(err, "%s", hint);
}

/* The text of an open file, terminated. Owned by the caller. */
static int read_open(int fd, const char *path, char **ret, size_t *ret_len, struct err *err)
{
        const char *hint = "is the name right, and may this user read it?";
        CLEANUP(freep) char *text = malloc(FILE_MAX + 1);
        size_t n = 0;
        ssize_t got = text ? 1 : -1;
        while (got > 0 && n < FILE_MAX) {
                got = read(fd, text + n, FILE_MAX - n);
                n += got > 0 ? (size_t)got : 0;
        }
        if (got < 0 || n == FILE_MAX)
                return refuse_file(path, got < 0 ? strerror(errno) : "it is too long", hint, err);
        text[n] = '\0';
        *ret = TAKE(text);
        *ret_len = n;
        return 0;
}

/* A file that says what is served: a pipe or a device would keep the start waiting. */
static int read_text(const char *path, char **ret, size_t *ret_len, struct err *err)
{
        const char *hint = "is the name right, and may this user read it?";
        struct stat st;
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return refuse_file(path, strerror(errno), hint, err);
        return S_ISREG(st.st_mode) ? read_open(fd, path, ret, ret_len, err)
                                   : refuse_file(path, "not a regular file", hint, err);
}

/* Certificates and keys say who is admitted. */
static int read_pem(const char *path, char **ret, struct err *err)
{
        size_t len;
        CLEANUP(closep) int fd = -1;
        const char *why = trust_open_secret(path, &fd);
        if (why)
                return refuse_file(
                    path, why, "it must be a file of yours, or root's, that others cannot write",
                    err);
        return read_open(fd, path, ret, &len, err);
}

static int read_tls(const struct webconfig *w, struct server_settings *s, struct err *err)
{
        int r = 0;
        if (w->cert_file[0])
                r = read_pem(w->cert_file, &s->certificate, err);
        if (r == 0 && w->key_file[0])
                r = read_pem(w->key_file, &s->key, err);
        if (r == 0 && w->client_ca_file[0])
                r = read_pem(w->client_ca_file, &s->client_ca, err);
        s->need_client_certificate = w->need_client_certificate;
        webconfig_tls_words(w, s->tls_words);
        return r;
}

static int read_web_config(const struct config *config, struct serve_setup *s, struct err *err)
{
        const char *path = config_text(config, OPT_WEB_CONFIG_FILE);
        CLEANUP(freep) struct webconfig *w = calloc(1, sizeof(*w));
        if (!path)
                return 0;
        if (!w)
                return err_set(err, -ENOMEM, "out of memory");
        int r = webconfig_read(path, w, err);
        if (r == 0)
                r = read_tls(w, &s->settings, err);
        if (r == 0) {
                memcpy(s->auth.users, w->users, sizeof(s->auth.users));
                s->auth.n_users = w->n_users;
        }
        return r;
}

static int read_tokens(const struct config *config, struct serve_setup *s, struct err *err)
{
        const char *viewer = config_text(config, OPT_AUTH_TOKEN_FILE);
        const char *admin = config_text(config, OPT_ADMIN_TOKEN_FILE);
        char own[256] = "", place[512];
        gethostname(own, sizeof(own) - 1);
        snprintf(place, sizeof(place), "%s %.250s", own, config_text(config, OPT_LISTEN));
        int r = auth_init(&s->auth, place);
        if (r < 0)
                return err_set(err, r, "the system gives no random numbers");
        if (viewer)
                r = auth_read_token(viewer, s->auth.viewer, err);
        if (r == 0 && admin)
                r = auth_read_token(admin, s->auth.admin, err);
        /* An admin's token alone shuts nobody out. */
        if (r == 0 && admin && !viewer && !s->place.loopback &&
            !config_is_set(config, OPT_WEB_CONFIG_FILE))
                memcpy(s->auth.viewer, s->auth.admin, sizeof(s->auth.viewer));
        return r;
}

/* --- names ------------------------------------------------------------------------------------ */

/* The machine's name; in a pod, which has one of its own, that of its node, as dcgm-exporter does.
 */
static void own_name(char ret[ENTITY_TEXT_MAX])
{
        const char *node = get_env("NODE_NAME");
        ret[0] = '\0';
        if (node && node[0])
                snprintf(ret, ENTITY_TEXT_MAX, "%.*s", ENTITY_TEXT_MAX - 1, node);
        else
                gethostname(ret, ENTITY_TEXT_MAX - 1);
        ret[ENTITY_TEXT_MAX - 1] = '\0';
        text_clean(ret);
}

static int read_hosts(const struct config *config, struct serve_setup *s, struct err *err)
{
        char own[256] = "";
        struct guard_hosts *hosts = &s->settings.hosts;
        gethostname(own, sizeof(own) - 1);
        if (own[0])
                guard_add_host(hosts, own, strlen(own));
        const char *list = config_text(config, OPT_ALLOW_HOST);
        while (list && *list) {
                size_t n = strcspn(list, ",");
                if (n > 0 && !guard_add_host(hosts, list, n)) {
                        err_set(err, ERR_USAGE, "--allow-host: '%.*s' is not a name", (int)n, list);
                        return err_hint(err, "write names with commas between, at most 31");
                }
                list += n;
                list += *list == ',';
        }
        return 0;
}

static int read_prefix(const struct config *config, struct serve_setup *s, struct err *err)
{
        const char *text = config_text(config, OPT_PREFIX);
        size_t n = text ? strlen(text) : 0;
        while (n > 0 && text[n - 1] == '/')
                n--;
        if (n == 0)
                return 0;
        if (text[0] != '/' || n >= SERVER_PREFIX_MAX ||
            strspn(text, "/-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") <
                n) {
                err_set(err, ERR_USAGE, "--prefix: '%s' is not a path", text);
                return err_hint(err, "write for example --prefix /gpus");
        }
        memcpy(s->settings.prefix, text, n);
        s->settings.prefix[n] = '\0';
        return 0;
}

static unsigned dialects_of(const struct config *config)
{
        const char *names = config_text(config, OPT_NAMES);
        return strcmp(names, "classic") == 0 ? 1u << DCGM_CLASSIC
               : strcmp(names, "new") == 0   ? 1u << DCGM_NEW
               : strcmp(names, "both") == 0  ? 1u << DCGM_CLASSIC | 1u << DCGM_NEW
                                             : 0;
}

static int read_exposition(const struct config *config, struct serve_setup *s,
                           struct strbuf *notices, struct err *err)
{
        struct exposition_options *o = &s->settings.exposition;
        const char *collectors = config_text(config, OPT_COLLECTORS);
        CLEANUP(freep) char *text = NULL;
        size_t len;
        o->own = true;
        o->version = program_version;
        o->owner_labels =
            config_flag(config, OPT_OWNER_LABELS) || config_flag(config, OPT_KUBERNETES);
        o->no_hostname = config_flag(config, OPT_NO_HOSTNAME);
        own_name(o->hostname);
        gethostname(o->own_host, sizeof(o->own_host) - 1);
        const char *also = config_text(config, OPT_ALSO);
        if (also && exposition_also(o, also, err) < 0)
                return ERR_USAGE;
        exposition_choose_default(o, dialects_of(config));
        if (!collectors)
                return 0;
        int r = read_text(collectors, &text, &len, err);
        return r < 0 ? r : exposition_choose(o, dialects_of(config), text, len, notices, err);
}

/* Whoever can reach the address can read it: that must be meant. */
static int check_open_door(const struct config *config, const struct serve_setup *s,
                           struct err *err)
{
        if (s->place.loopback || auth_is_needed(&s->auth) || config_flag(config, OPT_INSECURE) ||
            s->settings.need_client_certificate)
                return 0;
        err_set(err, ERR_USAGE, "everybody who reaches %s could read it", s->place.host);
        return err_hint(err, "give --auth-token-file FILE or --web-config-file FILE; or --insecure "
                             "when that is meant, for example behind a firewall");
}

static void copy_path(const struct config *config, enum option option, char ret[SERVE_PATH_MAX])
{
        const char *text = config_text(config, option);
        snprintf(ret, SERVE_PATH_MAX, "%s", text ? text : "");
}

static int read_push(const struct config *config, struct serve_setup *s, struct err *err)
{
        const char *url = config_text(config, OPT_PUSH), *bad;
        const char *list = config_text(config, OPT_PUSH_LABELS);
        if (!url) {
                if (!list && !config_is_set(config, OPT_PUSH_TOKEN_FILE))
                        return 0;
                err_set(err, ERR_USAGE, "--push-labels and --push-token-file need --push");
                return err_hint(err, "give the engine's address: --push http://HOST:9090");
        }
        int r = push_check(url, s->push_url, err);
        remote_label_set(&s->push_labels, "job", "assay");
        remote_label_set(&s->push_labels, "instance", s->settings.exposition.hostname);
        if (r == 0 && list && !remote_labels_parse(&s->push_labels, list, &bad)) {
                err_set(err, ERR_USAGE, "--push-labels: '%.*s' is not a label",
                        (int)MIN(strcspn(bad, ","), (size_t)80), bad);
                r = err_hint(err, "write NAME=VALUE with commas between: cluster=a,rack=7");
        }
        copy_path(config, OPT_PUSH_TOKEN_FILE, s->push_token_file);
        return r;
}

/* What is absent may come later, and is searched for again; but a misspelt name would never be. */
static void notice_missing(const struct config *config, enum option option, struct strbuf *notices)
{
        const char *path = config_text(config, option);
        if (path && access(path, R_OK) < 0)
                strbuf_putf(notices, "--%s: cannot read '%s' yet: %s\n", option_info(option)->name,
                            path, strerror(errno));
}

int serve_setup_read(const struct config *config, struct serve_setup *s, struct strbuf *notices,
                     struct err *err)
{
        *s = (struct serve_setup){0};
        int r = listen_parse(config_text(config, OPT_LISTEN), &s->place, err);
        if (r == 0)
                r = read_tokens(config, s, err);
        if (r == 0)
                r = read_web_config(config, s, err);
        if (r == 0)
                r = check_open_door(config, s, err);
        if (r == 0)
                r = read_hosts(config, s, err);
        if (r == 0)
                r = read_prefix(config, s, err);
        if (r == 0)
                r = read_exposition(config, s, notices, err);
        if (r == 0)
                r = read_push(config, s, err);
        if (r == 0)
                r = server_check(&s->settings, err);
        notice_missing(config, OPT_HPC_JOB_MAPPING_DIR, notices);
        notice_missing(config, OPT_SESSIONS, notices);
        if (config_flag(config, OPT_KUBERNETES))
                notice_missing(config, OPT_KUBELET_SOCKET, notices);
        /* What is played happened already: it is not kept among what happens on this machine. */
        if (!input_is_recording(config_text(config, OPT_SOURCE)) ||
            config_is_set(config, OPT_STATE))
                setup_state_folder(config, s->state);
        copy_path(config, OPT_HPC_JOB_MAPPING_DIR, s->mapping_dir);
        copy_path(config, OPT_KUBELET_SOCKET, s->kubelet);
        s->keep_jobs_ns = (int64_t)config_number(config, OPT_KEEP_JOBS) * 86400 * NS_PER_S;
        return r;
}

const char *serve_setup_opens(const struct serve_setup *old, const struct serve_setup *fresh)
{
        if (auth_is_needed(&old->auth) && !auth_is_needed(&fresh->auth))
                return "a token or password";
        if (old->settings.need_client_certificate && !fresh->settings.need_client_certificate)
                return "client certificates";
        if (old->settings.certificate && !fresh->settings.certificate)
                return "TLS";
        return NULL;
}

void serve_setup_finish(struct serve_setup *s)
{
        free(s->settings.certificate);
        free(s->settings.key);
        free(s->settings.client_ca);
        *s = (struct serve_setup){0};
}
