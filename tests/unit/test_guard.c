/* Who is let in: each row is a way in that was tried somewhere. */
#include "serve/auth.h"
#include "serve/guard.h"
#include "serve/listen.h"
#include "serve/past.h"
#include "serve/state.h"
#include "serve/webconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define NS 1000000000LL

static void test_hosts(void **state)
{
        static const struct {
                const char *header;
                bool authorize;
                const char *why;
        } cases[] = {
            {"127.0.0.1:9400", true, "an address is no name that can be turned"},
            {"[::1]:9400", true, "nor is this one"},
            {"10.1.2.3", true, "behind a forwarded port"},
            {"localhost", true, "ssh -L"},
            {"LOCALHOST:8080", true, "names have no case"},
            {"node-07:9400", true, "its own name"},
            {"node-07.:9400", true, "with the root's dot"},
            {"a.cluster.local", true, "allowed by a pattern"},
            {"cluster.local", false, "the pattern wants something before the dot"},
            {"evilcluster.local", false, "a suffix is not enough"},
            {"evil.example", false, "rebinding"},
            {"node-07.evil.example", false, "its name as a label of another's"},
            {"127.0.0.1.evil.example", false, "an address as a label"},
            {"localhost.evil.example", false, "the same"},
            {"", false, "empty"},
            {":9400", false, "a port alone"},
            {"localhost:", false, "no port"},
            {"localhost:94x", false, "not a port"},
            {"[::1", false, "never closed"},
            {"::1", false, "an address of this kind has brackets"},
            {"[evil.example]", false, "a name in brackets"},
            {NULL, false, "none at all"},
        };
        struct guard_hosts hosts = {0};
        (void)state;
        assert_true(guard_add_host(&hosts, "node-07", 7));
        assert_true(guard_add_host(&hosts, "*.cluster.local", 15));
        assert_false(guard_add_host(&hosts, "", 0));
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (guard_host(&hosts, cases[i].header) != cases[i].authorize)
                        fail_msg("%s: %s", cases[i].header, cases[i].why);
        }
}

static void test_headers(void **state)
{
        (void)state;
        assert_true(guard_site(NULL));
        assert_true(guard_site("same-origin"));
        assert_true(guard_site("none"));
        assert_false(guard_site("cross-site"));
        assert_false(guard_site("same-site"));
        assert_string_equal(guard_bearer("bearer abc"), "abc");
        assert_null(guard_bearer("Bearer "));
        assert_null(guard_bearer("Basic abc"));
}

static void test_weights(void **state)
{
        static const struct {
                const char *header, *word;
                double weight;
        } cases[] = {
            {"gzip", "gzip", 1},
            {"deflate, GZIP;q=0.5", "gzip", 0.5},
            {"gzip;q=0", "gzip", 0},
            {"gzip; q=0.000", "gzip", 0},
            {"gzip;q=0 , deflate", "gzip", 0},
            {"xgzip, gzipx", "gzip", 0},
            {NULL, "gzip", 0},
            {"", "gzip", 0},
            {"a/b;v=1;q=0.4, a/b;v=2;q=0.6", "a/b", 0.6},
            {"a/b;v=1;Q=0.25", "a/b", 0.25},
            {"a/b;q=x", "a/b", 1},
            {"a/b;q=", "a/b", 1},
            {"a/b;q", "a/b", 1},
            {"a/b;", "a/b", 1},
            {"a/b;q=7", "a/b", 1},
            {"a/b;xq=0", "a/b", 1},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (guard_weight(cases[i].header, cases[i].word) != cases[i].weight)
                        fail_msg("%s", cases[i].header);
        }
}

static void test_credentials(void **state)
{
        char user[32], password[32], cookie[8];
        (void)state;
        assert_true(guard_basic("Basic YWxpY2U6c2VzYW1l", user, password, sizeof(user)));
        assert_string_equal(user, "alice");
        assert_string_equal(password, "sesame");
        assert_true(guard_basic("basic YWxpY2U6YTpi", user, password, sizeof(user)));
        assert_string_equal(password, "a:b");
        assert_false(guard_basic("Basic YWxpY2U=", user, password, sizeof(user)));
        assert_false(guard_basic("Basic !!!!", user, password, sizeof(user)));
        assert_false(guard_basic("Basic YQBhOmI=", user, password, sizeof(user)));
        assert_false(guard_basic("Basic YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYTpi", user,
                                 password, sizeof(user)));
        assert_true(guard_cookie("a=1; assay=xyz; b=2", "assay", cookie, sizeof(cookie)));
        assert_string_equal(cookie, "xyz");
        assert_false(guard_cookie("xassay=1", "assay", cookie, sizeof(cookie)));
        assert_false(guard_cookie("assay=123456789", "assay", cookie, sizeof(cookie)));
        assert_true(guard_same("abc", "abc"));
        assert_false(guard_same("abc", "abd"));
        assert_false(guard_same("abc", "ab"));
        assert_false(guard_same("", "a"));
        assert_false(guard_same("a", ""));
}

static void test_places(void **state)
{
        static const struct {
                const char *text, *host, *port; /* host NULL: refused */
                bool loopback;
        } cases[] = {
            {"", "127.0.0.1", "9400", true},
            {"9100", "127.0.0.1", "9100", true},
            {":9400", "::", "9400", false},
            {"0.0.0.0:80", "0.0.0.0", "80", false},
            {"127.0.0.2:80", "127.0.0.2", "80", true},
            {"[::1]:80", "::1", "80", true},
            {"[::]:80", "::", "80", false},
            {"localhost:0", "127.0.0.1", "0", true},
            {"unix:/run/x", "/run/x", "", true},
            {"unix:x", NULL, NULL, false},
            {"127.0.0.1:99999", NULL, NULL, false},
            {"example.org:80", NULL, NULL, false},
            {"127.0.0.1:", NULL, NULL, false},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct listen_place p;
                struct err err = {0};
                int r = listen_parse(cases[i].text, &p, &err);
                assert_int_equal(r, cases[i].host ? 0 : ERR_USAGE);
                if (r < 0)
                        continue;
                assert_string_equal(p.host, cases[i].host);
                assert_string_equal(p.port, cases[i].port);
                assert_int_equal(p.loopback, cases[i].loopback);
        }
}

static void test_auth(void **state)
{
        struct auth *a = calloc(1, sizeof(*a));
        char secret[AUTH_SECRET_MAX], cookie[128];
        struct auth_claim claim;
        enum role role;
        (void)state;
        assert_int_equal(auth_init(a, "here"), 0);
        assert_false(auth_is_needed(a));
        snprintf(a->viewer, sizeof(a->viewer), "0123456789abcdef-viewer");
        snprintf(a->admin, sizeof(a->admin), "0123456789abcdef-admin");
        assert_true(auth_is_needed(a));
        assert_int_equal(auth_check(a, NULL, NULL, 0, &claim, &role), AUTH_NO);
        assert_int_equal(auth_check(a, "Bearer ", NULL, 0, &claim, &role), AUTH_NO);
        assert_int_equal(auth_check(a, "Bearer 0123456789abcdef", NULL, 0, &claim, &role), AUTH_NO);
        assert_int_equal(auth_check(a, "Bearer 0123456789abcdef-viewer", NULL, 0, &claim, &role),
                         AUTH_YES);
        assert_int_equal(role, ROLE_VIEWER);
        assert_int_equal(auth_check(a, "Bearer 0123456789abcdef-admin", NULL, 0, &claim, &role),
                         AUTH_YES);
        assert_int_equal(role, ROLE_ADMIN);
        assert_int_equal(auth_make_link(a, 0), 0);
        assert_int_equal(strlen(a->once), 64);
        memcpy(secret, a->once, sizeof(secret));
        assert_false(auth_use_link(a, "x", 1));
        assert_true(auth_use_link(a, secret, 1));
        assert_false(auth_use_link(a, secret, 1)); /* once */
        assert_false(auth_use_link(a, "", 1));
        auth_make_link(a, 0);
        memcpy(secret, a->once, sizeof(secret));
        assert_false(auth_use_link(a, secret, 601 * NS)); /* too late */
        assert_int_equal(auth_start_session(a, ROLE_VIEWER, 7, 0, secret), 0);
        snprintf(cookie, sizeof(cookie), "x=1; %s=%s", a->cookie, secret);
        assert_int_equal(auth_check(a, NULL, cookie, 1, &claim, &role), AUTH_YES);
        assert_int_equal(auth_check(a, NULL, cookie, 8 * 86400 * NS, &claim, &role), AUTH_NO);
        snprintf(cookie, sizeof(cookie), "%s=", a->cookie);
        assert_int_equal(auth_check(a, NULL, cookie, 1, &claim, &role), AUTH_NO);
        free(a);
}

/* A new token shuts out whoever came in with the old one, and nobody else. */
static void test_sessions_after_a_reload(void **state)
{
        static const struct {
                const char *viewer, *admin, *user;
                enum auth_result sees, rules;
                bool link;
        } cases[] = {
            {"viewer-1", "admin-1", "alice", AUTH_YES, AUTH_YES, true},
            {"viewer-2", "admin-1", "alice", AUTH_NO, AUTH_YES, false},
            {"viewer-1", "admin-2", "alice", AUTH_YES, AUTH_NO, true},
            {"viewer-1", "admin-1", "bob", AUTH_NO, AUTH_YES, false},
        };
        struct auth *a = calloc(2, sizeof(*a)), *b = a + 1;
        char sees[AUTH_SECRET_MAX], rules[AUTH_SECRET_MAX], cookie[128];
        struct auth_claim claim;
        enum role role;
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_int_equal(auth_init(a, "here"), 0);
                assert_int_equal(auth_init(b, "here"), 0);
                a->n_users = b->n_users = 1;
                snprintf(a->viewer, sizeof(a->viewer), "viewer-1");
                snprintf(a->admin, sizeof(a->admin), "admin-1");
                snprintf(a->users[0].name, sizeof(a->users[0].name), "alice");
                snprintf(b->viewer, sizeof(b->viewer), "%s", cases[i].viewer);
                snprintf(b->admin, sizeof(b->admin), "%s", cases[i].admin);
                snprintf(b->users[0].name, sizeof(b->users[0].name), "%s", cases[i].user);
                auth_start_session(a, ROLE_VIEWER, 7, 0, sees);
                auth_start_session(a, ROLE_ADMIN, 7, 0, rules);
                auth_make_link(a, 0);
                auth_keep_sessions(b, a);
                snprintf(cookie, sizeof(cookie), "%s=%s", b->cookie, sees);
                assert_int_equal(auth_check(b, NULL, cookie, 1, &claim, &role), cases[i].sees);
                snprintf(cookie, sizeof(cookie), "%s=%s", b->cookie, rules);
                assert_int_equal(auth_check(b, NULL, cookie, 1, &claim, &role), cases[i].rules);
                assert_int_equal(auth_use_link(b, a->once, 1), cases[i].link);
        }
        /* Another server that is localhost to the same browser. */
        assert_int_equal(auth_init(b, "elsewhere"), 0);
        assert_string_not_equal(a->cookie, b->cookie);
        free(a);
}

static bool session_lasts(struct auth *a, const char *secret)
{
        char cookie[128];
        struct auth_claim claim;
        enum role role;
        snprintf(cookie, sizeof(cookie), "%s=%s", a->cookie, secret);
        return auth_check(a, NULL, cookie, 1, &claim, &role) == AUTH_YES;
}

/* Who logs in again and again ends sessions of its own alone. */
static void test_sessions_of_one_who_has_many(void **state)
{
        struct auth *a = calloc(1, sizeof(*a));
        char first[AUTH_SECRET_MAX], last[AUTH_SECRET_MAX], other[2][AUTH_SECRET_MAX];
        char admin[AUTH_SECRET_MAX];
        (void)state;
        assert_int_equal(auth_init(a, "here"), 0);
        snprintf(a->viewer, sizeof(a->viewer), "viewer");
        auth_start_session(a, ROLE_ADMIN, 7, 0, admin);
        auth_start_session(a, ROLE_VIEWER, 8, 0, other[0]);
        auth_start_session(a, ROLE_VIEWER, 7, 0, first);
        for (int i = 0; i < 1000; i++)
                auth_start_session(a, ROLE_VIEWER, 7, i, last);
        auth_start_session(a, ROLE_VIEWER, 9, 1000, other[1]);
        assert_false(session_lasts(a, first));
        assert_true(session_lasts(a, last));
        assert_true(session_lasts(a, admin));
        assert_true(session_lasts(a, other[0]));
        assert_true(session_lasts(a, other[1]));
        for (int i = 0; i < 100; i++)
                auth_start_session(a, ROLE_ADMIN, 10, i, last);
        assert_true(session_lasts(a, admin));
        assert_true(session_lasts(a, other[0]));
        free(a);
}

/* A right password need not be checked again after a reload, unless it has changed. */
static void test_known_passwords(void **state)
{
        struct auth *a = calloc(2, sizeof(*a)), *b = a + 1;
        struct auth_claim claim = {.user = "alice", .password = "sesame"};
        enum role role;
        const char *header = "Basic YWxpY2U6c2VzYW1l";
        (void)state;
        auth_init(a, "here");
        a->n_users = 1;
        a->users[0] = (struct auth_user){.name = "alice", .hash = "one"};
        assert_int_equal(auth_check(a, header, NULL, 0, &claim, &role), AUTH_CHECK);
        assert_string_equal(claim.password, "sesame");
        assert_string_equal(auth_hash(a, "alice"), "one");
        assert_string_not_equal(auth_hash(a, "bob"), "one");
        assert_true(auth_accept(a, &claim));
        assert_int_equal(auth_check(a, header, NULL, 0, &claim, &role), AUTH_YES);
        for (int changed = 0; changed < 2; changed++) {
                auth_init(b, "here");
                b->n_users = 1;
                b->users[0] = (struct auth_user){.name = "alice"};
                snprintf(b->users[0].hash, AUTH_HASH_MAX, "%s", changed ? "two" : "one");
                auth_keep_sessions(b, a);
                assert_int_equal(auth_check(b, header, NULL, 0, &claim, &role),
                                 changed ? AUTH_CHECK : AUTH_YES);
        }
        claim = (struct auth_claim){.user = "bob"};
        assert_false(auth_accept(a, &claim));
        free(a);
}

static int parse(const char *text, struct webconfig *w, struct err *err)
{
        *err = (struct err){0};
        return webconfig_parse(text, strlen(text), "/etc/x", w, err);
}

#define HASH "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

static void test_web_config(void **state)
{
        static const struct {
                const char *text;
                bool good;
                const char *why;
        } cases[] = {
            {"", true, "nothing"},
            {"basic_auth_users:\n  alice: " HASH "\n", true, "a user"},
            {"basic_auth_users:\n  alice: plain\n", false, "a password that is no hash"},
            {"basic_auth_user:\n  alice: " HASH "\n", false, "a misspelt section"},
            {"tls_server_config:\n  cert_file: a\n  key_file: b\n", true, "a certificate"},
            {"tls_server_config:\n  cert_file: a\n", false, "half of it"},
            {"tls_server_config:\n  cert: a\n", false, "a misspelt key"},
            {"tls_server_config:\n  min_version: TLS14\n", false, "a version nobody knows"},
            {"tls_server_config:\n  min_version: TLS13\n  max_version: TLS12\n", false,
             "no version at all"},
            {"tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites:\n  - X\n  "
             "min_version: TLS12\n",
             true, "Go's own settings"},
            {"tls_server_config:\n  client_auth_type: RequireAndVerifyClientCert\n", false,
             "no CA"},
            {"http_server_config:\n  http2: true\n  headers:\n    X-Y: z\n", true, "HTTP settings"},
            {"[1, 2", false, "not YAML"},
            {"just words", false, "not a mapping"},
            {"a: &x\n  b: *x\n", false, "aliases"},
        };
        struct webconfig *w = calloc(1, sizeof(*w));
        struct err err;
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                int r = parse(cases[i].text, w, &err);
                if ((r == 0) != cases[i].good)
                        fail_msg("%s: %d %s", cases[i].why, r, err.msg);
        }
        assert_int_equal(parse(cases[4].text, w, &err), 0);
        assert_string_equal(w->cert_file, "/etc/x/a");
        free(w);
}

/* --- counters' file -----------------------------------------------------------------------------
 */

static char folder[] = "/tmp/assay-state-XXXXXX";

static struct state_file *reopen(struct state_file *f)
{
        struct err err = {0};
        state_close(f);
        f = NULL;
        assert_int_equal(state_open(folder, 16, &f, &err), 0);
        return f;
}

static void test_state(void **state)
{
        struct integrals in = {.created_ns = 77, .present = 1u << INTEGRAL_ENERGY}, back;
        char path[128];
        (void)state;
        assert_non_null(mkdtemp(folder));
        struct state_file *f = reopen(NULL);
        assert_false(state_find(f, "a", &back));
        in.v[INTEGRAL_ENERGY] = 0.1 + 0.2;
        in.class_s[WORKLOAD_IDLE] = 12.5;
        in.n_xids = 1;
        in.xids[0] = (struct integral_xid){79, 3};
        in.limiter_s[5] = 4;
        state_put(f, 0, "a", &in);
        state_put(f, 1, "b]=[x", &in);
        assert_int_equal(state_write(f, 2), STATE_KEPT);
        /* Two programs do not share a folder. */
        struct state_file *second = NULL;
        struct err err = {0};
        assert_true(state_open(folder, 16, &second, &err) < 0);
        f = reopen(f);
        assert_true(state_find(f, "a", &back));
        assert_true(back.v[INTEGRAL_ENERGY] == 0.1 + 0.2);
        assert_true(back.class_s[WORKLOAD_IDLE] == 12.5 && back.limiter_s[5] == 4);
        assert_true(back.created_ns == 77 && back.n_xids == 1 && back.xids[0].n == 3);
        assert_true(state_find(f, "b]=[x", &back));
        /* What is not put again is kept. */
        in.v[INTEGRAL_ENERGY] = 9;
        state_put(f, 0, "b]=[x", &in);
        assert_int_equal(state_write(f, 1), STATE_KEPT);
        f = reopen(f);
        assert_true(state_find(f, "a", &back) && back.v[INTEGRAL_ENERGY] == 0.1 + 0.2);
        assert_true(state_find(f, "b]=[x", &back) && back.v[INTEGRAL_ENERGY] == 9);
        state_close(f);
        /* The newest half is cut off: the one before it counts. */
        for (int i = 0; i < 2; i++) {
                snprintf(path, sizeof(path), "%s/counters.%d", folder, i);
                assert_int_equal(truncate(path, 40), 0);
        }
        f = reopen(NULL);
        assert_false(state_find(f, "a", &back));
        state_close(f);
        for (int i = 0; i < 2; i++) {
                snprintf(path, sizeof(path), "%s/counters.%d", folder, i);
                unlink(path);
        }
        snprintf(path, sizeof(path), "%s/lock", folder);
        unlink(path);
        rmdir(folder);
}

static long long clock_at(clockid_t clock)
{
        struct timespec ts;
        clock_gettime(clock, &ts);
        return ts.tv_sec * NS + ts.tv_nsec;
}

struct ending {
        bool clean;
        long long age_s;
        bool rebooted, believed;
        const char *why;
};

/* Changes the last four words of a half's first line: the boot, whether it was a clean end, and
 * when. What is of another boot has only the wall clock to tell its age. */
static void rewrite_header(const char *path, const struct ending *e)
{
        char text[65536];
        FILE *file = fopen(path, "r");
        size_t n = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[n] = '\0';
        char *body = strchr(text, '\n') + 1;
        size_t body_len = n - (size_t)(body - text);
        body[-1] = '\0';
        for (int i = 0; i < 3; i++)
                *strrchr(text, ' ') = '\0';
        if (e->rebooted)
                strcpy(strrchr(text, ' '), " another");
        long long age = e->age_s * NS;
        file = fopen(path, "w");
        fprintf(file, "%s %d %lld %lld\n", text, e->clean,
                e->rebooted ? 1 : clock_at(CLOCK_BOOTTIME) - age,
                e->rebooted ? clock_at(CLOCK_REALTIME) - age : 1);
        fwrite(body, 1, body_len, file);
        fclose(file);
}

/* What an older half says is believed only while nobody can have been told more. */
static void test_state_that_is_old(void **state)
{
        /* A machine may have been up for a minute only, so what is older is of another boot. */
        static const struct ending cases[] = {
            {false, 1, false, true, "a crash just now"},
            {false, 60, false, true, "within the lease"},
            {false, 130, false, false, "the program may have gone on without writing"},
            {false, -5, false, false, "of a time to come"},
            {false, 1, true, false, "a crash before a reboot"},
            {true, 60, false, true, "a clean end"},
            {true, 3000, true, true, "a clean end before a reboot"},
            {true, 4000, true, false, "one that is long ago"},
            {true, -5, true, false, "a wall clock that went back"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct integrals in = {.created_ns = 77, .present = 1u << INTEGRAL_ENERGY}, back;
                char path[160], other[160];
                snprintf(folder, sizeof(folder), "/tmp/assay-state-XXXXXX");
                assert_non_null(mkdtemp(folder));
                struct state_file *f = reopen(NULL);
                for (int n = 0; n < 2; n++) {
                        in.v[INTEGRAL_ENERGY] = 10 + n;
                        state_put(f, 0, "a", &in);
                        assert_int_equal(state_write(f, 1), STATE_KEPT);
                }
                state_close(f); /* three halves: the last is in counters.1 */
                snprintf(path, sizeof(path), "%s/counters.1", folder);
                snprintf(other, sizeof(other), "%s/counters.0", folder);
                rewrite_header(path, &cases[i]);
                f = reopen(NULL);
                if (state_find(f, "a", &back) != cases[i].believed)
                        fail_msg("%s", cases[i].why);
                /* Once taken over it is no clean end any more, whatever the other half says. */
                state_close(f);
                unlink(path);
                unlink(other);
                snprintf(path, sizeof(path), "%s/lock", folder);
                unlink(path);
                rmdir(folder);
        }
}

/* --- history -------------------------------------------------------------------------------------
 */

static void test_past(void **state)
{
        struct past *p = past_open();
        struct row row = {0};
        struct bucket cells[5];
        (void)state;
        int64_t t = 100000 * NS;
        for (int i = 0; i < 20; i++) {
                row.sample.m[METRIC_POWER] = value_ok(i);
                past_add(p, "a", &row, t + i * NS / 10);
        }
        assert_true(past_read(p, "a", PAST_POWER, false, t + NS, cells, 5));
        assert_true(cells[4].n && cells[4].sum == 14.5f);
        assert_true(cells[3].n && cells[3].sum == 4.5f);
        assert_false(cells[2].n);
        /* A hole stays one. */
        past_add(p, "a", &row, t + 4 * NS);
        past_read(p, "a", PAST_POWER, false, t + 4 * NS, cells, 5);
        assert_true(cells[0].n && cells[1].n && !cells[2].n && !cells[3].n && cells[4].n);
        past_read(p, "a", PAST_POWER, true, t, cells, 1);
        assert_true(cells[0].n && cells[0].min == 0 && cells[0].max == 19);
        /* An hour later nothing of it is left, nor after time went back. */
        past_add(p, "a", &row, t + 3700 * NS);
        past_read(p, "a", PAST_POWER, false, t + 3700 * NS, cells, 5);
        assert_true(!cells[3].n && cells[4].n);
        past_add(p, "a", &row, t);
        past_read(p, "a", PAST_POWER, false, t, cells, 5);
        assert_true(!cells[3].n && cells[4].n);
        assert_false(past_read(p, "b", PAST_POWER, false, t, cells, 5));
        /* The limiter of most samples of a second; a second without any has none. */
        uint8_t limiters[4];
        for (int i = 0; i < 10; i++) {
                row.limit.limiter = i < 4 ? LIMITER_LAUNCH : LIMITER_COMPUTE_TENSOR;
                past_add(p, "b", &row, t + i * NS / 10);
        }
        past_add(p, "b", &row, t + 2 * NS);
        assert_true(past_read_limiters(p, "b", false, t + 2 * NS, limiters, 4));
        assert_int_equal(limiters[0], 0);
        assert_int_equal(limiters[1], LIMITER_COMPUTE_TENSOR + 1);
        assert_int_equal(limiters[2], 0);
        assert_int_equal(limiters[3], LIMITER_COMPUTE_TENSOR + 1);
        past_add(p, "b", &row, t + 4000 * NS);
        past_read_limiters(p, "b", false, t + 4000 * NS, limiters, 4);
        assert_int_equal(limiters[0] + limiters[1] + limiters[2], 0);
        assert_false(past_read_limiters(p, "nobody", false, t, limiters, 4));
        past_close(p);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_hosts),
            cmocka_unit_test(test_headers),
            cmocka_unit_test(test_weights),
            cmocka_unit_test(test_credentials),
            cmocka_unit_test(test_places),
            cmocka_unit_test(test_auth),
            cmocka_unit_test(test_sessions_after_a_reload),
            cmocka_unit_test(test_sessions_of_one_who_has_many),
            cmocka_unit_test(test_known_passwords),
            cmocka_unit_test(test_web_config),
            cmocka_unit_test(test_state),
            cmocka_unit_test(test_state_that_is_old),
            cmocka_unit_test(test_past),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
