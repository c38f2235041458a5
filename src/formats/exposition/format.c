/* A saved exposition: one scrape, or several after one another. */
#include "formats/format.h"
#include "formats/exposition/exposition.h"
#include "formats/exposition/text.h"

#include <errno.h>

static int exposition_start(struct capture *c)
{
        struct exposition *x;
        int r = exposition_open(c->wanted, &x);
        if (r == 0)
                c->state = x;
        return r;
}

static void exposition_end(struct capture *c)
{
        exposition_close(c->state);
}

static int exposition_round(struct capture *c)
{
        struct exposition *x = c->state;
        struct line line;
        int r;
        exposition_begin(x);
        while ((r = capture_line(c, &line)) > 0) {
                switch (exposition_line(x, line.s, line.len)) {
                case EXPOSITION_SKIPPED:
                case EXPOSITION_SAMPLE:
                        break;
                case EXPOSITION_REPEATS:
                        capture_hold(c, &line);
                        return 1;
                case EXPOSITION_BAD:
                case EXPOSITION_FULL:
                        if (line.cut)
                                capture_cut_row(c);
                        else
                                capture_bad_line(c, &line);
                        break;
                }
        }
        return r < 0 ? r : exposition_entities(x) > 0;
}

static void exposition_hand_out(struct capture *c, struct batch *ret)
{
        exposition_give(c->state, ret);
        c->has_times = exposition_time(c->state, &c->wall_ns);
}

const struct format_ops format_exposition = {
    .name = "Prometheus exposition",
    .dialect = DIALECT_DCGM,
    .probe = exposition_probe,
    .begin = exposition_start,
    .end = exposition_end,
    .round = exposition_round,
    .give = exposition_hand_out,
};
