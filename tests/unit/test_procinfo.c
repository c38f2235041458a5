#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/procinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct procinfo_reader *open_node(void)
{
        char root[512];
        struct procinfo_reader *r = NULL;
        snprintf(root, sizeof(root), "%s/proc/node", getenv("FIXTURES"));
        assert_int_equal(procinfo_open(root, &r), 0);
        return r;
}

static void tells_who_is_behind_a_pid(void **state UNUSED)
{
        struct procinfo_reader *r = open_node();
        struct procinfo p;
        procinfo_read(r, 4242, NS_PER_S, &p);
        assert_int_equal(p.state, STATE_OK);
        assert_string_equal(p.comm, "python3");
        assert_string_equal(p.command, "python3"); /* no arguments are told */
        assert_string_equal(p.user, "1000");
        assert_string_equal(p.job, "77");
        assert_string_equal(p.container, "");
        assert_true(p.cpu_time.v == 12.5);
        assert_int_equal(p.cpu.state, STATE_BLANK);
        assert_true(p.start_s.v == 1700000010.0);
        procinfo_read(r, 4242, 2 * NS_PER_S, &p);
        assert_int_equal(p.cpu.state, STATE_OK);
        assert_true(p.cpu.v == 0);
        procinfo_close(r);
}

static void what_is_gone_is_missing(void **state UNUSED)
{
        struct procinfo_reader *r = open_node();
        struct procinfo p;
        procinfo_read(r, 31337, NS_PER_S, &p);
        assert_int_equal(p.state, STATE_NONE);
        assert_false(value_is_set(p.uid));
        assert_false(value_is_set(p.rss));
        assert_string_equal(p.user, "");
        procinfo_close(r);
}

static void knows_itself(void **state UNUSED)
{
        struct procinfo_reader *r = NULL;
        struct procinfo p;
        assert_int_equal(procinfo_open("", &r), 0);
        procinfo_read(r, getpid(), clock_mono_ns(), &p);
        assert_int_equal(p.state, STATE_OK);
        assert_true(p.uid.v == getuid());
        assert_true(p.rss.v > 100000);
        assert_non_null(strstr(p.command, "test_procinfo"));
        assert_true(p.start_s.v > 1.5e9);
        procinfo_close(r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(tells_who_is_behind_a_pid),
            cmocka_unit_test(what_is_gone_is_missing),
            cmocka_unit_test(knows_itself),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
