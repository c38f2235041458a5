/* The tables as tables: names unique, help present, every metric has a producer. */
#include "test.h"

#include "base/attr.h"
#include "config/config.h"
#include "formats/format.h"
#include "model/metric.h"
#include "present/stream/columns.h"
#include "read/source.h"
#include "translate/map.h"

#include <string.h>

static void metrics(void **state UNUSED)
{
        for (enum metric a = 0; a < METRIC_COUNT; a++) {
                const struct metric_info *i = metric_info(a);
                assert_true(i->name[0] && i->help[0]);
                assert_int_equal(metric_find(i->name, strlen(i->name)), a);
                assert_true(i->help[strlen(i->help) - 1] != '.');
        }
        assert_int_equal(metric_find("no_such", 7), METRIC_COUNT);
}

static void every_metric_has_a_producer(void **state UNUSED)
{
        /* DIALECT_CANON names them all, so it does not count. */
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                bool produced = metric_info(m)->kind == METRIC_KIND_DERIVED;
                for (enum dialect d = 0; d < DIALECT_COUNT; d++) {
                        const struct map *map = map_for(d);
                        for (size_t i = 0; d != DIALECT_CANON && i < map->n; i++)
                                produced |= !map->rows[i].text && map->rows[i].to == m;
                }
                if (!produced)
                        fail_msg("no source gives %s", metric_info(m)->name);
        }
}

static void maps_have_unique_names(void **state UNUSED)
{
        for (enum dialect d = 0; d < DIALECT_COUNT; d++) {
                const struct map *map = map_for(d);
                for (size_t i = 0; i < map->n; i++) {
                        for (size_t k = i + 1; k < map->n && map->rows[i].name[0]; k++) {
                                if (strcmp(map->rows[i].name, map->rows[k].name) == 0)
                                        fail_msg("%s stands twice", map->rows[i].name);
                        }
                }
        }
}

static void columns(void **state UNUSED)
{
        const struct column *a, *b;
        for (size_t i = 0; (a = column_at(i)); i++) {
                assert_true(a->name[0] && a->help[0]);
                for (size_t k = i + 1; (b = column_at(k)); k++)
                        assert_string_not_equal(a->name, b->name);
                /* What we write under a name we read under that name. */
                bool is_value = a->kind == COLUMN_PERCENT || a->kind == COLUMN_MIB ||
                                a->kind == COLUMN_GIGA || a->kind == COLUMN_MEGA ||
                                a->kind == COLUMN_RAW || a->kind == COLUMN_TEXT;
                bool derived = a->kind != COLUMN_TEXT && is_value &&
                               (a->what == METRIC_REAL_UTIL || a->what == METRIC_FB_USED_RATIO);
                const struct map *map = map_for(DIALECT_COLUMNS);
                bool read = false;
                for (size_t k = 0; k < map->n; k++)
                        read |=
                            strcmp(map->rows[k].name, a->name) == 0 && map->rows[k].to == a->what;
                if (is_value && !derived && !read)
                        fail_msg("column %s is written and not read", a->name);
        }
}

static void options(void **state UNUSED)
{
        for (enum option a = 0; a < OPT_COUNT_OF; a++) {
                const struct option_info *i = option_info(a);
                assert_true(i->name[0] && i->help[0] && i->commands[0]);
                assert_true(i->type == OPTION_FLAG || i->metavar[0]);
                for (enum option b = a + 1; b < OPT_COUNT_OF; b++)
                        assert_string_not_equal(i->name, option_info(b)->name);
                const struct alias_info *alias;
                for (size_t k = 0; (alias = alias_at(k)); k++)
                        assert_string_not_equal(i->name, alias->name);
        }
}

static void sources_and_formats(void **state UNUSED)
{
        for (size_t i = 0; source_at(i); i++) {
                assert_ptr_equal(source_find(source_at(i)->name), source_at(i));
                assert_true(source_at(i)->open && source_at(i)->next && source_at(i)->close);
                assert_true(source_at(i)->help[0]);
                /* Every source can be asked for by name. */
                assert_non_null(strstr(option_info(OPT_BACKEND)->metavar, source_at(i)->name));
        }
        for (size_t i = 0; format_at(i); i++)
                assert_true(format_at(i)->name[0] && format_at(i)->probe && format_at(i)->round);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(metrics),
            cmocka_unit_test(every_metric_has_a_producer),
            cmocka_unit_test(maps_have_unique_names),
            cmocka_unit_test(columns),
            cmocka_unit_test(options),
            cmocka_unit_test(sources_and_formats),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
