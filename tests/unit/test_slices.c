/* What belongs to a whole GPU is the GPU's alone; sums count each thing once; odd values. */
#include "test.h"

#include "base/attr.h"
#include "engine/slices.h"
#include "translate/translate.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX 8

static struct entity entities[ROWS_MAX];
static struct row rows[ROWS_MAX];
static struct frame frame;

static void add(enum entity_kind kind, int32_t index, int32_t gi, int32_t ci, int32_t flat)
{
        struct entity *e = &entities[frame.n];
        *e = (struct entity){.slot = (uint32_t)frame.n,
                             .kind = kind,
                             .index = index,
                             .gi = gi,
                             .ci = ci,
                             .flat = flat};
        memset(&rows[frame.n], 0, sizeof(rows[0]));
        rows[frame.n].sample.who = e;
        frame.rows = rows;
        frame.n++;
}

static void set(size_t row, enum metric m, double v)
{
        rows[row].sample.m[m] = value_ok(v);
}

static double sum(enum metric m)
{
        double total = 0;
        for (size_t i = 0; i < frame.n; i++)
                total += frame_counts(&frame, i, m) ? rows[i].sample.m[m].v : 0;
        return total;
}

/* GPU 0; GPU 1 with an instance of two compute instances and another. */
static int make(void **state UNUSED)
{
        frame = (struct frame){0};
        add(ENTITY_GPU, 0, -1, -1, -1);
        add(ENTITY_GPU, 1, -1, -1, -1);
        add(ENTITY_GPU_INSTANCE, 1, 1, -1, -1);
        add(ENTITY_GPU_INSTANCE, 1, 2, -1, -1);
        add(ENTITY_COMPUTE_INSTANCE, 1, 2, 0, -1);
        add(ENTITY_COMPUTE_INSTANCE, 1, 2, 1, -1);
        for (size_t i = 0; i < frame.n; i++) {
                set(i, METRIC_POWER, i == 0 ? 68.5 : 623.6);
                set(i, METRIC_GPU_UTIL, i == 0 ? 0 : 1);
                set(i, METRIC_FB_USED, i == 0 ? 4 : i == 1 ? 600 : 100);
                set(i, METRIC_SM_ACTIVE, 0.5);
        }
        return 0;
}

static void slices_keep_their_own(void **state UNUSED)
{
        struct sample whole;
        make(NULL);
        slices_gather(&frame, 1, 6, &whole);
        slices_disown(&frame, 1, 6);
        assert_true(whole.m[METRIC_POWER].v == 623.6);
        assert_true(rows[1].sample.m[METRIC_POWER].v == 623.6);
        for (size_t i = 2; i < frame.n; i++) {
                assert_int_equal(rows[i].sample.m[METRIC_POWER].state, STATE_UNSUPPORTED);
                assert_int_equal(rows[i].sample.m[METRIC_GPU_UTIL].state, STATE_UNSUPPORTED);
                assert_int_equal(rows[i].sample.m[METRIC_GPU_TEMP].state, STATE_NONE);
                assert_true(rows[i].sample.m[METRIC_FB_USED].v == 100);
                assert_true(rows[i].sample.m[METRIC_SM_ACTIVE].v == 0.5);
        }
}

static void partitions_have_a_busy_share(void **state UNUSED)
{
        make(NULL);
        entities[2].vendor = VENDOR_AMD;
        slices_disown(&frame, 1, 6);
        assert_true(rows[2].sample.m[METRIC_GPU_UTIL].v == 1);
        assert_int_equal(rows[2].sample.m[METRIC_POWER].state, STATE_UNSUPPORTED);
}

static void sums_count_once(void **state UNUSED)
{
        make(NULL);
        assert_int_equal(frame_gpus(&frame), 2);
        assert_true(sum(METRIC_POWER) == 68.5 + 623.6);
        assert_true(sum(METRIC_FB_USED) == 604);
        /* A GPU in MIG mode may not tell its memory: its instances do, not their parts again. */
        rows[1].sample.m[METRIC_FB_USED] = value_missing(STATE_UNSUPPORTED);
        assert_true(sum(METRIC_FB_USED) == 4 + 100 + 100);
        rows[3].sample.m[METRIC_FB_USED] = value_missing(STATE_UNSUPPORTED);
        assert_true(sum(METRIC_FB_USED) == 4 + 100 + 100 + 100);
}

/* A capture has dcgmi's flat numbers, and nobody knows the GPU. */
static void flat_slices_are_no_gpus(void **state UNUSED)
{
        frame = (struct frame){0};
        add(ENTITY_GPU, 0, -1, -1, -1);
        add(ENTITY_GPU_INSTANCE, -1, -1, -1, 7);
        add(ENTITY_COMPUTE_INSTANCE, -1, -1, -1, 7);
        for (size_t i = 0; i < frame.n; i++)
                set(i, METRIC_FB_USED, 10);
        assert_int_equal(frame_gpus(&frame), 1);
        assert_true(sum(METRIC_FB_USED) == 10);
        frame.rows = rows + 1;
        frame.n = 2;
        assert_int_equal(frame_gpus(&frame), 1);
        assert_true(frame_counts(&frame, 0, METRIC_FB_USED));
        assert_false(frame_counts(&frame, 1, METRIC_FB_USED));
}

/* Exporters list slices alone, with the GPU's UUID. */
static void a_gpu_is_made_for_its_slices(void **state UNUSED)
{
        struct registry r = {0};
        struct entity_key key = {.kind = ENTITY_GPU_INSTANCE,
                                 .index = 3,
                                 .gi = 1,
                                 .ci = -1,
                                 .flat = -1,
                                 .host = "node",
                                 .host_len = 4,
                                 .uuid = "GPU-aaaa",
                                 .uuid_len = 8};
        struct entity *slice = registry_resolve(&r, &key, 0);
        entity_set_text(slice, ENTITY_TEXT_MODEL, "NVIDIA H200", 11);
        entity_set_text(slice, ENTITY_TEXT_MIG_PROFILE, "1g.18gb", 7);
        struct entity *whole = slices_find_whole(&r, slice);
        assert_non_null(whole);
        assert_int_equal(whole->kind, ENTITY_GPU);
        assert_string_equal(whole->label, "3");
        assert_string_equal(whole->text[ENTITY_TEXT_MODEL], "NVIDIA H200");
        assert_string_equal(whole->text[ENTITY_TEXT_MIG_PROFILE], "");
        assert_true(entity_same_gpu(whole, slice));
        key.gi = 2;
        struct entity *other = registry_resolve(&r, &key, 1);
        assert_ptr_equal(slices_find_whole(&r, other), whole);
        registry_finish(&r);
}

/* The same rules for every dialect, in the metric's own unit. */
static void odd_values_are_errors(void **state UNUSED)
{
        static const struct {
                const char *field;
                double num;
                enum metric metric;
                int state;
                double v;
                const char *why;
        } cases[] = {
            {"GPUTL", -7, METRIC_GPU_UTIL, STATE_ERROR, 0, "a utilization below zero"},
            {"GPUTL", 101, METRIC_GPU_UTIL, STATE_OK, 1, "a little more than all is all"},
            {"GPUTL", 201, METRIC_GPU_UTIL, STATE_ERROR, 0, "twice as much is not"},
            {"GRACT", 1234567, METRIC_GR_ACTIVE, STATE_ERROR, 0, "far too active"},
            {"GRACT", -0.0, METRIC_GR_ACTIVE, STATE_OK, 0, "rounded to -0.000"},
            {"GRACT", -0.004, METRIC_GR_ACTIVE, STATE_OK, 0, "an estimate just below zero"},
            {"TMPTR", 12345678901.0, METRIC_GPU_TEMP, STATE_ERROR, 0, "hotter than the sun"},
            {"TMPTR", -20, METRIC_GPU_TEMP, STATE_OK, -20, "a cold room"},
            {"TMPTR", -274, METRIC_GPU_TEMP, STATE_ERROR, 0, "colder than anything"},
            {"POWER", -0.0, METRIC_POWER, STATE_ERROR, 0, "a small negative power"},
            {"POWER", 0, METRIC_POWER, STATE_OK, 0, "a GPU that is off"},
            {"POWER", 4294967.295, METRIC_POWER, STATE_ERROR, 0, "all ones in mW"},
            {"FBUSD", -1, METRIC_FB_USED, STATE_ERROR, 0, "memory below zero"},
            {"SMCLK", 4294967295.0, METRIC_SM_CLOCK, STATE_ERROR, 0, "all ones in MHz"},
            {"PCILG", 99, METRIC_PCIE_GEN, STATE_ERROR, 0, "no such generation"},
            {"RRF", -3, METRIC_REMAP_FAILURE, STATE_ERROR, 0, "a flag below zero"},
            {"RRF", 2, METRIC_REMAP_FAILURE, STATE_OK, 1, "any other flag is set"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                static struct schema schema;
                static struct binding binding;
                static struct sample sample;
                struct raw raw = {.num = cases[i].num, .state = STATE_OK};
                struct reading reading = {.values = &raw};
                schema = (struct schema){.dialect = DIALECT_DMON, .revision = (uint32_t)i, .n = 1};
                snprintf(schema.names[0], FIELD_NAME_MAX, "%s", cases[i].field);
                binding.bound = false;
                translate_bind(&binding, &schema);
                translate_reading(&binding, &reading, &sample);
                struct value v = sample.m[cases[i].metric];
                if (v.state != cases[i].state || (v.state == STATE_OK && v.v != cases[i].v))
                        fail_msg("%s %g: %s", cases[i].field, cases[i].num, cases[i].why);
        }
}

struct given {
        enum dialect dialect;
        const char *field[2];
        double num[2];
};

static struct value taken(const struct given *g, enum metric metric)
{
        static struct schema schema;
        static struct sample sample;
        struct binding binding = {0};
        struct raw raw[2] = {{.num = g->num[0], .state = STATE_OK},
                             {.num = g->num[1], .state = STATE_OK}};
        struct reading reading = {.values = raw};
        size_t n = g->field[1] ? 2 : 1;
        schema = (struct schema){.dialect = g->dialect, .n = n};
        for (size_t i = 0; i < n; i++)
                snprintf(schema.names[i], FIELD_NAME_MAX, "%s", g->field[i]);
        struct batch batch = {.schema = &schema, .readings = &reading, .n = 1};
        translate_bind(&binding, &schema);
        translate_detect_units(&binding, &batch);
        translate_reading(&binding, &reading, &sample);
        return sample.m[metric];
}

static void units_of_dcgm(void **state UNUSED)
{
        static const struct {
                struct given given;
                enum metric metric;
                double v;
                const char *why;
        } cases[] = {
            {{DIALECT_DMON, {"NBWLT"}, {40000}}, METRIC_NVLINK_TOTAL, 40.96e9, "1000 KiB"},
            {{DIALECT_DMON, {"NTXBWLT"}, {1}}, METRIC_NVLINK_TX, 1024000, "likewise"},
            {{DIALECT_DMON, {"TXTPT"}, {7}}, METRIC_PCIE_TX, 7000, "PCIe without counters"},
            {{DIALECT_DMON, {"PCITX", "TXTPT"}, {5, 7}}, METRIC_PCIE_TX, 5, "counters win"},
            {{DIALECT_DMON, {"NVOFA0", "NVOFA1"}, {0.2, 0.6}}, METRIC_OFA_UTIL, 0.6, "busiest"},
            {{DIALECT_DMON, {"NVOFA0", "NVOFA1"}, {0.6, 0.2}}, METRIC_OFA_UTIL, 0.6, "either way"},
            {{DIALECT_DMON, {"CLKPCNS"}, {2e9}}, METRIC_THROTTLE_POWER_TIME, 2, "nanoseconds"},
            {{DIALECT_DMON, {"B1USE"}, {72}}, METRIC_BAR1_USED, 72 * 1048576.0, "MiB"},
            {{DIALECT_DCGM, {"DCGM_FI_DEV_GPU_UTIL_RATIO"}, {0.5}}, METRIC_GPU_UTIL, 0.5, "4.7"},
            {{DIALECT_DCGM, {"DCGM_FI_DEV_GPU_UTIL_RATIO"}, {50}}, METRIC_GPU_UTIL, 0.5, "4.6"},
            {{DIALECT_DCGM,
              {"DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_DEV_MEMORY_UTIL_RATIO"},
              {1, 50}},
             METRIC_GPU_UTIL,
             0.01,
             "one above 1 tells for all"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct value v = taken(&cases[i].given, cases[i].metric);
                if (!value_is_set(v) || v.v != cases[i].v)
                        fail_msg("%s: %g (%s)", cases[i].given.field[0], v.v, cases[i].why);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(slices_keep_their_own),
            cmocka_unit_test(partitions_have_a_busy_share),
            cmocka_unit_test(sums_count_once),
            cmocka_unit_test(flat_slices_are_no_gpus),
            cmocka_unit_test(a_gpu_is_made_for_its_slices),
            cmocka_unit_test(odd_values_are_errors),
            cmocka_unit_test(units_of_dcgm),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
