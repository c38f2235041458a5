/* Sources joined to one, by toys that do what the case needs: hang, fail, come late. */
#include "test.h"

#include "base/clock.h"
#include "engine/pipeline.h"
#include "formats/batcher.h"
#include "read/join/batch_copy.h"
#include "read/join/joined.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define POLL_NS (50 * NS_PER_MS)
#define TOY_GPUS_MAX 8

/* Its one value is 100 × the toy's number + the tick. */
struct toy {
        int number;
        enum dialect dialect;
        const char *field; /* the value's name in that dialect */
        const char *pci_field;
        const char *pci[TOY_GPUS_MAX];
        atomic_int gpus;
        atomic_bool hang, fail, refuse;
        atomic_int closed;
};

struct source {
        struct toy *toy;
        int ticks;
        atomic_bool stop;
        struct schema schema;
        struct reading readings[TOY_GPUS_MAX];
        struct raw cells[TOY_GPUS_MAX][2];
};

static struct toy toys[3];

static void nap(int64_t ns)
{
        nanosleep(&(struct timespec){ns / NS_PER_S, ns % NS_PER_S}, NULL);
}

static int toy_open(struct toy *toy, struct source **ret, struct err *err)
{
        if (toy->refuse)
                return err_set(err, ERR_NO_SOURCE, "the toy is broken");
        struct source *s = calloc(1, sizeof(*s));
        s->toy = toy;
        s->schema.dialect = toy->dialect;
        s->schema.n = 2;
        s->schema.revision = 1;
        snprintf(s->schema.names[0], FIELD_NAME_MAX, "%s", toy->field);
        snprintf(s->schema.names[1], FIELD_NAME_MAX, "%s", toy->pci_field);
        *ret = s;
        return 0;
}

static int open_0(const struct source_config *c UNUSED, struct source **ret, struct err *err)
{
        return toy_open(&toys[0], ret, err);
}

static int open_1(const struct source_config *c UNUSED, struct source **ret, struct err *err)
{
        return toy_open(&toys[1], ret, err);
}

static int toy_next(struct source *s, struct batch *ret, struct err *err)
{
        struct toy *toy = s->toy;
        nap(POLL_NS);
        while (toy->hang)
                nap(NS_PER_MS);
        if (s->stop)
                return 0;
        if (toy->fail)
                return err_set(err, -EIO, "the toy fell down");
        int n = toy->gpus;
        for (int i = 0; i < n; i++) {
                s->cells[i][0] =
                    (struct raw){.num = 100 * toy->number + s->ticks, .state = STATE_OK};
                s->cells[i][1] =
                    (struct raw){.text = toy->pci[i],
                                 .len = toy->pci[i] ? (uint16_t)strlen(toy->pci[i]) : 0,
                                 .state = toy->pci[i] ? STATE_OK : STATE_NONE};
                s->readings[i] = (struct reading){
                    .who = {.kind = ENTITY_GPU, .index = i, .gi = -1, .ci = -1, .flat = -1},
                    .values = s->cells[i]};
        }
        s->ticks++;
        *ret = (struct batch){.schema = &s->schema,
                              .mono_ns = clock_mono_ns(),
                              .wall_ns = clock_wall_ns(),
                              .readings = s->readings,
                              .n = (size_t)n};
        return 1;
}

static size_t toy_processes(struct source *s, struct process *ret, size_t max UNUSED)
{
        ret[0] = (struct process){.pid = s->toy->number + 1, .on = {1, 7}};
        ret[1] = (struct process){.pid = s->toy->number + 2, .on = {6, -1}}; /* no such GPU */
        return 2;
}

static void toy_interrupt(struct source *s)
{
        s->stop = true;
}

static void toy_close(struct source *s)
{
        if (!s)
                return;
        s->toy->closed++;
        free(s);
}

static const struct source_ops ops[] = {
    {.name = "toy0",
     .open = open_0,
     .next = toy_next,
     .processes = toy_processes,
     .interrupt = toy_interrupt,
     .close = toy_close},
    {.name = "toy1",
     .open = open_1,
     .next = toy_next,
     .processes = toy_processes,
     .interrupt = toy_interrupt,
     .close = toy_close},
};

static const struct source_config config = {.poll_ns = POLL_NS, .root = ""};

static int set_up(void **state UNUSED)
{
        memset(toys, 0, sizeof(toys));
        for (int i = 0; i < 2; i++) {
                toys[i].number = i + 1;
                toys[i].gpus = 2;
                toys[i].dialect = i ? DIALECT_DRM : DIALECT_NVML;
                toys[i].field = i ? "power1_average" : "power.draw";
                toys[i].pci_field = i ? "pci" : "pci.bus_id";
        }
        return 0;
}

static struct source *join(void)
{
        struct joined_part parts[] = {{.ops = &ops[0]}, {.ops = &ops[1]}};
        struct source *s = NULL;
        assert_int_equal(toy_open(&toys[0], &parts[0].source, NULL), 0);
        assert_int_equal(joined_open(parts, 2, &config, &s, NULL), 0);
        return s;
}

static const struct batch *next(struct source *s, struct batch *b)
{
        struct err err = {0};
        assert_int_equal(source_joined.next(s, b, &err), 1);
        return b;
}

/* The part of a tick that a toy gave; NULL when it is not in it. */
static const struct batch *part_of(const struct batch *b, int toy)
{
        for (; b; b = b->more) {
                if (b->schema->dialect == toys[toy].dialect)
                        return b;
        }
        return NULL;
}

static const struct raw *value_of(const struct batch *b, int toy)
{
        assert_non_null(part_of(b, toy));
        return &part_of(b, toy)->readings[0].values[0];
}

static void one_tick_has_all(void **state UNUSED)
{
        struct batch b;
        struct source *s = join();
        int64_t last = 0, start = clock_mono_ns();
        for (int i = 0; i < 10;) {
                next(s, &b);
                /* On a busy machine a part may come late: that tick is old and says so. */
                i += !b.stale;
                assert_true(clock_mono_ns() - start < 60 * NS_PER_S);
                assert_true(b.more && !b.more->more);
                for (size_t k = 0; k < 2; k++) {
                        assert_int_equal(b.readings[k].who.index, k);
                        assert_int_equal(b.more->readings[k].who.index, 2 + k);
                }
                assert_true(b.stale || b.mono_ns > last);
                last = b.mono_ns;
        }
        /* One tick a beat, not one a part. */
        assert_true(clock_mono_ns() - start > 8 * POLL_NS);
        assert_int_equal((int)value_of(&b, 1)->num / 100, 2);
        assert_string_equal(source_joined.provenance(s), "toy0, toy1");
        source_joined.close(s);
        assert_true(toys[0].closed == 1 && toys[1].closed == 1);
}

static void numbers_stay(void **state UNUSED)
{
        struct batch b;
        struct source *s = join();
        next(s, &b);
        toys[0].gpus = 3;
        for (int i = 0; i < 20 && part_of(next(s, &b), 0)->n < 3; i++)
                ;
        assert_int_equal(part_of(&b, 0)->readings[2].who.index, 4);
        assert_int_equal(part_of(&b, 1)->readings[0].who.index, 2);
        source_joined.close(s);
}

/* Either part hangs: the other goes on at its pace, the values of the one that hangs grow old. */
static void one_hangs(void **state UNUSED)
{
        for (int toy = 0; toy < 2; toy++) {
                struct batch b;
                struct source_trouble trouble;
                struct source *s = join();
                next(s, &b);
                toys[toy].hang = true;
                for (int i = 0; i < 20 && value_of(next(s, &b), toy)->state == STATE_OK; i++)
                        ;
                uint32_t age = 0;
                int64_t start = clock_mono_ns();
                for (int i = 0; i < 10; i++) {
                        next(s, &b);
                        const struct raw *old = value_of(&b, toy), *new = value_of(&b, !toy);
                        assert_true(old->state == STATE_STALE && old->age_ms > age);
                        assert_true(new->state == STATE_OK &&new->age_ms == 0);
                        assert_true(part_of(&b, toy)->stale && !part_of(&b, !toy)->stale);
                        age = old->age_ms;
                }
                assert_true(clock_mono_ns() - start < 25 * POLL_NS);
                source_joined.trouble(s, &trouble);
                assert_non_null(
                    strstr(trouble.notice, toy ? "toy1: no answer" : "toy0: no answer"));
                toys[toy].hang = false;
                for (int i = 0; i < 20 && value_of(next(s, &b), toy)->state != STATE_OK; i++)
                        ;
                assert_int_equal(value_of(&b, toy)->age_ms, 0);
                source_joined.trouble(s, &trouble);
                assert_string_equal(trouble.notice, "");
                source_joined.close(s);
        }
}

static void all_hang(void **state UNUSED)
{
        struct batch b;
        struct source *s = join();
        next(s, &b);
        toys[0].hang = toys[1].hang = true;
        for (int i = 0; i < 20 && !(b.stale && b.more->stale); i++)
                next(s, &b);
        int64_t last = b.mono_ns;
        assert_true(next(s, &b)->mono_ns > last && b.stale);
        int64_t start = clock_mono_ns();
        source_joined.close(s);
        assert_true(clock_mono_ns() - start < NS_PER_S);
        /* Left behind, the threads free everything when the driver answers after all. */
        toys[0].hang = toys[1].hang = false;
        for (int i = 0; i < 200 && (!toys[0].closed || !toys[1].closed); i++)
                nap(10 * NS_PER_MS);
        assert_true(toys[0].closed == 1 && toys[1].closed == 1);
        nap(20 * NS_PER_MS);
}

static void one_fails(void **state UNUSED)
{
        struct batch b;
        struct err err = {0};
        struct source_trouble trouble;
        struct source *s = join();
        next(s, &b);
        toys[1].fail = true;
        for (int i = 0; i < 20 && value_of(next(s, &b), 1)->state == STATE_OK; i++)
                ;
        assert_int_equal(value_of(&b, 0)->state, STATE_OK);
        source_joined.trouble(s, &trouble);
        assert_string_equal(trouble.notice, "toy1: the toy fell down");
        toys[0].fail = true;
        int r = 1;
        for (int i = 0; i < 20 && r > 0; i++)
                r = source_joined.next(s, &b, &err);
        assert_int_equal(r, -EIO);
        source_joined.close(s);
}

static void one_cannot_be_opened(void **state UNUSED)
{
        struct batch b;
        struct source_trouble trouble;
        toys[1].refuse = true;
        struct source *s = join();
        next(s, &b);
        assert_true(!b.more && b.n == 2);
        source_joined.trouble(s, &trouble);
        assert_string_equal(trouble.notice, "toy1: the toy is broken");
        source_joined.close(s);
}

/* One source on a thread: its own errors when it opens, old values when it hangs. */
static void one_alone(void **state UNUSED)
{
        struct batch b;
        struct err err = {0};
        struct process p[8];
        struct source *s = NULL;
        toys[0].refuse = true;
        assert_int_equal(joined_open_one(&ops[0], &config, &s, &err), ERR_NO_SOURCE);
        assert_string_equal(err.msg, "the toy is broken");
        assert_null(s);
        toys[0].refuse = false;
        assert_int_equal(joined_open_one(&ops[0], &config, &s, &err), 0);
        assert_string_equal(joined_provenance(s), "toy0");
        next(s, &b);
        assert_true(!b.more && b.n == 2 && value_of(&b, 0)->state == STATE_OK);
        assert_int_equal(joined_processes(s, p, 8), 1); /* with the first tick already */
        toys[0].hang = true;
        for (int i = 0; i < 20 && value_of(next(s, &b), 0)->state == STATE_OK; i++)
                ;
        assert_true(b.stale && value_of(&b, 0)->state == STATE_STALE);
        toys[0].hang = false;
        joined_close(s);
}

static void tells_processes(void **state UNUSED)
{
        struct batch b;
        struct process p[8];
        struct source *s = join();
        size_t n = 0;
        for (int i = 0; i < 20 && n < 2; i++) {
                next(s, &b);
                n = source_joined.processes(s, p, 8);
        }
        assert_int_equal(n, 2);
        assert_true(p[0].pid == 2 && p[0].on.index == 1 && p[0].on.gi == 7);
        assert_true(p[1].pid == 3 && p[1].on.index == 3 && p[1].on.gi == 7);
        assert_int_equal(source_joined.processes(s, p, 1), 1);
        source_joined.close(s);
}

static void *interrupt_soon(void *s)
{
        nap(100 * NS_PER_MS);
        source_joined.interrupt(s);
        return NULL;
}

static void interrupted(void **state UNUSED)
{
        struct batch b;
        struct err err = {0};
        pthread_t thread;
        toys[0].hang = toys[1].hang = true;
        struct source *s = join();
        int64_t start = clock_mono_ns();
        assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, s), 0);
        assert_int_equal(source_joined.next(s, &b, &err), 0);
        assert_true(clock_mono_ns() - start < NS_PER_S);
        pthread_join(thread, NULL);
        toys[0].hang = toys[1].hang = false;
        source_joined.close(s);
}

static int open_joined(const struct source_config *c, struct source **ret, struct err *err)
{
        struct joined_part parts[] = {{.ops = &ops[0]}, {.ops = &ops[1]}};
        return joined_open(parts, 2, c, ret, err);
}

/* Each part in its own words and units; a card that both show appears once, as the first one's. */
static void one_frame(void **state UNUSED)
{
        struct source_ops joined = source_joined;
        struct pipeline_config pc = {.ops = &joined, .source = config, .selection = {.all = true}};
        struct pipeline *p;
        const struct frame *f;
        struct err err = {0};
        joined.open = open_joined;
        toys[0].pci[0] = "00000000:0A:00.0";
        toys[0].pci[1] = "00010000:0A:00.0";
        toys[1].pci[0] = "0000:0a:00.0";
        toys[1].pci[1] = "0000:0b:00.0";
        assert_int_equal(pipeline_open(&pc, &p, &err), 0);
        for (int i = 0; i < 5; i++)
                assert_int_equal(pipeline_next(p, &f, &err), 1);
        assert_int_equal(f->n, 3);
        static const char *const labels[] = {"0", "1", "3"};
        for (size_t i = 0; i < 3; i++) {
                const struct sample *s = &f->rows[i].sample;
                assert_string_equal(s->who->label, labels[i]);
                assert_string_equal(s->who->text[ENTITY_TEXT_HOST],
                                    f->rows[0].sample.who->text[ENTITY_TEXT_HOST]);
                assert_int_equal(s->m[METRIC_POWER].state, STATE_OK);
        }
        /* The kernel's are microwatts. */
        assert_true(f->rows[0].sample.m[METRIC_POWER].v >= 100 / 1000.0);
        assert_true(f->rows[2].sample.m[METRIC_POWER].v < 1e-3);
        assert_string_equal(f->provenance, "toy0, toy1");
        pipeline_close(p);
}

/* Units are learned by who wrote a reading: one program is 0, and copies know whose they are. */
static void origins_are_known(void **state UNUSED)
{
        struct batcher b;
        struct batch batch;
        struct batch_copy copy = {0};
        batcher_init(&b, DIALECT_CANON);
        batcher_add_field(&b, "gpu_util", strlen("gpu_util"));
        for (int32_t i = 0; i < 100; i++) {
                struct entity_key key = {.index = i, .gi = -1, .ci = -1, .flat = -1};
                assert_non_null(batcher_add(&b, &key));
        }
        batcher_give(&b, &batch);
        for (size_t i = 0; i < batch.n; i++)
                assert_int_equal(batch.readings[i].origin, 0);
        b.readings[7].origin = 4095;
        assert_int_equal(batch_copy_take(&copy, &batch), 0);
        assert_int_equal(copy.readings[7].origin, 4095);
        assert_int_equal(copy.readings[8].origin, 0);
        batch_copy_finish(&copy);
        batcher_finish(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(origins_are_known),
            cmocka_unit_test_setup(one_tick_has_all, set_up),
            cmocka_unit_test_setup(numbers_stay, set_up),
            cmocka_unit_test_setup(one_hangs, set_up),
            cmocka_unit_test_setup(all_hang, set_up),
            cmocka_unit_test_setup(one_fails, set_up),
            cmocka_unit_test_setup(one_cannot_be_opened, set_up),
            cmocka_unit_test_setup(one_alone, set_up),
            cmocka_unit_test_setup(tells_processes, set_up),
            cmocka_unit_test_setup(interrupted, set_up),
            cmocka_unit_test_setup(one_frame, set_up),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
