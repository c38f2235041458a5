#include "test.h"

#include "base/attr.h"
#include "select/select.h"

#include <stdio.h>
#include <string.h>

/* Four GPUs, the second cut into two slices. */
static size_t machine(struct entity *e)
{
        static const char *const uuids[] = {"GPU-aaaa-1", "GPU-bbbb-2", "GPU-bbcc-3", "GPU-dddd-4"};
        size_t n = 0;
        for (int i = 0; i < 4; i++, n++) {
                e[n] = (struct entity){.kind = ENTITY_GPU, .index = i, .gi = -1, .ci = -1};
                char pci[24];
                snprintf(pci, sizeof(pci), "00000000:%d8:00.0", i + 1);
                entity_set_text(&e[n], ENTITY_TEXT_UUID, uuids[i], strlen(uuids[i]));
                entity_set_text(&e[n], ENTITY_TEXT_PCI, pci, strlen(pci));
        }
        for (int i = 0; i < 2; i++, n++) {
                e[n] =
                    (struct entity){.kind = ENTITY_GPU_INSTANCE, .index = 1, .gi = 7 + i, .ci = -1};
                entity_set_text(&e[n], ENTITY_TEXT_UUID, i ? "MIG-222" : "MIG-111", 7);
        }
        return n;
}

/* Which of the six are chosen, as a string of 0 and 1; "!" for an error. */
static const char *chosen(const char *list, char buf[8])
{
        struct entity e[6];
        struct selection s;
        size_t n = machine(e);
        if (select_parse(list, "test", &s, NULL) < 0)
                return "!";
        for (size_t i = 0; i < n; i++)
                buf[i] = select_includes(&s, &e[i]) ? '1' : '0';
        buf[n] = '\0';
        return buf;
}

static void lists(void **state UNUSED)
{
        static const struct {
                const char *list, *expected, *why;
        } cases[] = {
            {"0", "100000", "a number"},
            {"0,2", "101000", "a list"},
            {" 0 , 3 ", "100100", "blanks"},
            {"1-2", "011011", "a range, with the slices of GPU 1"},
            {"all", "111111", "everything"},
            {"gpu2", "001000", "a name with a number"},
            {"node[2-3]", "001100", "a bracket"},
            {"gpu[0,2-3]", "101100", "a list in a bracket"},
            {"GPU-aaaa", "100000", "the start of a UUID"},
            {"GPU-bb", "011000", "a start that two share"},
            {"MIG-222", "000001", "a MIG device"},
            {"1/7", "000010", "a slice"},
            {"00000000:28:00.0", "010000", "a PCI bus id"},
            {"38:00.0", "001000", "a short one"},
            {"", "000000", "an empty list chooses nothing"},
            {"none", "000000", "CUDA's word for it"},
            {"NoDevFiles", "000000", "Slurm's word for it"},
            {"0,-1,1", "100000", "-1 ends the list"},
            {"9", "000000", "not there"},
            {"3-1", "!", "backwards"},
            {"x", "!", "a word"},
            {"1-", "!", "half a range"},
            {"0;1", "!", "another separator"},
            {"node[", "!", "an open bracket"},
            {"99999999999", "!", "too large"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char buf[8];
                const char *got = chosen(cases[i].list, buf);
                if (strcmp(got, cases[i].expected) != 0)
                        fail_msg("%s: '%s' chose %s", cases[i].why, cases[i].list, got);
        }
}

static const char *cuda_two(const char *name)
{
        return strcmp(name, "CUDA_VISIBLE_DEVICES") == 0 ? "2" : NULL;
}

static const char *bad_cuda(const char *name)
{
        if (strcmp(name, "CUDA_VISIBLE_DEVICES") == 0)
                return "what?";
        return strcmp(name, "SLURM_JOB_GPUS") == 0 ? "1" : NULL;
}

static void environment(void **state UNUSED)
{
        struct selection s;
        assert_int_equal(select_choose(NULL, false, true, cuda_two, &s, NULL), 0);
        assert_string_equal(s.origin, "CUDA_VISIBLE_DEVICES");
        assert_int_equal(select_choose("0", false, true, cuda_two, &s, NULL), 0);
        assert_string_equal(s.origin, "--gpus");
        assert_int_equal(select_choose(NULL, true, true, cuda_two, &s, NULL), 0);
        assert_true(s.all && !s.origin);
        assert_int_equal(select_choose(NULL, false, false, cuda_two, &s, NULL), 0);
        assert_true(s.all); /* a capture from elsewhere */
        assert_int_equal(select_choose(NULL, false, true, bad_cuda, &s, NULL), 0);
        assert_string_equal(s.origin, "SLURM_JOB_GPUS");
}

static void too_many(void **state UNUSED)
{
        char list[4096] = "0";
        for (int i = 0; i < 300; i++)
                strcat(list, ",1");
        struct selection s;
        struct err err = {0};
        assert_int_equal(select_parse(list, "--gpus", &s, &err), ERR_USAGE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(lists),
            cmocka_unit_test(environment),
            cmocka_unit_test(too_many),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
