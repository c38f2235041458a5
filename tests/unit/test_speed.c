/* What names of phases and numbers say of speed: names that programs and loggers really use. */
#include "test.h"

#include "base/attr.h"
#include "model/speed.h"

static void numbers(void **state UNUSED)
{
        static const struct {
                const char *name;
                enum speed speed;
                double seconds;
                bool is_rate;
                const char *why;
        } rows[] = {
            {"step_s", SPEED_STEP, 1, false, "a unit at the end"},
            {"step_time", SPEED_STEP, 1, false, "a step's time is in seconds"},
            {"step_ms", SPEED_STEP, 1e-3, false, "another unit"},
            {"train/iteration_time_ms", SPEED_STEP, 1e-3, false, "a path"},
            {"stepTimeMs", SPEED_STEP, 1e-3, false, "humps"},
            {"step time [ms]", SPEED_STEP, 1e-3, false, "brackets"},
            {"batch_time", SPEED_STEP, 1, false, ""},
            {"s/it", SPEED_STEP, 1, false, "seconds a step"},
            {"sec_per_step", SPEED_STEP, 1, false, "in words"},
            {"ms_per_token", SPEED_TIME, 1e-3, false, "not of a step"},
            {"step_ms_mean", SPEED_STEP, 1e-3, false, "a statistic behind the unit"},
            {"latency", SPEED_TIME, 0, false, "no unit"},
            {"perf/ms", SPEED_TIME, 1e-3, false, "a path, no rate"},
            {"time/s", SPEED_TIME, 1, false, "a path, no rate"},
            {"it/s", SPEED_RATE, 0, true, ""},
            {"steps_per_sec", SPEED_RATE, 0, true, ""},
            {"tokens_per_s", SPEED_RATE, 0, true, ""},
            {"tokens/sec/gpu", SPEED_RATE, 0, true, "of each GPU"},
            {"train_samples_per_second", SPEED_RATE, 0, true, ""},
            {"tokens_s", SPEED_RATE, 0, true, "things and a second"},
            {"throughput", SPEED_RATE, 0, true, ""},
            {"throughput (tokens/s)", SPEED_RATE, 0, true, "unit in brackets"},
            {"fps", SPEED_RATE, 0, true, ""},
            {"steps/min", SPEED_RATE, 0, true, "a minute, no minimum"},
            {"data_time", SPEED_PART, 0, false, "a part of a step"},
            {"load_s", SPEED_PART, 1, false, ""},
            {"eval_samples_per_second", SPEED_PART, 0, true, "a rate of a part"},
            {"compile_s", SPEED_PREPARATION, 1, false, ""},
            {"loss", SPEED_NONE, 0, false, ""},
            {"loss_min", SPEED_NONE, 0, false, "a minimum"},
            {"step", SPEED_NONE, 0, false, "the number of a step"},
            {"tokens", SPEED_NONE, 0, false, "a count"},
            {"learning_rate", SPEED_NONE, 0, false, "a rate of another kind"},
            {"second_moment", SPEED_NONE, 0, false, "an ordinal"},
            {"eta_s", SPEED_NONE, 0, false, "time that is left"},
            {"start_time", SPEED_NONE, 0, false, "a clock"},
            {"step_time_std", SPEED_NONE, 0, false, "a spread"},
            {"", SPEED_NONE, 0, false, "nothing"},
            {"///", SPEED_NONE, 0, false, "no words"},
            {"\xff\xfe s", SPEED_TIME, 1, false, "no UTF-8"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct speed_name got = speed_of_number(rows[i].name);
                if (got.speed != rows[i].speed || got.seconds != rows[i].seconds ||
                    got.is_rate != rows[i].is_rate)
                        fail_msg("'%s' (%s): %d, %g s, rate %d", rows[i].name, rows[i].why,
                                 (int)got.speed, got.seconds, got.is_rate);
        }
}

static void phases(void **state UNUSED)
{
        static const struct {
                const char *name;
                enum speed speed;
        } rows[] = {{"train", SPEED_TIME},
                    {"step", SPEED_STEP},
                    {"train_step", SPEED_STEP},
                    {"warmup", SPEED_PREPARATION},
                    {"warm-up", SPEED_PREPARATION},
                    {"WarmUp", SPEED_PREPARATION},
                    {"compile", SPEED_PREPARATION},
                    {"checkpoint", SPEED_PART},
                    {"load_batch", SPEED_PART},
                    {"warmup_step", SPEED_PREPARATION},
                    {"", SPEED_TIME},
                    {"epoch", SPEED_TIME}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (speed_of_phase(rows[i].name).speed != rows[i].speed)
                        fail_msg("'%s': %d", rows[i].name, (int)speed_of_phase(rows[i].name).speed);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(phases)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
