/* Plots: a list of metrics, names of phases and events, and values from strangers' files. */
#include "fuzz.h"

#include "base/clock.h"
#include "present/chart/plot.h"

#include <stdlib.h>
#include <string.h>

#define PHASES_MAX 64

/* The next line of the input, terminated; "" at the end. */
static const char *next_line(const uint8_t **data, size_t *size, char *buf, size_t n)
{
        const uint8_t *end = memchr(*data, '\n', *size);
        size_t len = end ? (size_t)(end - *data) : *size, used = len + (end != NULL);
        size_t kept = len < n - 1 ? len : n - 1;
        if (kept > 0)
                memcpy(buf, *data, kept);
        buf[kept] = '\0';
        *data += used;
        *size -= used;
        return buf;
}

/* A time from a byte: mostly of the run, sometimes far away. */
static int64_t time_of(uint8_t b)
{
        if (b == 255)
                return INT64_MAX;
        return b == 254 ? INT64_MIN : ((int64_t)b - 10) * NS_PER_S;
}

static void add_frames(struct plot *p, const uint8_t *data, size_t size)
{
        struct entity gpus[2] = {{.slot = 0, .label = "0"}, {.slot = 300, .label = "<1>"}};
        struct row rows[2] = {{.sample.who = &gpus[0]}, {.sample.who = &gpus[1]}};
        int64_t now = 0;
        for (size_t i = 0; i + 10 <= size; i += 10) {
                double v;
                struct frame f = {.n = 1 + (data[i] & 1), .rows = rows};
                memcpy(&v, data + i + 1, sizeof(v));
                now = data[i + 9] == 255 ? INT64_MAX : now / 2 + (int64_t)data[i + 9] * NS_PER_S;
                f.wall_ns = now;
                for (size_t m = 0; m < METRIC_COUNT; m++)
                        rows[m & 1].sample.m[m] = data[i] & 2 ? value_ok(v) : value_missing(0);
                plot_add_frame(p, &f);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct plot plot;
        static struct phase phases[PHASES_MAX];
        struct plot_event event = {.wall_ns = 2 * NS_PER_S};
        struct plot_options o = {.width = 400, .level = LEVEL_COUNT, .to_ns = INT64_MAX};
        struct run_facts facts = {0};
        const struct user_names user = {{"loss"}, 1};
        char list[256], name[PHASE_NAME_MAX];
        struct err err = {0};
        struct strbuf out = {0};
        size_t n = 0;
        next_line(&data, &size, list, sizeof(list));
        if (choices_parse(list[0] ? list : NULL, &user, &o.choices, &err) < 0) {
                if (err.msg[0] == '\0' || err.hint[0] == '\0')
                        abort(); /* an error always says what and what to do */
                choices_parse(NULL, &user, &o.choices, &err);
        }
        o.title = next_line(&data, &size, facts.command, sizeof(facts.command));
        while (n < PHASES_MAX && next_line(&data, &size, name, sizeof(name))[0]) {
                struct phase *p = &phases[n++];
                size_t len = strlen(name);
                memcpy(p->name, name, len + 1);
                p->begin_ns = time_of((uint8_t)name[0]);
                p->end_ns = time_of((uint8_t)name[len - 1]);
        }
        event.name = name;
        o.per_gpu = n & 1;
        o.from_ns = n & 2 ? 0 : INT64_MIN;
        plot_init(&plot, &o, 0);
        add_frames(&plot, data, size);
        const struct plot_context around = {
            .facts = &facts, .phases = phases, .n_phases = n, .events = &event, .n_events = 1};
        if (plot_draw(&plot, &around, PLOT_SVG, &out, &err) == 0 &&
            (out.len < 20 || memcmp(out.s + out.len - 7, "</svg>\n", 7) != 0))
                abort();
        for (size_t i = 0; i < out.len; i++) {
                if ((uint8_t)out.s[i] < ' ' && out.s[i] != '\n')
                        abort(); /* no XML */
        }
        plot_finish(&plot);
        strbuf_finish(&out);
        return 0;
}
