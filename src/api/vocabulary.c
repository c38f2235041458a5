/* Names, units and help of the metrics. */
#include "api/api.h"
#include "app/setup.h"
#include "model/host.h"
#include "model/metric.h"

#include <string.h>

#define SAME(outside, inside)                                                                      \
        _Static_assert((int)(outside) == (int)(inside), "states are the same inside and outside")
SAME(ASSAY_VALUE_ABSENT, STATE_NONE);
SAME(ASSAY_VALUE_OK, STATE_OK);
SAME(ASSAY_VALUE_STALE, STATE_STALE);
SAME(ASSAY_VALUE_BLANK, STATE_BLANK);
SAME(ASSAY_VALUE_UNSUPPORTED, STATE_UNSUPPORTED);
SAME(ASSAY_VALUE_DENIED, STATE_DENIED);
SAME(ASSAY_VALUE_ERROR, STATE_ERROR);

const char *assay_version(void)
{
        return program_version;
}

const char *assay_state_name(int state)
{
        return state >= 0 && state < STATE_COUNT ? state_name((enum state)state) : "unknown";
}

/* ---- metrics ---- */

static const struct metric_info *metric_at(int metric)
{
        return metric >= 0 && metric < METRIC_COUNT ? metric_info((enum metric)metric) : NULL;
}

size_t assay_metrics(void)
{
        return METRIC_COUNT;
}

int assay_metric_find(const char *name)
{
        enum metric m = name ? metric_find(name, strlen(name)) : METRIC_COUNT;
        return m == METRIC_COUNT ? -1 : (int)m;
}

const char *assay_metric_name(int metric)
{
        const struct metric_info *i = metric_at(metric);
        return i ? i->name : NULL;
}

const char *assay_metric_unit(int metric)
{
        const struct metric_info *i = metric_at(metric);
        return i ? unit_name(i->unit) : NULL;
}

const char *assay_metric_help(int metric)
{
        const struct metric_info *i = metric_at(metric);
        return i ? i->help : NULL;
}

/* ---- figures of a level, and of the machine ---- */

static const struct metric_info *figure_at(int figure)
{
        return figure >= 0 && figure < FIGURE_COUNT ? figure_info((enum figure)figure) : NULL;
}

static const struct metric_info *system_figure_at(int figure)
{
        return figure >= 0 && figure < SYSTEM_COUNT ? system_figure_info((enum system_figure)figure)
                                                    : NULL;
}

static int vocabulary_find(const char *name, const struct metric_info *(*at)(int figure))
{
        const struct metric_info *info;
        for (int i = 0; name && (info = at(i)); i++) {
                if (strcmp(info->name, name) == 0)
                        return i;
        }
        return -1;
}

size_t assay_figures(void)
{
        return FIGURE_COUNT;
}

int assay_figure_find(const char *name)
{
        return vocabulary_find(name, figure_at);
}

const char *assay_figure_name(int figure)
{
        const struct metric_info *i = figure_at(figure);
        return i ? i->name : NULL;
}

const char *assay_figure_unit(int figure)
{
        const struct metric_info *i = figure_at(figure);
        return i ? unit_name(i->unit) : NULL;
}

const char *assay_figure_help(int figure)
{
        const struct metric_info *i = figure_at(figure);
        return i ? i->help : NULL;
}

size_t assay_system_figures(void)
{
        return SYSTEM_COUNT;
}

int assay_system_figure_find(const char *name)
{
        return vocabulary_find(name, system_figure_at);
}

const char *assay_system_figure_name(int figure)
{
        const struct metric_info *i = system_figure_at(figure);
        return i ? i->name : NULL;
}

const char *assay_system_figure_unit(int figure)
{
        const struct metric_info *i = system_figure_at(figure);
        return i ? unit_name(i->unit) : NULL;
}

const char *assay_system_figure_help(int figure)
{
        const struct metric_info *i = system_figure_at(figure);
        return i ? i->help : NULL;
}
