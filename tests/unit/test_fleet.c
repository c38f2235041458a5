/* Questions to an engine, its answers, and what is shown of them. */
#include "base/clock.h"
#include "fleet/answer.h"
#include "fleet/query.h"
#include "net/ask.h"
#include "present/fleet/fleet.h"
#include "present/tui/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const struct query_terms day = {.window_s = 86400,
                                       .step_s = 300,
                                       .rows = 20,
                                       .gpus = "",
                                       .owners = "",
                                       .model = "",
                                       .rules = ""};

/* Every row of the table: nothing is left to be filled in, and what is opened is closed. */
static void test_queries(void **state)
{
        (void)state;
        for (enum query q = 0; q < QUERY_COUNT; q++) {
                for (int recorded = 0; recorded < 2; recorded++) {
                        struct query_terms terms = day;
                        struct strbuf text = {0};
                        int depth = 0;
                        terms.recorded = recorded;
                        query_write(q, &terms, &text);
                        for (const char *s = strbuf_str(&text); *s; s++) {
                                depth += (*s == '(') - (*s == ')');
                                assert_true(depth >= 0);
                        }
                        assert_int_equal(depth, 0);
                        assert_null(strchr(strbuf_str(&text), '$'));
                        if (strstr(strbuf_str(&text), "assay:") && !recorded)
                                assert_true(q == QUERY_RECORDED || q == QUERY_BEFORE ||
                                            q == QUERY_BEGUN);
                        strbuf_finish(&text);
                }
        }
}

static void test_growth(void **state)
{
        struct query_terms terms = {.window_s = 600,
                                    .step_s = 60,
                                    .rows = 3,
                                    .gpus = "uuid=~\"a\"",
                                    .owners = "{x=\"1\"}",
                                    .model = "",
                                    .rules = ""};
        struct strbuf text = {0};
        (void)state;
        query_write(QUERY_CARD_HELD, &terms, &text);
        assert_string_equal(
            strbuf_str(&text),
            "sum by (cluster,instance,gpu,gi) (sum_over_time((sum by (cluster,instance,gpu,gi) "
            "((((max by (cluster,instance,uuid,gi,slot,reason) "
            "(last_over_time(assay_gpu_held_seconds_total{uuid=~\"a\"}[60s])) - "
            "(max by (cluster,instance,uuid,gi,slot,reason) "
            "(last_over_time(assay_gpu_held_seconds_total{uuid=~\"a\"}[60s] offset 60s)) or "
            "max by (cluster,instance,uuid,gi,slot,reason) "
            "(last_over_time(assay_gpu_held_seconds_total{uuid=~\"a\"}[1h] offset 60s)))) >= 0) or "
            "(max by (cluster,instance,uuid,gi,slot,reason) "
            "(last_over_time(assay_gpu_held_seconds_total{uuid=~\"a\"}[60s])) and on "
            "(cluster,instance,uuid,gi,slot) "
            "last_over_time(assay_gpu_held_seconds_total{uuid=~\"a\"}[1h] "
            "offset 60s))) * on (cluster,instance,uuid,gi,slot) group_left (gpu) ((topk by "
            "(cluster,instance,uuid,gi,slot) (1, "
            "sum_over_time(assay_gpu_owner_info{uuid=~\"a\"}[60s])) "
            "and "
            "last_over_time(assay_gpu_owner_info{x=\"1\"}[60s])) >= "
            "bool 0)))[599s:60s]))");
        strbuf_finish(&text);
}

/* VictoriaMetrics refuses questions of more than 16 KiB: selections of nodes and of jobs fill them.
 */
static void test_length(void **state)
{
        char nodes[1000 + 260], jobs[8000 + 260];
        (void)state;
        memset(nodes, 'n', sizeof(nodes) - 1);
        memset(jobs, 'j', sizeof(jobs) - 1);
        nodes[sizeof(nodes) - 1] = jobs[sizeof(jobs) - 1] = '\0';
        for (enum query q = QUERY_JOBS_BY_WASTE; q < QUERY_COUNT; q++) {
                bool card = q >= QUERY_CARD_STAYS;
                struct query_terms terms = {.window_s = 86400 * 30,
                                            .step_s = 900,
                                            .gpus = card ? nodes : "",
                                            .owners = card ? "{exported_job=\"4711\"}" : jobs,
                                            .model = "",
                                            .rules = ""};
                struct strbuf text = {0};
                query_write(q, &terms, &text);
                assert_in_range(text.len, 1, 16384);
                strbuf_finish(&text);
        }
}

static void test_quoting(void **state)
{
        static const struct {
                const char *text, *escaped, *literal;
        } cases[] = {
            {"4711", "4711", "4711"},
            {"a\"b", "a\\\"b", "a\\\"b"},        /* no way out of the string */
            {"a\\b", "a\\\\b", "a\\\\\\\\b"},    /* a backslash of the expression, too */
            {"x.y|z", "x.y|z", "x\\\\.y\\\\|z"}, /* not an expression */
            {"l\n", "l\\n", "l\\n"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf a = {0}, b = {0};
                query_put_escaped(&a, cases[i].text);
                query_put_literal(&b, cases[i].text);
                assert_string_equal(strbuf_str(&a), cases[i].escaped);
                assert_string_equal(strbuf_str(&b), cases[i].literal);
                strbuf_finish(&a);
                strbuf_finish(&b);
        }
        struct strbuf form = {0};
        ask_put_field(&form, "query", "a{b=\"c d\"}+1");
        ask_put_field(&form, "time", "5");
        assert_string_equal(strbuf_str(&form), "query=a%7Bb%3D%22c%20d%22%7D%2B1&time=5");
        strbuf_finish(&form);
}

static void test_steps(void **state)
{
        static const struct {
                int64_t window, step;
        } cases[] = {{60, 60},          {3600, 60},         {3660, 300},
                     {86400, 300},      {7 * 86400, 300},   {30 * 86400, 900},
                     {31 * 86400, 900}, {90 * 86400, 3600}, {400 * 86400, 21600}};
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_int_equal(query_step_s(cases[i].window), cases[i].step);
}

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50

static void test_answers(void **state)
{
        static const struct {
                const char *text;
                int code;
                size_t n;
                const char *words; /* in the error */
        } cases[] = {
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}", 0, 0,
             ""},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{"
             "\"user\":\"u\"},\"value\":[5,\"1.5\"]},{\"metric\":{},\"value\":[5,\"NaN\"]}]}}",
             0, 2, ""},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[5,\"7\"]}}",
             0, 1, ""},
            {"{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"too many samples\"}",
             ERR_NO_SOURCE, 0, "too many samples"},
            {"{\"status\":\"error\",\"error\":\"error when executing query=" LONG
             ": out of memory\"}",
             ERR_NO_SOURCE, 0, "xxxx: out of memory"}, /* the end says why */
            {"{\"status\":\"error\"}", ERR_NO_SOURCE, 0, "without a reason"},
            {"<html>502</html>", ERR_DATA, 0, "not JSON"},
            {"", ERR_DATA, 0, "not JSON"},
            {"[]", ERR_DATA, 0, "not JSON"},
            {"{}", ERR_DATA, 0, "no status"},
            {"{\"status\":\"success\"}", ERR_DATA, 0, "no result"},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
             ERR_DATA, 0, "neither"},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":5}}", ERR_DATA,
             0, "no list"},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":"
             "5,"
             "\"value\":[5,\"1\"]}]}}",
             ERR_DATA, 0, "no labels"},
            {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{"
             "},"
             "\"value\":[5]}]}}",
             ERR_DATA, 0, "no value"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct answer a = {0};
                struct err err = {0};
                assert_int_equal(
                    answer_parse(cases[i].text, strlen(cases[i].text), "http://x", &a, &err),
                    cases[i].code);
                assert_int_equal(a.n, cases[i].n);
                assert_non_null(strstr(err.msg, cases[i].words));
                if (i == 1) {
                        assert_string_equal(answer_label(&a.series[0], "user"), "u");
                        assert_string_equal(answer_label(&a.series[0], "job"), "");
                        assert_true(a.series[0].v.v == 1.5);
                        assert_false(value_is_set(a.series[1].v));
                }
                answer_finish(&a);
        }
}

/* --- what is shown ---------------------------------------------------------------------------- */

static const struct doc_column columns[] = {
    {.key = "owner", .title = "OWNER", .width = 8},
    {.key = "kind", .title = "KIND", .width = 30, .flags = DOC_MINOR},
    {.key = "held_seconds", .title = "HELD h", .kind = DOC_GPU_HOURS, .width = 8},
    {.key = "wasted", .title = "% HELD", .kind = DOC_RATIO, .width = 6},
};

static void make_report(struct fleet_report *r)
{
        static const struct {
                const char *owner;
                double held, wasted; /* -1: missing */
        } rows[] = {{"bob", 7200, 0.5}, {"eve\033[2J", 360000, -1}, {"=cmd", -1, 0.25}};
        *r = (struct fleet_report){.what = "users", .to_ns = 1794830400LL * NS_PER_S};
        r->from_ns = r->to_ns - 24 * 3600 * NS_PER_S;
        snprintf(r->engine, sizeof(r->engine), "http://prom:9090");
        struct doc_part *t =
            document_add(&r->tables, DOC_ROWS, "owners", "By owner", columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct doc_cell *row = doc_add_row(&r->tables, t);
                doc_cell_text(&row[0], rows[i].owner);
                if (rows[i].held >= 0)
                        row[2].v = value_ok(rows[i].held);
                if (rows[i].wasted >= 0)
                        row[3].v = value_ok(rows[i].wasted);
        }
        doc_sort(t, 3, 2);
        fleet_report_notice(r, FLEET_UNSEEN, 0.05, 0);
}

static void test_writers(void **state)
{
        struct fleet_report r;
        struct strbuf text = {0}, json = {0}, csv = {0};
        (void)state;
        make_report(&r);
        assert_int_equal(r.tables.parts[0].left_out, 1);
        assert_int_equal(fleet_write(&r, "text", 0, &text, NULL), 0);
        assert_string_equal(strbuf_str(&text),
                            "users: 24 h to 2026-11-16 12:00, from http://prom:9090\n"
                            "\n"
                            "By owner\n"
                            "OWNER    KIND                             HELD h % HELD\n"
                            "bob      --                                 2.00   50.0\n"
                            "=cmd     --                                   --   25.0\n"
                            "… and 1 more; --limit shows them\n"
                            "\n"
                            "5.0 % of the GPU time in the window was not observed: it counts as "
                            "neither used nor wasted\n");
        assert_int_equal(fleet_write(&r, "json", 0, &json, NULL), 0);
        assert_string_equal(
            strbuf_str(&json),
            "{\"schema\":1,\"view\":\"users\",\"engine\":\"http://prom:9090\",\"from\":1794744000,"
            "\"to\":1794830400,\"recorded\":false,\"notices\":[\"5.0 % of the GPU time in the "
            "window was not observed: it counts as neither used nor wasted\"],\n"
            "\"owners\":[\n"
            "{\"owner\":\"bob\",\"kind\":null,\"held_seconds\":7200,\"wasted\":0.5},\n"
            "{\"owner\":\"=cmd\",\"kind\":null,\"held_seconds\":null,\"wasted\":0.25}]}\n");
        assert_int_equal(fleet_write(&r, "csv", 0, &csv, NULL), 0);
        assert_string_equal(strbuf_str(&csv), "owner,kind,held_seconds,wasted\nbob,,7200,0.5\n"
                                              "'=cmd,,,0.25\n");
        strbuf_finish(&text);
        strbuf_finish(&json);
        strbuf_finish(&csv);
        fleet_report_finish(&r);
}

static bool line_has(const struct canvas *c, int y, const char *words)
{
        char line[CANVAS_WIDTH_MAX * 4 + 1];
        size_t n = 0;
        for (int x = 0; x < c->w; x++) {
                const struct cell *cell = canvas_at(c, x, y);
                for (size_t i = 0; i < 4 && cell->ch[i]; i++)
                        line[n++] = cell->ch[i];
        }
        line[n] = '\0';
        return strstr(line, words);
}

static void test_board(void **state)
{
        struct fleet_report r;
        struct canvas c = {0};
        struct board b = {.view = FLEET_USERS};
        struct board_data d = {.error = "", .hint = "", .interval_ns = 30 * NS_PER_S};
        (void)state;
        make_report(&r);
        assert_int_equal(canvas_resize(&c, 100, 20), 0);
        board_draw(&b, &d, &c);
        assert_true(line_has(&c, 0, "2 users") && line_has(&c, 0, "asking"));
        d.report = &r;
        d.age_ns = 5 * NS_PER_S;
        board_draw(&b, &d, &c);
        assert_true(line_has(&c, 0, "5.0 s ago, every 30 s"));
        assert_true(line_has(&c, 1, "24 h to 2026-11-16 12:00, from http://prom:9090"));
        assert_true(line_has(&c, 5, "OWNER") && line_has(&c, 5, "KIND"));
        assert_true(line_has(&c, 6, "bob") && line_has(&c, 6, "2.00"));
        /* What could not be asked anew is old, and says so. */
        d.error = "cannot ask 'http://prom:9090': no answer within 30 s";
        board_draw(&b, &d, &c);
        assert_true(line_has(&c, 0, "OLD: no answer, values 5.0 s old"));
        assert_true(line_has(&c, 19, "no answer within 30 s"));
        assert_int_equal(canvas_at(&c, 1, 6)->fg, INK_DIM);
        /* Narrow: what matters least goes first. */
        d.error = "";
        assert_int_equal(canvas_resize(&c, 44, 20), 0);
        board_draw(&b, &d, &c);
        assert_true(!line_has(&c, 5, "KIND") && line_has(&c, 5, "HELD h"));
        assert_true(line_has(&c, 0, "2 users"));
        /* Keys. */
        struct key_event key = {.key = '5'};
        assert_int_equal(board_key(&b, &key), BOARD_ASK);
        assert_int_equal(b.view, FLEET_WASTED);
        key.key = INPUT_DOWN;
        assert_int_equal(board_key(&b, &key), BOARD_DRAW);
        board_draw(&b, &d, &c);
        assert_int_equal(b.top, 0); /* all of it is seen */
        key.key = 'q';
        assert_int_equal(board_key(&b, &key), BOARD_QUIT);
        fleet_report_finish(&r);
        canvas_finish(&c);
}

/* What each notice says, with its numbers, and how a window is written. */
static void test_notices(void **state)
{
        static const struct {
                struct fleet_notice notice;
                const char *words;
        } cases[] = {
            {{.kind = FLEET_RULES_MISSED, .a = 1430, .b = 1440},
             "the recording rules ran 1430 of 1440 times: what was missed counts as not observed"},
            {{.kind = FLEET_NO_NEWS, .a = 9000},
             "no GPU reported in this window; the newest sample is 2.5 h old"},
            {{.kind = FLEET_SLOW, .a = 41.6},
             "this took 42 s, for the raw counters were asked: with the recording rules "
             "(deploy/prometheus/rules; vmalert runs them beside VictoriaMetrics) it is quick"},
            {{.kind = FLEET_FIRST_MINUTES},
             "the engine has nothing of the time before: these are the first minutes"},
            {{.kind = FLEET_NODES_CUT, .a = 1200, .b = 500},
             "of 1200 nodes the first 500 are shown"},
            {{.kind = FLEET_NO_PROBLEMS}, "no problems found"},
            {{.kind = FLEET_UNSEEN, .a = 0.123},
             "12.3 % of the GPU time in the window was not observed: it counts as neither used nor "
             "wasted"},
            {{.kind = FLEET_ALL_OLD}, "no GPU reports at the window's end: what is shown is old"},
            {{.kind = FLEET_SILENT, .a = 3, .b = 64},
             "3 of 64 GPUs or slices of the window do not answer now: 'assay fleet health' tells "
             "which are missed"},
            {{.kind = FLEET_WARNING, .text = "results truncated"},
             "the engine warns: results truncated"},
        };
        static const struct {
                int64_t length_s;
                const char *words;
        } windows[] = {
            {60, "1 min to 2026-11-16 12:00"},      {3540, "59 min to 2026-11-16 12:00"},
            {3600, "1 h to 2026-11-16 12:00"},      {259140, "71.9833 h to 2026-11-16 12:00"},
            {259200, "3 days to 2026-11-16 12:00"}, {604800, "7 days to 2026-11-16 12:00"}};
        (void)state;
        struct strbuf text = {0};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                strbuf_clear(&text);
                fleet_put_notice(&cases[i].notice, &text);
                assert_string_equal(strbuf_str(&text), cases[i].words);
        }
        strbuf_finish(&text);
        for (size_t i = 0; i < ARRAY_LEN(windows); i++) {
                char buf[64];
                struct fleet_report r = {.to_ns = 1794830400LL * NS_PER_S};
                r.from_ns = r.to_ns - windows[i].length_s * NS_PER_S;
                fleet_format_window(&r, buf, sizeof(buf));
                assert_string_equal(buf, windows[i].words);
        }
}

/* All lines of a screen, without the blanks at their ends. */
static void put_lines(const struct canvas *c, struct strbuf *out)
{
        strbuf_clear(out);
        for (int y = 0; y < c->h; y++) {
                char line[CANVAS_WIDTH_MAX * 4 + 1];
                size_t n = 0, end = 0;
                for (int x = 0; x < c->w; x++) {
                        const struct cell *cell = canvas_at(c, x, y);
                        for (size_t i = 0; i < 4 && cell->ch[i]; i++)
                                line[n++] = cell->ch[i];
                        end = cell->ch[0] && cell->ch[0] != ' ' ? n : end;
                }
                line[end] = '\0';
                strbuf_putf(out, "%s\n", line);
        }
}

static const struct doc_column card[] = {
    {.key = "gpus", .title = "GPUs", .kind = DOC_COUNT, .width = 6},
    {.key = "held", .title = "held", .kind = DOC_GPU_HOURS, .width = 8},
    {.key = "wasted", .title = "held and idle", .kind = DOC_RATIO, .width = 6},
};

static const struct doc_column wide[] = {
    {.key = "model", .title = "MODEL", .width = 24},
    {.key = "reason", .title = "REASON", .width = 24},
    {.key = "seconds", .title = "HELD h", .kind = DOC_GPU_HOURS, .width = 8},
};

/* Every place of a screen: cards, tables, what is left out, and what is scrolled away. */
static void test_board_places(void **state)
{
        static const struct {
                int w, h;
                size_t top, then_top;
                bool help;
                const char *screen;
        } cases[] = {
            {110, 20, 0, 0, false,
             " assay fleet   1 overview  2 users  3 jobs  4 nodes  5 wasted  6 limiters  7 health  "
             "   0.0 s ago, every 30 s\n"
             " 24 h to 2026-11-16 12:00, from http://prom:9090\n"
             " 5.0 % of the GPU time in the window was not observed: it counts as neither used nor "
             "wasted\n"
             "\n"
             " By owner\n"
             " OWNER     KIND                              HELD h  % HELD\n"
             " bob       --                                  2.00    50.0\n"
             " =cmd      --                                    --    25.0\n"
             " … and 1 more\n"
             "\n"
             " In all\n"
             " GPUs                           12   held                       1.50 h   held and "
             "idle                  --\n"
             "\n"
             " Why\n"
             " MODEL                     REASON                      HELD h\n"
             " NVIDIA H200               memory is held, nothing…      2.50\n"
             "\n"
             "\n"
             "\n"
             " 1-7 views  ↑↓ scroll  +- window  r ask now  ? help  q quit\n"},
            {60, 20, 0, 0, false,
             "  1  2 users  3  4  5  6  7           0.0 s ago, every 30 s\n"
             " 24 h to 2026-11-16 12:00, from http://prom:9090\n"
             " 5.0 % of the GPU time in the window was not observed: it …\n"
             "\n"
             " By owner\n"
             " OWNER      HELD h % HELD\n"
             " bob          2.00   50.0\n"
             " =cmd           --   25.0\n"
             " … and 1 more\n"
             "\n"
             " In all\n"
             " GPUs                           12\n"
             " held                       1.50 h\n"
             " held and idle                  --\n"
             "\n"
             " Why\n"
             " MODEL                    REASON                     HELD h\n"
             " NVIDIA H200              memory is held, nothing…     2.50\n"
             "\n"
             " 1-7 views  ↑↓ scroll  +- window  r ask now  ? help  q quit\n"},
            {60, 10, 99, 10, false,
             "  1  2 users  3  4  5  6  7           0.0 s ago, every 30 s\n"
             " GPUs                           12\n"
             " held                       1.50 h\n"
             " held and idle                  --\n"
             "\n"
             " Why\n"
             " MODEL                    REASON                     HELD h\n"
             " NVIDIA H200              memory is held, nothing…     2.50\n"
             "\n"
             " 1-7 views  ↑↓ scroll  +- window  r ask now  ? help  q quit\n"},
            {44, 20, 0, 0, false,
             "  1  2 users  3  4  5  6  7  0.0 s ago, ev…\n"
             " 24 h to 2026-11-16 12:00, from http://pro…\n"
             " 5.0 % of the GPU time in the window was n…\n"
             "\n"
             " By owner\n"
             " OWNER      HELD h % HELD\n"
             " bob          2.00   50.0\n"
             " =cmd           --   25.0\n"
             " … and 1 more\n"
             "\n"
             " In all\n"
             " GPUs                           12\n"
             " held                       1.50 h\n"
             " held and idle                  --\n"
             "\n"
             " Why\n"
             " MODEL                    REASON\n"
             " NVIDIA H200              memory is held, …\n"
             "\n"
             " 1-7 views  ↑↓ scroll  +- window  r ask no…\n"},
            {100, 14, 0, 0, true,
             "  1 overview  2 users  3 jobs  4 nodes  5 wasted  6 limiters  7 health        0.0 s "
             "ago, every 30 s\n"
             "\n"
             "   1 … 7, Tab               views\n"
             "   up, down, PgUp, PgDn     more of a table\n"
             "   + -                      a longer or shorter window\n"
             "   r                        ask again now\n"
             "   q                        leave\n"
             "\n"
             "   overview                 the fleet, who wastes most, what limits it\n"
             "   users                    GPU-hours by owner: held, observed, used, wasted\n"
             "   jobs                     the jobs that held or wasted most\n"
             "   nodes                    GPU-hours by node\n"
             "   wasted                   wasted GPU-hours by reason and owner\n"
             " 1-7 views  ↑↓ scroll  +- window  r ask now  ? help  q quit\n"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct fleet_report r;
                struct canvas c = {0};
                struct strbuf drawn = {0};
                struct board b = {.view = FLEET_USERS, .top = cases[i].top, .help = cases[i].help};
                make_report(&r);
                struct doc_part *t =
                    document_add(&r.tables, DOC_ROWS, "sum", "In all", card, ARRAY_LEN(card));
                t->style = DOC_CARD;
                struct doc_cell *row = doc_add_row(&r.tables, t);
                row[0].v = value_ok(12);
                row[1].v = value_ok(5400);
                t = document_add(&r.tables, DOC_ROWS, "why", "Why", wide, ARRAY_LEN(wide));
                row = doc_add_row(&r.tables, t);
                doc_cell_text(&row[0], "NVIDIA H200");
                doc_cell_text(&row[1], "memory is held, nothing runs");
                row[2].v = value_ok(9000);
                const struct board_data d = {
                    .report = &r, .error = "", .hint = "", .interval_ns = 30 * NS_PER_S};
                assert_int_equal(canvas_resize(&c, cases[i].w, cases[i].h), 0);
                board_draw(&b, &d, &c);
                put_lines(&c, &drawn);
                assert_string_equal(strbuf_str(&drawn), cases[i].screen);
                assert_int_equal(b.top, cases[i].then_top);
                strbuf_finish(&drawn);
                fleet_report_finish(&r);
                canvas_finish(&c);
        }
}

/* What each key does to the view and to the first line shown. */
static void test_board_keys(void **state)
{
        static const struct {
                int key;
                enum mouse_button button;
                size_t top, then_top;
                enum fleet_view view, then_view;
                enum board_request request;
        } cases[] = {
            {'1', MOUSE_OTHER, 7, 0, 3, 0, BOARD_ASK},
            {'7', MOUSE_OTHER, 7, 0, 3, 6, BOARD_ASK},
            {'8', MOUSE_OTHER, 7, 7, 3, 3, BOARD_NOTHING},
            {'0', MOUSE_OTHER, 7, 7, 3, 3, BOARD_NOTHING},
            {'\t', MOUSE_OTHER, 7, 0, 3, 4, BOARD_ASK},
            {'l', MOUSE_OTHER, 7, 0, FLEET_VIEW_COUNT - 1, 0, BOARD_ASK},
            {INPUT_RIGHT, MOUSE_OTHER, 0, 0, 0, 1, BOARD_ASK},
            {INPUT_BACK_TAB, MOUSE_OTHER, 7, 0, 0, FLEET_VIEW_COUNT - 1, BOARD_ASK},
            {INPUT_LEFT, MOUSE_OTHER, 7, 0, 3, 2, BOARD_ASK},
            {'h', MOUSE_OTHER, 7, 0, 1, 0, BOARD_ASK},
            {'r', MOUSE_OTHER, 7, 7, 3, 3, BOARD_ASK},
            {'+', MOUSE_OTHER, 7, 7, 3, 3, BOARD_LONGER},
            {'=', MOUSE_OTHER, 7, 7, 3, 3, BOARD_LONGER},
            {'-', MOUSE_OTHER, 7, 7, 3, 3, BOARD_SHORTER},
            {INPUT_DOWN, MOUSE_OTHER, 7, 8, 3, 3, BOARD_DRAW},
            {'j', MOUSE_OTHER, 0, 1, 3, 3, BOARD_DRAW},
            {INPUT_MOUSE, MOUSE_WHEEL_DOWN, 7, 8, 3, 3, BOARD_DRAW},
            {INPUT_MOUSE, MOUSE_WHEEL_UP, 7, 6, 3, 3, BOARD_DRAW},
            {INPUT_MOUSE, MOUSE_LEFT, 7, 7, 3, 3, BOARD_NOTHING},
            {INPUT_UP, MOUSE_OTHER, 1, 0, 3, 3, BOARD_DRAW},
            {'k', MOUSE_OTHER, 0, 0, 3, 3, BOARD_NOTHING},
            {INPUT_PAGE_DOWN, MOUSE_OTHER, 7, 17, 3, 3, BOARD_DRAW},
            {INPUT_PAGE_UP, MOUSE_OTHER, 17, 7, 3, 3, BOARD_DRAW},
            {INPUT_PAGE_UP, MOUSE_OTHER, 7, 0, 3, 3, BOARD_DRAW},
            {INPUT_HOME, MOUSE_OTHER, 7, 0, 3, 3, BOARD_DRAW},
            {'q', MOUSE_OTHER, 7, 7, 3, 3, BOARD_QUIT},
            {CTRL('c'), MOUSE_OTHER, 7, 7, 3, 3, BOARD_QUIT},
        };
        static const struct {
                int key;
                bool help, then_help;
                enum board_request request;
        } helps[] = {
            {'?', false, true, BOARD_DRAW},           {'?', true, false, BOARD_DRAW},
            {INPUT_F1, false, true, BOARD_DRAW},      {INPUT_ESCAPE, true, false, BOARD_DRAW},
            {INPUT_ESCAPE, false, false, BOARD_DRAW}, {'q', true, false, BOARD_DRAW},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct board b = {.view = cases[i].view, .top = cases[i].top};
                const struct key_event e = {.key = cases[i].key, .button = cases[i].button};
                assert_int_equal(board_key(&b, &e), cases[i].request);
                assert_int_equal(b.view, cases[i].then_view);
                assert_int_equal(b.top, cases[i].then_top);
        }
        for (size_t i = 0; i < ARRAY_LEN(helps); i++) {
                struct board b = {.help = helps[i].help};
                assert_int_equal(board_key(&b, &(struct key_event){.key = helps[i].key}),
                                 helps[i].request);
                assert_int_equal(b.help, helps[i].then_help);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_notices),    cmocka_unit_test(test_board_places),
            cmocka_unit_test(test_board_keys), cmocka_unit_test(test_queries),
            cmocka_unit_test(test_growth),     cmocka_unit_test(test_length),
            cmocka_unit_test(test_quoting),    cmocka_unit_test(test_steps),
            cmocka_unit_test(test_answers),    cmocka_unit_test(test_writers),
            cmocka_unit_test(test_board),
        };
        setenv("TZ", "UTC", 1);
        tzset();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
