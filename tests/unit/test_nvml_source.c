/* The whole nvml source, threads and all, with calls that are slow, hang, or come and go. */
#include "nvml_test.h"

#include "read/nvml/source.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

static struct fake fake;

static struct source *open_source(int64_t poll_ns)
{
        struct err err = {0};
        struct source *s = NULL;
        struct source_config config = {.poll_ns = poll_ns, .nvml_lib = fake_lib(), .root = ""};
        if (source_nvml.open(&config, &s, &err) < 0)
                fail_msg("%s", err.msg);
        return s;
}

static void next(struct source *s, struct batch *ret)
{
        struct err err = {0};
        assert_int_equal(source_nvml.next(s, ret, &err), 1);
}

static const struct raw *value(const struct batch *b, size_t row, enum nvml_field f)
{
        return &b->readings[row].values[NVML_TEXT_COUNT + f];
}

static bool is_present(const struct batch *b, size_t row, enum nvml_field f)
{
        return value(b, row, f)->state == STATE_OK || value(b, row, f)->state == STATE_STALE;
}

static double seconds_since(int64_t start)
{
        return clock_to_seconds(clock_mono_ns() - start);
}

/* GPUs that answer as the first, with a UUID of their own. */
static void many_gpus(unsigned n, const char *more)
{
        static char text[65536];
        size_t len = 0;
        for (unsigned i = 1; i < n; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len,
                                        "[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-%08u\n", i);
        snprintf(text + len, sizeof(text) - len, "%s", more);
        fake_scenario(&fake, true, text);
}

static void the_first_batch_has_counters(void **state UNUSED)
{
        struct batch b;
        fake_scenario(&fake, true, "");
        int64_t start = clock_mono_ns();
        struct source *s = open_source(NS_PER_S);
        next(s, &b);
        assert_true(seconds_since(start) < 1.5);
        assert_int_equal(b.n, 1);
        assert_int_equal(value(&b, 0, NVML_FIELD_GPM_SM)->state, STATE_OK);
        assert_int_equal(value(&b, 0, NVML_FIELD_ENERGY)->state, STATE_OK);
        assert_int_equal(value(&b, 0, NVML_FIELD_XID_COUNT)->state, STATE_OK);
        assert_true(b.window_ns >= 100 * NS_PER_MS && !b.stale);
        assert_string_equal(source_nvml.provenance(s), "nvml+gpm");
        source_nvml.close(s);
}

/* Who the GPUs are comes before the counters, which are blank then and not 0. */
static void a_preview_comes_first(void **state UNUSED)
{
        struct batch b;
        struct source *s;
        struct err err = {0};
        struct source_config config = {
            .poll_ns = NS_PER_S, .nvml_lib = fake_lib(), .root = "", .preview = true};
        many_gpus(3, "");
        assert_int_equal(source_nvml.open(&config, &s, &err), 0);
        next(s, &b);
        int64_t first = b.mono_ns;
        assert_int_equal(b.n, 3);
        for (size_t i = 0; i < b.n; i++) {
                assert_true(b.readings[i].values[NVML_TEXT_NAME].len > 0);
                assert_int_equal(value(&b, i, NVML_FIELD_POWER)->state, STATE_OK);
                assert_int_equal(value(&b, i, NVML_FIELD_POWER_LIMIT)->state, STATE_OK);
                assert_int_equal(value(&b, i, NVML_FIELD_GPM_SM)->state, STATE_BLANK);
        }
        assert_true(b.window_ns == 0 && !b.stale);
        next(s, &b);
        assert_true(b.mono_ns - first > 100 * NS_PER_MS);
        assert_int_equal(value(&b, 2, NVML_FIELD_GPM_SM)->state, STATE_OK);
        assert_true(b.window_ns >= 100 * NS_PER_MS && !b.stale);
        int64_t second = b.mono_ns;
        next(s, &b);
        assert_true(b.mono_ns - second >
                    700 * NS_PER_MS); /* the beat, not the preview's distance */
        source_nvml.close(s);
}

static void beats_are_even(void **state UNUSED)
{
        struct batch b;
        int64_t last = 0;
        int even = 0;
        fake_scenario(&fake, true,
                      "nvmlDeviceGetPcieThroughput/0 = 0 1 delay 20\n"
                      "nvmlDeviceGetTotalEnergyConsumption = 0 1 delay 15\n");
        struct source *s = open_source(100 * NS_PER_MS);
        for (int i = 0; i < 20; i++) {
                next(s, &b);
                assert_true(is_present(&b, 0, NVML_FIELD_GPM_SM));
                even += b.mono_ns - last > 80 * NS_PER_MS && b.mono_ns - last < 120 * NS_PER_MS;
                last = b.mono_ns;
        }
        assert_true(even >= 12); /* a busy machine may delay some */
        source_nvml.close(s);
}

/* A call of GPU 2 never returns: its values age, the others' do not, nothing waits. Then all hang.
 */
static void calls_that_hang(void **state UNUSED)
{
        struct batch b;
        struct source_trouble trouble;
        fake_scenario(&fake, true,
                      "@4 * = hang\n[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-1\n"
                      "[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-2\n"
                      "@0.5 nvmlDeviceGetPowerUsage = hang\n");
        struct source *s = open_source(100 * NS_PER_MS);
        int64_t start = clock_mono_ns();
        uint32_t age = 0;
        int fresh = 0;
        for (int i = 0; i < 20; i++) {
                next(s, &b);
                assert_int_equal(b.n, 3);
                fresh += value(&b, 0, NVML_FIELD_POWER)->state == STATE_OK &&
                         value(&b, 1, NVML_FIELD_POWER)->state == STATE_OK;
                const struct raw *hung = value(&b, 2, NVML_FIELD_POWER);
                /* Before it hangs, news that come late may make it younger again. */
                assert_true(i < 10 || (hung->state == STATE_STALE && hung->age_ms > age));
                age = hung->state == STATE_STALE ? hung->age_ms : 0;
        }
        assert_true(age > 1000);
        assert_true(fresh >= 12); /* a busy machine may delay some */
        assert_true(seconds_since(start) < 4);
        source_nvml.trouble(s, &trouble);
        assert_non_null(strstr(trouble.notice, "GPU 2: stale"));
        for (int i = 0; i < 40 && !b.stale; i++)
                next(s, &b);
        next(s, &b);
        assert_true(b.stale);
        assert_int_equal(value(&b, 0, NVML_FIELD_GPM_SM)->state, STATE_STALE);
        assert_int_equal(b.readings[0].values[NVML_TEXT_UUID].state, STATE_OK);
        start = clock_mono_ns();
        source_nvml.close(s);
        assert_true(seconds_since(start) < 0.3);
}

/* A call that takes 0.8 s makes its GPU stale; when it returns, the GPU is as before. */
static void slow_calls_recover(void **state UNUSED)
{
        struct batch b;
        fake_scenario(&fake, true,
                      "@0.6 nvmlDeviceGetPowerUsage = 0 7 delay 800\n"
                      "@0.9 nvmlDeviceGetPowerUsage = 0 8\n");
        struct source *s = open_source(100 * NS_PER_MS);
        int stale = 0;
        int64_t last = 0;
        for (int i = 0; i < 20; i++) {
                next(s, &b);
                stale += b.stale;
                assert_true(b.mono_ns > last);
                last = b.mono_ns;
        }
        assert_in_range(stale, 2, 14);
        assert_int_equal(value(&b, 0, NVML_FIELD_POWER)->num, 8);
        assert_true(is_present(&b, 0, NVML_FIELD_GPM_SM));
        source_nvml.close(s);
}

static void *interrupt_soon(void *arg)
{
        struct timespec ts = {.tv_nsec = 100 * NS_PER_MS};
        nanosleep(&ts, NULL);
        source_nvml.interrupt(arg);
        return NULL;
}

static void interrupts(void **state UNUSED)
{
        struct batch b;
        struct err err = {0};
        pthread_t thread;
        fake_scenario(&fake, true, "");
        struct source *s = open_source(60 * NS_PER_S);
        next(s, &b);
        pthread_create(&thread, NULL, interrupt_soon, s);
        int64_t start = clock_mono_ns();
        assert_int_equal(source_nvml.next(s, &b, &err), 0);
        assert_true(seconds_since(start) < 1);
        pthread_join(thread, NULL);
        source_nvml.close(s);
}

static void vanishes_and_returns(void **state UNUSED)
{
        struct batch b;
        many_gpus(2, "@1 * = 15\n@2 * = -\n@0.5 xid = 79\n");
        struct source *s = open_source(100 * NS_PER_MS);
        bool gone = false, back = false;
        double xid = 0;
        for (int i = 0; i < 60 && !back; i++) {
                next(s, &b);
                assert_int_equal(value(&b, 0, NVML_FIELD_LOST)->num, 0);
                assert_true(is_present(&b, 0, NVML_FIELD_UTIL_GPU));
                bool lost = value(&b, 1, NVML_FIELD_LOST)->num > 0;
                back = gone && !lost;
                gone |= lost;
                if (value(&b, 1, NVML_FIELD_XID_LAST)->state == STATE_OK)
                        xid = value(&b, 1, NVML_FIELD_XID_LAST)->num;
        }
        assert_true(gone && back);
        assert_int_equal(xid, 79);
        source_nvml.close(s);
}

static void a_gpu_is_added(void **state UNUSED)
{
        struct batch b;
        fake_scenario(&fake, true, "[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-new\n");
        FILE *f = fopen(fake.path, "r+");
        assert_non_null(f);
        fputs("nvmlDeviceGetCount_v2 = 0 1\n@1 nvmlDeviceGetCount_v2 = 0 2\n#", f);
        fclose(f);
        fake.load(fake.path);
        struct source *s = open_source(500 * NS_PER_MS);
        next(s, &b);
        assert_int_equal(b.n, 1);
        for (int i = 0; i < 16 && b.n < 2; i++)
                next(s, &b);
        assert_int_equal(b.n, 2);
        source_nvml.close(s);
}

static void forbidden_gpus_are_not_shown(void **state UNUSED)
{
        struct batch b;
        many_gpus(3, "nvmlDeviceGetHandleByIndex_v2 = 4\n");
        struct source *s = open_source(100 * NS_PER_MS);
        next(s, &b);
        assert_int_equal(b.n, 2);
        source_nvml.close(s);
        struct err err = {0};
        struct source_config config = {.poll_ns = NS_PER_S, .nvml_lib = fake_lib(), .root = ""};
        fake_scenario(&fake, true, "nvmlDeviceGetHandleByIndex_v2 = 4\n");
        assert_int_equal(source_nvml.open(&config, &s, &err), ERR_NO_SOURCE);
        assert_non_null(strstr(err.hint, "/dev/nvidia"));
        fake_scenario(&fake, true, "nvmlGpmQueryDeviceSupport = 0 0\n");
        config.need_counters = true;
        assert_int_equal(source_nvml.open(&config, &s, &err), ERR_NO_SOURCE);
        assert_non_null(strstr(err.hint, "DCGM"));
}

static void numbers_of_gpus(void **state UNUSED)
{
        static const unsigned counts[] = {1, 8, 128};
        for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
                struct batch b;
                many_gpus(counts[i], "");
                struct source *s = open_source(200 * NS_PER_MS);
                for (int k = 0; k < 4; k++)
                        next(s, &b);
                assert_int_equal(b.n, counts[i]);
                for (size_t g = 0; g < b.n; g++) {
                        assert_int_equal(b.readings[g].who.index, g);
                        assert_true(is_present(&b, g, NVML_FIELD_POWER));
                }
                source_nvml.close(s);
        }
}

static void tells_processes(void **state UNUSED)
{
        struct batch b;
        struct process p[8];
        fake_scenario(&fake, true, "");
        struct source *s = open_source(200 * NS_PER_MS);
        size_t n = 0;
        for (int i = 0; i < 15 && (n == 0 || p[0].sm_util.state != STATE_OK); i++) {
                next(s, &b);
                n = source_nvml.processes(s, p, ARRAY_LEN(p));
        }
        assert_int_equal(n, 1);
        assert_int_equal(p[0].pid, 437);
        assert_true(p[0].on.index == 0 && p[0].on.gi == -1);
        assert_float_equal(p[0].sm_util.v, 0.95, 1e-9);
        assert_int_equal(source_nvml.processes(s, p, 0), 0);
        source_nvml.close(s);
}

static size_t entries(const char *folder)
{
        size_t n = 0;
        DIR *d = opendir(folder);
        while (d && readdir(d))
                n++;
        closedir(d);
        return n;
}

/* Opening and closing leaves nothing: no thread, no descriptor, no sample. */
static void leaves_nothing_behind(void **state UNUSED)
{
        struct batch b;
        many_gpus(4, "");
        size_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
        int64_t samples = fake.samples();
        for (int i = 0; i < 4; i++) {
                struct source *s = open_source(2 * NS_PER_MS);
                for (int k = 0; k < 20; k++)
                        next(s, &b);
                source_nvml.close(s);
        }
        struct timespec ts = {.tv_nsec = 100 * NS_PER_MS};
        nanosleep(&ts, NULL);
        /* Threads of a test before this one may have ended meanwhile. */
        assert_true(entries("/proc/self/task") <= threads);
        assert_true(entries("/proc/self/fd") <= files);
        assert_int_equal(fake.samples(), samples);
}

static int set_up(void **state UNUSED)
{
        fake_open(&fake);
        return 0;
}

static int tear_down(void **state UNUSED)
{
        fake_close(&fake);
        return 0;
}

int main(void)
{
        /* The last two leave threads in calls that never return, and the library belongs to them.
         */
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_first_batch_has_counters),
            cmocka_unit_test(a_preview_comes_first),
            cmocka_unit_test(beats_are_even),
            cmocka_unit_test(slow_calls_recover),
            cmocka_unit_test(interrupts),
            cmocka_unit_test(vanishes_and_returns),
            cmocka_unit_test(a_gpu_is_added),
            cmocka_unit_test(forbidden_gpus_are_not_shown),
            cmocka_unit_test(numbers_of_gpus),
            cmocka_unit_test(tells_processes),
            cmocka_unit_test(leaves_nothing_behind),
            cmocka_unit_test(calls_that_hang),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
