/* The nodes of a fleet: lists with ranges, sinfo, pods; and the file that is made of them. */
#include "formats/targets/targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef int parser(struct target_list *t, const char *s, size_t len, struct err *err);

/* All of a list as "host:port/instance " in its order; "!" and the message when it is refused. */
static void shows(parser *parse, const char *text, const char *want, const char *why)
{
        struct target_list t = {0};
        struct err err = {0};
        struct strbuf got = {0};
        if (parse(&t, text, strlen(text), &err) < 0)
                strbuf_putf(&got, "!%s", err.msg);
        for (size_t i = 0; err.code == 0 && i < t.n; i++)
                strbuf_putf(&got, "%s%s%s:%u%s%s", i > 0 ? " " : "", t.list[i].host,
                            strchr(t.list[i].host, ':') ? "]" : "", t.list[i].port,
                            t.list[i].instance[0] ? "/" : "", t.list[i].instance);
        if (strncmp(strbuf_str(&got), want, want[0] == '!' ? strlen(want) : got.len + 1) != 0)
                fail_msg("%s: '%s' is not '%s'", why, strbuf_str(&got), want);
        strbuf_finish(&got);
        targets_finish(&t);
}

struct row {
        const char *text, *want, *why;
};

static void test_lists(void **state)
{
        static const struct row rows[] = {
            {"a", "a:0", "one name"},
            {"a,b  c\nd", "a:0 b:0 c:0 d:0", "commas and blanks"},
            {"a:9500", "a:9500", "a port"},
            {"n[1-3]", "n1:0 n2:0 n3:0", "a range"},
            {"n[08-11]x", "n08x:0 n09x:0 n10x:0 n11x:0", "digits as they are written, and a tail"},
            {"n[1,3-4],m", "n1:0 n3:0 n4:0 m:0", "commas inside brackets"},
            {"r[1-2]n[1-2]:80", "r1n1:80 r1n2:80 r2n1:80 r2n2:80", "two ranges and a port"},
            {"10.0.0.7", "10.0.0.7:0", "an address"},
            {"fd00::1", "fd00::1]:0", "IPv6"},
            {"[fd00::1]:9400", "fd00::1]:9400", "IPv6 with a port"},
            {"", "", "nothing"},
            {",, ,", "", "only commas"},
            {"a b:0", "!'b:0' is not a host", "no port 0"},
            {"b:70000", "!'b:70000' is not a host", "a port that is too large"},
            {"b:x", "!'b:x'", "a port that is no number"},
            {"a/b", "!'a/b'", "a path"},
            {"-rf", "!'-rf'", "an option"},
            {"a;rm", "!'a;rm'", "a shell's word"},
            {"n[1-", "!'n[1-'", "a bracket that is not closed"},
            {"n[3-1]", "!'n[3-1]' is not a host: in []", "a range that goes back"},
            {"n[]", "!'n[]'", "an empty range"},
            {"n[a-b]", "!'n[a-b]'", "letters"},
            {"n[0-99999999]", "!'n[0-99999999]' is not a host: the range is too long",
             "too many at once"},
            {"n[0-999][0-999]", "!there are more than 100000 hosts", "too many together"},
            {"\xc3\xa4", "!", "a letter that names have not"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
                shows(targets_parse_list, rows[i].text, rows[i].want, rows[i].why);
}

static void test_files(void **state)
{
        static const struct row hosts[] = {
            {"# all\nn1\n\n  n2 # the second\nn[3-4],n5\r\n", "n1:0 n2:0 n3:0 n4:0 n5:0", "lines"},
            {"n1\na b c\nn/2\n", "!line 3: 'n/2' is not a host", "the line is told"},
        };
        static const struct row sinfo[] = {
            {"n1|gpu:h100:8(S:0-1)\nn2|(null)\nn3|craynetwork:4,gpu:2\nn4|gpu\nn5|gpux:1\n",
             "n1:0 n3:0 n4:0", "only nodes with GPUs"},
            {"n1|gpu:8\nn1|gpu:8\n", "n1:0 n1:0", "a node in two partitions"},
            {"slurm_load_partitions: Unable to contact", "!line 1: ", "words instead"},
        };
        static const struct row pods[] = {
            {"{\"items\":[{\"spec\":{\"nodeName\":\"w1\"},\"status\":{\"phase\":\"Running\","
             "\"podIP\":"
             "\"10.1.0.5\"}},{\"spec\":{\"nodeName\":\"w2\"},\"status\":{\"phase\":\"Pending\"}},"
             "{\"spec\":{\"nodeName\":\"w3\"},\"status\":{\"phase\":\"Running\",\"podIP\":\"fd00::"
             "5\"}}]}",
             "10.1.0.5:0/w1 fd00::5]:0/w3", "pods that run"},
            {"{\"items\":[]}", "", "none"},
            {"{\"items\":[{\"spec\":7,\"status\":[]},5,null]}", "", "what are no pods"},
            {"{}", "!this is not a list of pods", "another object"},
            {"[", "!this is not a list of pods: ", "not JSON"},
            {"{\"items\":[{\"spec\":{\"nodeName\":\"a "
             "b\"},\"status\":{\"phase\":\"Running\",\"podIP\":"
             "\"10.1.0.5\"}}]}",
             "!'a b' is not the name of a node", "a name that is none"},
            {"{\"items\":[{\"spec\":{},\"status\":{\"phase\":\"Running\",\"podIP\":\"n[1-9]\"}}]}",
             "!'n[1-9]' is not the address of a pod", "a range"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
                shows(targets_parse_hosts, hosts[i].text, hosts[i].want, hosts[i].why);
        for (size_t i = 0; i < sizeof(sinfo) / sizeof(*sinfo); i++)
                shows(targets_parse_sinfo, sinfo[i].text, sinfo[i].want, sinfo[i].why);
        for (size_t i = 0; i < sizeof(pods) / sizeof(*pods); i++)
                shows(targets_parse_pods, pods[i].text, pods[i].want, pods[i].why);
}

static void test_writing(void **state)
{
        static const struct target_label labels[] = {{"cluster", "a\"b"}};
        static const char list[] = "n10,n2,n2,fd00::1,n2:9500";
        struct target_list t = {0};
        struct err err = {0};
        struct strbuf out = {0};
        (void)state;
        assert_int_equal(targets_parse_list(&t, list, strlen(list), &err), 0);
        memcpy(t.list[0].instance, "w1", 3);
        targets_sort(&t);
        targets_write(&t, 9400, labels, 1, &out);
        assert_string_equal(strbuf_str(&out),
                            "[\n{\"targets\":[\n\"[fd00::1]:9400\",\n\"n2:9400\",\n\"n2:9500\"],\n"
                            "\"labels\":{\"cluster\":\"a\\\"b\"}},\n"
                            "{\"targets\":[\n\"n10:9400\"],\n"
                            "\"labels\":{\"cluster\":\"a\\\"b\",\"instance\":\"w1\"}}\n]\n");
        strbuf_finish(&out);
        targets_finish(&t);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lists),
            cmocka_unit_test(test_files),
            cmocka_unit_test(test_writing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
