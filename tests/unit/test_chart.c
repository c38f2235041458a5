/* Charts before they are drawn: ticks, texts, buckets, bands, choices; and the SVG of small ones.
 */
#include "test.h"

#include "base/clock.h"
#include "present/chart/axis.h"
#include "present/chart/bands.h"
#include "present/chart/label.h"
#include "present/chart/plot.h"

#include <math.h>
#include <stdio.h>

/* ---- axes ---- */

static void join_ticks(const struct ticks *t, char *buf, size_t n)
{
        char label[TICK_LABEL_MAX];
        buf[0] = '\0';
        for (unsigned i = 0; i < t->n; i++) {
                tick_label(t, i, label, sizeof(label));
                snprintf(buf + strlen(buf), n - strlen(buf), "%s%s", i ? " " : "", label);
        }
}

static void value_axes(void **state UNUSED)
{
        static const struct {
                const char *reason;
                enum unit unit;
                double min, max;
                bool from_zero;
                const char *shown, *ticks;
        } cases[] = {
            {"shares always span all", UNIT_RATIO, 0.2, 0.3, true, "%", "0 50 100"},
            {"scores too", UNIT_SCORE, 20, 30, true, "", "0 50 100"},
            {"more than all, as of several CPUs", UNIT_RATIO, 0, 3.2, true, "%",
             "0 100 200 300 400"},
            {"a limit of 700", UNIT_WATTS, 75, 709, true, "W", "0 200 400 600 800"},
            {"memory in GiB", UNIT_BYTES, 0, 140.4 * 1073741824.0, true, "GiB", "0 50 100 150"},
            {"memory in MiB", UNIT_BYTES, 0, 900 * 1048576.0, true, "MiB", "0 500 1000"},
            {"rates in decimal units", UNIT_BYTES_PER_S, 0, 3.54e9, true, "GB/s", "0 1 2 3 4"},
            {"small rates", UNIT_BYTES_PER_S, 0, 350, true, "B/s", "0 100 200 300 400"},
            {"temperatures need no zero", UNIT_CELSIUS, 35, 61, false, "°C", "30 40 50 60 70"},
            {"never moves", UNIT_WATTS, 0, 0, true, "W", "0.0 0.5 1.0"},
            {"things are whole", UNIT_COUNT, 0, 2, true, "", "0 1 2"},
            {"clocks", UNIT_HERTZ, 345e6, 1980e6, true, "MHz", "0 500 1000 1500 2000"},
            {"a counter far from zero", UNIT_JOULES, 1e9, 1e9, false, "MJ", NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct value_axis a =
                    value_axis_for(cases[i].unit, cases[i].min, cases[i].max, cases[i].from_zero);
                char got[256];
                join_ticks(&a.ticks, got, sizeof(got));
                if (strcmp(a.unit, cases[i].shown) != 0 ||
                    (cases[i].ticks && strcmp(got, cases[i].ticks) != 0))
                        fail_msg("%s: %s (%s)", cases[i].reason, got, a.unit);
                assert_true(a.high > a.low && a.ticks.n >= 2);
                assert_true(a.low <= cases[i].min * a.factor + 1e-6);
                assert_true(a.high >= cases[i].max * a.factor - 1e-6);
        }
}

static void time_axes(void **state UNUSED)
{
        static const struct {
                const char *reason;
                double from, to;
                const char *unit, *ticks;
        } cases[] = {
            {"a minute and a half", 0, 94, "s", "0 20 40 60 80"},
            {"a blink", 0, 0.3, "s", "0.00 0.05 0.10 0.15 0.20 0.25 0.30"},
            {"a part of it", 60.2, 70.4, "s", "62 64 66 68 70"},
            {"minutes", 0, 600, "min", "0 2 4 6 8 10"},
            {"half an hour", 0, 1800, "min", "0 5 10 15 20 25 30"},
            {"a day", 0, 86399, "h", "0 3 6 9 12 15 18 21"},
            {"a week", 0, 7 * 86400, "d", "0 1 2 3 4 5 6 7"},
            {"a year", 0, 365 * 86400.0, "d", "0 50 100 150 200 250 300 350"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct time_axis a = time_axis_for(cases[i].from, cases[i].to, 9);
                char got[512];
                join_ticks(&a.ticks, got, sizeof(got));
                if (strcmp(a.unit, cases[i].unit) != 0 || strcmp(got, cases[i].ticks) != 0)
                        fail_msg("%s: %s (%s)", cases[i].reason, got, a.unit);
        }
}

static void ticks_of_nonsense(void **state UNUSED)
{
        assert_true(ticks_between(0, 0, 5).n <= 1);
        assert_true(ticks_between(5, 1, 5).n <= 1);
        assert_true(ticks_between(0, INFINITY, 5).n <= 1);
        assert_true(ticks_between(-1e300, 1e300, 5).n <= TICKS_MAX);
        assert_true(ticks_between(1e15, 1e15 + 1, 5).n <= TICKS_MAX);
}

static void durations(void **state UNUSED)
{
        static const struct {
                double seconds;
                const char *text;
        } cases[] = {{0.04, "0.0 s"}, {9.94, "9.9 s"},        {9.96, "10 s"},
                     {59.4, "59 s"},  {60, "1 min"},          {93.7, "1 min 34 s"},
                     {3600, "1 h"},   {86399, "23 h 59 min"}, {86400 * 3 + 7200, "3 d 2 h"}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char got[64];
                duration_text(cases[i].seconds, got, sizeof(got));
                assert_string_equal(got, cases[i].text);
        }
}

/* ---- texts ---- */

static void texts(void **state UNUSED)
{
        static const struct {
                const char *reason, *in;
                double room;
                const char *out;
        } cases[] = {
            {"fits", "train", 100, "train"},
            {"is cut", "train_starved_by_dataloader", 80, "train_starved…"},
            {"no letter would be left", "train", 15, ""},
            {"nothing", "", 10, ""},
            {"control characters are blanks",
             "a\tb\x01"
             "c",
             100, "a b c"},
            {"what is no UTF-8 is marked", "a\xff\xc3=\xed\xa0\x80z", 100,
             "a\x3f\x3f=\x3f\x3f\x3fz"},
            {"a letter that is cut short", "ab\xe2\x80", 100, "ab\x3f\x3f"},
            {"other letters stay whole", "второй этап", 200, "второй этап"},
            {"and are cut between them", "второй этап", 50, "второй…"},
            {"wide ones take more room", "日本語日本語", 45, "日本語…"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char got[LABEL_MAX];
                label_fit(cases[i].in, 10, cases[i].room, got, sizeof(got));
                if (strcmp(got, cases[i].out) != 0)
                        fail_msg("%s: '%s'", cases[i].reason, got);
                assert_true(label_width(got, 10) <= cases[i].room);
        }
}

/* ---- buckets ---- */

static const struct value none = {.state = STATE_NONE};

static struct curve *new_curve(void)
{
        struct curve *c = calloc(1, sizeof(*c));
        assert_non_null(c);
        return c;
}

static void halving_keeps_peaks(void **state UNUSED)
{
        struct curve *c = new_curve();
        for (size_t i = 0; i < CURVE_BUCKETS; i++)
                curve_add(c, i, value_ok(i == 777 ? 100 : i == 1500 ? -5 : 1));
        for (int i = 0; i < 5; i++)
                curve_halve(c);
        struct bucket high = c->b[777 / 32], low = c->b[1500 / 32];
        assert_true(high.max == 100 && high.min == 1 && high.n == 32);
        assert_true(low.min == -5 && low.max == 1);
        assert_int_equal(c->b[CURVE_BUCKETS / 32].n, 0);
        assert_true(c->n == CURVE_BUCKETS && c->max == 100 && c->min == -5);
        free(c);
}

static void columns_keep_peaks(void **state UNUSED)
{
        struct curve *c = new_curve();
        struct dot dots[64];
        for (size_t i = 0; i < 1000; i++)
                curve_add(c, i, value_ok(i == 501 ? 9 : 1));
        size_t n = curve_dots(c, &(struct window){0, 1000, 4}, 64, dots);
        assert_int_equal(n, 64);
        for (size_t i = 0; i < n; i++) {
                assert_true(dots[i].min == 1 && dots[i].up == (i == 0));
                assert_true(dots[i].max == (i == 32 ? 9 : 1));
        }
        /* A column of 16 buckets with one 9 among 1s. */
        assert_float_equal(dots[32].mean, (15 + 9) / 16.0, 0.05);
        free(c);
}

static void missing_is_a_gap(void **state UNUSED)
{
        static const struct {
                const char *reason;
                const char *ticks; /* a bucket each: v a value, m a missing one, . no tick */
                double gap;
                const char *pen; /* for each dot: U after a gap, d drawn on */
        } cases[] = {
            {"no gap", "vvvv", 4, "Uddd"},
            {"a missing value is one", "vvmvv", 4, "UdUd"},
            {"no tick is none", "v.v.v", 4, "Udd"},
            {"long without a tick is one", "v......v", 4, "UU"},
            {"missing at both ends", "mmvvmm", 4, "Ud"},
            {"nothing at all", "mmmm", 4, ""},
            {"missing at first, then between", "mvmvm", 4, "UU"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct curve *c = new_curve();
                struct dot dots[16];
                char got[32] = "";
                size_t len = strlen(cases[i].ticks);
                for (size_t k = 0; k < len; k++) {
                        if (cases[i].ticks[k] != '.')
                                curve_add(c, k, cases[i].ticks[k] == 'v' ? value_ok(1) : none);
                }
                size_t n = curve_dots(c, &(struct window){0, (double)len, cases[i].gap}, 16, dots);
                for (size_t k = 0; k < n; k++)
                        got[k] = dots[k].up ? 'U' : 'd';
                if (strcmp(got, cases[i].pen) != 0)
                        fail_msg("%s: %s", cases[i].reason, got);
                free(c);
        }
}

static void infinities_are_missing(void **state UNUSED)
{
        struct curve *c = new_curve();
        curve_add(c, 0, value_ok(INFINITY));
        curve_add(c, 1, value_ok(NAN));
        assert_int_equal(c->n, 0);
        assert_true(c->missing[0] == 1 && c->missing[1] == 1);
        free(c);
}

/* ---- bands ---- */

static void lanes(void **state UNUSED)
{
        static const struct phase phases[] = {
            {"epoch", 0, 500, false, NULL},   {"load", 0, 100, false, NULL},
            {"step", 100, 400, false, NULL},  {"copy", 150, 200, false, NULL},
            {"epoch", 500, 1000, true, NULL}, {"load", 500, 600, false, NULL},
        };
        static const uint8_t lane[] = {0, 1, 1, 2, 0, 1};
        struct band *bands = calloc(BANDS_MAX, sizeof(*bands));
        assert_non_null(bands);
        size_t n = bands_pack(phases, ARRAY_LEN(phases), 0, 1000, 0.001, bands);
        assert_int_equal(n, ARRAY_LEN(phases));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(bands[i].lane, lane[i]);
                assert_ptr_equal(bands[i].name, phases[i].name);
        }
        assert_int_equal(bands[0].tint, bands[4].tint);
        assert_int_equal(bands[1].tint, bands[5].tint);
        assert_int_not_equal(bands[0].tint, bands[1].tint);
        free(bands);
}

static void narrow_bands_join(void **state UNUSED)
{
        enum { STEPS = 20000 };
        struct phase *phases = calloc(STEPS, sizeof(*phases));
        struct band *bands = calloc(BANDS_MAX, sizeof(*bands));
        assert_true(phases && bands);
        for (size_t i = 0; i < STEPS; i++) {
                phases[i] =
                    (struct phase){.begin_ns = (int64_t)i * 10, .end_ns = (int64_t)i * 10 + 9};
                snprintf(phases[i].name, sizeof(phases[i].name), "%s", i < 10000 ? "a" : "b");
        }
        size_t n = bands_pack(phases, STEPS, 0, STEPS * 10, 0.01, bands);
        assert_int_equal(n, 1);
        assert_true(bands[0].many && bands[0].name == NULL && bands[0].to > 0.99f);
        n = bands_pack(phases, 10000, 0, STEPS * 10, 0.01, bands);
        assert_true(n == 1 && bands[0].many);
        assert_string_equal(bands[0].name, "a");
        free(phases);
        free(bands);
}

static void bands_at_the_edges(void **state UNUSED)
{
        static const struct phase phases[] = {
            {"before", INT64_MIN, -5, false, NULL},
            {"begins before", -100, 50, false, NULL},
            {"open", 50, INT64_MAX, true, NULL},
            {"after", 200, 300, false, NULL},
        };
        struct band *bands = calloc(BANDS_MAX, sizeof(*bands));
        assert_non_null(bands);
        assert_int_equal(bands_pack(phases, ARRAY_LEN(phases), 0, 100, 0.001, bands), 2);
        assert_true(bands[0].from == 0 && bands[0].to == 0.5f);
        assert_true(bands[1].from == 0.5f && bands[1].to == 1);
        free(bands);
}

/* ---- choices ---- */

static const struct user_names user = {{"loss", "tokens_per_s"}, 2};

static void choices(void **state UNUSED)
{
        static const struct {
                const char *reason, *list;
                const char *names; /* with A for across, E for each, - for as said for all */
        } cases[] = {
            {"metrics", "sm_active,power", "sm_active- power-"},
            {"twice is once", "power,power", "power-"},
            {"empty words", ",power,,", "power-"},
            {"a group", "sm", "sm_active- sm_occupancy-"},
            {"a metric comes before a group of its name", "power", "power-"},
            {"the notebook's keys", "cpu_summary,memory,io_read,gpu_util_summary,gpu_band,gpu_mem",
             "cpu_summaryA memory- io_read- gpu_utilA mem_copy_utilE fb_usedE"},
            {"the notebook's groups", "mem,io,cpu_all,gpu",
             "memory- io_read- io_write- io_read_count- io_write_count- cpu_allE gpu_utilA "
             "mem_copy_utilA fb_usedA"},
            {"all GPUs", "gpu_all,gpu_util", "gpu_utilE mem_copy_utilE fb_usedE"},
            {"its gpu_util is a line each", "gpu_util", "gpu_utilE"},
            {"any metric across", "sm_active_summary", "sm_activeA"},
            {"the run's own", "loss", "loss-"},
            {"figures of the machine", "pressure_io", "pressure_io-"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct choices c;
                struct err err = {0};
                char got[512] = "";
                assert_int_equal(choices_parse(cases[i].list, &user, &c, &err), 0);
                for (size_t k = 0; k < c.n; k++)
                        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s%c",
                                 k ? " " : "", choice_name(&c.list[k]), "-AE"[c.list[k].manner]);
                if (strcmp(got, cases[i].names) != 0)
                        fail_msg("%s: %s", cases[i].reason, got);
        }
}

static void choices_that_are_none(void **state UNUSED)
{
        static const struct {
                const char *list, *hint;
        } cases[] = {
            {"sm_activ", "did you mean 'sm_active'"},
            {"tokens_pr_s", "did you mean 'tokens_per_s'"},
            {"power,cpu_sumary", "did you mean 'cpu_summary'"},
            {"zzzzzzzzzz", "'assay metrics' lists them"},
            {",", "write for example"},
            {"group:nothing", "'assay metrics' lists them"},
            {"utilization,pipes,tensor,memory,interconnect,group:power,errors,group:memory",
             "fewer --metrics"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct choices c;
                struct err err = {0};
                assert_int_equal(choices_parse(cases[i].list, &user, &c, &err), ERR_USAGE);
                if (!strstr(err.hint, cases[i].hint))
                        fail_msg("%s: %s / %s", cases[i].list, err.msg, err.hint);
        }
}

static void titles_are_words(void **state UNUSED)
{
        static const char *const cases[][2] = {
            {"sm_active", "SM active"},
            {"fb_used", "Device memory used"},
            {"pcie_rx", "PCIe in"},
            {"mem_temp", "Memory temperature"},
            {"io_read", "I/O read"},
            {"host:processes", "Processes"},
            {"real_util", "Real Utilization"},
            {"cpu_summary", "CPU utilization"},
            {"cpu_all", "CPU utilization of each core"},
            {"gpu_util_summary", "GPU utilization"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct choices c;
                char title[96];
                assert_int_equal(choices_parse(cases[i][0], &user, &c, NULL), 0);
                choice_title(&c.list[0], title, sizeof(title));
                assert_string_equal(title, cases[i][1]);
        }
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                const struct choice c = {SUBJECT_METRIC, (uint8_t)m, MANNER_ANY, SHOW_ALWAYS, NULL};
                char title[96];
                choice_title(&c, title, sizeof(title));
                assert_true(title[0] && !strchr(title, '_') && strlen(title) < 60);
        }
}

/* ---- whole charts ---- */

struct scene {
        struct plot plot;
        struct entity gpus[2];
        struct row rows[2];
        struct run_facts facts;
        struct strbuf svg;
};

static void scene_init(struct scene *s, const char *metrics, bool per_gpu)
{
        struct plot_options o = {.per_gpu = per_gpu,
                                 .level = LEVEL_COUNT,
                                 .width = 760,
                                 .from_ns = INT64_MIN,
                                 .to_ns = INT64_MAX};
        *s = (struct scene){0};
        assert_int_equal(choices_parse(metrics, &user, &o.choices, NULL), 0);
        plot_init(&s->plot, &o, 0);
        snprintf(s->facts.input, sizeof(s->facts.input), "some/folder/run.assay");
        for (uint32_t i = 0; i < 2; i++) {
                s->gpus[i] = (struct entity){.slot = i, .index = (int32_t)i};
                snprintf(s->gpus[i].label, sizeof(s->gpus[i].label), "%u", i);
                s->rows[i].sample.who = &s->gpus[i];
        }
}

static void scene_tick(struct scene *s, int second, size_t gpus, double sm)
{
        struct frame f = {
            .wall_ns = (1000 + (int64_t)second) * NS_PER_S, .n = gpus, .rows = s->rows};
        for (size_t i = 0; i < gpus; i++)
                s->rows[i].sample.m[METRIC_SM_ACTIVE] =
                    sm < 0 ? none : value_ok(sm / (double)(i + 1));
        assert_int_equal(plot_add_frame(&s->plot, &f), 0);
}

static int scene_draw(struct scene *s, struct err *err)
{
        const struct plot_context context = {.facts = &s->facts};
        return plot_draw(&s->plot, &context, PLOT_SVG, &s->svg, err);
}

static void scene_finish(struct scene *s)
{
        plot_finish(&s->plot);
        strbuf_finish(&s->svg);
        free(s);
}

static size_t count(const char *text, const char *what)
{
        size_t n = 0;
        for (const char *s = text; (s = strstr(s, what)); s++)
                n++;
        return n;
}

static void a_missing_stretch_is_not_drawn(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        assert_non_null(s);
        scene_init(s, "sm_active", false);
        for (int i = 0; i < 60; i++)
                scene_tick(s, i, 1, i >= 20 && i < 40 ? -1 : 0.5);
        assert_int_equal(scene_draw(s, NULL), 0);
        const char *svg = strbuf_str(&s->svg);
        /* Two pieces of curve, at half height, none at the bottom. */
        assert_int_equal(count(svg, "stroke=\"#0072b2\""), 2);
        assert_non_null(strstr(svg, "min 50.0"));
        assert_non_null(strstr(svg, ">run.assay<"));
        scene_finish(s);
}

static void two_gpus_are_a_range_or_two_lines(void **state UNUSED)
{
        for (int each = 0; each < 2; each++) {
                struct scene *s = calloc(1, sizeof(*s));
                assert_non_null(s);
                scene_init(s, "sm_active", each);
                for (int i = 0; i < 60; i++)
                        scene_tick(s, i, 2, 0.8);
                assert_int_equal(scene_draw(s, NULL), 0);
                const char *svg = strbuf_str(&s->svg);
                assert_non_null(strstr(svg, "min 40.0"));
                assert_non_null(strstr(svg, "max 80.0"));
                assert_int_equal(count(svg, ">GPU 1<"), each);
                assert_int_equal(count(svg, "mean of 2 GPUs"), !each);
                assert_int_equal(count(svg, "<polygon fill=\"#0072b2\""), !each);
                /* The second one's colour, in the legend and the panel. */
                assert_int_equal(count(svg, "stroke=\"#d55e00\""), each ? 2 : 0);
                scene_finish(s);
        }
}

struct text_box {
        double from, to;
        char text[32];
};

/* Texts of a group of the picture, with the room they take. */
static size_t read_boxes(const char *svg, const char *group, struct text_box *ret, size_t most)
{
        char head[64];
        size_t n = 0;
        snprintf(head, sizeof(head), "class=\"%s\"", group);
        const char *s = strstr(svg, head), *end = s ? strstr(s, "</g>") : NULL;
        while (s && (s = strstr(s, "<text")) && s < end && n < most) {
                struct text_box *b = &ret[n++];
                double x = 0, size = 0;
                const char *text = strchr(s, '>') + 1;
                bool is_end = strstr(s, "text-anchor=\"end\"") && strstr(s, "\"end\"") < text;
                assert_int_equal(
                    sscanf(s, "<text x=\"%lf\" y=\"%*f\" font-size=\"%lf\"", &x, &size), 2);
                snprintf(b->text, sizeof(b->text), "%.*s", (int)strcspn(text, "<"), text);
                double width = label_width(b->text, size);
                b->from = is_end ? x - width : x;
                b->to = b->from + width;
                s = text;
        }
        return n;
}

/* Which names of events there is room for, and that none is upon another. */
static void names_of_events(void **state UNUSED)
{
        static const struct {
                const char *why;
                int seconds[6]; /* of 60 in a picture of 760; -1 ends them */
                const char *shown;
        } cases[] = {
            {"each has room", {5, 20, 40, -1}, "first second third "},
            {"the second would be upon the first", {5, 6, 40, -1}, "first third "},
            {"two after each other have none", {5, 6, 7, 30, -1}, "first fourth "},
            {"at the end the name stands left", {5, 59, -1}, "first second "},
            {"left of it is another", {57, 59, -1}, "first "},
            {"two at the end have room", {40, 59, -1}, "first second "},
            {"outside of the picture", {-5, 30, 200, -1}, "second "},
        };
        static const char *const names[] = {"first", "second", "third", "fourth"};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct scene *s = calloc(1, sizeof(*s));
                struct plot_event events[4];
                struct text_box boxes[4];
                char shown[64] = "";
                size_t n = 0;
                assert_non_null(s);
                scene_init(s, "sm_active", false);
                for (int k = 0; k < 60; k++)
                        scene_tick(s, k, 1, 0.5);
                for (; cases[i].seconds[n] != -1; n++)
                        events[n] = (struct plot_event){
                            .wall_ns = (1000 + (int64_t)cases[i].seconds[n]) * NS_PER_S,
                            .name = names[n]};
                const struct plot_context context = {
                    .facts = &s->facts, .events = events, .n_events = n};
                assert_int_equal(plot_draw(&s->plot, &context, PLOT_SVG, &s->svg, NULL), 0);
                size_t found = read_boxes(strbuf_str(&s->svg), "events", boxes, 4);
                for (size_t k = 0; k < found; k++) {
                        strcat(strcat(shown, boxes[k].text), " ");
                        assert_true(boxes[k].from >= 0 && boxes[k].to <= 760);
                        assert_true(k == 0 || boxes[k].from >= boxes[k - 1].to + 3);
                }
                if (strcmp(shown, cases[i].shown) != 0)
                        fail_msg("%s: '%s'", cases[i].why, shown);
                scene_finish(s);
        }
}

static void nothing_to_draw_says_so(void **state UNUSED)
{
        static const struct {
                const char *metrics;
                int ticks;
                const char *hint; /* NULL: it is drawn */
        } cases[] = {
            {NULL, 0, "no samples"},
            {NULL, 5, "--metrics"},
            {"sm_active", 5, NULL}, /* asked for by name: an empty panel */
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct scene *s = calloc(1, sizeof(*s));
                struct err err = {0};
                assert_non_null(s);
                scene_init(s, cases[i].metrics, false);
                for (int k = 0; k < cases[i].ticks; k++)
                        scene_tick(s, k, 1, -1);
                int r = scene_draw(s, &err);
                assert_int_equal(r, cases[i].hint ? ERR_DATA : 0);
                if (cases[i].hint)
                        assert_non_null(strstr(err.hint, cases[i].hint));
                else
                        assert_non_null(strstr(strbuf_str(&s->svg), "no values"));
                scene_finish(s);
        }
}

static void a_clock_that_jumps_is_survived(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        assert_non_null(s);
        scene_init(s, "sm_active", true);
        static const int64_t times[] = {5, 3, INT64_MAX / NS_PER_S - 2000, -900, 6, 7};
        for (size_t i = 0; i < ARRAY_LEN(times); i++) {
                struct frame f = {.wall_ns = (1000 + times[i]) * NS_PER_S, .n = 1, .rows = s->rows};
                s->rows[0].sample.m[METRIC_SM_ACTIVE] = value_ok(0.5);
                assert_int_equal(plot_add_frame(&s->plot, &f), 0);
        }
        assert_int_equal(scene_draw(s, NULL), 0);
        scene_finish(s);
}

static void numbers_of_the_run(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        assert_non_null(s);
        scene_init(s, NULL, false);
        for (int i = 0; i < 60; i++)
                scene_tick(s, i, 1, 0.5);
        for (int i = 0; i < 6; i++)
                assert_int_equal(
                    plot_add_user(&s->plot, (1000 + (int64_t)i * 10) * NS_PER_S, 0, 4.5 - i * 0.5),
                    0);
        assert_int_equal(scene_draw(s, NULL), 0);
        const char *svg = strbuf_str(&s->svg);
        assert_non_null(strstr(svg, ">loss<"));
        assert_non_null(strstr(svg, "min 2.00"));
        /* Seldom is no gap: one piece of curve in each of the two panels. */
        assert_int_equal(count(svg, "stroke=\"#0072b2\""), 2);
        assert_null(strstr(svg, "tokens_per_s"));
        scene_finish(s);
}

static void levels_of_the_host(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        struct host *h = calloc(1, sizeof(*h));
        assert_true(s && h);
        scene_init(s, "cpu_share,memory,load_1,cpu_summary,gpu_util", false);
        s->plot.options.level_gpus = true;
        s->plot.options.level = LEVEL_USER;
        for (int i = 0; i < 30; i++) {
                s->rows[0].sample.m[METRIC_GPU_UTIL] = value_ok(1);
                scene_tick(s, i, 1, 0.5);
        }
        for (int i = 0; i < 30; i++) {
                struct level_state *l = &h->levels[LEVEL_USER];
                *h = (struct host){.wall_ns = (1000 + (int64_t)i) * NS_PER_S, .n_gpus = 1};
                snprintf(h->gpus[0], sizeof(h->gpus[0]), "0");
                l->present = true;
                l->f[FIGURE_CPU_SHARE] = value_ok(0.25);
                l->f[FIGURE_MEMORY] = value_ok(3 * 1073741824.0);
                l->f[FIGURE_MEMORY_LIMIT] = value_ok(8 * 1073741824.0);
                l->gpus[0].util = value_ok(0.125);
                h->system[SYSTEM_LOAD_1] = value_ok(1.5);
                assert_int_equal(plot_add_host(&s->plot, h), 0);
        }
        assert_int_equal(scene_draw(s, NULL), 0);
        const char *svg = strbuf_str(&s->svg);
        static const char *const wanted[] = {
            "CPU share (user), %", "mean 25.0", "Memory (user), GiB",        "limit 8.00",
            "Load over 1 min<",    "mean 1.50", "GPU utilization (user), %", "mean 12.5",
        };
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
                if (!strstr(svg, wanted[i]))
                        fail_msg("'%s' is not there", wanted[i]);
        }
        free(h);
        scene_finish(s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(value_axes),
            cmocka_unit_test(time_axes),
            cmocka_unit_test(ticks_of_nonsense),
            cmocka_unit_test(durations),
            cmocka_unit_test(texts),
            cmocka_unit_test(halving_keeps_peaks),
            cmocka_unit_test(columns_keep_peaks),
            cmocka_unit_test(missing_is_a_gap),
            cmocka_unit_test(infinities_are_missing),
            cmocka_unit_test(lanes),
            cmocka_unit_test(narrow_bands_join),
            cmocka_unit_test(bands_at_the_edges),
            cmocka_unit_test(choices),
            cmocka_unit_test(choices_that_are_none),
            cmocka_unit_test(titles_are_words),
            cmocka_unit_test(a_missing_stretch_is_not_drawn),
            cmocka_unit_test(two_gpus_are_a_range_or_two_lines),
            cmocka_unit_test(names_of_events),
            cmocka_unit_test(nothing_to_draw_says_so),
            cmocka_unit_test(a_clock_that_jumps_is_survived),
            cmocka_unit_test(numbers_of_the_run),
            cmocka_unit_test(levels_of_the_host),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
