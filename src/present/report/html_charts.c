/* Which charts a page has, and in which order: those that show why the verdict is what it is come
 * first, the others are folded. */
#include "base/attr.h"
#include "present/document/page.h"
#include "present/report/page.h"

#include <string.h>

#define FIRST_CHARTS 4
#define CHARTS_MAX (TRACE_COUNT + 3)

/* The chart in which a ceiling can be seen; NULL where there is none. */
static const char *const chart_of[CEILING_COUNT] = {
    [CEILING_ENGINE] = "gpu_util",
    [CEILING_SM] = "sm_active",
    [CEILING_OCCUPANCY] = "sm_active",
    [CEILING_TENSOR] = "tensor_active",
    [CEILING_DRAM] = "dram_active",
    [CEILING_PCIE_IN] = "pcie_rx",
    [CEILING_PCIE_OUT] = "pcie_tx",
    [CEILING_PCIE_RATE] = "pcie_rx",
    [CEILING_NVLINK_IN] = "nvlink_total",
    [CEILING_NVLINK_OUT] = "nvlink_total",
    [CEILING_CLOCK] = "sm_clock",
    [CEILING_POWER] = "power",
    [CEILING_MEMORY] = "fb_used",
    [CEILING_HELD_POWER] = "power",
    [CEILING_HELD_THERMAL] = "gpu_temp",
    [CEILING_CPU_MAIN] = "cpu",
    [CEILING_CPU_THREAD] = "cpu",
    [CEILING_CPU_FIRST] = "cpu",
    [CEILING_CPU_CHILDREN] = "cpu",
    [CEILING_CPU_QUEUED] = "cpu",
    [CEILING_CPU] = "cpu",
    [CEILING_IO_WAIT] = "io",
    [CEILING_STORAGE] = "io",
    [CEILING_WRITTEN] = "io",
    [CEILING_CONTROLLER] = "dram_active",
};

/* Where the findings name fewer. */
static const char *const usual[] = {"sm_active", "gpu_util", "power", "cpu", "fb_used"};

struct chosen {
        const char *shown[CHARTS_MAX]; /* all that have something to show */
        size_t n_shown;
        const char *first[CHARTS_MAX];
        size_t n_first;
};

static bool has_id(const char *const *list, size_t n, const char *id)
{
        for (size_t i = 0; i < n; i++) {
                if (strcmp(list[i], id) == 0)
                        return true;
        }
        return false;
}

static void put_id(const char **list, size_t *n, size_t most, const char *id)
{
        if (id && *n < most && !has_id(list, *n, id))
                list[(*n)++] = id;
}

/* What a finding rests on, and what holds the clocks down meanwhile. */
size_t report_charts_first(const struct stretch_list *list, const char **ret, size_t most)
{
        size_t n = 0;
        for (size_t i = 0; i < list->n_findings; i++) {
                const struct limit_finding *f = &list->findings[i];
                const struct limiter_sight *sight = limiter_sight(f->limiter, f->basis);
                for (size_t k = 0; k < LIMITER_REASONS_MAX; k++)
                        put_id(ret, &n, most, chart_of[sight->reasons[k]]);
                if (f->held_by == HELD_BY_NOTHING)
                        continue;
                put_id(ret, &n, most, f->held_by == HELD_BY_THERMAL ? "gpu_temp" : "power");
                put_id(ret, &n, most, "sm_clock");
        }
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
                put_id(ret, &n, most, usual[i]);
        return n;
}

/* Whether a list of words with commas between has this one. */
static bool has_word(const char *list, const char *word)
{
        size_t n = strlen(word);
        for (const char *s = list; *s;) {
                size_t len = strcspn(s, ",");
                if (len == n && memcmp(s, word, n) == 0)
                        return true;
                s += len + (s[len] == ',');
        }
        return false;
}

static void choose_charts(const struct summary *s, const struct traces *t, const char *asked,
                          struct chosen *c)
{
        const char *id;
        bool is_chosen = asked && asked[0] && strcmp(asked, "all") != 0;
        for (size_t i = 0; (id = report_page_chart(t, i)); i++) {
                bool wanted = !is_chosen || has_word(asked, id);
                if (id[0] && wanted)
                        c->shown[c->n_shown++] = id;
                if (id[0] && wanted && is_chosen)
                        put_id(c->first, &c->n_first, CHARTS_MAX, id);
        }
        if (c->n_first > 0)
                return;
        const char *wanted[CHARTS_MAX];
        size_t n = report_charts_first(&s->limits, wanted, CHARTS_MAX);
        for (size_t i = 0; i < n; i++) {
                if (has_id(c->shown, c->n_shown, wanted[i]))
                        put_id(c->first, &c->n_first, FIRST_CHARTS, wanted[i]);
        }
}

bool report_page_charts(const struct summary *s, const struct traces *t, const char *chosen,
                        struct strbuf *out)
{
        struct chosen c = {0};
        choose_charts(s, t, chosen, &c);
        if (t->n > 0 && c.n_shown > 0) {
                page_put_chart(out, "strips");
                strbuf_puts(out, "<div class=legend id=legend></div>\n");
        }
        for (size_t i = 0; i < c.n_first; i++)
                page_put_chart(out, c.first[i]);
        size_t folded = c.n_shown - c.n_first;
        if (folded > 0)
                strbuf_putf(out, "<details><summary>%zu more chart%s</summary>\n", folded,
                            folded == 1 ? "" : "s");
        for (size_t i = 0; i < c.n_shown; i++) {
                if (!has_id(c.first, c.n_first, c.shown[i]))
                        page_put_chart(out, c.shown[i]);
        }
        if (folded > 0)
                strbuf_puts(out, "</details>\n");
        return c.n_shown > 0;
}
