/* What is written for Prometheus is what our own source reads: every family, in both dialects. */
#include "present/exposition/families.h"
#include "translate/translate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static double read_back(const char *name, double written, enum metric metric)
{
        static struct schema schema;
        static struct binding binding;
        struct sample sample;
        struct raw raw = {.num = written, .state = STATE_OK};
        struct reading reading = {.values = &raw};
        schema.dialect = DIALECT_DCGM;
        schema.revision++;
        schema.n = 1;
        snprintf(schema.names[0], sizeof(schema.names[0]), "%s", name);
        translate_bind(&binding, &schema);
        translate_reading(&binding, &reading, &sample);
        return value_is_set(sample.m[metric]) ? sample.m[metric].v : NAN;
}

/* A value that the metric may have and that has no rest in any of the units. */
static double example(enum metric metric)
{
        enum unit unit = metric_info(metric)->unit;
        return unit == UNIT_RATIO     ? 0.25
               : unit == UNIT_FLAG    ? 1
               : unit == UNIT_CELSIUS ? 61
               : unit == UNIT_HERTZ   ? 1.98e9
               : unit == UNIT_WATTS   ? 500
               : unit == UNIT_NUMBER  ? 4
               : unit == UNIT_SECONDS ? 4096
                                      : 1000.0 * 1024 * 1024 * 1000;
}

static void test_read_back(void **state)
{
        const struct dcgm_family *f;
        int wrong = 0;
        (void)state;
        for (size_t i = 0; (f = dcgm_family_at(i)); i++) {
                for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++) {
                        double v = example(f->metric);
                        /* Derived here, and not read. */
                        if (!f->name[d][0] || metric_info(f->metric)->kind == METRIC_KIND_DERIVED)
                                continue;
                        double back = read_back(f->name[d], v * f->factor[d], f->metric);
                        if (!(fabs(back - v) <= 1e-9 * fabs(v)))
                                print_error("%s: %g is read as %g\n", f->name[d], v, back), wrong++;
                }
        }
        assert_int_equal(wrong, 0);
}

static void test_names_are_unique(void **state)
{
        const struct dcgm_family *a, *b;
        (void)state;
        for (size_t i = 0; (a = dcgm_family_at(i)); i++) {
                for (enum exposition_dialect d = 0; d < DCGM_DIALECTS; d++) {
                        for (size_t k = 0; k < i && (b = dcgm_family_at(k)); k++)
                                assert_true(!a->name[d][0] || strcmp(a->name[d], b->name[d]) != 0);
                        assert_int_equal(a->name[d][0] == '\0', a->help[d][0] == '\0');
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_read_back),
            cmocka_unit_test(test_names_are_unique),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
