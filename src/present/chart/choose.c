#include "present/chart/choose.h"

#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 63
#define SUMMARY "_summary"

/* NAME(name, subject, what, manner): names besides those of metrics and figures. */
#define NAMES(NAME)                                                                                \
        NAME("cpu_summary", CORES, 0, ACROSS)                                                      \
        NAME("gpu_util", METRIC, METRIC_GPU_UTIL, EACH)                                            \
        NAME("gpu_band", METRIC, METRIC_MEM_COPY_UTIL, EACH)                                       \
        NAME("gpu_mem", METRIC, METRIC_FB_USED, EACH)                                              \
        NAME("gpu_util_summary", METRIC, METRIC_GPU_UTIL, ACROSS)                                  \
        NAME("gpu_band_summary", METRIC, METRIC_MEM_COPY_UTIL, ACROSS)                             \
        NAME("gpu_mem_summary", METRIC, METRIC_FB_USED, ACROSS)

static const struct {
        const char *name;
        struct choice choice;
} names[] = {
#define NAME(name, subject, what, manner)                                                          \
        {name, {SUBJECT_##subject, (uint8_t)(what), MANNER_##manner, SHOW_ALWAYS}},
    NAMES(NAME)
#undef NAME
};

/* What tells the story of most runs. */
static const struct choice defaults[] = {
    {SUBJECT_METRIC, METRIC_GPU_UTIL, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_SM_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_TENSOR_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_DRAM_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_FB_USED, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_POWER, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_METRIC, METRIC_PCIE_RX, MANNER_ANY, SHOW_ABOVE_ZERO},
    {SUBJECT_METRIC, METRIC_PCIE_TX, MANNER_ANY, SHOW_ABOVE_ZERO},
    {SUBJECT_METRIC, METRIC_NVLINK_RX, MANNER_ANY, SHOW_ABOVE_ZERO},
    {SUBJECT_METRIC, METRIC_NVLINK_TX, MANNER_ANY, SHOW_ABOVE_ZERO},
    {SUBJECT_FIGURE, FIGURE_CPU_SHARE, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_FIGURE, FIGURE_MEMORY, MANNER_ANY, SHOW_WITH_VALUES},
    {SUBJECT_FIGURE, FIGURE_READ, MANNER_ANY, SHOW_ABOVE_ZERO},
    {SUBJECT_FIGURE, FIGURE_WRITE, MANNER_ANY, SHOW_ABOVE_ZERO},
};

/* ---- names ---- */

/* The first word of a group's heading is its name here: "power and thermal" → "power". */
static bool is_group(enum metric_group g, const char *name)
{
        const char *heading = metric_group_name(g);
        size_t n = strcspn(heading, " ");
        return strlen(name) == n && strncmp(heading, name, n) == 0;
}

static const char *candidate(size_t i, const void *arg UNUSED)
{
        if (i < METRIC_COUNT)
                return metric_info((enum metric)i)->name;
        i -= METRIC_COUNT;
        if (i < FIGURE_COUNT)
                return figure_info((enum figure)i)->name;
        i -= FIGURE_COUNT;
        if (i < SYSTEM_COUNT)
                return system_figure_info((enum system_figure)i)->name;
        i -= SYSTEM_COUNT;
        return i < ARRAY_LEN(names) ? names[i].name : NULL;
}

static int add(struct choices *to, struct choice c, struct err *err)
{
        for (size_t i = 0; i < to->n; i++) {
                if (to->list[i].subject == c.subject && to->list[i].what == c.what &&
                    to->list[i].manner == c.manner)
                        return 0;
        }
        if (to->n == CHOICES_MAX) {
                err_set(err, ERR_USAGE, "more than %d metrics do not fit one plot", CHOICES_MAX);
                return err_hint(err, "make several plots with fewer --metrics each");
        }
        to->list[to->n++] = c;
        return 0;
}

static bool find_figure(const char *name, struct choice *ret)
{
        for (size_t i = 0; i < FIGURE_COUNT; i++) {
                if (strcmp(figure_info((enum figure)i)->name, name) != 0)
                        continue;
                *ret = (struct choice){SUBJECT_FIGURE, (uint8_t)i, MANNER_ANY, SHOW_ALWAYS};
                return true;
        }
        for (size_t i = 0; i < SYSTEM_COUNT; i++) {
                if (strcmp(system_figure_info((enum system_figure)i)->name, name) != 0)
                        continue;
                *ret = (struct choice){SUBJECT_SYSTEM, (uint8_t)i, MANNER_ANY, SHOW_ALWAYS};
                return true;
        }
        return false;
}

static bool find_one(const char *name, struct choice *ret)
{
        enum metric m = metric_find(name, strlen(name));
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strcmp(names[i].name, name) != 0)
                        continue;
                *ret = names[i].choice;
                return true;
        }
        if (m != METRIC_COUNT) {
                *ret = (struct choice){SUBJECT_METRIC, (uint8_t)m, MANNER_ANY, SHOW_ALWAYS};
                return true;
        }
        return find_figure(name, ret);
}

/* "sm_active_summary" → sm_active across the GPUs. */
static bool find_summary(const char *name, struct choice *ret)
{
        size_t n = strlen(name), tail = strlen(SUMMARY);
        if (n <= tail || strcmp(name + n - tail, SUMMARY) != 0)
                return false;
        enum metric m = metric_find(name, n - tail);
        *ret = (struct choice){SUBJECT_METRIC, (uint8_t)m, MANNER_ACROSS, SHOW_ALWAYS};
        return m != METRIC_COUNT;
}

static int add_group(struct choices *to, enum metric_group g, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < METRIC_COUNT; i++) {
                /* Of a group, what has no value is left out; bits are no curve. */
                const struct metric_info *info = metric_info((enum metric)i);
                if (info->group == g && info->unit != UNIT_BITS)
                        r = add(to,
                                (struct choice){SUBJECT_METRIC, (uint8_t)i, MANNER_ANY,
                                                SHOW_WITH_VALUES},
                                err);
        }
        return r;
}

static int add_defaults(struct choices *to, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(defaults); i++)
                r = add(to, defaults[i], err);
        return r;
}

/* "host:processes" → the figure, where a metric has the same name. */
static bool find_host(const char *name, struct choice *ret)
{
        return strncmp(name, "host:", 5) == 0 && find_figure(name + 5, ret);
}

static int add_named(struct choices *to, const char *name, struct err *err)
{
        struct choice one;
        const char *group = strncmp(name, "group:", 6) == 0 ? name + 6 : name;
        if (strcmp(name, "default") == 0)
                return add_defaults(to, err);
        if (find_one(name, &one) || find_summary(name, &one) || find_host(name, &one))
                return add(to, one, err);
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++) {
                if (is_group(g, group))
                        return add_group(to, g, err);
        }
        const char *near = suggest_nearest(name, candidate, NULL);
        err_set(err, ERR_USAGE, "there is no metric '%s'", name);
        if (near)
                return err_hint(err, "did you mean '%s'? 'assay metrics' lists them", near);
        return err_hint(err, "'assay metrics' lists them; 'assay help plot' tells the others");
}

int choices_parse(const char *list, struct choices *ret, struct err *err)
{
        struct choices found = {0};
        int r = list ? 0 : add_defaults(&found, err);
        for (const char *s = list; s && r == 0;) {
                char name[NAME_MAX_LEN + 1];
                size_t n = strcspn(s, ",");
                snprintf(name, sizeof(name), "%.*s", (int)MIN(n, (size_t)NAME_MAX_LEN), s);
                r = n > 0 ? add_named(&found, name, err) : 0;
                s = s[n] == ',' ? s + n + 1 : NULL;
        }
        if (r == 0 && found.n == 0) {
                err_set(err, ERR_USAGE, "--metrics names nothing");
                r = err_hint(err, "write for example --metrics sm_active,power");
        }
        if (r == 0)
                *ret = found;
        return r;
}

/* ---- what a choice is ---- */

static const struct figure_info *figure_of(const struct choice *c)
{
        return c->subject == SUBJECT_FIGURE ? figure_info((enum figure)c->what)
                                            : system_figure_info((enum system_figure)c->what);
}

const char *choice_name(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->name;
        return c->subject == SUBJECT_CORES ? "cpu_summary" : figure_of(c)->name;
}

enum unit choice_unit(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->unit;
        return c->subject == SUBJECT_CORES ? UNIT_RATIO : figure_of(c)->unit;
}

bool choice_counts(const struct choice *c)
{
        if (c->subject == SUBJECT_METRIC)
                return metric_info((enum metric)c->what)->kind == METRIC_KIND_COUNTER;
        return c->subject != SUBJECT_CORES && figure_of(c)->kind == FIGURE_KIND_COUNTER;
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
                *ret =
                    (struct choice){c->subject, limits[i].limit, MANNER_ACROSS, SHOW_WITH_VALUES};
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
        static const char *const titles[][2] = {{"cpu", "CPU cores busy"},
                                                {"real_util", "Real Utilization"},
                                                {"load_1", "Load over 1 min"},
                                                {"load_5", "Load over 5 min"},
                                                {"load_15", "Load over 15 min"}};
        const char *s = choice_name(c);
        size_t at = 0;
        if (c->subject == SUBJECT_CORES)
                s = "cpu_util";
        for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
                if (strcmp(titles[i][0], s) == 0) {
                        snprintf(buf, n, "%s", titles[i][1]);
                        return;
                }
        }
        buf[0] = '\0';
        while (*s && at + 1 < n) {
                char word[NAME_MAX_LEN + 1];
                size_t len = strcspn(s, "_");
                snprintf(word, sizeof(word), "%.*s", (int)MIN(len, (size_t)NAME_MAX_LEN), s);
                snprintf(buf + at, n - at, "%s%s", at ? " " : "", word_for(word));
                at += strlen(buf + at);
                s += len + (s[len] == '_');
        }
        buf[0] = (char)toupper((unsigned char)buf[0]);
}
