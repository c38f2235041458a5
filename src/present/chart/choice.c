/* What a choice is: its name, unit, limit, and its title for people. */
#include "base/attr.h"
#include "present/chart/choose.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 63

static const struct metric_info *figure_of(const struct choice *c)
{
        return c->subject == SUBJECT_FIGURE ? figure_info((enum figure)c->what)
                                            : system_figure_info((enum system_figure)c->what);
}

const char *choice_name(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->name;
        if (c->subject == SUBJECT_USER)
                return c->name;
        if (c->subject == SUBJECT_CORES)
                return c->what ? "cpu_all" : "cpu_summary";
        return figure_of(c)->name;
}

enum unit choice_unit(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->unit;
        if (c->subject == SUBJECT_USER)
                return UNIT_NUMBER;
        return c->subject == SUBJECT_CORES ? UNIT_RATIO : figure_of(c)->unit;
}

bool choice_counts(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->kind == METRIC_KIND_COUNTER;
        bool figure = c->subject == SUBJECT_FIGURE || c->subject == SUBJECT_SYSTEM;
        return figure && figure_of(c)->kind == METRIC_KIND_COUNTER;
}

bool choice_limit(const struct choice *c, struct choice *ret)
{
        static const struct {
                enum subject subject;
                uint8_t what, limit;
        } limits[] = {
            {SUBJECT_METRIC, METRIC_FB_USED, METRIC_FB_TOTAL},
            {SUBJECT_METRIC, METRIC_GTT_USED, METRIC_GTT_TOTAL},
            {SUBJECT_METRIC, METRIC_POWER, METRIC_POWER_LIMIT},
            {SUBJECT_METRIC, METRIC_GPU_TEMP, METRIC_TEMP_SLOWDOWN},
            {SUBJECT_METRIC, METRIC_SM_CLOCK, METRIC_SM_CLOCK_MAX},
            {SUBJECT_METRIC, METRIC_MEM_CLOCK, METRIC_MEM_CLOCK_MAX},
            {SUBJECT_FIGURE, FIGURE_MEMORY, FIGURE_MEMORY_LIMIT},
            {SUBJECT_FIGURE, FIGURE_CPU, FIGURE_CPUS},
            {SUBJECT_SYSTEM, SYSTEM_MEM_USED, SYSTEM_MEM_TOTAL},
        };
        for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
                if (limits[i].subject != c->subject || limits[i].what != c->what)
                        continue;
                *ret = (struct choice){.subject = c->subject,
                                       .what = limits[i].limit,
                                       .manner = MANNER_ACROSS,
                                       .show = SHOW_WITH_VALUES};
                return true;
        }
        return false;
}

/* ---- titles ---- */

/* Words of names as people write them. */
static const char *word_for(const char *word)
{
        static const char *const words[][2] = {
            {"gpu", "GPU"},
            {"sm", "SM"},
            {"dram", "DRAM"},
            {"fb", "device memory"},
            {"pcie", "PCIe"},
            {"nvlink", "NVLink"},
            {"rx", "in"},
            {"tx", "out"},
            {"util", "utilization"},
            {"temp", "temperature"},
            {"gr", "engine"},
            {"mem", "memory"},
            {"fp64", "FP64"},
            {"fp32", "FP32"},
            {"fp16", "FP16"},
            {"int", "integer"},
            {"hmma", "(FP16, BF16, TF32)"},
            {"imma", "(integer)"},
            {"dfma", "(FP64)"},
            {"enc", "encoder"},
            {"dec", "decoder"},
            {"jpg", "JPEG decoder"},
            {"ofa", "optical flow"},
            {"ecc", "ECC"},
            {"sbe", "corrected"},
            {"dbe", "uncorrected"},
            {"xid", "XID"},
            {"gen", "generation"},
            {"gtt", "GTT"},
            {"bar1", "BAR1"},
            {"io", "I/O"},
            {"cpu", "CPU"},
            {"cpus", "CPUs"},
            {"rss", "RSS"},
            {"pss", "PSS"},
            {"uss", "USS"},
            {"net", "network"},
            {"irq", "interrupts"},
        };
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                if (strcmp(words[i][0], word) == 0)
                        return words[i][1];
        }
        return word;
}

void choice_title(const struct choice *c, char *buf, size_t n)
{
        static const char *const titles[][2] = {
            {"cpu", "CPU cores busy"},         {"cpu_all", "CPU utilization of each core"},
            {"real_util", "Real Utilization"}, {"load_1", "Load over 1 min"},
            {"load_5", "Load over 5 min"},     {"load_15", "Load over 15 min"}};
        const char *s = choice_name(c);
        size_t at = 0;
        if (c->subject == SUBJECT_USER) {
                snprintf(buf, n, "%s", s);
                return;
        }
        if (c->subject == SUBJECT_CORES)
                s = c->what ? s : "cpu_util";
        for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
                if (strcmp(titles[i][0], s) == 0) {
                        snprintf(buf, n, "%s", titles[i][1]);
                        return;
                }
        }
        buf[0] = '\0';
        while (*s && at + 1 < n) {
                char word[WORD_MAX + 1];
                size_t len = strcspn(s, "_");
                snprintf(word, sizeof(word), "%.*s", (int)MIN(len, (size_t)WORD_MAX), s);
                snprintf(buf + at, n - at, "%s%s", at ? " " : "", word_for(word));
                at += strlen(buf + at);
                s += len + (s[len] == '_');
        }
        buf[0] = (char)toupper((unsigned char)buf[0]);
}
