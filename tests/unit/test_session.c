/* Sessions: numbers survive the packing, and what is written is read, whatever happens between. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "session/block.h"
#include "session/series.h"
#include "session/session.h"
#include "session/spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define M(state) CELL_MISSING(STATE_##state)

static void blocks(void **state UNUSED)
{
        static const struct {
                const char *reason;
                size_t n;
                cell cells[10];
                unsigned bits;
                bool has_states;
                unsigned index_bits;
        } cases[] = {
            {"one value", 1, {42}, 0, false, 0},
            {"all the same take no bytes", 4, {7, 7, 7, 7}, 0, false, 0},
            {"negative numbers", 3, {-5, 0, 5}, 4, false, 0},
            {"the largest span of eight bits", 2, {0, 255}, 8, false, 0},
            {"one more needs nine", 2, {0, 256}, 9, false, 0},
            {"far from zero, close to each other", 2, {1000000000, 1000000001}, 1, false, 0},
            {"missing for all, one reason", 3, {M(BLANK), M(BLANK), M(BLANK)}, 0, false, 0},
            {"missing for two reasons", 3, {M(BLANK), M(DENIED), M(BLANK)}, 4, true, 0},
            {"missing between values", 4, {1, M(NONE), 3, M(ERROR)}, 4, true, 0},
            {"the largest span beside states", 2, {247, M(NONE)}, 4, true, 0},
            {"one value and the rest missing", 3, {9, M(NONE), M(NONE)}, 4, true, 0},
            {"bytes per second of a fast link", 2, {0, 63000000000}, 36, false, 0},
            {"the limits", 2, {-BLOCK_LIMIT, BLOCK_LIMIT}, 56, true, 0},
            {"few large values again and again",
             10,
             {0, 1 << 20, 0, 1 << 20, 0, 1 << 20, 0, 0, 0, 0},
             21,
             false,
             1},
            {"three of them, and none",
             10,
             {0, 1 << 20, 5, 1 << 20, M(ERROR), M(ERROR), 5, 5, 5, 0},
             21,
             true,
             2},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                uint8_t blob[BLOCK_TICKS * BLOCK_WIDTH_MAX + BLOCK_PAD] = {0};
                struct coded c = block_encode(cases[i].cells, cases[i].n, blob);
                if (c.bits != cases[i].bits || c.index_bits != cases[i].index_bits ||
                    (c.has_base && c.bits > 0 && c.has_states != cases[i].has_states))
                        fail_msg("%s: %u bits, %u of places, states %d", cases[i].reason, c.bits,
                                 c.index_bits, c.has_states);
                for (size_t k = 0; k < cases[i].n; k++) {
                        if (block_decode(&c, blob, k) != cases[i].cells[k])
                                fail_msg("%s: value %zu", cases[i].reason, k);
                }
        }
        cell none[] = {M(NONE), M(NONE)};
        uint8_t blob[BLOCK_TICKS * BLOCK_WIDTH_MAX + BLOCK_PAD] = {0};
        assert_true(block_encode(none, 2, blob).empty);
}

static void random_blocks(void **state UNUSED)
{
        uint64_t seed = 1;
        for (int round = 0; round < 2000; round++) {
                cell cells[BLOCK_TICKS];
                uint8_t blob[BLOCK_TICKS * BLOCK_WIDTH_MAX + BLOCK_PAD] = {0};
                seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                unsigned bits = (unsigned)(seed >> 58) % 52 + 1;
                size_t n = (size_t)(seed >> 40) % BLOCK_TICKS + 1;
                for (size_t i = 0; i < n; i++) {
                        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                        cells[i] =
                            (seed >> 61) == 0 ? M(UNSUPPORTED) : (cell)(seed >> (64 - bits)) - 1000;
                }
                struct coded c = block_encode(cells, n, blob);
                struct coded back = {
                    .has_base = c.has_base, .state = c.state, .base = c.base, .len = c.len};
                assert_true(block_take_form(block_form(&c), &back));
                for (size_t i = 0; i < n; i++)
                        assert_int_equal(block_decode(&back, blob, i), cells[i]);
                /* A place beyond the last byte is missing, not memory of others. */
                if (c.bits > 0)
                        assert_false(cell_is_set(block_decode(&c, blob, n + 8)));
        }
}

/* What the column width may be: all that is written, and what older files have. */
static void forms(void **state UNUSED)
{
        static const int64_t bad[] = {-1,
                                      8,
                                      9,
                                      11,
                                      8 + 1 + 2 * 3,
                                      8 + 2 * 49,
                                      8 + 2 * 57,
                                      8 + 2 * 4 + (1 << 7),
                                      8 + 2 * 4 + (1 << 10),
                                      8 + 2 * 4 + (1 << 7) + (129 << 10),
                                      INT64_MAX};
        struct coded c = {0};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                if (block_take_form(bad[i], &c))
                        fail_msg("%lld is taken", (long long)bad[i]);
        }
        for (int64_t width = 0; width <= BLOCK_WIDTH_MAX; width++) {
                assert_true(block_take_form(width, &c));
                assert_int_equal(c.bits, 8 * width);
                assert_true(c.has_states && c.index_bits == 0);
        }
        /* Bytes as they were until 0.2.0: 300 and 0 above 1000, and one that was denied. */
        static const uint8_t old[6 + BLOCK_PAD] = {0x01, 0x2c, 0, 0, 0xff, 0xff - STATE_DENIED};
        assert_true(block_take_form(2, &c));
        c.has_base = true;
        c.base = 1000;
        c.len = 6;
        assert_int_equal(block_decode(&c, old, 0), 1300);
        assert_int_equal(block_decode(&c, old, 1), 1000);
        assert_int_equal(block_decode(&c, old, 2), M(DENIED));
        assert_int_equal(block_decode(&c, old, 3), M(NONE));
}

static void scales(void **state UNUSED)
{
        static const struct series_scale bad[] = {{-1, 1}, {0, 1}, {1, 0}, {1e13, 1}, {1, 1e-13}};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_false(series_scale_fits(bad[i]));
        for (size_t i = 0; i < SERIES_COUNT; i++) {
                struct series_scale s = series_scale(series_info(i));
                assert_int_equal(series_find(series_info(i)->name), i);
                assert_true(s.step == 1 || s.scale == 1);
        }
        assert_int_equal(series_find("no_such"), SERIES_COUNT);
        assert_int_equal(cell_from(value_ok(0.12345), 1, 10000), 1234);
        assert_int_equal(cell_from(value_ok(1e300), 1, 1), BLOCK_LIMIT);
        assert_int_equal(cell_from(value_missing(STATE_DENIED), 1, 1), M(DENIED));
        assert_int_equal(cell_value(M(DENIED), 1, 1).state, STATE_DENIED);
        /* A value that is only repeated is not a new one; nor does it come back as 0. */
        struct value old = {.v = 5, .age_ms = 3000, .state = STATE_STALE};
        assert_int_equal(cell_from(old, 1, 1), M(STALE));
        assert_false(value_is_set(cell_value(M(STALE), 1, 1)));
        assert_false(value_is_set(cell_value(CELL_MISSING(99), 1, 1)));
}

/* ---- whole files ---- */

static char folder[] = "/tmp/assay-session-XXXXXX";
static char path[64];

static int make_folder(void **state UNUSED)
{
        if (!mkdtemp(folder))
                return -1;
        snprintf(path, sizeof(path), "%s/t.assay", folder);
        return 0;
}

static int remove_folder(void **state UNUSED)
{
        char command[100];
        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

static void fill(struct frame *f, struct row *rows, const struct entity *who, size_t n, int tick)
{
        *f = (struct frame){.wall_ns = (1000 + tick) * NS_PER_S,
                            .mono_ns = (1000 + tick) * NS_PER_S,
                            .provenance = "test",
                            .n = n,
                            .rows = rows};
        for (size_t i = 0; i < n; i++) {
                memset(&rows[i], 0, sizeof(rows[i]));
                rows[i].sample.who = &who[i];
                rows[i].sample.m[METRIC_SM_ACTIVE] = value_ok((tick % 100) / 100.0);
                rows[i].sample.m[METRIC_POWER] = value_ok(100 + (double)i);
                rows[i].sample.m[METRIC_GPU_UTIL] =
                    tick % 3 ? value_ok(0.5) : value_missing(STATE_BLANK);
                rows[i].verdict.workload = WORKLOAD_IDLE;
                rows[i].health.state = HEALTH_OK;
        }
}

static struct session *write_ticks(int ticks)
{
        static struct entity who[2] = {{.slot = 0, .index = 0, .gi = -1, .ci = -1, .flat = -1},
                                       {.slot = 1, .index = 1, .gi = -1, .ci = -1, .flat = -1}};
        struct session *s = NULL;
        struct err err = {0};
        unlink(path);
        assert_int_equal(session_create(path, SESSION_START_FIRST, &s, &err), 0);
        for (int i = 0; i < ticks; i++) {
                struct row rows[2];
                struct frame f;
                /* The second GPU comes late and leaves early. */
                fill(&f, rows, who, i >= 10 && i < 290 ? 2 : 1, i);
                assert_true(session_add(s, &f, &err) >= 0);
        }
        return s;
}

static int check_ticks(void)
{
        struct session_reader *r = NULL;
        struct err err = {0};
        const struct frame *f;
        int n = 0, got;
        if (session_open(path, &r, &err) < 0)
                fail_msg("%s", err.msg);
        while ((got = session_next(r, &f, &err)) > 0) {
                assert_int_equal(f->wall_ns, (1000 + n) * NS_PER_S);
                assert_int_equal(f->n, n >= 10 && n < 290 ? 2 : 1);
                const struct value *m = f->rows[0].sample.m;
                assert_float_equal(m[METRIC_SM_ACTIVE].v, (n % 100) / 100.0, 1e-9);
                assert_int_equal(m[METRIC_GPU_UTIL].state, n % 3 ? STATE_OK : STATE_BLANK);
                assert_int_equal(m[METRIC_DRAM_ACTIVE].state, STATE_NONE);
                assert_int_equal(f->rows[0].verdict.workload, WORKLOAD_IDLE);
                n++;
        }
        assert_int_equal(got, 0);
        session_reader_close(r);
        return n;
}

static void written_is_read(void **state UNUSED)
{
        static const int ticks[] = {0, 1, 127, 128, 129, 300};
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct err err = {0};
                assert_int_equal(session_close(write_ticks(ticks[i]), &err), 0);
                assert_int_equal(check_ticks(), ticks[i]);
        }
}

static void readable_while_it_grows(void **state UNUSED)
{
        struct err err = {0};
        struct session *s = write_ticks(200);
        assert_int_equal(session_commit(s, &err), 0);
        assert_int_equal(check_ticks(), 200);
        assert_int_equal(session_close(s, &err), 0);
        struct stat st;
        char spool[80];
        snprintf(spool, sizeof(spool), "%s-wal", path);
        assert_int_equal(stat(spool, &st), -1);
        snprintf(spool, sizeof(spool), "%s" SPOOL_SUFFIX, path);
        assert_int_equal(stat(spool, &st), -1);
}

#define ROUNDS 40
static atomic_int round_now; /* below 0: enough */

static void path_of_round(int round, const char *end, char ret[100])
{
        snprintf(ret, 100, "%s/round-%d.assay%s", folder, round, end);
}

static void *read_again_and_again(void *arg UNUSED)
{
        int round;
        while ((round = atomic_load(&round_now)) >= 0) {
                struct session_reader *r = NULL;
                struct err err = {0};
                char file[100];
                path_of_round(round, "", file);
                if (session_open(file, &r, &err) == 0)
                        session_reader_close(r);
        }
        return NULL;
}

/* Whoever opens a session cleans up after a dead recorder; one that just starts is not dead. */
static void a_reader_at_the_start(void **state UNUSED)
{
        pthread_t threads[3];
        char file[100], spool[100];
        for (size_t i = 0; i < ARRAY_LEN(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, read_again_and_again, NULL), 0);
        for (int i = 0; i < ROUNDS; i++) {
                struct session *s = NULL;
                struct err err = {0};
                struct stat st;
                atomic_store(&round_now, i);
                path_of_round(i, "", file);
                path_of_round(i, SPOOL_SUFFIX, spool);
                if (session_create(file, 0, &s, &err) < 0)
                        fail_msg("%s", err.msg);
                assert_int_equal(stat(spool, &st), 0);
                session_close(s, &err);
        }
        atomic_store(&round_now, -1);
        for (size_t i = 0; i < ARRAY_LEN(threads); i++)
                pthread_join(threads[i], NULL);
        for (int i = 0; i < ROUNDS; i++) {
                path_of_round(i, "", file);
                unlink(file);
        }
}

static void an_existing_file_is_refused(void **state UNUSED)
{
        struct err err = {0};
        struct session *s = write_ticks(1), *other = NULL;
        assert_int_equal(session_create(path, 0, &other, &err), -EEXIST);
        assert_null(other);
        assert_int_equal(session_close(s, &err), 0);
}

static size_t count_marks(void)
{
        struct session_reader *r = NULL;
        struct err err = {0};
        struct mark *list = NULL;
        size_t n = 0;
        assert_int_equal(session_open(path, &r, &err), 0);
        assert_int_equal(session_marks(r, &list, &n, &err), 0);
        for (size_t i = 0; i < n; i++) {
                assert_true(i == 0 || list[i].wall_ns >= list[i - 1].wall_ns);
                mark_finish(&list[i]);
        }
        free(list);
        session_reader_close(r);
        return n;
}

static void put(const char *name)
{
        struct mark m;
        struct err err = {0};
        mark_init(&m, MARK_EVENT);
        snprintf(m.name, sizeof(m.name), "%s", name);
        m.data = strdup("{\"a\":1}");
        if (session_put_mark(path, &m, &err) < 0)
                fail_msg("%s", err.msg);
        mark_finish(&m);
}

static void marks_before_and_after_the_end(void **state UNUSED)
{
        struct err err = {0};
        struct session *s = write_ticks(5);
        put("one");
        assert_int_equal(session_commit(s, &err), 0);
        assert_int_equal(count_marks(), 1);
        put("two");
        assert_int_equal(session_close(s, &err), 0);
        assert_int_equal(count_marks(), 2);
        put("nobody records any more");
        assert_int_equal(count_marks(), 3);
}

static void mark_lines(void **state UNUSED)
{
        static const struct {
                const char *reason, *text;
                bool good;
        } cases[] = {
            {"empty", "", false},
            {"no object", "[1]", false},
            {"cut", "{\"wall_ns\":1,\"type\":\"event\"", false},
            {"no name", "{\"wall_ns\":1,\"type\":\"event\",\"host\":\"h\"}", false},
            {"unknown type", "{\"wall_ns\":1,\"type\":\"x\",\"host\":\"h\",\"name\":\"n\"}", false},
            {"no time", "{\"type\":\"event\",\"host\":\"h\",\"name\":\"n\"}", false},
            {"the least", "{\"wall_ns\":1,\"type\":\"event\",\"host\":\"h\",\"name\":\"n\"}", true},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct mark m;
                bool good = mark_parse(cases[i].text, strlen(cases[i].text), &m) == 0;
                if (good)
                        mark_finish(&m);
                if (good != cases[i].good)
                        fail_msg("%s", cases[i].reason);
        }
}

static void not_a_session(void **state UNUSED)
{
        struct session_reader *r = NULL;
        struct err err = {0};
        FILE *f = fopen(path, "w");
        fputs("SQLite format 3", f);
        for (int i = 0; i < 5000; i++)
                fputc(i % 251, f);
        fclose(f);
        assert_true(session_open(path, &r, &err) < 0);
        assert_true(err.hint[0] != '\0');
        unlink(path);
        assert_true(session_open(path, &r, &err) < 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(blocks),
            cmocka_unit_test(random_blocks),
            cmocka_unit_test(forms),
            cmocka_unit_test(scales),
            cmocka_unit_test(written_is_read),
            cmocka_unit_test(readable_while_it_grows),
            cmocka_unit_test(a_reader_at_the_start),
            cmocka_unit_test(an_existing_file_is_refused),
            cmocka_unit_test(marks_before_and_after_the_end),
            cmocka_unit_test(mark_lines),
            cmocka_unit_test(not_a_session),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
