#include "app/collecting.h"

#include "app/setup.h"
#include "base/clock.h"
#include "read/collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Oftener than once a second a shell would cost more than all the rest. */
#define COLLECT_MIN_NS NS_PER_S

struct collecting {
        struct session *session;
        collecting_say *say;
        bool reported; /* that the session does not take them */
        struct collector *collector;
};

static void keep_value(void *arg, const struct collected *value)
{
        struct collecting *c = arg;
        char data[COLLECTED_UNIT_MAX + 16];
        struct err err = {0};
        struct mark m;
        mark_init(&m, MARK_METRIC);
        m.wall_ns = value->wall_ns;
        m.mono_ns = value->mono_ns;
        m.has_value = true;
        m.value = value->value;
        snprintf(m.name, sizeof(m.name), "%s", value->name);
        snprintf(data, sizeof(data), "{\"unit\":\"%s\"}", value->unit);
        m.data = value->unit[0] ? strdup(data) : NULL;
        if (session_mark(c->session, &m, &err) < 0 && !c->reported) {
                c->reported = true;
                c->say(value->name, err.msg);
        }
        mark_finish(&m);
}

static void report_collector(void *arg, const char *name, const char *why)
{
        struct collecting *c = arg;
        c->say(name, why);
}

int collecting_list(const struct config *config, struct collect_list *ret, struct err *err)
{
        const char *text = config_text(config, OPT_COLLECT);
        return collect_parse_list(text ? text : "", ret, err);
}

int collecting_check(const struct config *config, struct err *err)
{
        struct collect_list list;
        int r = collecting_list(config, &list, err);
        collect_list_finish(&list);
        return r;
}

int64_t collecting_interval(const struct config *config)
{
        return MAX(clock_from_seconds(config_number(config, OPT_POLL)), COLLECT_MIN_NS);
}

int collecting_start(const struct config *config, struct session *session, collecting_say *say,
                     struct collecting **ret, struct err *err)
{
        struct collector_config cc = {.on_value = keep_value, .on_trouble = report_collector};
        *ret = NULL;
        int r = collecting_list(config, &cc.list, err);
        struct collecting *c = r == 0 && cc.list.n > 0 ? calloc(1, sizeof(*c)) : NULL;
        if (!c) {
                r = r == 0 && cc.list.n > 0 ? err_set(err, -ENOMEM, "out of memory") : r;
                collect_list_finish(&cc.list);
                return r;
        }
        cc.interval_ns = collecting_interval(config);
        cc.arg = c;
        c->session = session;
        c->say = say;
        r = collector_open(&cc, &c->collector, err);
        if (r < 0) {
                free(c);
                return r;
        }
        *ret = c;
        return 0;
}

void collecting_stop(struct collecting *c)
{
        if (!c)
                return;
        collector_close(c->collector);
        free(c);
}
