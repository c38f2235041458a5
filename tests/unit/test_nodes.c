/* Other hosts: lists of them, the command that starts assay there, what they write, their clocks.
 */
#include "test.h"

#include "base/clock.h"
#include "read/nodes/command.h"
#include "read/nodes/gather.h"
#include "read/nodes/hostlist.h"
#include "read/nodes/link.h"
#include "read/nodes/slurm.h"
#include "read/nodes/stream.h"

#include <stdio.h>
#include <string.h>

static void lists(void **state UNUSED)
{
        static const struct {
                const char *why, *text, *joined; /* NULL: refused */
        } cases[] = {
            {"names", "a,b,c", "a b c"},
            {"a range keeps its zeros", "node[01-03]", "node01 node02 node03"},
            {"widths grow", "n[8-11]", "n8 n9 n10 n11"},
            {"numbers and ranges", "n[1,3-4,7]", "n1 n3 n4 n7"},
            {"what follows a bracket", "rack[1-2]-gpu.lan", "rack1-gpu.lan rack2-gpu.lan"},
            {"two brackets", "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
            {"commas inside and outside", "a[1,2],b", "a1 a2 b"},
            {"each once", "a,b,a", "a b"},
            {"lines, blanks and comments", "a\n# b\n c d # e\n", "a c d"},
            {"users", "me@a,b", "me@a b"},
            {"an address", "10.0.0.[1-2]", "10.0.0.1 10.0.0.2"},
            {"nothing", " ,, \n", ""},
            {"every blank there is", "a\vb\fc\v", "a b c"},
            {"a bracket that is open", "n[1-2", NULL},
            {"one that is empty", "n[]", NULL},
            {"letters in a range", "n[a-c]", NULL},
            {"backwards", "n[5-1]", NULL},
            {"too long a range", "n[1-100000]", NULL},
            {"too many together", "n[0-99][0-99]", NULL},
            {"too many brackets", "n[1][1][1][1][1]", NULL},
            {"an option for ssh", "-oProxyCommand=sh", NULL},
            {"one behind a user", "me@-oProxyCommand=sh", NULL},
            {"no host behind a user", "me@", NULL},
            {"a shell's letters", "a;reboot", NULL},
            {"numbers beyond all", "n[99999999999999999999]", NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct hostlist h = {0};
                struct err err = {0};
                char joined[512] = "";
                int r = hostlist_add(&h, cases[i].text, &err);
                for (size_t k = 0; k < h.n && k < 16; k++)
                        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
                                 k ? " " : "", h.names[k]);
                if (cases[i].joined) {
                        assert_int_equal(r, 0);
                        assert_string_equal(joined, cases[i].joined);
                } else {
                        assert_int_equal(r, ERR_USAGE);
                        assert_true(err.msg[0] && err.hint[0]);
                }
                hostlist_finish(&h);
        }
}

static void addresses(void **state UNUSED)
{
        static const struct {
                const char *why, *text, *joined; /* NULL: refused */
        } cases[] = {
            {"URLs", "http://a:1/metrics,https://b", "http://a:1/metrics https://b"},
            {"ranges in them", "http://n[1-2]:9400/metrics",
             "http://n1:9400/metrics http://n2:9400/metrics"},
            {"IPv6 is no range", "[::1]:9400,http://[fe80::1]:9/x",
             "[::1]:9400 http://[fe80::1]:9/x"},
            {"users and queries", "http://u:p@a/m?x=1&y=2", "http://u:p@a/m?x=1&y=2"},
            {"blanks end them", "a:1 b:2", "a:1 b:2"},
            {"quotes", "http://a/'x'", NULL},
            {"a bracket that is open", "http://n[1:9400", NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct hostlist h = {.addresses = true};
                char joined[512] = "";
                struct err err = {0};
                int r = hostlist_add(&h, cases[i].text, &err);
                for (size_t k = 0; k < h.n && k < 16; k++)
                        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
                                 k ? " " : "", h.names[k]);
                assert_int_equal(r, cases[i].joined ? 0 : ERR_USAGE);
                if (r == 0)
                        assert_string_equal(joined, cases[i].joined);
                hostlist_finish(&h);
        }
}

/* A list whose expansion is large and always the same ends soon. */
static void lists_end(void **state UNUSED)
{
        struct hostlist h = {0};
        struct err err = {0};
        char text[4000] = "";
        for (int i = 0; i < 300; i++)
                strcat(text, "n[0-4000],");
        assert_int_equal(hostlist_add(&h, text, &err), ERR_USAGE);
        assert_true(h.n <= HOSTLIST_MAX && h.made <= HOSTLIST_MADE_MAX + 1);
        hostlist_finish(&h);
}

static void files(void **state UNUSED)
{
        struct hostlist h = {0};
        struct err err = {0};
        assert_int_equal(hostlist_read(&h, "--hosts", "@/nonexistent", &err), ERR_USAGE);
        assert_int_equal(hostlist_read(&h, "--hosts", "@/tmp", &err), ERR_USAGE);
        assert_int_equal(hostlist_read(&h, "--hosts", "@/dev/null", &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, "names no host"));
        hostlist_finish(&h);
}

static void join_words(const struct node_command *c, char *buf, size_t size)
{
        buf[0] = '\0';
        for (size_t i = 0; i < c->n; i++)
                snprintf(buf + strlen(buf), size - strlen(buf), "%s<%s>", i ? " " : "", c->argv[i]);
}

static void commands(void **state UNUSED)
{
        static const char *const export_words[] = {"export", "--peer", "--poll", "0.5"};
        static const char *const slurm_words[] = {"export", "--backend", "nvml", "--show-all",
                                                  "--no-profiling"};
        static struct node_command c;
        char text[2048];
        struct node_command_for f = {.program = "/usr/bin/ssh",
                                     .words = "ssh -p 2222 -i 'my key'",
                                     .is_ssh = true,
                                     .host = "me@node1",
                                     .remote = "/opt/a b/assay",
                                     .asks = export_words,
                                     .n_asks = 4};
        assert_true(node_command_make(&f, &c));
        join_words(&c, text, sizeof(text));
        assert_non_null(strstr(text, "</usr/bin/ssh> <-p> <2222> <-i> <my key> "));
        assert_non_null(strstr(text, "<BatchMode=yes>"));
        assert_non_null(strstr(text, "<ControlMaster=no>"));
        assert_non_null(
            strstr(text, " <--> <me@node1> <'/opt/a b/assay'> <export> <--peer> <--poll> <0.5>"));
        assert_null(c.argv[c.n]);
        struct node_command_for s = {.program = "/usr/bin/srun",
                                     .job = "42",
                                     .host = "n1",
                                     .remote = "/opt/a b/assay",
                                     .asks = slurm_words,
                                     .n_asks = 5};
        assert_true(node_command_make(&s, &c));
        join_words(&c, text, sizeof(text));
        assert_non_null(strstr(text, "<--overlap>"));
        assert_non_null(strstr(text, "<--jobid=42> <--nodelist=n1> </opt/a b/assay> <export>"));
        assert_non_null(strstr(text, "<--backend> <nvml> <--show-all> <--no-profiling>"));
        /* What is no ssh gets none of ssh's options. */
        struct node_command_for other = {.program = "/bin/x",
                                         .words = "x -a",
                                         .host = "n1",
                                         .remote = "assay",
                                         .asks = export_words,
                                         .n_asks = 1};
        assert_true(node_command_make(&other, &c));
        join_words(&c, text, sizeof(text));
        assert_non_null(strstr(text, "</bin/x> <-a> <n1> <assay> <export>"));
}

static void splits(void **state UNUSED)
{
        static struct node_command c;
        static const struct {
                const char *text, *words; /* NULL: refused */
        } cases[] = {{"ssh", "<ssh>"},
                     {"  ssh  -p 22 ", "<ssh> <-p> <22>"},
                     {"a 'b c' d\"e f\"g", "<a> <b c> <de fg>"},
                     {"a\\ b '\\'", "<a b> <\\>"},
                     {"a ''", "<a> <>"},
                     {"", ""},
                     {"a 'b", NULL},
                     {"a \"b", NULL}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char text[256];
                bool fine = node_command_split(cases[i].text, &c);
                assert_int_equal(fine, cases[i].words != NULL);
                join_words(&c, text, sizeof(text));
                if (fine)
                        assert_string_equal(text, cases[i].words);
        }
        static char many[COMMAND_TEXT_MAX * 2];
        memset(many, 'x', sizeof(many) - 1);
        assert_false(node_command_split(many, &c));
        for (size_t i = 1; i < sizeof(many) - 1; i += 2)
                many[i] = ' ';
        assert_false(node_command_split(many, &c));
}

static void slurm_jobs(void **state UNUSED)
{
        struct slurm_job job = {0};
        assert_true(slurm_is_job("42") && slurm_is_job("42_7") && slurm_is_job("42+1"));
        assert_false(slurm_is_job("") || slurm_is_job("-1") || slurm_is_job("42;x") ||
                     slurm_is_job("42_") || slurm_is_job("12345678901") || slurm_is_job("a"));
        /* Parts of a job have ids and nodes of their own; those that wait have none. */
        assert_int_equal(slurm_read_job(&job,
                                        "RUNNING|42|n[1-2]\nRUNNING|43|m1\nPENDING|44|\n"
                                        "what is this\nRUNNING|x|n9\n",
                                        NULL),
                         0);
        assert_int_equal(job.nodes.n, 3);
        assert_int_equal(job.n_parts, 2);
        assert_int_equal(job.parts[0].n, 2);
        assert_string_equal(job.parts[1].id, "43");
        assert_string_equal(job.state, "PENDING");
        slurm_finish(&job);
}

static struct batcher rows;

static void feed(struct stream *s, const char *text)
{
        for (size_t left = strlen(text); left > 0;) {
                size_t size;
                char *to = stream_room(s, &size);
                assert_non_null(to);
                size_t n = MIN(size, left);
                memcpy(to, text, n);
                stream_filled(s, n);
                text += n;
                left -= n;
        }
}

static int start_rows(void **state UNUSED)
{
        batcher_init(&rows, DIALECT_CANON);
        jsonl_fields(&rows);
        return 0;
}

static int end_rows(void **state UNUSED)
{
        batcher_finish(&rows);
        return 0;
}

#define HELLO "{\"assay\":\"0.2.0\",\"protocol\":1}\n"
#define ROW(i)                                                                                     \
        "{\"stale\":false,\"gpu\":\"" #i "\",\"index\":" #i                                        \
        ",\"identity\":{},\"metrics\":{\"power\":300.5},\"missing\":{\"sm_active\":\"denied\"},"   \
        "\"age\":{\"power\":0.25}}\n"

static void streams(void **state UNUSED)
{
        struct stream s = {0};
        feed(&s, "Welcome!\n\n{\"assay\" is no JSON\n" HELLO ROW(0));
        assert_int_equal(stream_next(&s, &rows), STREAM_HELLO);
        assert_string_equal(s.hello.version, "0.2.0");
        assert_int_equal(stream_next(&s, &rows), STREAM_NOTHING);
        /* The clock's answer stands between the rows of a sample. */
        feed(&s, "{\"clock\":7,\"time\":12.5}\n" ROW(1) "{\"end\":3,\"time\":100.25}\n" ROW(0));
        assert_int_equal(stream_next(&s, &rows), STREAM_CLOCK);
        assert_true(s.number == 7 && s.wall_ns == 12500 * NS_PER_MS);
        assert_int_equal(stream_next(&s, &rows), STREAM_SAMPLE);
        assert_int_equal(rows.n, 2);
        assert_true(s.wall_ns == 100250 * NS_PER_MS);
        const struct raw *power = &rows.readings[1].values[METRIC_POWER];
        assert_true(power->num == 300.5 && power->age_ms == 250 && power->state == STATE_OK);
        assert_int_equal(rows.readings[1].values[METRIC_SM_ACTIVE].state, STATE_DENIED);
        /* A line that makes no sense costs itself; the same GPU twice counts once. */
        feed(&s, "garbage\n" ROW(0) "{\"end\":4,\"time\":101}\n");
        assert_int_equal(stream_next(&s, &rows), STREAM_SAMPLE);
        assert_int_equal(rows.n, 1);
        assert_int_equal(s.all_bad, 2);
        assert_int_equal(stream_next(&s, &rows), STREAM_NOTHING);
        stream_finish(&s);
}

static void streams_that_are_none(void **state UNUSED)
{
        struct stream s = {0};
        static char noise[64 * 1024];
        enum stream_event e = STREAM_NOTHING;
        memset(noise, 'x', sizeof(noise) - 2);
        noise[sizeof(noise) - 2] = '\n';
        for (int i = 0; i < 40 && e == STREAM_NOTHING; i++) {
                feed(&s, noise);
                e = stream_next(&s, &rows);
        }
        assert_int_equal(e, STREAM_BROKEN); /* a banner is not that long */
        stream_restart(&s);
        feed(&s, HELLO);
        assert_int_equal(stream_next(&s, &rows), STREAM_HELLO);
        e = STREAM_NOTHING;
        for (int i = 0; i < 200 && e != STREAM_BROKEN; i++) {
                feed(&s, "x\n{\"end\":1,\"time\":1}\n");
                e = stream_next(&s, &rows);
        }
        assert_int_equal(e, STREAM_BROKEN); /* nothing but garbage */
        stream_restart(&s);
        feed(&s, HELLO);
        assert_int_equal(stream_next(&s, &rows), STREAM_HELLO);
        noise[sizeof(noise) - 2] = 'x';
        size_t size, fed = 0;
        char *to;
        while ((to = stream_room(&s, &size)) && fed < (size_t)STREAM_SAMPLE_MAX * 2) {
                memset(to, 'x', size);
                stream_filled(&s, size);
                fed += size;
                assert_int_equal(stream_next(&s, &rows), STREAM_NOTHING);
        }
        assert_null(to); /* a line without end */
        assert_true(fed < 2 * STREAM_LINE_MAX);
        stream_finish(&s);
}

/* Two nodes with other fields and their own names; the older values have an age, then are stale. */
static void gathers(void **state UNUSED)
{
        struct gather g;
        struct batch out;
        static struct schema one = {
            .dialect = DIALECT_DCGM, .revision = 1, .n = 2, .names = {"A", "B"}};
        static struct schema two = {
            .dialect = DIALECT_DCGM, .revision = 1, .n = 3, .names = {"B", "Hostname", "C"}};
        struct raw x[] = {{.num = 1, .state = STATE_OK}, {.num = 2, .state = STATE_OK}};
        struct raw y[] = {{.num = 3, .state = STATE_OK},
                          {.text = "vm", .len = 2, .state = STATE_OK},
                          {.num = 4, .state = STATE_OK}};
        struct reading rx = {.values = x}, ry = {.who = {.host = "vm", .host_len = 2}, .values = y};
        assert_int_equal(gather_init(&g, DIALECT_DCGM, 3), 0);
        gather_name(&g, 0, "n1");
        gather_name(&g, 2, "n2");
        assert_int_equal(gather_take(&g, 0,
                                     &(struct batch){.schema = &one, .readings = &rx, .n = 1},
                                     NS_PER_S, NS_PER_S),
                         0);
        assert_int_equal(gather_take(&g, 2,
                                     &(struct batch){.schema = &two, .readings = &ry, .n = 1},
                                     NS_PER_S, NS_PER_S),
                         0);
        assert_int_equal(gather_give(&g, 2 * NS_PER_S, 3 * NS_PER_S, &out), 0);
        assert_int_equal(out.n, 2);
        assert_int_equal(out.schema->n, 4);
        assert_true(out.readings[0].values[1].num == 2 && out.readings[1].values[1].num == 3);
        assert_int_equal(out.readings[0].values[3].state, STATE_NONE);
        assert_int_equal(out.readings[0].values[0].age_ms, 0); /* new at this tick */
        assert_memory_equal(out.readings[1].who.host, "n2", 2);
        assert_int_equal(out.readings[1].values[2].state, STATE_NONE); /* the node's own name */
        assert_false(out.stale);
        assert_int_equal(gather_take(&g, 0,
                                     &(struct batch){.schema = &one, .readings = &rx, .n = 1},
                                     5 * NS_PER_S, 5 * NS_PER_S),
                         0);
        assert_int_equal(gather_give(&g, 5 * NS_PER_S, 3 * NS_PER_S, &out), 0);
        assert_int_equal(out.readings[0].values[0].state, STATE_OK);
        assert_int_equal(out.readings[1].values[1].state, STATE_STALE);
        assert_int_equal(out.readings[1].values[1].age_ms, 4000);
        assert_false(out.stale);
        assert_int_equal(gather_give(&g, 10 * NS_PER_S, 3 * NS_PER_S, &out), 0);
        assert_true(out.stale);
        assert_int_equal(out.mono_ns, 10 * NS_PER_S);
        assert_int_equal(gather_give(&g, 10 * NS_PER_S, 3 * NS_PER_S, &out), 0);
        assert_int_equal(out.mono_ns, 10 * NS_PER_S + 1); /* two ticks are never one moment */
        gather_finish(&g);
}

/* Values that rest are repeated by who is alive: they have an age, and only silence makes them
 * stale. */
static void gathers_values_that_rest(void **state UNUSED)
{
        static const struct {
                int64_t measured_s, heard_s, now_s;
                enum state state;
                uint32_t age_ms;
                const char *why;
        } cases[] = {
            {10, 10, 10, STATE_OK, 0, "new"},
            {10, 18, 19, STATE_OK, 9000, "repeated a second ago"},
            {10, 18, 21, STATE_OK, 11000, "silent for as long as is allowed"},
            {10, 18, 22, STATE_STALE, 12000, "silent for longer"},
            {10, 30, 30, STATE_OK, 20000, "heard again, and still the same"},
        };
        static struct schema schema = {
            .dialect = DIALECT_DCGM, .revision = 1, .n = 1, .names = {"A"}};
        struct raw x = {.num = 1, .state = STATE_OK};
        struct reading reading = {.values = &x};
        const struct batch in = {.schema = &schema, .readings = &reading, .n = 1};
        struct gather g;
        struct batch out;
        assert_int_equal(gather_init(&g, DIALECT_DCGM, 1), 0);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                assert_int_equal(gather_take(&g, 0, &in, cases[i].measured_s * NS_PER_S,
                                             cases[i].heard_s * NS_PER_S),
                                 0);
                assert_int_equal(gather_give(&g, cases[i].now_s * NS_PER_S, 3 * NS_PER_S, &out), 0);
                const struct raw *cell = &out.readings[0].values[0];
                if (cell->state != cases[i].state || cell->age_ms != cases[i].age_ms)
                        fail_msg("%s: state %u, age %u ms", cases[i].why, cell->state,
                                 cell->age_ms);
                assert_int_equal(out.stale, cases[i].state == STATE_STALE);
        }
        gather_finish(&g);
}

/* A node whose clock is an hour ahead: its samples are as old as they are. */
static void clocks(void **state UNUSED)
{
        static struct link l;
        struct node node = {0};
        int64_t ahead = 3600 * NS_PER_S;
        link_init(&l, "n1", "");
        feed(&l.stream, HELLO "{\"clock\":1,\"time\":4600.005}\n{\"end\":1,\"time\":4600.5}\n");
        l.asked = 1;
        l.waits = true;
        l.asked_mono_ns = 50 * NS_PER_S;
        l.asked_wall_ns = 1000 * NS_PER_S;
        int64_t now = l.asked_mono_ns + 10 * NS_PER_MS;
        assert_int_equal(link_event(&l, &rows, now, &node), STREAM_HELLO);
        assert_int_equal(link_measured(&l, now, 1000 * NS_PER_S), now); /* nothing is known yet */
        assert_int_equal(link_event(&l, &rows, now, &node), STREAM_CLOCK);
        assert_true(node.has_offset && node.offset_s == clock_to_seconds(ahead));
        assert_int_equal(link_event(&l, &rows, now, &node), STREAM_SAMPLE);
        /* By our wall clock it is a second later: half a second since it was measured. */
        assert_int_equal(link_measured(&l, 60 * NS_PER_S, 1001 * NS_PER_S),
                         60 * NS_PER_S - NS_PER_S / 2);
        /* Times beyond all measure are not added up beyond what a number holds. */
        feed(&l.stream, "{\"clock\":2,\"time\":-1e300}\n{\"end\":2,\"time\":1e300}\n");
        l.asked = 2;
        l.waits = true;
        l.answers = 0;
        assert_int_equal(link_event(&l, &rows, now, &node), STREAM_CLOCK);
        assert_int_equal(link_event(&l, &rows, now, &node), STREAM_SAMPLE);
        assert_int_equal(link_measured(&l, now, 1001 * NS_PER_S), now);
        link_finish(&l);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(lists),
            cmocka_unit_test(lists_end),
            cmocka_unit_test(addresses),
            cmocka_unit_test(files),
            cmocka_unit_test(commands),
            cmocka_unit_test(splits),
            cmocka_unit_test(slurm_jobs),
            cmocka_unit_test_setup_teardown(streams, start_rows, end_rows),
            cmocka_unit_test_setup_teardown(streams_that_are_none, start_rows, end_rows),
            cmocka_unit_test(gathers),
            cmocka_unit_test(gathers_values_that_rest),
            cmocka_unit_test_setup_teardown(clocks, start_rows, end_rows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
