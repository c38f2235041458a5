/* The whole host reader on the real machine: it works, and its ticks allocate nothing. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "engine/host.h"
#include "read/host/energy.h"

#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void reads_this_machine(void **state UNUSED)
{
        struct err err = {0};
        struct host_view *v = NULL;
        struct host *h = NULL;
        struct host_config c = {.root = "", .levels = LEVELS_ALL, .pid = getpid(), .pss = true};
        assert_int_equal(host_view_open(&c, &v, &err), 0);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(host_view_tick(v, &h, &err), 0);
                usleep(20000);
        }
        const struct level_state *p = &h->levels[LEVEL_PROCESS];
        assert_true(p->present);
        assert_true(p->f[FIGURE_PROCESSES].v == 1);
        assert_true(p->f[FIGURE_RSS].v > 0);
        assert_true(h->levels[LEVEL_SYSTEM].f[FIGURE_PROCESSES].v > 1);
        assert_true(h->system[SYSTEM_MEM_TOTAL].v > 1e6);
        assert_int_equal(h->system[SYSTEM_USER].state, STATE_OK);
        assert_true(host_view_levels_of(v, getpid()) & LEVEL_BIT(LEVEL_PROCESS));
        assert_false(host_view_levels_of(v, 1) & LEVEL_BIT(LEVEL_PROCESS));
        host_view_close(v);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void ticks_do_not_allocate(void **state UNUSED)
{
        struct err err = {0};
        struct host_view *v = NULL;
        struct host *h;
        struct host_config c = {.root = "", .levels = LEVELS_ALL, .pid = getpid()};
        if (SANITIZED) /* their allocator tells other numbers */
                return;
        assert_int_equal(host_view_open(&c, &v, &err), 0);
        for (int i = 0; i < 40; i++)
                assert_int_equal(host_view_tick(v, &h, &err), 0);
        struct mallinfo2 before = mallinfo2();
        for (int i = 0; i < 50; i++)
                assert_int_equal(host_view_tick(v, &h, &err), 0);
        struct mallinfo2 after = mallinfo2();
        assert_int_equal(before.uordblks, after.uordblks);
        assert_int_equal(before.arena, after.arena);
        host_view_close(v);
}

/* Counters of energy start over, some after minutes. */
static void energy_grows(void **state UNUSED)
{
        static const struct {
                uint64_t before, now, range;
                double gap_s;
                bool known;
                uint64_t grown;
        } cases[] = {
            {100, 130, 1000000000, 0.1, true, 30},
            {999999990, 20, 1000000000, 0.1, true, 30}, /* it started over */
            {100, 100, 1000000000, 0.1, true, 0},
            {100, 130, 1000000000, 1.5, false, 0}, /* perhaps more than once */
            {100, 1000000001, 1000000000, 0.1, false, 0},
            {1000000001, 130, 1000000000, 0.1, false, 0},
            {0, 1, 0, 0, false, 0}, /* a range that is none */
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                uint64_t grown = 0;
                assert_int_equal(energy_growth(cases[i].before, cases[i].now, cases[i].range,
                                               (int64_t)(cases[i].gap_s * 1e9), &grown),
                                 cases[i].known);
                assert_int_equal(grown, cases[i].grown);
        }
}

static void write_zone(const char *folder, const char *file, const char *text)
{
        char path[256];
        snprintf(path, sizeof(path), "%s/sys/class/powercap/intel-rapl:0/%s", folder, file);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

/* What it counted before does not count again, and what it counted meanwhile does. */
static void a_counter_that_fails_once(void **state UNUSED)
{
        static const char *const folders[] = {"", "/sys", "/sys/class", "/sys/class/powercap",
                                              "/sys/class/powercap/intel-rapl:0"};
        static const struct {
                const char *text;
                double joules; /* NAN: not known */
        } steps[] = {{"5000000", 5}, {"6000000", 6}, {"x", NAN}, {"8000000", 8}, {"9000000", 9}};
        char folder[] = "/tmp/assay-energy-XXXXXX", path[256];
        assert_non_null(mkdtemp(folder));
        for (size_t i = 1; i < ARRAY_LEN(folders); i++) {
                snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
                assert_int_equal(mkdir(path, 0700), 0);
        }
        write_zone(folder, "name", "package-0\n");
        write_zone(folder, "max_energy_range_uj", "262143328850\n");
        write_zone(folder, "energy_uj", "0");
        int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct energy_reader *e;
        struct value system[SYSTEM_COUNT];
        assert_int_equal(energy_open(root, &e), 0);
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                write_zone(folder, "energy_uj", steps[i].text);
                energy_read(e, (int64_t)(i + 1) * 1000000000, system);
                struct value v = system[SYSTEM_CPU_ENERGY];
                assert_true(isnan(steps[i].joules) ? !value_is_set(v)
                                                   : value_is_set(v) && v.v == steps[i].joules);
        }
        energy_close(e);
        close(root);
        static const char *const files[] = {"name", "max_energy_range_uj", "energy_uj"};
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                snprintf(path, sizeof(path), "%s%s/%s", folder, folders[4], files[i]);
                unlink(path);
        }
        for (size_t i = ARRAY_LEN(folders); i-- > 0;) {
                snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
                rmdir(path);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_this_machine),
            cmocka_unit_test(ticks_do_not_allocate),
            cmocka_unit_test(energy_grows),
            cmocka_unit_test(a_counter_that_fails_once),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
