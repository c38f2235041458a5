/* Remote-write: what is sent can be read back, series that are gone are ended, labels never clash.
 */
#include "../fuzz/remote_decode.h"
#include "formats/remote/remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define T0 1700000000123

/* All series of a block as lines "labels value@time", in their order. */
static void show(const struct strbuf *block, struct strbuf *ret)
{
        struct strbuf plain = {0};
        struct decoded one;
        bool bad = false;
        assert_true(decode_snappy(block->s, block->len, &plain));
        const unsigned char *at = (const unsigned char *)(plain.s ? plain.s : "");
        const unsigned char *end = at + plain.len;
        while (decode_series(&at, end, &one, &bad)) {
                if (one.bits == UINT64_C(0x7ff0000000000002))
                        strbuf_putf(ret, "%s stale@%lld\n", one.labels, (long long)one.time_ms);
                else
                        strbuf_putf(ret, "%s %.17g@%lld\n", one.labels, one.v,
                                    (long long)one.time_ms);
        }
        assert_false(bad);
        strbuf_finish(&plain);
}

static void sends(struct remote_writer *w, const char *text, int64_t time_ms, const char *want)
{
        struct strbuf block = {0}, shown = {0};
        assert_true(remote_encode(w, text, strlen(text), time_ms, &block));
        show(&block, &shown);
        assert_string_equal(strbuf_str(&shown), want);
        strbuf_finish(&block);
        strbuf_finish(&shown);
}

static struct remote_writer *open_usual(void)
{
        struct remote_labels labels = {0};
        const char *bad;
        assert_true(remote_labels_parse(&labels, "job=assay,instance=n1", &bad));
        struct remote_writer *w = remote_open(&labels);
        assert_non_null(w);
        return w;
}

static void test_lines(void **state)
{
        static const struct {
                const char *text, *want, *why;
        } cases[] = {
            {"up 1\n", "__name__=up,instance=n1,job=assay, 1@1700000000123\n", "no labels"},
            {"x{UUID=\"G\",gpu=\"0\"} 2.5\n",
             "UUID=G,__name__=x,gpu=0,instance=n1,job=assay, 2.5@1700000000123\n",
             "sorted by bytes: capitals come before the name"},
            {"o{job=\"47\"} 1\n",
             "__name__=o,exported_job=47,instance=n1,job=assay, 1@1700000000123\n",
             "a label of ours that is added, too"},
            {"o{user=\"a\\\"b\\\\c\"} 1\n",
             "__name__=o,instance=n1,job=assay,user=a\"b\\c, 1@1700000000123\n", "escapes"},
            {"o{pod=\"\"} 1\n", "__name__=o,instance=n1,job=assay, 1@1700000000123\n",
             "an empty label is none"},
            {"o{u=\"\xff\"} 1\n", "__name__=o,instance=n1,job=assay,u=?, 1@1700000000123\n",
             "what is not UTF-8"},
            {"# HELP x y\n\nx{a=\"1\"\nx{a=\"1\",a=\"2\"} 1\nx one\n{} 1\n", "", "no samples"},
            {"x 1 5\n", "__name__=x,instance=n1,job=assay, 1@1700000000123\n",
             "one time for all, whatever the line says"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct remote_writer *w = open_usual();
                sends(w, cases[i].text, T0, cases[i].want);
                remote_close(w);
        }
}

static void test_ends(void **state)
{
        struct remote_writer *w = open_usual();
        (void)state;
        sends(w, "a 1\nb{x=\"1\"} 2\n", 1,
              "__name__=a,instance=n1,job=assay, 1@1\n__name__=b,instance=n1,job=assay,x=1, 2@1\n");
        sends(w, "b{x=\"2\"} 3\na 1\n", 2,
              "__name__=b,instance=n1,job=assay,x=2, 3@2\n__name__=a,instance=n1,job=assay, 1@2\n"
              "__name__=b,instance=n1,job=assay,x=1, stale@2\n");
        sends(w, "a 1\n", 3,
              "__name__=a,instance=n1,job=assay, 1@3\n"
              "__name__=b,instance=n1,job=assay,x=2, stale@3\n");
        sends(w, "", 4, "__name__=a,instance=n1,job=assay, stale@4\n");
        sends(w, "", 5, "");
        remote_close(w);
}

static void test_labels(void **state)
{
        static const struct {
                const char *text;
                bool good;
                size_t n;
                const char *why;
        } cases[] = {
            {"job=a,cluster=b", true, 2, "two"},
            {"job=a,job=b", true, 1, "the last one counts"},
            {"job=", true, 1, "an empty value takes a label away"},
            {"", true, 0, "none"},
            {"job", false, 0, "no value"},
            {"=a", false, 0, "no name"},
            {"a-b=c", false, 0, "not a name"},
            {"__name__=x", false, 0, "names that Prometheus keeps for itself"},
            {"a:b=c", false, 0, "a colon is for rules"},
            {"a=b,,c=d", false, 1, "an empty word"},
            {"a=\xff", false, 0, "not UTF-8"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct remote_labels l = {0};
                const char *bad;
                if (remote_labels_parse(&l, cases[i].text, &bad) != cases[i].good ||
                    l.n != cases[i].n)
                        fail_msg("%s", cases[i].why);
        }
        struct remote_labels l = {0};
        char name[8];
        for (size_t i = 0; i <= REMOTE_ADDED_MAX; i++) {
                snprintf(name, sizeof(name), "l%zu", i);
                assert_int_equal(remote_label_set(&l, name, "v"), i < REMOTE_ADDED_MAX);
        }
}

static void test_relabel(void **state)
{
        struct remote_labels l = {0};
        struct strbuf out = {0};
        const char *text = "# HELP x y\nx{job=\"4\",u=\"a\\\"\"} 1.5\ny 2\nz{u=\"1} 3\n", *bad;
        (void)state;
        assert_true(remote_labels_parse(&l, "job=assay", &bad));
        remote_relabel(&l, text, strlen(text), &out);
        assert_string_equal(strbuf_str(&out),
                            "x{job=\"assay\",exported_job=\"4\",u=\"a\\\"\"} 1.5\n"
                            "y{job=\"assay\"} 2\n");
        strbuf_clear(&out);
        l.n = 0;
        remote_relabel(&l, text, strlen(text), &out);
        assert_string_equal(strbuf_str(&out), "x{job=\"4\",u=\"a\\\"\"} 1.5\ny{} 2\n");
        strbuf_finish(&out);
}

/* Runs, repeats near and far, noise, and lengths around every border of the format. */
static void test_snappy(void **state)
{
        static const size_t sizes[] = {0,   1,   3,   4,     5,     59,    60,    61,
                                       255, 256, 257, 65535, 65536, 65537, 200000};
        (void)state;
        for (unsigned kind = 0; kind < 4; kind++) {
                for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                        struct strbuf text = {0}, block = {0}, back = {0};
                        uint32_t x = 1;
                        for (size_t k = 0; k < sizes[i]; k++) {
                                x = x * 1103515245 + 12345;
                                strbuf_putc(&text, (char)(kind == 0   ? 'a'
                                                          : kind == 1 ? (int)(x >> 24)
                                                          : kind == 2 ? (int)(k % 61)
                                                                      : (int)(x >> 30)));
                        }
                        snappy_put(text.s, text.len, &block);
                        assert_true(decode_snappy(block.s, block.len, &back));
                        assert_int_equal(back.len, text.len);
                        if (text.len > 0)
                                assert_memory_equal(back.s, text.s, text.len);
                        if (kind % 2 == 0 && text.len > 1000)
                                assert_true(block.len < text.len / 2);
                        strbuf_finish(&text);
                        strbuf_finish(&block);
                        strbuf_finish(&back);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lines),  cmocka_unit_test(test_ends),
            cmocka_unit_test(test_labels), cmocka_unit_test(test_relabel),
            cmocka_unit_test(test_snappy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
