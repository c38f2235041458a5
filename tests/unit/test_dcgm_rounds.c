#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/dcgm/rounds.h"

#include <stdio.h>
#include <string.h>

static struct dcgm_inventory inventory;
static struct dcgm_rounds rounds;

static int begin(void **state UNUSED)
{
        memset(&inventory, 0, sizeof(inventory));
        inventory.n_gpus = 2;
        for (int32_t i = 0; i < 2; i++) {
                inventory.gpus[i] = (struct dcgm_gpu){.id = i, .local = i, .name = "NVIDIA H100"};
                snprintf(inventory.gpus[i].uuid, sizeof(inventory.gpus[i].uuid), "GPU-%d", i);
        }
        dcgm_rounds_init(&rounds, &inventory);
        dcgm_rounds_restart(&rounds);
        return 0;
}

static int end(void **state UNUSED)
{
        dcgm_rounds_finish(&rounds);
        return 0;
}

static enum dcgm_taken take(const char *text)
{
        struct line line = {.s = text, .len = strlen(text)};
        return dcgm_rounds_take(&rounds, &line);
}

static double cell(size_t row, size_t field)
{
        struct batch b;
        dcgm_rounds_give(&rounds, &b);
        assert_true(row < b.n && field < b.schema->n);
        return b.readings[row].values[field].num;
}

#define HEADER "#Entity   GPUTL     SMACT     "
#define UNITS "ID                            "

static void a_stream(void **state UNUSED)
{
        static const struct {
                const char *line;
                enum dcgm_taken taken;
                const char *why;
        } cases[] = {
            {"Warning: CUDA_VISIBLE_DEVICES is set", DCGM_NOT_A_ROW, "before the header"},
            {HEADER, DCGM_TAKEN, "the header"},
            {UNITS, DCGM_TAKEN, "the units"},
            {"GPU 0     1         N/A       ", DCGM_TAKEN, "half of the first round"},
            {"GPU 1     2         N/A       ", DCGM_TAKEN, "whole, but its counters are blank"},
            {"GPU 0     3         0.500     ", DCGM_TAKEN, "half of the second"},
            {"GPU 1     4         0.600     ", DCGM_ROUND, "whole: not held back"},
            {HEADER, DCGM_TAKEN, "the header again"},
            {UNITS, DCGM_TAKEN, "and the units"},
            {"CPU 0     1         1         ", DCGM_TAKEN, "not a GPU"},
            {"GPU 7     1         1         ", DCGM_TAKEN, "a GPU nobody listed"},
            {"GPU 1     5         N/A       ", DCGM_TAKEN, "GPU 0 is lost"},
            {"GPU 1     6         0.700     ", DCGM_ROUND,
             "the one before ends when it comes again"},
            {"", DCGM_TAKEN, "an empty line"},
            {"dmon was stopped due to receiving a signal", DCGM_TAKEN, "the last words"},
            {"Error getting values information. Return -21", DCGM_NOT_A_ROW, "an error"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (take(cases[i].line) != cases[i].taken)
                        fail_msg("%s", cases[i].why);
        }
        assert_true(cell(0, 0) == 5 && dcgm_rounds_waiting(&rounds));
        assert_true(dcgm_rounds_complete(&rounds) && cell(0, 0) == 6);
        assert_false(dcgm_rounds_waiting(&rounds) || dcgm_rounds_complete(&rounds));
}

static void give_first_round(void)
{
        take(HEADER);
        take("GPU 0     3         0.500     ");
        assert_int_equal(take("GPU 1     4         N/A       "), DCGM_ROUND);
}

static void identity_stands_beside(void **state UNUSED)
{
        struct batch b;
        give_first_round();
        dcgm_rounds_give(&rounds, &b);
        assert_int_equal(b.readings[1].who.uuid_len, 5);
        assert_memory_equal(b.readings[1].who.uuid, "GPU-1", 5);
        const struct raw *name = &b.readings[1].values[rounds.name_field];
        assert_int_equal(name->len, 11);
        assert_memory_equal(name->text, "NVIDIA H100", 11);
        assert_int_equal(b.readings[1].values[rounds.pci_field].state, STATE_NONE);
}

static void no_news_ages(void **state UNUSED)
{
        struct batch b;
        give_first_round();
        dcgm_rounds_restart(&rounds);
        take("GPU 0     9         0.900     "); /* half a round must not show */
        for (int seconds = 1; seconds <= 100; seconds *= 10) {
                dcgm_rounds_give_stale(&rounds, rounds.mono_ns + seconds * NS_PER_S, &b);
                const struct raw *util = &b.readings[0].values[0];
                assert_true(b.stale && b.n == 2 && util->num == 3);
                assert_int_equal(util->state, STATE_STALE);
                assert_int_equal(util->age_ms, seconds * 1000);
                assert_int_equal(b.readings[1].values[1].state, STATE_BLANK);
                assert_int_equal(b.readings[0].values[rounds.name_field].state, STATE_OK);
        }
        assert_int_equal(take("GPU 1     8         0.800     "), DCGM_ROUND);
        dcgm_rounds_give(&rounds, &b);
        assert_true(!b.stale && b.readings[0].values[0].num == 9);
        assert_int_equal(b.readings[0].values[0].state, STATE_OK);
        assert_int_equal(b.readings[0].values[0].age_ms, 0);
}

static void a_new_layout(void **state UNUSED)
{
        struct batch b;
        give_first_round();
        dcgm_rounds_give(&rounds, &b);
        uint32_t revision = b.schema->revision;
        take("GPU 0     9         0.900     ");
        assert_int_equal(take("#Entity   GPUTL     "), DCGM_ROUND);
        take("GPU 0     7         ");
        assert_int_equal(take("GPU 1     8         "), DCGM_ROUND);
        dcgm_rounds_give(&rounds, &b);
        assert_int_equal(b.schema->n, 3);
        assert_true(b.schema->revision != revision && cell(1, 0) == 8);
        take("GPU 0     5         ");
        assert_int_equal(take("GPU 1     6         "), DCGM_ROUND);
        assert_true(cell(0, 0) == 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_stream, begin, end),
            cmocka_unit_test_setup_teardown(identity_stands_beside, begin, end),
            cmocka_unit_test_setup_teardown(no_news_ages, begin, end),
            cmocka_unit_test_setup_teardown(a_new_layout, begin, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
