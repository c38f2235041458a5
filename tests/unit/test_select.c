#include "test.h"

#include "base/attr.h"
#include "entity/select.h"

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

static void flat_numbers(void **state UNUSED)
{
        struct entity e[] = {
            {.kind = ENTITY_GPU, .index = 9, .gi = -1, .ci = -1, .flat = -1},
            {.kind = ENTITY_GPU_INSTANCE, .index = -1, .gi = -1, .ci = -1, .flat = 9},
            {.kind = ENTITY_COMPUTE_INSTANCE, .index = -1, .gi = -1, .ci = -1, .flat = 9}};
        static const char *const lists[] = {"9", "GPU-I 9", "GPU-CI 9"};
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                struct selection s;
                char buf[32];
                assert_int_equal(select_parse(lists[i], "test", &s, NULL), 0);
                assert_string_equal(select_unmatched(&s, buf, sizeof(buf)), "test");
                assert_string_equal(buf, lists[i]);
                for (size_t k = 0; k < ARRAY_LEN(e); k++)
                        assert_int_equal(select_includes(&s, &e[k]), i == k);
        }
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
            {"65536", "!", "one too large"},
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

/* Two NVIDIA GPUs, then three of AMD, the last in two partitions, then two of Intel. */
static size_t mixed(struct entity *e)
{
        static const struct {
                enum vendor vendor;
                int32_t index, gi, ordinal, ordinals;
                const char *uuid;
        } rows[] = {
            {VENDOR_NVIDIA, 0, -1, 0, 1, "GPU-aaaa"},
            {VENDOR_NVIDIA, 1, -1, 1, 1, "GPU-bbbb"},
            {VENDOR_AMD, 2, -1, 0, 1, "GPU-0123"},
            {VENDOR_AMD, 3, -1, 1, 1, "GPU-4567"},
            {VENDOR_AMD, 4, -1, 2, 2, "GPU-89ab"},
            {VENDOR_AMD, 4, 0, 2, 1, ""},
            {VENDOR_AMD, 4, 1, 3, 1, ""},
            {VENDOR_INTEL, 5, -1, 0, 1, ""},
            {VENDOR_INTEL, 6, -1, 1, 1, ""},
            {VENDOR_UNKNOWN, 7, -1, 0, 0, ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                e[i] = (struct entity){.kind = rows[i].gi < 0 ? ENTITY_GPU : ENTITY_GPU_INSTANCE,
                                       .vendor = rows[i].vendor,
                                       .index = rows[i].index,
                                       .gi = rows[i].gi,
                                       .ci = -1,
                                       .ordinal = rows[i].ordinal,
                                       .ordinals = rows[i].ordinals};
                entity_set_text(&e[i], ENTITY_TEXT_UUID, rows[i].uuid, strlen(rows[i].uuid));
        }
        return ARRAY_LEN(rows);
}

/* "NAME=list NAME=list": an environment. */
static char variables[256];

static const char *from_variables(const char *name)
{
        static char list[64];
        const char *at = strstr(variables, name);
        if (!at || at[strlen(name)] != '=')
                return NULL;
        snprintf(list, sizeof(list), "%.*s", (int)strcspn(at + strlen(name) + 1, " "),
                 at + strlen(name) + 1);
        return list;
}

static void vendors(void **state UNUSED)
{
        static const struct {
                const char *variables, *expected, *unmatched, *why;
        } cases[] = {
            /*  NN AMD.. II ? */
            {"", "1111111111", NULL, "nothing chooses"},
            {"CUDA_VISIBLE_DEVICES=1", "0111111111", NULL, "only NVIDIA's are hidden"},
            {"CUDA_VISIBLE_DEVICES=none", "0011111111", NULL, "all of NVIDIA's"},
            {"NVIDIA_VISIBLE_DEVICES=all", "1111111111", NULL, "a list of all"},
            {"CUDA_VISIBLE_DEVICES=0 NVIDIA_VISIBLE_DEVICES=1", "1011111111", NULL,
             "CUDA's is looked at first"},
            {"CUDA_VISIBLE_DEVICES=? NVIDIA_VISIBLE_DEVICES=1", "0111111111", NULL,
             "the first that can be read"},
            {"CUDA_VISIBLE_DEVICES=5", "0011111111", "5", "not Intel's first GPU"},
            {"CUDA_VISIBLE_DEVICES=GPU-0123", "0011111111", "GPU-0123", "an AMD GPU's UUID"},
            {"ROCR_VISIBLE_DEVICES=1", "1101000111", NULL, "AMD's second GPU"},
            {"ROCR_VISIBLE_DEVICES=0,GPU-4567", "1111000111", NULL, "a number and a UUID"},
            {"ROCR_VISIBLE_DEVICES=GPU-89AB", "1100100111", NULL, "a UUID in capitals"},
            {"ROCR_VISIBLE_DEVICES=3", "1100101111", NULL, "a partition, and its GPU"},
            {"HIP_VISIBLE_DEVICES=0", "1110000111", NULL, "HIP's list alone"},
            {"ROCR_VISIBLE_DEVICES=1,3 HIP_VISIBLE_DEVICES=0", "1101000111", NULL,
             "HIP counts what ROCR leaves"},
            {"ROCR_VISIBLE_DEVICES=1,3 HIP_VISIBLE_DEVICES=1", "1100101111", NULL,
             "the second that ROCR leaves"},
            {"ROCR_VISIBLE_DEVICES=1,3 HIP_VISIBLE_DEVICES=2", "1100000111", NULL,
             "ROCR leaves no third"},
            {"ROCR_VISIBLE_DEVICES=GPU-4567,0 HIP_VISIBLE_DEVICES=1", "1110000111", NULL,
             "in ROCR's order, UUIDs too"},
            {"ROCR_VISIBLE_DEVICES=7", "1100000111", "7", "AMD has no such"},
            {"ZE_AFFINITY_MASK=1", "1111111011", NULL, "Intel's second"},
            {"ZE_AFFINITY_MASK=0.1", "1111111101", NULL, "a tile stands for its GPU"},
            {"ZE_AFFINITY_MASK=0.1,1.0.2", "1111111111", NULL, "tiles of two"},
            {"ZE_AFFINITY_MASK=0.", "1111111111", NULL, "cannot be read"},
            {"ZE_AFFINITY_MASK=0..1", "1111111111", NULL, "nor this"},
            {"CUDA_VISIBLE_DEVICES=0.1 SLURM_JOB_GPUS=3", "0001000000", NULL,
             "CUDA has no tiles, so the batch system's list counts"},
            {"CUDA_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0 ZE_AFFINITY_MASK=0", "1010000101", NULL,
             "each by its own numbers"},
            {"SLURM_JOB_GPUS=0,3", "1001000000", NULL, "a batch system counts all"},
            {"ROCR_VISIBLE_DEVICES=0 SLURM_JOB_GPUS=0", "1110000111", NULL,
             "a vendor's list makes the batch system's needless"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct entity e[16];
                struct selection s;
                char got[17] = "", token[ENTITY_TEXT_MAX] = "";
                size_t n = mixed(e);
                snprintf(variables, sizeof(variables), "%s", cases[i].variables);
                assert_int_equal(select_choose(NULL, false, true, from_variables, &s, NULL), 0);
                for (size_t k = 0; k < n; k++)
                        got[k] = select_includes(&s, &e[k]) ? '1' : '0';
                if (strcmp(got, cases[i].expected) != 0)
                        fail_msg("%s: '%s' chose %s", cases[i].why, cases[i].variables, got);
                bool reported = select_unmatched(&s, token, sizeof(token)) != NULL;
                if (reported != (cases[i].unmatched != NULL) ||
                    (reported && strcmp(token, cases[i].unmatched) != 0))
                        fail_msg("%s: '%s' is told as unmatched", cases[i].why, token);
        }
}

/* A variable of a vendor that is not here says nothing about the GPUs that are. */
static void absent_vendor(void **state UNUSED)
{
        struct entity e = {.kind = ENTITY_GPU, .vendor = VENDOR_NVIDIA, .gi = -1, .ci = -1};
        struct selection s;
        char token[ENTITY_TEXT_MAX];
        snprintf(variables, sizeof(variables), "ROCR_VISIBLE_DEVICES=5 ZE_AFFINITY_MASK=3");
        assert_int_equal(select_choose(NULL, false, true, from_variables, &s, NULL), 0);
        assert_true(select_includes(&s, &e));
        assert_null(select_unmatched(&s, token, sizeof(token)));
}

/* A capture or an exporter tells numbers, and perhaps a host. */
static void reported(void **state UNUSED)
{
        static const struct {
                const char *variables, *host, *said;
                const char *expected; /* of GPUs 0 to 3 */
                const char *why;
        } cases[] = {
            {"", "here", "", "1111", "nothing is hidden"},
            {"CUDA_VISIBLE_DEVICES=1,3", "here", "", "0101", "a capture without a host"},
            {"CUDA_VISIBLE_DEVICES=1,3", "here", "HERE.cluster", "0101", "one of this host"},
            {"CUDA_VISIBLE_DEVICES=1,3", "here", "node7", "1111", "one of another"},
            {"CUDA_VISIBLE_DEVICES=1,3", "", "pod-12", "0101", "an exporter on this machine"},
            {"ROCR_VISIBLE_DEVICES=2", "here", "", "0010", "another vendor's variable"},
            {"CUDA_VISIBLE_DEVICES=what? HIP_VISIBLE_DEVICES=0", "here", "", "1000",
             "the first usable"},
            {"ZE_AFFINITY_MASK=3", "here", "", "0001", "Intel's"},
            {"SLURM_STEP_GPUS=0-1", "here", "", "1100", "a batch system's"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct selection s;
                char got[5] = "";
                snprintf(variables, sizeof(variables), "%s", cases[i].variables);
                assert_int_equal(
                    select_choose_noting(NULL, false, cases[i].host, from_variables, &s, NULL), 0);
                for (int k = 0; k < 4; k++) {
                        struct entity e = {.kind = ENTITY_GPU, .index = k, .gi = -1, .ci = -1};
                        entity_set_text(&e, ENTITY_TEXT_HOST, cases[i].said, strlen(cases[i].said));
                        got[k] = select_includes(&s, &e) ? '1' : '0';
                }
                if (strcmp(got, cases[i].expected) != 0)
                        fail_msg("%s: '%s' chose %s", cases[i].why, cases[i].variables, got);
                assert_int_equal(
                    select_choose_noting(NULL, true, cases[i].host, from_variables, &s, NULL), 0);
                assert_true(s.all);
        }
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
            cmocka_unit_test(lists),         cmocka_unit_test(flat_numbers),
            cmocka_unit_test(environment),   cmocka_unit_test(vendors),
            cmocka_unit_test(absent_vendor), cmocka_unit_test(too_many),
            cmocka_unit_test(reported),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
