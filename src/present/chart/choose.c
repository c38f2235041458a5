#include "present/chart/choose.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 63
#define SUMMARY "_summary"
#define USER_DEFAULTS 4 /* numbers of the run's own that are drawn unasked */

#define CHOICE(subject_, what_, manner_, show_)                                                    \
        {                                                                                          \
                .subject = (subject_), .what = (what_), .manner = (manner_), .show = (show_)       \
        }

/* Names besides those of metrics and figures: the notebook monitor's. */
static const struct {
        const char *name;
        struct choice choice;
} names[] = {
    {"cpu_summary", CHOICE(SUBJECT_CORES, 0, MANNER_ACROSS, SHOW_ALWAYS)},
    {"cpu_all", CHOICE(SUBJECT_CORES, 1, MANNER_EACH, SHOW_ALWAYS)},
    {"gpu_util", CHOICE(SUBJECT_METRIC, METRIC_GPU_UTIL, MANNER_EACH, SHOW_ALWAYS)},
    {"gpu_band", CHOICE(SUBJECT_METRIC, METRIC_MEM_COPY_UTIL, MANNER_EACH, SHOW_ALWAYS)},
    {"gpu_mem", CHOICE(SUBJECT_METRIC, METRIC_FB_USED, MANNER_EACH, SHOW_ALWAYS)},
    {"gpu_band_summary", CHOICE(SUBJECT_METRIC, METRIC_MEM_COPY_UTIL, MANNER_ACROSS, SHOW_ALWAYS)},
    {"gpu_mem_summary", CHOICE(SUBJECT_METRIC, METRIC_FB_USED, MANNER_ACROSS, SHOW_ALWAYS)},
};

/* The notebook monitor's groups. Its "cpu" is cpu_summary; here that name is the cores busy. */
static const char *const sets[][2] = {
    {"mem", "memory"},
    {"io", "io_read,io_write,io_read_count,io_write_count"},
    {"gpu", "gpu_util_summary,gpu_band_summary,gpu_mem_summary"},
    {"gpu_all", "gpu_util,gpu_band,gpu_mem"},
};

/* What reports the story of most runs. */
static const struct choice defaults[] = {
    CHOICE(SUBJECT_METRIC, METRIC_GPU_UTIL, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_SM_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_TENSOR_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_DRAM_ACTIVE, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_FB_USED, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_POWER, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_SM_CLOCK, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_METRIC, METRIC_PCIE_RX, MANNER_ANY, SHOW_ABOVE_ZERO),
    CHOICE(SUBJECT_METRIC, METRIC_PCIE_TX, MANNER_ANY, SHOW_ABOVE_ZERO),
    CHOICE(SUBJECT_METRIC, METRIC_NVLINK_RX, MANNER_ANY, SHOW_ABOVE_ZERO),
    CHOICE(SUBJECT_METRIC, METRIC_NVLINK_TX, MANNER_ANY, SHOW_ABOVE_ZERO),
    CHOICE(SUBJECT_FIGURE, FIGURE_CPU, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_FIGURE, FIGURE_MEMORY, MANNER_ANY, SHOW_WITH_VALUES),
    CHOICE(SUBJECT_FIGURE, FIGURE_READ, MANNER_ANY, SHOW_ABOVE_ZERO),
    CHOICE(SUBJECT_FIGURE, FIGURE_WRITE, MANNER_ANY, SHOW_ABOVE_ZERO),
};

/* ---- names ---- */

/* The first word of a group's heading is its name here: "power and thermal" → "power". */
static bool is_group(enum metric_group g, const char *name)
{
        const char *heading = metric_group_name(g);
        size_t n = strcspn(heading, " ");
        return strlen(name) == n && strncmp(heading, name, n) == 0;
}

static const char *candidate_name(size_t i, const void *arg)
{
        const struct user_names *user = arg;
        if (i < METRIC_COUNT)
                return metric_info((enum metric)i)->name;
        i -= METRIC_COUNT;
        if (i < FIGURE_COUNT)
                return figure_info((enum figure)i)->name;
        i -= FIGURE_COUNT;
        if (i < SYSTEM_COUNT)
                return system_figure_info((enum system_figure)i)->name;
        i -= SYSTEM_COUNT;
        if (i < ARRAY_LEN(names))
                return names[i].name;
        i -= ARRAY_LEN(names);
        return i < user->n ? user->names[i] : NULL;
}

static int choose_add(struct choices *to, struct choice c, struct err *err)
{
        for (size_t i = 0; i < to->n; i++) {
                if (to->list[i].subject == c.subject && to->list[i].what == c.what &&
                    to->list[i].manner == c.manner)
                        return 0;
        }
        if (to->n == CHOICES_MAX) {
                err_set(err, ERR_USAGE, "too many metrics: one plot has room for %d", CHOICES_MAX);
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
                *ret = (struct choice)CHOICE(SUBJECT_FIGURE, (uint8_t)i, MANNER_ANY, SHOW_ALWAYS);
                return true;
        }
        for (size_t i = 0; i < SYSTEM_COUNT; i++) {
                if (strcmp(system_figure_info((enum system_figure)i)->name, name) != 0)
                        continue;
                *ret = (struct choice)CHOICE(SUBJECT_SYSTEM, (uint8_t)i, MANNER_ANY, SHOW_ALWAYS);
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
                *ret = (struct choice)CHOICE(SUBJECT_METRIC, (uint8_t)m, MANNER_ANY, SHOW_ALWAYS);
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
        *ret = (struct choice)CHOICE(SUBJECT_METRIC, (uint8_t)m, MANNER_ACROSS, SHOW_ALWAYS);
        return m != METRIC_COUNT;
}

static int add_group(struct choices *to, enum metric_group g, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < METRIC_COUNT; i++) {
                /* Of a group, what has no value is left out; bits are no curve. */
                const struct metric_info *info = metric_info((enum metric)i);
                if (info->group == g && info->unit != UNIT_BITS)
                        r = choose_add(to,
                                       (struct choice)CHOICE(SUBJECT_METRIC, (uint8_t)i, MANNER_ANY,
                                                             SHOW_WITH_VALUES),
                                       err);
        }
        return r;
}

static struct choice user_choice(const struct user_names *user, size_t i, enum show show)
{
        return (struct choice){SUBJECT_USER, (uint8_t)i, MANNER_ANY, show, user->names[i]};
}

static int add_defaults(struct choices *to, const struct user_names *user, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(defaults); i++)
                r = choose_add(to, defaults[i], err);
        for (size_t i = 0; r == 0 && i < MIN(user->n, (size_t)USER_DEFAULTS); i++)
                r = choose_add(to, user_choice(user, i, SHOW_WITH_SEVERAL), err);
        return r;
}

static bool find_user(const char *name, const struct user_names *user, struct choice *ret)
{
        for (size_t i = 0; i < user->n; i++) {
                if (strcmp(user->names[i], name) != 0)
                        continue;
                *ret = user_choice(user, i, SHOW_ALWAYS);
                return true;
        }
        return false;
}

/* "host:processes" → the figure, where a metric has the same name. */
static bool find_host(const char *name, struct choice *ret)
{
        return strncmp(name, "host:", 5) == 0 && find_figure(name + 5, ret);
}

static const char *find_set(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
                if (strcmp(sets[i][0], name) == 0)
                        return sets[i][1];
        }
        return NULL;
}

static int add_named(struct choices *to, const char *name, const struct user_names *user,
                     struct err *err)
{
        struct choice one;
        const char *group = strncmp(name, "group:", 6) == 0 ? name + 6 : name;
        if (strcmp(name, "default") == 0)
                return add_defaults(to, user, err);
        if (find_one(name, &one) || find_summary(name, &one) || find_host(name, &one) ||
            find_user(name, user, &one))
                return choose_add(to, one, err);
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++) {
                if (is_group(g, group))
                        return add_group(to, g, err);
        }
        const char *near = suggest_nearest(name, candidate_name, user);
        err_set(err, ERR_USAGE, "unknown metric '%s'", name);
        if (near)
                return err_hint(err, "did you mean '%s'? 'assay metrics' lists them", near);
        return err_hint(err, "'assay metrics' lists them; 'assay help plot' tells the others");
}

static int add_list(struct choices *to, const char *list, const struct user_names *user, bool outer,
                    struct err *err)
{
        int r = 0;
        for (const char *s = list; s && r == 0;) {
                char name[NAME_MAX_LEN + 1];
                size_t n = strcspn(s, ",");
                snprintf(name, sizeof(name), "%.*s", (int)MIN(n, (size_t)NAME_MAX_LEN), s);
                const char *set = outer ? find_set(name) : NULL;
                if (set)
                        r = add_list(to, set, user, false, err);
                else if (n > 0)
                        r = add_named(to, name, user, err);
                s = s[n] == ',' ? s + n + 1 : NULL;
        }
        return r;
}

int choices_parse(const char *list, const struct user_names *user, struct choices *ret,
                  struct err *err)
{
        struct choices found = {0};
        int r = list ? add_list(&found, list, user, true, err) : add_defaults(&found, user, err);
        if (r == 0 && found.n == 0) {
                err_set(err, ERR_USAGE, "--metrics is empty");
                r = err_hint(err, "write for example --metrics sm_active,power");
        }
        if (r == 0)
                *ret = found;
        return r;
}
