/* Model servers: their metrics, their ports, and what follows from two readings. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/compute.h"
#include "compute/serving.h"
#include "read/engines/find.h"
#include "read/engines/parse.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct engine_parser *parser;
static struct serving_reading reading;

static int open_parser(void **state UNUSED)
{
        return engine_parser_open(&parser);
}

static int close_parser(void **state UNUSED)
{
        engine_parser_close(parser);
        return 0;
}

static void parse(const char *text)
{
        engine_parse(parser, text, strlen(text), &reading);
}

static void parse_fixture(const char *name)
{
        static char text[65536];
        char path[512];
        snprintf(path, sizeof(path), "%s/engines/%s.prom", getenv("FIXTURES"), name);
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
        parse(text);
}

static bool is_near(struct value v, double x)
{
        return v.state == STATE_OK && fabs(v.v - x) <= 1e-9 * fabs(x);
}

#define NO (-1.0)

static void each_engine_is_read(void **state UNUSED)
{
        /* What each fixture says; NO: the engine has no such family. */
        static const struct {
                const char *fixture;
                enum engine_kind kind;
                double running, waiting, cache, requests, prompt, output, preemptions, flops;
                double ttft, itl, queue; /* means since its start */
                const char *model;
        } rows[] = {
            {"vllm", ENGINE_VLLM, 31, 4, 0.8125, 3000, 1.2e6, 9e5, 17, 2.5e18, 620.0 / 3000,
             16000.0 / 897000, 0.03, "Qwen/Qwen3-8B"},
            {"vllm-v0", ENGINE_VLLM, 31, 4, 0.8125, 3000, 1.2e6, 9e5, 17, NO, 620.0 / 3000,
             16000.0 / 897000, 0.03, "meta-llama/Llama-3.1-8B-Instruct"},
            {"ray", ENGINE_RAY, 31, 4, 0.8125, 3000, 1.2e6, 9e5, 17, 2.5e18, 620.0 / 3000,
             16000.0 / 897000, 0.03, "qwen-8b"},
            {"sglang", ENGINE_SGLANG, 24, 2, 0.66, 11228, 8128902, 7557572, 3, 2.6e19,
             1123.4 / 11228, 90690.0 / 7557572, 112.0 / 11228, "meta-llama/Llama-3.1-8B-Instruct"},
            {"trtllm", ENGINE_TRTLLM, 12, 0, 0.31, 500, 250000, 125000, NO, NO, 90.0 / 500,
             4.5 / 500, 5.0 / 500, "nemotron"},
            {"triton", ENGINE_TRITON, 6, 1, 0.504, 600, 60000, 30000, NO, NO, 0.08, NO, 0.075,
             "tensorrt_llm"},
            {"tgi", ENGINE_TGI, 8, 5, NO, 1000, 400000, 90000, NO, NO, NO, 0.0185, 0.06, ""},
            {"llamacpp", ENGINE_LLAMACPP, 2, 1, NO, NO, 5120, 2048, NO, NO, NO, 0.02, NO, ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const double want[] = {rows[i].running,     rows[i].waiting, rows[i].cache,
                                       rows[i].requests,    rows[i].prompt,  rows[i].output,
                                       rows[i].preemptions, rows[i].flops};
                static const enum serving_figure of[] = {
                    SERVING_RUNNING,           SERVING_WAITING,      SERVING_CACHE_USED,
                    SERVING_REQUESTS_TOTAL,    SERVING_PROMPT_TOTAL, SERVING_OUTPUT_TOTAL,
                    SERVING_PREEMPTIONS_TOTAL, SERVING_FLOPS_TOTAL};
                const double times[] = {rows[i].ttft, rows[i].itl, rows[i].queue};
                print_message("%s\n", rows[i].fixture);
                parse_fixture(rows[i].fixture);
                assert_int_equal(reading.kind, rows[i].kind);
                assert_string_equal(reading.model, rows[i].model);
                for (size_t k = 0; k < ARRAY_LEN(want); k++)
                        assert_true(want[k] < 0 ? !value_is_set(reading.v[of[k]])
                                                : is_near(reading.v[of[k]], want[k]));
                for (size_t k = 0; k < ARRAY_LEN(times); k++) {
                        const struct serving_histogram *h = &reading.times[k];
                        if (times[k] < 0)
                                assert_false(value_is_set(h->sum) && value_is_set(h->count));
                        else
                                assert_true(is_near(value_ok(h->sum.v / h->count.v), times[k]));
                }
        }
}

static void other_texts_are_none(void **state UNUSED)
{
        parse("# TYPE DCGM_FI_DEV_POWER_USAGE gauge\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 5\n");
        assert_int_equal(reading.kind, ENGINE_UNKNOWN);
        parse("<html>vllm:num_requests_running 5</html>");
        assert_int_equal(reading.kind, ENGINE_UNKNOWN);
        parse("");
        assert_int_equal(reading.kind, ENGINE_UNKNOWN);
}

static void what_is_no_figure_is_missing(void **state UNUSED)
{
        parse("vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\n"
              "vllm:kv_cache_usage_perc +Inf\nvllm:prompt_tokens_total 12 34 56\n"
              "vllm:generation_tokens_total 7 1700000000000\n"
              "vllm:gpu_cache_usage_perc 1.5\n");
        assert_int_equal(reading.kind, ENGINE_VLLM);
        for (size_t i = 0; i < SERVING_COUNT; i++)
                assert_true(value_is_set(reading.v[i]) == (i == SERVING_OUTPUT_TOTAL));
}

static void series_are_added_and_ratios_averaged(void **state UNUSED)
{
        parse(
            "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 5\n"
            "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} "
            "0.6\n"
            "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.5\"} 3\n"
            "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\"} 4\n"
            "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"0.5\"} 1\n"
            "vllm:time_to_first_token_seconds_bucket{engine=\"1\",le=\"+Inf\"} 1\n");
        assert_true(is_near(reading.v[SERVING_RUNNING], 8));
        assert_true(is_near(reading.v[SERVING_CACHE_USED], 0.4));
        assert_int_equal(reading.times[SERVING_TIME_TTFT].n, 2);
        assert_true(reading.times[SERVING_TIME_TTFT].buckets[0].count == 4);
        assert_true(reading.times[SERVING_TIME_TTFT].buckets[1].count == 5);
}

static void too_many_buckets_give_no_percentile(void **state UNUSED)
{
        char text[8192] = "";
        for (int i = 0; i < SERVING_BUCKETS_MAX + 1; i++)
                sprintf(text + strlen(text),
                        "vllm:time_to_first_token_seconds_bucket{le=\"%d\"} %d\n", i, i);
        parse(text);
        assert_int_equal(reading.times[SERVING_TIME_TTFT].n, 0);
}

/* --- from two readings ----------------------------------------------------------------------- */

static struct serving_reading at(double seconds, const char *text)
{
        parse(text);
        reading.mono_ns = clock_from_seconds(seconds);
        return reading;
}

#define LATENCY(sum, count, a, b, c)                                                               \
        "vllm:inter_token_latency_seconds_sum " sum                                                \
        "\nvllm:inter_token_latency_seconds_count " count                                          \
        "\nvllm:inter_token_latency_seconds_bucket{le=\"0.01\"} " a                                \
        "\nvllm:inter_token_latency_seconds_bucket{le=\"0.02\"} " b                                \
        "\nvllm:inter_token_latency_seconds_bucket{le=\"+Inf\"} " c "\n"

static void rates_and_latencies_are_of_the_interval(void **state UNUSED)
{
        static struct serving_reading a, b;
        struct serving s = {0};
        a = at(10, "vllm:generation_tokens_total 1000\nvllm:num_requests_running 9\n" LATENCY(
                       "5", "500", "100", "500", "500"));
        b = at(12, "vllm:generation_tokens_total 1200\nvllm:num_requests_running 4\n" LATENCY(
                       "8", "700", "200", "680", "700"));
        serving_compute(&a, &b, &s);
        assert_int_equal(s.interval_ns, 2 * NS_PER_S);
        assert_true(is_near(s.v[SERVING_RUNNING], 4));
        assert_true(is_near(s.v[SERVING_OUTPUT], 100));
        assert_true(is_near(s.v[SERVING_ITL], 0.015));
        assert_true(is_near(s.v[SERVING_ITL_P50], 0.01));
        assert_true(is_near(s.v[SERVING_ITL_P95], 0.02)); /* beyond the last bound: that bound */
        assert_true(is_near(s.v[SERVING_BATCH], 1.5));
        assert_int_equal(s.v[SERVING_TTFT].state, STATE_NONE);
}

static void a_restart_is_an_error_for_one_interval(void **state UNUSED)
{
        static struct serving_reading a, b, c;
        struct serving s = {0};
        a = at(1, "vllm:generation_tokens_total 1000\n" LATENCY("5", "500", "1", "500", "500"));
        b = at(2, "vllm:generation_tokens_total 10\n" LATENCY("1", "10", "1", "10", "10"));
        c = at(3, "vllm:generation_tokens_total 30\n" LATENCY("2", "30", "1", "30", "30"));
        serving_compute(&a, &b, &s);
        assert_int_equal(s.v[SERVING_OUTPUT].state, STATE_ERROR);
        assert_int_equal(s.v[SERVING_ITL].state, STATE_ERROR);
        assert_int_equal(s.v[SERVING_ITL_P50].state, STATE_ERROR);
        serving_compute(&b, &c, &s);
        assert_true(is_near(s.v[SERVING_OUTPUT], 20));
        assert_true(is_near(s.v[SERVING_ITL], 0.05));
        c.kind = ENGINE_SGLANG; /* another engine at the same address */
        serving_compute(&b, &c, &s);
        assert_int_equal(s.v[SERVING_OUTPUT].state, STATE_BLANK);
        serving_compute(NULL, &c, &s);
        assert_int_equal(s.interval_ns, 0);
        assert_int_equal(s.v[SERVING_OUTPUT].state, STATE_BLANK);
}

/* --- where they listen ----------------------------------------------------------------------- */

static void a_command_line_says_the_port(void **state UNUSED)
{
#define LINE(text) text, sizeof(text)
        static const struct {
                const char *line;
                size_t len;
                unsigned port;
                const char *why;
        } rows[] = {
            {LINE("/usr/bin/python3\0/usr/local/bin/vllm\0serve\0m\0--port\0"
                  "8123"),
             8123, "named"},
            {LINE("vllm\0serve\0m"), 8000, "its default"},
            {LINE("python3\0-m\0sglang.launch_server\0--port=30001"), 30001, "with ="},
            {LINE("/app/llama-server\0-m\0x.gguf"), 8080, "its default"},
            {LINE("tritonserver\0--http-port\0"
                  "8000\0--metrics-port\0"
                  "9002"),
             9002, "of its metrics"},
            {LINE("python3\0train_vllm.py"), 0, "a word inside another"},
            {LINE("python3\0/opt/vllm/train.py"), 0, "a folder"},
            {LINE("vim\0a\0b\0c\0vllm"), 0, "far from the program"},
            {LINE("vllm\0serve\0--port\0"
                  "99999"),
             0, "no port"},
            {LINE("vllm\0serve\0--port"), 8000, "cut off"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                enum engine_kind kind;
                const char *path;
                print_message("%s\n", rows[i].why);
                assert_int_equal(engines_command_port(rows[i].line, rows[i].len, &kind, &path),
                                 rows[i].port);
        }
}

static void sockets_that_listen_are_found(void **state UNUSED)
{
        static const char text[] =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
            "   0: 0100007F:1F40 00000000:0000 01 00000000:00000000 00:00000000 00000000  0 0 7 1\n"
            "   1: 0A00000A:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 8 1\n"
            "   2: 00000000:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 9 1\n"
            "   3: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A "
            "00000000:00000000 00:00000000 00000000  1000 0 4242 1 0 100 0\n";
        size_t from = 0;
        bool loopback;
        assert_int_equal(engines_next_socket(text, sizeof(text) - 1, &from, 8000, &loopback), 8);
        assert_false(loopback);
        assert_int_equal(engines_next_socket(text, sizeof(text) - 1, &from, 8000, &loopback), 4242);
        assert_true(loopback);
        assert_int_equal(engines_next_socket(text, sizeof(text) - 1, &from, 8000, &loopback), 0);
}

/* A tree of processes: 100 is the server, 101 its child with the GPU, 200 listens and has none. */
static void put_file(const char *root, const char *path, const char *text, size_t len)
{
        char full[512];
        snprintf(full, sizeof(full), "%s/%s", root, path);
        for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); s++) {
                *s = '\0';
                mkdir(full, 0700);
                *s = '/';
        }
        FILE *f = fopen(full, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, len, f), len);
        fclose(f);
}

static void put_process(const char *root, int pid, int ppid, const char *line, size_t len,
                        const char *fd)
{
        char path[64], stat[256], full[512];
        snprintf(path, sizeof(path), "proc/%d/cmdline", pid);
        put_file(root, path, line, len);
        snprintf(path, sizeof(path), "proc/%d/stat", pid);
        int n =
            snprintf(stat, sizeof(stat),
                     "%d (x) S %d 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 100 0 10 0 0 0 0 0 0 0 0 0 "
                     "0 0 0 0 17 0 0 0 0 0 0\n",
                     pid, ppid);
        put_file(root, path, stat, (size_t)n);
        snprintf(path, sizeof(path), "proc/%d/fd/x", pid);
        put_file(root, path, "", 0);
        snprintf(full, sizeof(full), "%s/proc/%d/fd/3", root, pid);
        assert_int_equal(symlink(fd, full), 0);
}

static void servers_that_hold_a_gpu_are_found(void **state UNUSED)
{
        static const char tcp[] =
            "  sl\n   0: 00000000:1F40 00000000:0000 0A 0:0 00:0 0  0 0 77 1\n"
            "   1: 00000000:1F41 00000000:0000 0A 0:0 00:0 0  0 0 88 1\n";
        char root[] = "/tmp/assay-test-engines-XXXXXX", command[64];
        struct engine_place places[SERVINGS_MAX];
        assert_non_null(mkdtemp(root));
        put_file(root, "proc/self/net/tcp", tcp, sizeof(tcp) - 1);
        put_process(root, 100, 1, LINE("vllm\0serve\0m"), "socket:[77]");
        put_process(root, 101, 100, LINE("VLLM::EngineCore"), "/dev/nvidia0");
        put_process(root, 200, 1,
                    LINE("vllm\0serve\0m\0--port\0"
                         "8001"),
                    "socket:[88]");
        put_process(root, 201, 1, LINE("python3\0x.py"), "/dev/nvidiactl");
        int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct listing *listing = NULL;
        assert_true(fd >= 0);
        assert_int_equal(listing_open(fd, &listing), 0);
        assert_int_equal(engines_find(fd, listing, places, SERVINGS_MAX), 1);
        assert_int_equal(places[0].pid, 100);
        assert_int_equal(places[0].kind, ENGINE_VLLM);
        assert_string_equal(places[0].url, "http://127.0.0.1:8000/metrics");
        assert_int_equal(engines_listener(fd, listing, 8001), 200);
        assert_int_equal(engines_listener(fd, listing, 8002), 0);
        listing_close(listing);
        close(fd);
        snprintf(command, sizeof(command), "rm -rf %s", root);
        assert_int_equal(system(command), 0);
}

/* 100 starts the front end 101, which listens, and 102 with the GPU; 103 belongs to 101. 200 is its
 * own. */
static void the_processes_of_a_server_are_found(void **state UNUSED)
{
        static const char tcp[] =
            "  sl\n   0: 00000000:0BB8 00000000:0000 0A 0:0 00:0 0  0 0 77 1\n";
        char root[] = "/tmp/assay-test-engines-XXXXXX", command[64];
        struct engine_place place;
        assert_non_null(mkdtemp(root));
        put_file(root, "proc/self/net/tcp", tcp, sizeof(tcp) - 1);
        put_process(root, 90, 1, LINE("bash"), "/dev/null");
        put_process(root, 100, 90, LINE("text-generation-launcher"), "/dev/null");
        put_process(root, 101, 100, LINE("text-generation-router"), "socket:[77]");
        put_process(root, 102, 100, LINE("python3\0server"), "/dev/nvidia0");
        put_process(root, 103, 101, LINE("helper"), "/dev/null");
        put_process(root, 200, 90, LINE("python3\0x.py"), "/dev/nvidia1");
        int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct listing *listing = NULL;
        assert_int_equal(listing_open(fd, &listing), 0);
        assert_int_equal(engines_find(fd, listing, &place, 1), 1);
        assert_int_equal(place.pid, 101);
        struct engine_family f[] = {{.pid = 101}, {.pid = 0}, {.pid = 4711}};
        engines_fill_families(fd, listing, f, ARRAY_LEN(f));
        assert_int_equal(f[0].head, 100);
        assert_int_equal(f[0].n, 3);
        const int32_t fronts[] = {101, 100, 103};
        assert_memory_equal(f[0].fronts, fronts, sizeof(fronts));
        assert_int_equal(f[1].n, 0);
        assert_int_equal(f[2].n, 1); /* gone meanwhile */
        listing_close(listing);
        close(fd);
        snprintf(command, sizeof(command), "rm -rf %s", root);
        assert_int_equal(system(command), 0);
}

/* --- what limits a server -------------------------------------------------------------------- */

/* A server and its GPUs that stay as they are. */
static struct served decide_after(int seconds, struct serving *s, struct serving_moment *m)
{
        static struct serving_window w;
        struct served ret = {0};
        memset(&w, 0, sizeof(w));
        snprintf(s->url, sizeof(s->url), "%s", "x");
        s->present = true;
        for (int i = 1; i <= seconds; i++) {
                m->mono_ns = s->mono_ns = i * NS_PER_S;
                serving_window_add(&w, s, m);
        }
        serving_window_decide(&w, s, &ret);
        return ret;
}

static struct served decide(struct serving *s, struct serving_moment *m)
{
        return decide_after(60, s, m);
}

static void set_gpus(struct serving_moment *m, double n, enum limiter limiter, double busy,
                     double tensor, double dram)
{
        *m = (struct serving_moment){.gpus = n, .flops = 1e15, .memory = 4e12};
        m->limiter[limiter] = 1;
        m->input[SERVING_IN_BUSY] = value_ok(busy);
        m->input[SERVING_IN_TENSOR] = value_ok(tensor);
        m->input[SERVING_IN_DRAM] = value_ok(dram);
        m->input[SERVING_IN_POWER] = value_ok(500 * n);
}

/* A server of ten requests, where its memory for keys and values and what it counts at a time are
 * as they are. */
static void a_queue_needs_a_reason(void **state UNUSED)
{
        static const struct {
                enum engine_kind kind;
                double waiting, cache; /* negative: it does not say */
                enum serving_limiter want;
                const char *why;
        } rows[] = {
            {ENGINE_VLLM, 0, 0.1, SERVING_LIMIT_BATCH, "no more requests come"},
            {ENGINE_TGI, 0, -1, SERVING_LIMIT_BATCH, "likewise, of a cache that is unknown"},
            {ENGINE_TGI, 20, -1, SERVING_LIMIT_UNKNOWN, "for the cache, or for a place"},
            {ENGINE_LLAMACPP, 20, -1, SERVING_LIMIT_BATCH, "its queue is for places"},
            {ENGINE_VLLM, 20, 0.95, SERVING_LIMIT_CACHE, "for the cache"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct serving s = {.kind = rows[i].kind};
                struct serving_moment m = {0};
                print_message("%s\n", rows[i].why);
                set_gpus(&m, 1, LIMITER_MEMORY_BANDWIDTH, 1, 0.1, 0.9);
                s.v[SERVING_RUNNING] = value_ok(10);
                s.v[SERVING_WAITING] = value_ok(rows[i].waiting);
                if (rows[i].cache >= 0)
                        s.v[SERVING_CACHE_USED] = value_ok(rows[i].cache);
                assert_int_equal(decide(&s, &m).limit, rows[i].want);
        }
}

/* The gauge is 0 at each look. */
static void a_lull_is_not_a_lack_of_requests(void **state UNUSED)
{
        static const struct {
                double busy, batch;
                int seconds;
                enum serving_limiter want;
                const char *why;
        } rows[] = {
            {0.05, 0, 1, SERVING_LIMIT_EMPTY, "nothing runs"},
            {0.4, 0.3, 1, SERVING_LIMIT_UNKNOWN, "it works, and was seen for a moment"},
            {0.4, 0.3, 20, SERVING_LIMIT_EMPTY, "the same for long"},
            {0.4, 0.9, 20, SERVING_LIMIT_UNKNOWN, "one is under way most of the time"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct serving s = {.kind = ENGINE_VLLM};
                struct serving_moment m = {0};
                print_message("%s\n", rows[i].why);
                set_gpus(&m, 1, LIMITER_HOST_WAITING, rows[i].busy, 0.1, 0.3);
                s.v[SERVING_RUNNING] = s.v[SERVING_WAITING] = value_ok(0);
                s.v[SERVING_BATCH] = value_ok(rows[i].batch);
                assert_int_equal(decide_after(rows[i].seconds, &s, &m).limit, rows[i].want);
        }
}

static void what_is_read_over_the_network_is_told_apart(void **state UNUSED)
{
        static const struct {
                double read, received;
                enum serving_limiter want;
        } rows[] = {{5e8, 1e7, SERVING_LIMIT_START_STORAGE},
                    {5e8, 5.2e8, SERVING_LIMIT_START_NETWORK},
                    {0, 5e8, SERVING_LIMIT_START_NETWORK},
                    {1e8, 1e8, SERVING_LIMIT_UNKNOWN}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct serving s = {.kind = ENGINE_VLLM};
                struct serving_moment m = {0};
                m.input[SERVING_IN_READ] = value_ok(rows[i].read);
                m.input[SERVING_IN_RECEIVED] = value_ok(rows[i].received);
                assert_int_equal(decide(&s, &m).limit, rows[i].want);
        }
}

static void headroom_ends_at_the_fullest_unit(void **state UNUSED)
{
        static struct serving s;
        struct serving_moment m;
        memset(&s, 0, sizeof(s));
        set_gpus(&m, 1, LIMITER_MEMORY_BANDWIDTH, 1, 0.1, 0.8);
        s.v[SERVING_RUNNING] = value_ok(8);
        s.v[SERVING_WAITING] = value_ok(0);
        s.v[SERVING_CACHE_USED] = value_ok(0.5);
        s.v[SERVING_OUTPUT] = value_ok(1000);
        s.v[SERVING_PROMPT] = value_ok(500);
        s.v[SERVING_FLOPS] = value_ok(3e14);
        s.v[SERVING_READ] = value_ok(2e12);
        struct served r = decide(&s, &m);
        assert_int_equal(r.limit, SERVING_LIMIT_BATCH);
        assert_int_equal(r.full, SERVED_UNIT_CACHE); /* weights are read once: memory is not it */
        assert_true(is_near(r.v[SERVED_HEADROOM], 1000));
        assert_true(fabs(r.v[SERVED_TOKENS_PER_JOULE].v - 2) < 1e-9);
        assert_true(fabs(r.v[SERVED_TOKENS_PER_GPU_HOUR].v - 3.6e6) < 1e-3);
        assert_true(fabs(r.v[SERVED_MFU].v - 0.3) < 1e-9);
        assert_true(fabs(r.v[SERVED_MBU].v - 0.5) < 1e-9);
        s.v[SERVING_RUNNING] = value_ok(100);
        r = decide(&s, &m);
        assert_int_equal(r.limit, SERVING_LIMIT_DECODE);
        assert_int_equal(r.full, SERVED_UNIT_DRAM);
        assert_true(fabs(r.v[SERVED_HEADROOM].v - 250) < 1e-6);
        assert_int_equal(r.size, SERVING_SIZE_KEEP);
        s.v[SERVING_WAITING] = value_ok(3);
        assert_int_equal(decide(&s, &m).size, SERVING_SIZE_ADD);
        s.v[SERVING_CACHE_USED] = value_missing(STATE_NONE);
        m.input[SERVING_IN_TENSOR] = m.input[SERVING_IN_DRAM] = value_missing(STATE_DENIED);
        assert_false(value_is_set(decide(&s, &m).v[SERVED_HEADROOM]));
}

static void a_gpu_is_spare_where_the_others_carry_the_load(void **state UNUSED)
{
        static struct serving s;
        struct serving_moment m;
        memset(&s, 0, sizeof(s));
        s.v[SERVING_RUNNING] = value_ok(2);
        s.v[SERVING_WAITING] = value_ok(0);
        s.v[SERVING_CACHE_USED] = value_ok(0.2);
        s.v[SERVING_OUTPUT] = value_ok(100);
        set_gpus(&m, 2, LIMITER_HOST_WAITING, 0.3, 0.1, 0.2);
        assert_int_equal(decide(&s, &m).size, SERVING_SIZE_RETURN);
        set_gpus(&m, 1, LIMITER_HOST_WAITING, 0.3, 0.1, 0.2);
        assert_int_equal(decide(&s, &m).size, SERVING_SIZE_KEEP); /* its only one */
        set_gpus(&m, 2, LIMITER_HOST_WAITING, 0.4, 0.1, 0.2);
        assert_int_equal(decide(&s, &m).size, SERVING_SIZE_KEEP);
        s.v[SERVING_CACHE_USED] = value_missing(STATE_NONE);
        set_gpus(&m, 2, LIMITER_HOST_WAITING, 0.1, 0.1, 0.1);
        assert_int_equal(decide(&s, &m).size, SERVING_SIZE_KEEP); /* nobody knows the cache */
}

static void advice_is_in_the_engines_words(void **state UNUSED)
{
        assert_non_null(strstr(serving_advice(SERVING_LIMIT_CACHE, ENGINE_VLLM, true),
                               "--gpu-memory-utilization"));
        assert_non_null(strstr(serving_advice(SERVING_LIMIT_BATCH, ENGINE_SGLANG, true),
                               "--max-running-requests"));
        assert_null(strstr(serving_advice(SERVING_LIMIT_BATCH, ENGINE_SGLANG, false), "--max"));
        assert_string_equal(serving_advice(SERVING_LIMIT_UNKNOWN, ENGINE_VLLM, false), "");
        for (enum serving_limiter i = SERVING_LIMIT_UNKNOWN + 1; i < SERVING_LIMIT_COUNT; i++) {
                for (enum engine_kind k = 0; k <= ENGINE_COUNT; k++)
                        assert_true(i == SERVING_LIMIT_CACHE && k == ENGINE_UNKNOWN
                                        ? true
                                        : serving_advice(i, k, false)[0] != '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(each_engine_is_read, open_parser, close_parser),
            cmocka_unit_test_setup_teardown(other_texts_are_none, open_parser, close_parser),
            cmocka_unit_test_setup_teardown(what_is_no_figure_is_missing, open_parser,
                                            close_parser),
            cmocka_unit_test_setup_teardown(series_are_added_and_ratios_averaged, open_parser,
                                            close_parser),
            cmocka_unit_test_setup_teardown(too_many_buckets_give_no_percentile, open_parser,
                                            close_parser),
            cmocka_unit_test_setup_teardown(rates_and_latencies_are_of_the_interval, open_parser,
                                            close_parser),
            cmocka_unit_test_setup_teardown(a_restart_is_an_error_for_one_interval, open_parser,
                                            close_parser),
            cmocka_unit_test(a_command_line_says_the_port),
            cmocka_unit_test(sockets_that_listen_are_found),
            cmocka_unit_test(servers_that_hold_a_gpu_are_found),
            cmocka_unit_test(the_processes_of_a_server_are_found),
            cmocka_unit_test(a_queue_needs_a_reason),
            cmocka_unit_test(a_lull_is_not_a_lack_of_requests),
            cmocka_unit_test(what_is_read_over_the_network_is_told_apart),
            cmocka_unit_test(headroom_ends_at_the_fullest_unit),
            cmocka_unit_test(a_gpu_is_spare_where_the_others_carry_the_load),
            cmocka_unit_test(advice_is_in_the_engines_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
