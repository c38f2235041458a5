/* Words that programs read in JSON and CSV: they stay as they are. */
#include "test.h"

#include "base/attr.h"
#include "model/diff.h"

#include <string.h>

#define CHECK_NAMES(rows, call)                                                                    \
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)                                               \
        assert_string_equal(call, (rows)[i].name)

static void words_of_a_comparison(void **state UNUSED)
{
        static const struct {
                enum diff_word word;
                enum diff_better better;
                const char *name;
        } words[] = {
            {DIFF_LESS, DIFF_LESS_IS_FASTER, "faster"},
            {DIFF_MORE, DIFF_LESS_IS_FASTER, "slower"},
            {DIFF_LESS, DIFF_MORE_IS_FASTER, "slower"},
            {DIFF_MORE, DIFF_MORE_IS_FASTER, "faster"},
            {DIFF_LESS, DIFF_BETTER_UNKNOWN, "lower"},
            {DIFF_MORE, DIFF_BETTER_UNKNOWN, "higher"},
            {DIFF_SAME, DIFF_LESS_IS_FASTER, "no difference"},
            {DIFF_SAME, DIFF_MORE_IS_FASTER, "no difference"},
            {DIFF_SAME, DIFF_BETTER_UNKNOWN, "no difference"},
            {DIFF_INCONCLUSIVE, DIFF_MORE_IS_FASTER, "inconclusive"},
            {DIFF_INCONCLUSIVE, DIFF_BETTER_UNKNOWN, "inconclusive"},
        };
        static const struct {
                enum diff_method method;
                const char *name;
        } methods[] = {
            {DIFF_BY_NOTHING, "none"}, {DIFF_BY_IDENTITY, "identity"}, {DIFF_BY_REPEATS, "repeats"},
            {DIFF_BY_STEPS, "steps"},  {DIFF_BY_WINDOWS, "windows"},   {DIFF_BY_PEAK, "peak"},
        };
        static const struct {
                enum diff_gate_of gate;
                const char *name;
        } gates[] = {
            {DIFF_GATE_TIME, "time"}, {DIFF_GATE_ENERGY, "energy"}, {DIFF_GATE_MEMORY, "memory"}};
        CHECK_NAMES(words, diff_row_word_name(&(struct diff_row){.word = words[i].word,
                                                                 .better = words[i].better}));
        CHECK_NAMES(methods, diff_method_name(methods[i].method));
        CHECK_NAMES(gates, diff_gate_name(gates[i].gate));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_a_comparison)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
