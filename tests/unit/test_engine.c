#include "test.h"

#include "base/clock.h"
#include "engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static char tour[512];

static struct pipeline_config source;

static struct engine_config tour_config(double speed)
{
        snprintf(tour, sizeof(tour), "%s/tour/h200-tour.dmon.txt", getenv("FIXTURES"));
        source = (struct pipeline_config){
            .ops = source_find("replay"),
            .source = {.location = tour, .poll_ns = 100 * NS_PER_MS, .root = ""},
            .selection = {.all = true}};
        return (struct engine_config){
            .source = &source, .plays = true, .speed = speed, .history = 2000, .keep = true};
}

/* Takes frames until the state or the time fits. False after twenty seconds. */
static bool wait_for(struct engine *e, enum engine_state state, int64_t position_ns,
                     const struct frame **ret)
{
        int64_t until = clock_mono_ns() + 20 * NS_PER_S;
        while (clock_mono_ns() < until) {
                struct pollfd p = {engine_fd(e), POLLIN, 0};
                struct engine_status s;
                poll(&p, 1, 20);
                *ret = engine_take(e);
                engine_status(e, &s);
                if (s.state == state && *ret && (position_ns < 0 || (*ret)->wall_ns == position_ns))
                        return true;
        }
        return false;
}

static void plays_to_the_end(void **state UNUSED)
{
        struct engine_config c = tour_config(0);
        const struct frame *frame = NULL;
        struct engine *e;
        struct engine_status s;
        assert_int_equal(engine_start(&c, &e, NULL), 0);
        assert_true(wait_for(e, ENGINE_ENDED, -1, &frame));
        engine_status(e, &s);
        assert_true(s.replay && s.winds);
        assert_int_equal(s.interval_ns, 100 * NS_PER_MS);
        assert_int_equal(s.position_ns, s.duration_ns);
        assert_int_equal(frame->n, 1);
        assert_string_equal(frame->rows[0].sample.who->label, "0");
        struct point p[4];
        struct trends t = engine_trends(e);
        assert_int_equal(t.copy(t.arg, 0, METRIC_POWER, 0, INT64_MAX, p, 4), 4);
        engine_close(e);
}

static void keeps_real_time(void **state UNUSED)
{
        struct engine_config c = tour_config(4);
        const struct frame *frame = NULL;
        struct engine *e;
        int64_t start = clock_mono_ns();
        assert_int_equal(engine_start(&c, &e, NULL), 0);
        while (!frame || frame->wall_ns < 2 * NS_PER_S) {
                struct pollfd p = {engine_fd(e), POLLIN, 0};
                assert_true(poll(&p, 1, 1000) > 0);
                frame = engine_take(e);
        }
        int64_t took = clock_mono_ns() - start;
        /* Two seconds of a capture at four times its speed: not sooner, and not at its own. */
        assert_in_range(took / NS_PER_MS, 400, 1900);
        engine_close(e);
}

static void winds(void **state UNUSED)
{
        struct engine_config c = tour_config(1);
        const struct frame *frame = NULL;
        struct engine *e;
        assert_int_equal(engine_start(&c, &e, NULL), 0);
        engine_pause(e, true);
        assert_true(engine_seek(e, 42 * NS_PER_S));
        assert_true(wait_for(e, ENGINE_PAUSED, 42 * NS_PER_S, &frame));
        assert_int_equal(frame->rows[0].verdict.workload, WORKLOAD_IO);
        engine_step(e, 1);
        assert_true(wait_for(e, ENGINE_PAUSED, 42100 * NS_PER_MS, &frame));
        engine_step(e, -1);
        assert_true(wait_for(e, ENGINE_PAUSED, 42 * NS_PER_S, &frame));
        engine_step(e, -1);
        assert_true(wait_for(e, ENGINE_PAUSED, 41900 * NS_PER_MS, &frame));
        assert_true(engine_seek(e, 10 * NS_PER_S));
        assert_true(wait_for(e, ENGINE_PAUSED, 10 * NS_PER_S, &frame));
        struct point p[8];
        struct trends t = engine_trends(e);
        size_t n = t.copy(t.arg, 0, METRIC_GPU_UTIL, 0, INT64_MAX, p, 8);
        assert_int_equal(p[n - 1].wall_ns, 10 * NS_PER_S);
        assert_true(engine_seek(e, 100000 * NS_PER_S));
        assert_true(wait_for(e, ENGINE_ENDED, -1, &frame));
        assert_true(engine_seek(e, 0));
        assert_true(wait_for(e, ENGINE_PAUSED, 0, &frame));
        engine_pause(e, false);
        assert_true(wait_for(e, ENGINE_RUNNING, 100 * NS_PER_MS, &frame));
        engine_close(e);
}

static void tells_failure(void **state UNUSED)
{
        struct engine_config c = tour_config(1);
        struct engine *e;
        struct engine_status s;
        source.source.location = "/nowhere/at/all";
        assert_int_equal(engine_start(&c, &e, NULL), 0);
        struct pollfd p = {engine_fd(e), POLLIN, 0};
        assert_true(poll(&p, 1, 1000) > 0);
        engine_status(e, &s);
        assert_int_equal(s.state, ENGINE_FAILED);
        assert_int_equal(s.err.code, ERR_NO_SOURCE);
        assert_true(s.err.hint[0] != '\0');
        assert_null(engine_take(e));
        engine_close(e);
}

/* --- a source that gives two batches and then hangs in a call nobody can end --------------- */

static pthread_mutex_t hanging = PTHREAD_MUTEX_INITIALIZER;
static atomic_int closed;

struct source {
        int given;
        struct schema schema;
        struct raw value;
        struct reading reading;
};

static int fake_open(const struct source_config *config UNUSED, struct source **ret,
                     struct err *err UNUSED)
{
        struct source *s = calloc(1, sizeof(*s));
        s->schema = (struct schema){.dialect = DIALECT_CANON, .revision = 1, .n = 1};
        strcpy(s->schema.names[0], "power");
        s->value = (struct raw){.num = 300, .state = STATE_OK};
        s->reading = (struct reading){.who = {.index = 0, .gi = -1, .ci = -1, .flat = -1},
                                      .values = &s->value};
        *ret = s;
        return 0;
}

static int fake_next(struct source *s, struct batch *ret, struct err *err UNUSED)
{
        if (s->given == 2) {
                pthread_mutex_lock(&hanging);
                pthread_mutex_unlock(&hanging);
                return 0;
        }
        *ret = (struct batch){.schema = &s->schema,
                              .wall_ns = clock_wall_ns(),
                              .mono_ns = clock_mono_ns(),
                              .readings = &s->reading,
                              .n = 1};
        s->given++;
        return 1;
}

static void fake_close(struct source *s)
{
        free(s);
        atomic_fetch_add(&closed, s != NULL);
}

static const struct source_ops hung_source = {
    .name = "hung", .open = fake_open, .next = fake_next, .close = fake_close};

static void leaves_a_hung_source(void **state UNUSED)
{
        const struct pipeline_config hung = {.ops = &hung_source,
                                             .source = {.poll_ns = NS_PER_S, .root = ""},
                                             .selection = {.all = true}};
        const struct engine_config c = {.source = &hung, .history = 10, .keep = true};
        const struct frame *frame = NULL;
        struct engine *e;
        struct engine_status s;
        pthread_mutex_lock(&hanging);
        assert_int_equal(engine_start(&c, &e, NULL), 0);
        assert_true(wait_for(e, ENGINE_RUNNING, -1, &frame));
        poll(NULL, 0, 150);
        frame = engine_take(e);
        engine_status(e, &s);
        assert_int_equal(s.ticks, 2);
        assert_true(s.busy_ns > 100 * NS_PER_MS && s.age_ns > 100 * NS_PER_MS);
        assert_true(frame->rows[0].sample.m[METRIC_POWER].v > 299);
        int64_t start = clock_mono_ns();
        engine_close(e);
        assert_true(clock_mono_ns() - start < 200 * NS_PER_MS);
        /* When the call does return, the thread tidies up after itself. */
        assert_int_equal(atomic_load(&closed), 0);
        pthread_mutex_unlock(&hanging);
        for (int i = 0; i < 100 && atomic_load(&closed) == 0; i++)
                poll(NULL, 0, 10);
        assert_int_equal(atomic_load(&closed), 1);
        poll(NULL, 0, 20);
}

/* --- a source of several parts --------------------------------------------------------------- */

/* In tick t bit i of t says that part i is stale. */
#define PARTS 3
struct parts {
        int tick;
        struct schema schema;
        struct raw values[PARTS];
        struct reading readings[PARTS];
        struct batch batches[PARTS];
};

static int parts_open(const struct source_config *config UNUSED, struct source **ret,
                      struct err *err UNUSED)
{
        struct parts *s = calloc(1, sizeof(*s));
        s->schema = (struct schema){.dialect = DIALECT_CANON, .revision = 1, .n = 1};
        strcpy(s->schema.names[0], "power");
        for (int i = 0; i < PARTS; i++) {
                s->values[i] = (struct raw){.num = 100 * (i + 1), .state = STATE_OK};
                s->readings[i] = (struct reading){
                    .who = {.index = i, .gi = -1, .ci = -1, .flat = -1}, .values = &s->values[i]};
        }
        *ret = (struct source *)s;
        return 0;
}

static int parts_next(struct source *of, struct batch *ret, struct err *err UNUSED)
{
        struct parts *s = (struct parts *)of;
        if (s->tick == 1 << PARTS)
                return 0;
        for (int i = 0; i < PARTS; i++)
                s->batches[i] = (struct batch){.schema = &s->schema,
                                               .wall_ns = (s->tick + 1) * NS_PER_S,
                                               .mono_ns = (s->tick + 1) * NS_PER_S,
                                               .readings = &s->readings[i],
                                               .n = 1,
                                               .stale = s->tick >> i & 1,
                                               .more = i + 1 < PARTS ? &s->batches[i + 1] : NULL};
        *ret = s->batches[0];
        s->tick++;
        return 1;
}

static void parts_close(struct source *s)
{
        free(s);
}

/* One part that hangs does not make the others stale: a tick is stale when all of it is. */
static void stale_when_all_parts_are(void **state UNUSED)
{
        static const struct source_ops ops = {
            .name = "parts", .open = parts_open, .next = parts_next, .close = parts_close};
        const struct pipeline_config config = {
            .ops = &ops, .source = {.poll_ns = NS_PER_S, .root = ""}, .selection = {.all = true}};
        struct pipeline *p;
        const struct frame *f;
        struct err err = {0};
        assert_int_equal(pipeline_open(&config, &p, &err), 0);
        for (int tick = 0; tick < 1 << PARTS; tick++) {
                assert_int_equal(pipeline_next(p, &f, &err), 1);
                assert_int_equal(f->n, PARTS);
                assert_int_equal(f->stale, tick == (1 << PARTS) - 1);
                for (int i = 0; i < PARTS; i++)
                        assert_true(f->rows[i].sample.m[METRIC_POWER].v == 100 * (i + 1));
        }
        assert_int_equal(pipeline_next(p, &f, &err), 0);
        pipeline_close(p);
}

/* Winding, stepping and closing from all sides: for the thread sanitizer and for valgrind. */
static void survives_haste(void **state UNUSED)
{
        for (int round = 0; round < 5; round++) {
                struct engine_config c = tour_config(50);
                struct engine *e;
                assert_int_equal(engine_start(&c, &e, NULL), 0);
                for (int i = 0; i < 200; i++) {
                        struct engine_status s;
                        const struct frame *frame = engine_take(e);
                        engine_status(e, &s);
                        if (frame)
                                assert_int_equal(frame->n, 1);
                        if (i % 17 == 0)
                                engine_seek(e, (i * 7919 % 130) * NS_PER_S);
                        if (i % 23 == 0)
                                engine_step(e, i % 2 ? 1 : -1);
                        if (i % 29 == 0)
                                engine_pause(e, i % 2 != 0);
                        if (i % 31 == 0)
                                engine_set_speed(e, 1 + i);
                        poll(NULL, 0, i % 10 == 0);
                }
                engine_close(e);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(plays_to_the_end),
            cmocka_unit_test(keeps_real_time),
            cmocka_unit_test(winds),
            cmocka_unit_test(tells_failure),
            cmocka_unit_test(leaves_a_hung_source),
            cmocka_unit_test(stale_when_all_parts_are),
            cmocka_unit_test(survives_haste),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
