/* Names of the GPUs of one screen: as short as tells them apart. */
#include "base/attr.h"
#include "model/naming.h"
#include "test.h"

#include <string.h>

#define MOST 6

static struct gpu_identity one_of(const void *list, size_t i)
{
        return ((const struct gpu_identity *)list)[i];
}

static const struct {
        const char *why;
        struct gpu_identity gpus[MOST];
        const char *names[MOST];
} rows[] = {
    {"one host says nothing", {{"node1", "0", ""}, {"node1", "1", ""}}, {"0", "1"}},
    {"no host", {{"", "0", ""}, {"", "0/7", ""}}, {"0", "0/7"}},
    {"the part that differs, from its first letter on",
     {{"dgx-row7-node01.dc1.example.com", "0", ""}, {"dgx-row7-node12.dc1.example.com", "0", ""}},
     {"node01:0", "node12:0"}},
    {"a number alone is no name", {{"gpu-1", "0", ""}, {"gpu-2", "0", ""}}, {"gpu-1:0", "gpu-2:0"}},
    {"but one part is", {{"lab-gpu-1", "0", ""}, {"lab-gpu-2", "0", ""}}, {"gpu-1:0", "gpu-2:0"}},
    {"parts are whole: no 'de1'",
     {{"node1", "0", ""}, {"nodal1", "0", ""}},
     {"node1:0", "nodal1:0"}},
    {"one is the end of the other",
     {{"a.example.com", "0", ""}, {"example.com", "0", ""}},
     {"a.example:0", "example:0"}},
    {"one is the begin of the other",
     {{"rack-a", "0", ""}, {"rack-a-b", "0", ""}},
     {"a:0", "a-b:0"}},
    {"what is left in the middle stays",
     {{"r1-node-x1", "3", ""}, {"r2-node-x2", "3", ""}},
     {"r1-node-x1:3", "r2-node-x2:3"}},
    {"ports of one address",
     {{"127.0.0.1:9401", "0", ""}, {"127.0.0.1:9402", "0", ""}},
     {"9401:0", "9402:0"}},
    {"addresses are whole",
     {{"10.0.0.1:9400", "0", ""}, {"10.0.0.2:9400", "0", ""}},
     {"10.0.0.1:0", "10.0.0.2:0"}},
    {"no part of an address of IPv6",
     {{"[fe80::1]:9400", "0", ""}, {"[fe80::2]:9400", "0", ""}},
     {"[fe80::1]:0", "[fe80::2]:0"}},
    {"one without a host", {{"", "0", ""}, {"node1", "0", ""}}, {"0", "node1:0"}},
    {"a GPU and the one that replaced it",
     {{"", "0", "GPU-11111111-2222"}, {"", "0", "GPU-11115555-6666"}},
     {"0 1111-222", "0 5555-666"}},
    {"as many GPUs as there are",
     {{"n.x", "0", ""}, {"n.x", "1", ""}, {"m.x", "0", ""}, {"m.x", "1/2/3", ""}},
     {"n:0", "n:1", "m:0", "m:1/2/3"}},
};

static void test_names(void **state UNUSED)
{
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct naming naming;
                size_t n = 0, columns = 0;
                while (n < MOST && rows[r].gpus[n].label)
                        n++;
                naming_make(&naming, n, rows[r].gpus, one_of);
                for (size_t i = 0; i < n; i++) {
                        char name[GPU_NAME_MAX];
                        naming_put(&naming, rows[r].gpus[i], name, sizeof(name));
                        if (strcmp(name, rows[r].names[i]) != 0)
                                fail_msg("%s: '%s', not '%s'", rows[r].why, name, rows[r].names[i]);
                        columns = MAX(columns, strlen(name));
                }
                assert_int_equal(naming.columns, columns);
        }
}

static void test_little_room(void **state UNUSED)
{
        const struct gpu_identity gpus[] = {{"a-very-long-name-of-a-node-x", "0", ""},
                                            {"b", "12", ""}};
        struct naming naming;
        char name[8];
        naming_make(&naming, 2, gpus, one_of);
        naming_put(&naming, gpus[0], name, sizeof(name));
        assert_string_equal(name, "ode-x:0");
        naming_put(&naming, gpus[1], name, 1);
        assert_string_equal(name, "");
}

static void test_what_people_write(void **state UNUSED)
{
        struct entity e = {.label = "3"};
        const struct gpu_identity gpus[] = {{"a-node1.example.com", "3", ""},
                                            {"a-node2.example.com", "3", ""}};
        struct naming naming;
        naming_make(&naming, 2, gpus, one_of);
        entity_set_text(&e, ENTITY_TEXT_HOST, gpus[1].host, strlen(gpus[1].host));
        assert_true(naming_matches(&naming, &e, "3"));
        assert_true(naming_matches(&naming, &e, "node2:3"));
        assert_true(naming_matches(&naming, &e, "a-node2.example.com:3"));
        assert_false(naming_matches(&naming, &e, "node1:3"));
        assert_false(naming_matches(&naming, &e, "node2"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_names),
            cmocka_unit_test(test_little_room),
            cmocka_unit_test(test_what_people_write),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
