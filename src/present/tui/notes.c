/* The log's lines: health, limiter, class, throttling, starvation and phases, as they change. */
#include "base/clock.h"
#include "base/list.h"
#include "present/format.h"
#include "present/text/explain.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A share of the last half minute from which, and below which, something is reported. */
#define SHARE_BEGINS 0.5
#define SHARE_ENDS 0.2
/* So much must have been seen before a share means anything. */
#define SHARE_SECONDS 10
#define REFRESH_NS NS_PER_S
#define SETTLE_S 3

/* What was reported last of a GPU. */
struct watched {
        uint8_t health;  /* enum health_state + 1; 0 for nothing yet */
        uint8_t limiter; /* enum limiter + 1 */
        uint8_t held;    /* enum held_by */
        uint8_t looks;   /* enum workload + 1 */
        bool starved, throttled;
};

static struct watched *watched_of(struct ui *ui, uint32_t slot)
{
        if (slot >= ui->n_watched && !LIST_EXTEND(ui->watched, ui->n_watched, (size_t)slot + 16))
                return NULL;
        return &ui->watched[slot];
}

static void note_health(struct ui *ui, const struct frame *f, const struct row *row,
                        struct watched *w)
{
        uint8_t now = (uint8_t)(row->health.state + 1), was = w->health;
        w->health = now;
        /* A GPU that is well when it is first seen is no news. */
        if (now == was || (was == 0 && row->health.state <= HEALTH_OK))
                return;
        const char *why = "";
        char label[FRAME_LABEL_MAX], words[HEALTH_WORDS_MAX];
        frame_label(f, row->sample.who, label, sizeof(label));
        for (enum health_reason k = 0; k < HEALTH_REASON_COUNT && !*why; k++) {
                if (row->health.findings & (1u << k))
                        why = health_reason_words(&row->health, k, words, sizeof(words));
        }
        ui_log(ui, f->wall_ns, widget_health_ink(row->health.state), "GPU %s is %s%s%s%s%s", label,
               health_name(row->health.state), was ? ", was " : "",
               was ? health_name((enum health_state)(was - 1)) : "", *why ? ": " : "", why);
}

/* One that flaps is reported when it has settled: most of the last ten seconds. True when it was.
 */
static bool note_limiter(struct ui *ui, const struct frame *f, const struct row *row,
                         const struct recent *r, struct watched *w)
{
        if (!r->settled || r->seconds < SETTLE_S || r->mostly == LIMITER_UNKNOWN)
                return false;
        bool first = w->limiter == 0;
        bool same = w->limiter == r->mostly + 1 && w->held == r->held;
        w->limiter = (uint8_t)(r->mostly + 1);
        w->held = (uint8_t)r->held;
        /* What it does when it is first seen is on the screen. */
        if (first || same)
                return false;
        const char *held = held_by_words(r->held);
        bool idle = limiter_side(r->mostly) == LIMITER_SIDE_NONE;
        char label[FRAME_LABEL_MAX];
        frame_label(f, row->sample.who, label, sizeof(label));
        if (idle)
                ui_log(ui, f->wall_ns, INK_DIM, "GPU %s: %s", label, limiter_brief(r->mostly));
        else
                ui_log(ui, f->wall_ns, words_limiter_ink(r->mostly), "GPU %s: %s %s%s%s (%s)",
                       label, limiter_lead((enum basis)row->limit.basis),
                       limiter_sight(r->mostly, (enum basis)row->limit.basis)->words,
                       *held ? ", clocks held by " : "", held, workload_status(r->looks));
        return true;
}

/* A class that changes without its limiter; reported: the limiter's line has it. */
static void note_class(struct ui *ui, const struct frame *f, const struct row *row,
                       const struct recent *r, struct watched *w, bool reported)
{
        if (!r->class_has_settled || r->seconds < SETTLE_S)
                return;
        uint8_t was = w->looks;
        char label[FRAME_LABEL_MAX];
        w->looks = (uint8_t)(r->looks + 1);
        if (was == 0 || was == w->looks || reported)
                return;
        frame_label(f, row->sample.who, label, sizeof(label));
        ui_log(ui, f->wall_ns, INK_TEXT, "GPU %s: %s, was %s", label, workload_status(r->looks),
               workload_status((enum workload)(was - 1)));
}

static bool crosses_limit(bool *was, double share)
{
        bool now = *was ? share >= SHARE_ENDS : share >= SHARE_BEGINS;
        bool changed = now != *was;
        *was = now;
        return changed;
}

static void note_shares(struct ui *ui, const struct frame *f, const struct row *row,
                        const struct recent *r, struct watched *w)
{
        char label[FRAME_LABEL_MAX], share[FORMAT_MAX];
        double held = MAX(r->power, r->thermal);
        if (r->seconds < SHARE_SECONDS)
                return;
        frame_label(f, row->sample.who, label, sizeof(label));
        bool was_starved = w->starved;
        if (crosses_limit(&w->starved, r->starved) && w->starved)
                ui_log(ui, f->wall_ns, INK_WARN,
                       "GPU %s waited for the host %s of the last %.0f s, mostly %s", label,
                       format_share(share, r->starved), r->seconds, limiter_brief(r->by));
        else if (was_starved && !w->starved)
                ui_log(ui, f->wall_ns, INK_DIM, "GPU %s no longer waits for the host", label);
        if (!crosses_limit(&w->throttled, held))
                return;
        if (w->throttled)
                ui_log(ui, f->wall_ns, INK_HOT, "GPU %s: clocks held by %s %s of the last %.0f s",
                       label, r->thermal > r->power ? "heat" : "the power limit",
                       format_share(share, held), r->seconds);
        else
                ui_log(ui, f->wall_ns, INK_DIM, "GPU %s: clocks are no longer held", label);
}

/* The innermost phase at this position, from 1. */
static size_t phase_now(const struct ui_data *d)
{
        size_t at = 0;
        for (size_t i = 0; i < d->n_phases; i++) {
                if (d->phases[i].begin_ns <= d->position_ns && d->position_ns < d->phases[i].end_ns)
                        at = i + 1;
        }
        return at;
}

static void note_phase(struct ui *ui, const struct ui_data *d)
{
        size_t now = phase_now(d);
        if (now != ui->last_phase && now > 0)
                ui_log(ui, d->frame->wall_ns, INK_KEY, "phase %s", d->phases[now - 1].name);
        ui->last_phase = now;
}

/* A node that answers when it is first examined is no news. */
static int note_nodes(struct ui *ui, const struct frame *f)
{
        if (f->n_nodes != ui->n_nodes_reported) {
                uint8_t *reported = calloc(f->n_nodes + 1, 1);
                if (!reported)
                        return -ENOMEM;
                free(ui->nodes_reported);
                ui->nodes_reported = reported;
                ui->n_nodes_reported = f->n_nodes;
        }
        for (size_t i = 0; i < f->n_nodes; i++) {
                const struct node *node = &f->nodes[i];
                uint8_t was = ui->nodes_reported[i];
                bool first = was <= NODE_OK;
                if (node->state == NODE_CONNECTING || was == node->state)
                        continue;
                ui->nodes_reported[i] = (uint8_t)node->state;
                if (node->state == NODE_OK && !first)
                        ui_log(ui, f->wall_ns, INK_DIM, "%.60s answers again", node->name);
                else if (node->state != NODE_OK)
                        ui_log(ui, f->wall_ns, INK_WARN, "%.60s: %s", node->name, node->words);
        }
        return 0;
}

int notes_take(struct ui *ui, const struct ui_data *d)
{
        const struct frame *f = d->frame;
        bool refresh = f->wall_ns < ui->noted_ns || f->wall_ns - ui->noted_ns >= REFRESH_NS;
        for (size_t i = 0; i < f->n; i++) {
                struct recent recent;
                const struct row *row = &f->rows[i];
                struct watched *w = watched_of(ui, row->sample.who->slot);
                if (!w)
                        return -ENOMEM;
                note_health(ui, f, row, w);
                if (!refresh || !words_recent(d, row, &recent))
                        continue;
                note_class(ui, f, row, &recent, w, note_limiter(ui, f, row, &recent, w));
                note_shares(ui, f, row, &recent, w);
        }
        if (refresh)
                ui->noted_ns = f->wall_ns;
        note_phase(ui, d);
        return note_nodes(ui, f);
}
