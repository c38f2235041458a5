/* One GPU through the fake library, on a clock of our own: no threads, no waiting. */
#include "nvml_test.h"

#include "translate/map.h"

#include <dirent.h>
#include <math.h>

static struct fake fake;
static struct nvml_env env;
static struct nvml_device gpu;
static int64_t now_ns, slept_ns, samples_before;

static int64_t mono(void)
{
        return now_ns;
}

static int64_t boot(void)
{
        return now_ns + slept_ns;
}

static void advance(double seconds)
{
        now_ns += clock_from_seconds(seconds);
        fake.set_clock(now_ns);
}

static void slow_lanes(void)
{
        while (nvml_device_slow(&gpu))
                ;
}

static void tick_after(double seconds)
{
        advance(seconds);
        nvml_device_tick(&gpu);
        slow_lanes();
}

static struct nvml_value cell(size_t row, enum nvml_field f)
{
        return gpu.row[row].value[f];
}

static void assert_cell(size_t row, enum nvml_field f, enum state state, double v, const char *why)
{
        struct nvml_value c = cell(row, f);
        if (c.state != state || (state == STATE_OK && fabs(c.v - v) > 1e-9 * fabs(v)))
                fail_msg("%s: %s is %g in state %s", why, nvml_field_name(f), c.v,
                         state_name(c.state));
}

/* Starts over with a scenario; resolve may hide functions. */
static int start_with(const char *text, void *(*resolve)(void *handle, const char *name))
{
        struct err err = {0};
        now_ns = 1000 * NS_PER_S;
        slept_ns = 0;
        fake.set_clock(now_ns);
        samples_before = fake.samples();
        fake_scenario(&fake, true, text);
        memset(&gpu, 0, sizeof(gpu));
        memset(&env, 0, sizeof(env));
        nvml_env_init(&env, NULL, NS_PER_S);
        env.mono_ns = mono;
        env.boot_ns = boot;
        assert_int_equal(nvml_lib_load(&env.lib, fake_lib(), resolve, &err), 0);
        int rc = nvml_device_attach(&gpu, &env, 0);
        slow_lanes();
        return rc;
}

static void start(const char *text)
{
        assert_int_equal(start_with(text, dlsym), 0);
}

static void finish(void)
{
        nvml_device_finish(&gpu);
        assert_int_equal(fake.samples(), samples_before);
}

static void reads_what_was_recorded(void **state UNUSED)
{
        static const struct {
                enum nvml_field field;
                double v;
        } cases[] = {
            {NVML_FIELD_GPM_SM, 95.524937947643778},
            {NVML_FIELD_GPM_DRAM, 15.908956059656198},
            {NVML_FIELD_GPM_PCIE_RX, 12.80699195386636},
            {NVML_FIELD_UTIL_GPU, 99},
            {NVML_FIELD_MEMORY_USED, 925696000},
            {NVML_FIELD_MEMORY_RESERVED, 644939776},
            {NVML_FIELD_POWER, 691608},
            {NVML_FIELD_POWER_LIMIT, 700000},
            {NVML_FIELD_ENERGY, 10818844},
            {NVML_FIELD_TEMP_GPU, 57},
            {NVML_FIELD_TEMP_MEMORY, 46},
            {NVML_FIELD_TEMP_SLOWDOWN, 89},
            {NVML_FIELD_TEMP_SHUTDOWN, 95},
            {NVML_FIELD_TEMP_GPU_MAX, 87},
            {NVML_FIELD_CLOCK_SM, 1470},
            {NVML_FIELD_CLOCK_SM_MAX, 1980},
            {NVML_FIELD_CLOCK_REASONS, 4},
            {NVML_FIELD_PCIE_GEN, 5},
            {NVML_FIELD_PCIE_WIDTH_MAX, 16},
            {NVML_FIELD_PCIE_REPLAY, 0},
            {NVML_FIELD_ECC_UNCORRECTED, 0},
            {NVML_FIELD_PROCESSES, 1},
            {NVML_FIELD_BAR1_USED, 927465472},
            {NVML_FIELD_LOST, 0},
        };
        start("");
        tick_after(1);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_cell(0, cases[i].field, STATE_OK, cases[i].v, "recorded");
        assert_cell(0, NVML_FIELD_RETIRED_DBE, STATE_UNSUPPORTED, 0, "an H200 remaps rows instead");
        assert_cell(0, NVML_FIELD_PCIE_RX, STATE_NONE, 0, "the call that blocks is not made");
        assert_string_equal(gpu.row[0].text[NVML_TEXT_NAME], "NVIDIA H200");
        assert_string_equal(gpu.row[0].text[NVML_TEXT_PCI], "0000:00:06.0");
        assert_string_equal(gpu.row[0].text[NVML_TEXT_DEVICE], "nvidia0");
        assert_string_equal(gpu.row[0].text[NVML_TEXT_SERIAL], "1653924170536");
        assert_int_equal(nvml_device_window_ns(&gpu), NS_PER_S);
        finish();
}

/* Each code for one value: the others are there, and the state is what the code means. */
static void every_code_is_a_state(void **state UNUSED)
{
        static const int codes[] = {
#define NVML_RC(id, number) number,
            NVML_RCS(NVML_RC)
#undef NVML_RC
        };
        for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
                char text[100];
                snprintf(text, sizeof(text), "nvmlDeviceGetPowerUsage = %d 5\n", codes[i]);
                start(text);
                tick_after(1);
                bool lost = nvml_is_lost(codes[i]);
                assert_int_equal(gpu.lost, lost);
                assert_int_equal(cell(0, NVML_FIELD_POWER).state,
                                 lost ? STATE_ERROR : nvml_state(codes[i]));
                assert_int_equal(cell(0, NVML_FIELD_UTIL_GPU).state, lost ? STATE_ERROR : STATE_OK);
                assert_cell(0, NVML_FIELD_LOST, STATE_OK, lost, nvml_rc_name(codes[i]));
                finish();
        }
        assert_int_equal(nvml_state(NVML_NOT_SUPPORTED), STATE_UNSUPPORTED);
        assert_int_equal(nvml_state(NVML_NO_PERMISSION), STATE_DENIED);
        assert_int_equal(nvml_state(NVML_UNKNOWN), STATE_ERROR);
        assert_int_equal(nvml_state(NVML_TIMEOUT), STATE_ERROR);
}

static void failures_to_start_have_remedies(void **state UNUSED)
{
        static const struct {
                int rc;
                const char *words, *remedy;
        } cases[] = {
            {NVML_DRIVER_NOT_LOADED, "not loaded", "modprobe"},
            {NVML_LIB_RM_VERSION_MISMATCH, "different versions", "reboot"},
            {NVML_NO_PERMISSION, "may not be used", "/dev/nvidiactl"},
            {NVML_GPU_NOT_FOUND, "no NVIDIA GPU", "lspci"},
            {NVML_TIMEOUT, "does not answer", "dmesg"},
            {NVML_UNKNOWN, "999", "nvidia-smi"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct err err = {0};
                assert_int_equal(nvml_lib_refuse(cases[i].rc, &err), ERR_NO_SOURCE);
                assert_non_null(strstr(err.msg, cases[i].words));
                assert_non_null(strstr(err.hint, cases[i].remedy));
        }
        struct nvml_lib lib;
        struct err err = {0};
        assert_int_equal(nvml_lib_load(&lib, "/nowhere.so", dlsym, &err), ERR_NO_SOURCE);
        assert_non_null(strstr(err.hint, "driver"));
}

static size_t hidden;

static void *resolve_all_but_one(void *handle, const char *name)
{
        static const char *const names[][2] = {
#define NVML_SYMBOL(member, shape, symbol, older) {symbol, older},
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        };
        bool hide = strcmp(name, names[hidden][0]) == 0 || strcmp(name, names[hidden][1]) == 0;
        return hide ? NULL : dlsym(handle, name);
}

static void *resolve_nothing(void *handle UNUSED, const char *name UNUSED)
{
        return NULL;
}

static size_t values_there(void)
{
        size_t n = 0;
        for (size_t f = 0; f < NVML_FIELD_COUNT; f++)
                n += cell(0, f).state == STATE_OK;
        return n;
}

/* An older library lacks newer functions: what they give is missing, nothing else is. */
static void every_function_is_optional(void **state UNUSED)
{
        enum {
                SYMBOLS = 0
#define NVML_SYMBOL(member, shape, name, older) +1
#include "read/nvml/symbols.def"
#undef NVML_SYMBOL
        };
        start("");
        tick_after(1);
        size_t all = values_there();
        finish();
        assert_true(all > 45);
        for (hidden = 0; hidden < SYMBOLS; hidden++) {
                int rc = start_with("", resolve_all_but_one);
                tick_after(1);
                /* GPM gives 16 values; each other function at most 4. */
                if (rc == 0 && values_there() + 16 < all)
                        fail_msg("without function %zu only %zu values are there", hidden,
                                 values_there());
                for (size_t f = 0; f < NVML_FIELD_COUNT; f++)
                        assert_int_not_equal(cell(0, f).state, STATE_STALE);
                nvml_device_finish(&gpu);
        }
        assert_int_equal(start_with("", resolve_nothing), NVML_FUNCTION_NOT_FOUND);
        nvml_device_finish(&gpu);
}

/* Cycles that are counted since long ago. */
static void cycles_that_fall(void **state UNUSED)
{
        start("gpm_since/248 = 0 2e9\n@20 gpm_since/248 = 0 1e9\n");
        nvml_gpm_plan(&gpu.gpm, &env.lib, env.wanted, env.poll_ns, "590.44.01");
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_CYCLES, STATE_BLANK, 0, "nothing to compare with");
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_CYCLES, STATE_OK, 2e9, "a rate");
        while (now_ns < 1019 * NS_PER_S)
                tick_after(1);
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_CYCLES, STATE_ERROR, 0, "the count fell");
        assert_int_equal(cell(0, NVML_FIELD_GPM_SM).state, STATE_OK);
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_CYCLES, STATE_OK, 1e9, "counted from there");
        finish();
}

static void windows(void **state UNUSED)
{
        start("@20 gpm_epoch = 1\n@30 gpm/2 = 0 100.8\n@30 gpm/3 = 0 -3\n@30 gpm/21 = 0 3e6\n"
              "@30 gpm/12 = 0 nan\n@32 nvmlGpmMetricsGet = 999\n@34 nvmlGpmMetricsGet = -\n");
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_BLANK, 0, "one sample is no window");
        tick_after(0.05);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_BLANK, 0, "nothing new in 50 ms: not zero");
        assert_cell(0, NVML_FIELD_GPM_DRAM, STATE_BLANK, 0, "nor NaN");
        tick_after(0.05);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_OK, 95.524937947643778, "the first sample stayed");
        assert_int_equal(nvml_device_window_ns(&gpu), 100 * NS_PER_MS);
        tick_after(1);
        slept_ns = 3600 * NS_PER_S;
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_BLANK, 0, "the machine slept");
        tick_after(1);
        assert_int_equal(cell(0, NVML_FIELD_GPM_SM).state, STATE_OK);
        tick_after(8);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_BLANK, 0, "the program was stopped for 8 s");
        tick_after(1);
        assert_int_equal(cell(0, NVML_FIELD_GPM_SM).state, STATE_OK);
        while (now_ns < 1019 * NS_PER_S)
                tick_after(1);
        tick_after(2);
        for (enum nvml_field f = NVML_FIELD_GPM_GRAPHICS; f <= NVML_FIELD_GPM_NVLINK_TX; f++)
                assert_cell(0, f, STATE_BLANK, 0, "the counters were reset");
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_OK, 95.524937947643778, "and count again");
        while (now_ns < 1031 * NS_PER_S)
                tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_BLANK, 0, "more than 100 percent");
        assert_cell(0, NVML_FIELD_GPM_OCCUPANCY, STATE_BLANK, 0, "less than nothing");
        assert_cell(0, NVML_FIELD_GPM_FP32, STATE_BLANK, 0, "not a number");
        tick_after(2);
        assert_cell(0, NVML_FIELD_GPM_TENSOR, STATE_ERROR, 0, "the call failed");
        assert_cell(0, NVML_FIELD_POWER, STATE_OK, 691608, "others do not care");
        finish();
}

static void comes_back(void **state UNUSED)
{
        char uuid[ENTITY_TEXT_MAX];
        start("@3 * = 15\n@40 * = -\n@60 * = 16\n@62 * = -\n");
        strcpy(uuid, gpu.row[0].text[NVML_TEXT_UUID]);
        tick_after(1);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 0, "here");
        tick_after(3);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 1, "gone");
        assert_cell(0, NVML_FIELD_POWER, STATE_ERROR, 0, "a lost GPU draws no old power");
        int64_t before = fake.calls();
        for (int i = 0; i < 30; i++)
                tick_after(1);
        assert_true(fake.calls() - before < 30); /* it is not asked every second */
        assert_string_equal(gpu.row[0].text[NVML_TEXT_UUID], uuid);
        for (int i = 0; i < 25; i++)
                tick_after(1);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 0, "back");
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_OK, 95.524937947643778, "with counters");
        assert_cell(0, NVML_FIELD_ENERGY, STATE_OK, 10818844, "and slow values");
        tick_after(2);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 1, "reset required");
        for (int i = 0; i < 5; i++)
                tick_after(1);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 0, "was reset");
        finish();
}

static const char mig[] =
    "nvmlDeviceGetMigMode = 0 1 1\n"
    "nvmlDeviceGetMaxMigDeviceCount = 0 7\n"
    "nvmlDeviceGetUtilizationRates = 3\n"
    "[mig 1 0]\n"
    "nvmlDeviceGetUUID = 0 MIG-aaaa\n"
    "nvmlDeviceGetName = 0 NVIDIA H200 MIG 3g.71gb\n"
    "nvmlDeviceGetMemoryInfo_v2 = 0 75000000000 1000000 70000000000 5000000000\n"
    "gpm/2 = 0 61\ngpm/10 = 0 20\n"
    "@10 nvmlDeviceGetMigDeviceHandleByIndex = 6\n"
    "@10 nvmlGpmMigSampleGet = 6\n"
    "[mig 2 0]\n"
    "nvmlDeviceGetUUID = 0 MIG-bbbb\n"
    "gpm/2 = 0 7\ngpm/10 = 0 1\n"
    "[mig 2 1]\n"
    "nvmlDeviceGetUUID = 0 MIG-cccc\n";

static void slices(void **state UNUSED)
{
        start(mig);
        tick_after(1);
        assert_int_equal(gpu.n, 5); /* GPU, instance 1, instance 2 and its two compute instances */
        assert_int_equal(gpu.row[1].kind, ENTITY_GPU_INSTANCE);
        assert_int_equal(gpu.row[1].gi, 1);
        assert_int_equal(gpu.row[3].kind, ENTITY_COMPUTE_INSTANCE);
        assert_int_equal(gpu.row[4].ci, 1);
        assert_string_equal(gpu.row[1].text[NVML_TEXT_MIG_PROFILE], "3g.71gb");
        assert_string_equal(gpu.row[1].text[NVML_TEXT_NAME], "NVIDIA H200");
        assert_string_equal(gpu.row[4].text[NVML_TEXT_UUID], "MIG-cccc");
        assert_cell(1, NVML_FIELD_GPM_SM, STATE_OK, 61, "its own sample");
        assert_cell(2, NVML_FIELD_GPM_SM, STATE_OK, 7, "its own sample");
        assert_cell(1, NVML_FIELD_MEMORY_USED, STATE_OK, 5e9, "its own memory");
        assert_cell(1, NVML_FIELD_UTIL_GPU, STATE_UNSUPPORTED, 0, "not defined on MIG");
        assert_cell(0, NVML_FIELD_UTIL_GPU, STATE_UNSUPPORTED, 0, "nor on a GPU in MIG mode");
        assert_int_equal(fake.samples() - samples_before, 6);
        for (int i = 0; i < 9; i++)
                tick_after(1);
        tick_after(1);
        tick_after(1);
        assert_int_equal(gpu.n, 4);
        assert_string_equal(gpu.row[1].text[NVML_TEXT_UUID], "MIG-bbbb");
        tick_after(1);
        assert_cell(1, NVML_FIELD_GPM_SM, STATE_OK, 7, "goes on after the change");
        assert_int_equal(fake.samples() - samples_before, 4);
        finish();
}

static bool only_power(enum dialect dialect UNUSED, const char *field, size_t len)
{
        return strlen("power.draw") == len && memcmp(field, "power.draw", len) == 0;
}

static void asks_only_for_what_is_wanted(void **state UNUSED)
{
        start("");
        nvml_device_finish(&gpu);
        memset(&gpu, 0, sizeof(gpu));
        nvml_env_init(&env, only_power, NS_PER_S);
        assert_int_equal(nvml_device_attach(&gpu, &env, 0), 0);
        slow_lanes();
        tick_after(1);
        int64_t before = fake.calls();
        tick_after(1);
        assert_int_equal(fake.calls() - before, 2); /* power, and whether MIG changed */
        assert_cell(0, NVML_FIELD_POWER, STATE_OK, 691608, "wanted");
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_NONE, 0, "not wanted");
        finish();
}

/* A GPU before Hopper: the older calls give PCIe, and NVLink is a counter that becomes a rate. */
static void without_gpm(void **state UNUSED)
{
        start("nvmlGpmQueryDeviceSupport = 0 0\n"
              "nvmlDeviceGetFieldValues/138 = 0 1000 3\nnvmlDeviceGetFieldValues/139 = 0 500 3\n"
              "@2 nvmlDeviceGetFieldValues/138 = 0 4000 3\n"
              "@4 nvmlDeviceGetFieldValues/138 = 0 10 3\n"
              "nvmlDeviceGetMemoryInfo_v2 = 13\n");
        assert_false(gpu.has_gpm);
        tick_after(1);
        assert_cell(0, NVML_FIELD_GPM_SM, STATE_UNSUPPORTED, 0, "no counters");
        assert_cell(0, NVML_FIELD_PCIE_RX, STATE_OK, 13833, "the older call");
        tick_after(1.5);
        assert_cell(0, NVML_FIELD_NVLINK_TX, STATE_OK, 2000, "3000 KiB in 1.5 s");
        assert_cell(0, NVML_FIELD_NVLINK_RX, STATE_OK, 0, "no traffic");
        tick_after(1.5);
        assert_cell(0, NVML_FIELD_NVLINK_TX, STATE_ERROR, 0, "the counter was reset");
        assert_cell(0, NVML_FIELD_MEMORY_USED, STATE_OK, 1570635776, "the older call");
        assert_cell(0, NVML_FIELD_MEMORY_RESERVED, STATE_UNSUPPORTED, 0, "it does not tell this");
        finish();
}

static void processes(void **state UNUSED)
{
        start("nvmlDeviceGetComputeRunningProcesses_v3 = 0 10:1000 11:2000\n"
              "nvmlDeviceGetGraphicsRunningProcesses_v3 = 0 11:2000 12:3000\n"
              "nvmlDeviceGetProcessUtilization = 0 10:95:21:0:0 12:3:1:50:60 99:1:1:1:1\n"
              "@8 nvmlDeviceGetProcessUtilization = 3\n");
        gpu.counts_processes_closely = true;
        tick_after(1);
        const struct nvml_process *p = gpu.processes.list;
        assert_int_equal(gpu.processes.n, 3);
        assert_cell(0, NVML_FIELD_PROCESSES, STATE_OK, 3, "one that does both counts once");
        assert_int_equal(p[1].types, NVML_PROCESS_COMPUTE | NVML_PROCESS_GRAPHICS);
        assert_int_equal(p[0].sm, 95);
        assert_int_equal(p[0].util_state, STATE_OK);
        assert_int_equal(p[2].dec, 60);
        assert_true(p[0].memory == 1000 && p[0].gi == -1);
        uint64_t since = gpu.processes.since_us;
        assert_true(since > 0);
        tick_after(1);
        assert_true(gpu.processes.since_us > since);
        tick_after(8);
        assert_int_equal(p[0].util_state, STATE_UNSUPPORTED);
        assert_true(p[0].memory == 1000);
        finish();
}

/* Where the older call is not there, or not supported, the newer one has the same samples. */
static void shares_of_processes(void **state UNUSED)
{
        static const char *const older[] = {"nvmlDeviceGetProcessUtilization = 3\n",
                                            "nvmlDeviceGetProcessUtilization = 13\n"};
        for (size_t i = 0; i < ARRAY_LEN(older); i++) {
                char text[512];
                snprintf(text, sizeof(text),
                         "nvmlDeviceGetComputeRunningProcesses_v3 = 0 10:1000 11:2000\n%s"
                         "nvmlDeviceGetProcessesUtilizationInfo = 0 10:95:21:0:0 11:3:1:50:60\n"
                         "@8 nvmlDeviceGetProcessesUtilizationInfo = 25\n",
                         older[i]);
                start(text);
                gpu.counts_processes_closely = true;
                tick_after(1);
                const struct nvml_process *p = gpu.processes.list;
                assert_int_equal(gpu.processes.n, 2);
                assert_true(p[0].util_state == STATE_OK && p[0].sm == 95 && p[0].mem == 21);
                assert_true(p[1].util_state == STATE_OK && p[1].enc == 50 && p[1].dec == 60);
                assert_true(gpu.processes.since_us > 0);
                tick_after(9);
                assert_true(p[0].util_state != STATE_OK); /* another version of the structure */
                finish();
        }
}

static size_t open_files(void)
{
        size_t n = 0;
        DIR *d = opendir("/proc/self/fd");
        while (d && readdir(d))
                n++;
        closedir(d);
        return n;
}

static long resident_kib(void)
{
        long pages = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        if (!f || fscanf(f, "%*s %ld", &pages) != 1)
                pages = 0;
        if (f)
                fclose(f);
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Twelve hours at one tick a second, with MIG, a GPU that is lost every hour, and resets. */
static void half_a_day(void **state UNUSED)
{
        static char text[65536];
        size_t len = 0;
        for (int hour = 1; hour < 12; hour++)
                len += (size_t)snprintf(text + len, sizeof(text) - len,
                                        "@%d * = 15\n@%d * = -\n@%d gpm_epoch = %d\n", hour * 3600,
                                        hour * 3600 + 100, hour * 3600 + 1800, hour);
        snprintf(text + len, sizeof(text) - len, "%s", mig);
        start(text);
        for (int i = 0; i < 2 * 3600; i++)
                tick_after(1);
        long memory = resident_kib();
        size_t files = open_files();
        int64_t samples = fake.samples();
        for (int i = 0; i < 10 * 3600; i++)
                tick_after(1);
        assert_true(resident_kib() <= memory + 512);
        assert_int_equal(open_files(), files);
        assert_int_equal(fake.samples(), samples);
        for (int i = 0; i < 200; i++)
                tick_after(1);
        assert_cell(0, NVML_FIELD_LOST, STATE_OK, 0, "and it still works");
        assert_cell(0, NVML_FIELD_GPM_TENSOR, STATE_OK, 92.752089618366057, "with counters");
        finish();
}

/* What the source names, the map knows, and the other way round. */
static void names_agree(void **state UNUSED)
{
        const struct map *map = map_for(DIALECT_NVML);
        static struct schema schema;
        nvml_schema(&schema);
        for (size_t i = 0; i < schema.n; i++) {
                const char *name = schema.names[i];
                if (!translate_wants(DIALECT_NVML, name, strlen(name)))
                        fail_msg("nobody wants %s", name);
        }
        for (size_t i = 0; i < map->n; i++) {
                bool found = false;
                for (size_t k = 0; k < schema.n; k++)
                        found |= strcmp(schema.names[k], map->rows[i].name) == 0;
                if (!found)
                        fail_msg("nobody gives %s", map->rows[i].name);
        }
}

/* Runs are taken one a tick, in order; a flood is one run, and what there is no room for counts. */
static void xids_in_order(void **state UNUSED)
{
        struct nvml_xids x = {0};
        nvml_xids_take(&x);
        assert_int_equal(x.count, 0);
        for (int i = 0; i < 1000; i++)
                nvml_xids_add(&x, 31);
        nvml_xids_add(&x, 79);
        nvml_xids_add(&x, 45);
        static const struct {
                uint32_t last, count;
        } taken[] = {{31, 1000}, {79, 1001}, {45, 1002}, {45, 1002}};
        for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
                nvml_xids_take(&x);
                assert_int_equal(x.last, taken[i].last);
                assert_int_equal(x.count, taken[i].count);
        }
        nvml_xids_add(&x, 45); /* after it was taken: a run of its own */
        nvml_xids_take(&x);
        assert_int_equal(x.count, 1003);
        for (uint32_t i = 0; i < 2 * NVML_XID_RUNS; i++)
                nvml_xids_add(&x, 100 + i);
        for (uint32_t i = 0; i < 2 * NVML_XID_RUNS; i++)
                nvml_xids_take(&x);
        assert_int_equal(x.count, 1003 + 2 * NVML_XID_RUNS);
        assert_int_equal(x.last, 100 + NVML_XID_RUNS - 1);
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
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_what_was_recorded),
            cmocka_unit_test(every_code_is_a_state),
            cmocka_unit_test(failures_to_start_have_remedies),
            cmocka_unit_test(every_function_is_optional),
            cmocka_unit_test(xids_in_order),
            cmocka_unit_test(windows),
            cmocka_unit_test(cycles_that_fall),
            cmocka_unit_test(comes_back),
            cmocka_unit_test(slices),
            cmocka_unit_test(asks_only_for_what_is_wanted),
            cmocka_unit_test(without_gpm),
            cmocka_unit_test(processes),
            cmocka_unit_test(shares_of_processes),
            cmocka_unit_test(half_a_day),
            cmocka_unit_test(names_agree),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
