/* Which panels a plot has: the default ones, or what --metrics names. */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "model/metric.h"

#include <stdbool.h>

enum subject {
        SUBJECT_METRIC, /* of the GPUs */
        SUBJECT_FIGURE, /* of a level of the host */
        SUBJECT_SYSTEM, /* of the whole machine */
        SUBJECT_CORES,  /* busy share of the cores: least, mean, most; a line each when what is 1 */
        SUBJECT_USER,   /* a number of the run's own: a loss, a rate */
};

/* How several GPUs are drawn. */
enum manner {
        MANNER_ANY,    /* as the user said for all */
        MANNER_ACROSS, /* the mean, and the range from the lowest to the highest */
        MANNER_EACH,   /* a line each */
};

enum show {
        SHOW_ALWAYS, /* asked for by name: without values it is an empty panel that says so */
        SHOW_WITH_VALUES,
        SHOW_WITH_SEVERAL, /* one or two are no curve */
        SHOW_ABOVE_ZERO,   /* a link that nothing used says nothing */
};

struct choice {
        enum subject subject;
        uint8_t what; /* enum metric, figure or system_figure, or a place among the user's names */
        enum manner manner;
        enum show show;
        const char *name; /* SUBJECT_USER: its name, borrowed */
};

#define CHOICES_MAX 40
#define USER_NAMES_MAX 64 /* more numbers of a run's own are not known by name */

/* The run's own numbers; borrowed. */
struct user_names {
        const char *names[USER_NAMES_MAX];
        size_t n;
};

struct choices {
        struct choice list[CHOICES_MAX];
        size_t n;
};

/*
 * A list of names: metrics, groups of them ("sm", "group:power"), figures of the host ("host:NAME"
 * where a metric is called the same), the notebook
 * monitor's keys ("gpu_util_summary") and groups ("io", "gpu_all"), NAME_summary, the user's own
 * names, "default". NULL is the default. 0, or ERR_USAGE with what was meant.
 */
int choices_parse(const char *list, const struct user_names *user, struct choices *ret,
                  struct err *err);

/* "SM active", "Device memory used"; for people. */
void choice_title(const struct choice *c, char *buf, size_t n);
/* "sm_active": the name in files. */
const char *choice_name(const struct choice *c);
enum unit choice_unit(const struct choice *c);
/* Whether it only grows, so that its axis need not begin at 0. */
bool choice_counts(const struct choice *c);
/* What bounds it: the total of a memory, a limit of power. False when there is none. */
bool choice_limit(const struct choice *c, struct choice *ret);
