#include "present/tui/ui.h"

#include "base/clock.h"
#include "base/list.h"
#include "present/stream/columns.h"
#include "present/text/explain.h"
#include "present/tui/widgets.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VIEW(id, symbol) extern const struct view_ops view_##symbol;
#include "present/tui/views.def"
#undef VIEW

static const struct view_ops *const views[VIEW_COUNT] = {
#define VIEW(id, symbol) &view_##symbol,
#include "present/tui/views.def"
#undef VIEW
};

static const char *const sort_names[FLEET_SORT_COUNT] = {
#define FLEET_SORT(id, name) name,
    FLEET_SORTS(FLEET_SORT)
#undef FLEET_SORT
};

static const char *const layout_names[LAYOUT_COUNT] = {"auto", "cards", "lines"};

const struct view_ops *view_at(enum view_id id)
{
        return views[id];
}

enum view_id view_find(const char *name)
{
        for (size_t i = 0; i < VIEW_COUNT; i++) {
                if (strcmp(views[i]->name, name) == 0)
                        return (enum view_id)i;
        }
        return VIEW_COUNT;
}

const char *fleet_sort_name(enum fleet_sort sort)
{
        return sort_names[sort];
}

enum fleet_sort fleet_sort_find(const char *name)
{
        for (size_t i = 0; i < FLEET_SORT_COUNT; i++) {
                if (strcmp(sort_names[i], name) == 0)
                        return (enum fleet_sort)i;
        }
        return FLEET_SORT_COUNT;
}

const char *layout_name(enum layout layout)
{
        return layout_names[layout];
}

enum layout layout_find(const char *name)
{
        for (size_t i = 0; i < LAYOUT_COUNT; i++) {
                if (strcmp(layout_names[i], name) == 0)
                        return (enum layout)i;
        }
        return LAYOUT_AUTO;
}

void ui_init(struct ui *ui)
{
        *ui = (struct ui){.view = VIEW_FLEET, .before = VIEW_FLEET, .columns = 1, .page = 1};
        ui->plot.cursor_ns = CHART_NO_CURSOR;
        ui->last_wall_ns = INT64_MIN;
        ui->job.tree = true;
        plot_use_set(ui, 0);
        job_use_default_order(ui);
}

void ui_finish(struct ui *ui)
{
        free(ui->order);
        free(ui->watched);
        free(ui->nodes_reported);
        chart_scratch_finish(&ui->scratch);
        past_finish(&ui->past);
        strbuf_finish(&ui->text);
}

bool ui_contains(const char *haystack, const char *needle)
{
        return strcasestr(haystack, needle) != NULL;
}

void ui_notify(struct ui *ui, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(ui->message, sizeof(ui->message), fmt, ap);
        va_end(ap);
}

void ui_log(struct ui *ui, int64_t wall_ns, uint8_t ink, const char *fmt, ...)
{
        struct ui_note *note = &ui->log[ui->n_log++ % UI_LOG_MAX];
        va_list ap;
        note->wall_ns = wall_ns;
        note->ink = ink;
        va_start(ap, fmt);
        vsnprintf(note->text, sizeof(note->text), fmt, ap);
        va_end(ap);
}

const char *ui_why_no_processes(const struct ui_data *data)
{
        if (!data->asking_processes)
                return "this source names no processes";
        return data->state == SOURCE_ENDED ? "the recording has ended: < goes back to its processes"
                                           : "processes come with the next sample";
}

int64_t ui_bucket_ns(const struct ui_data *data)
{
        return MAX(data->interval_ns, NS_PER_S);
}

int64_t ui_span_ns(const struct ui_data *data)
{
        static const int sixths[] = {1, 2, 3, 6};
        const struct trends *t = &data->trends;
        int64_t sixth = 10 * ui_bucket_ns(data), since = 0;
        size_t i = 0;
        if (!t->since || !data->frame || !t->since(t->arg, &since))
                return 6 * sixth;
        while (i + 1 < ARRAY_LEN(sixths) && sixths[i] * sixth < data->frame->wall_ns - since)
                i++;
        return sixths[i] * sixth;
}

/* Text facts a filter examines, besides class and health. */
static bool row_matches(const struct row *row, const char *filter)
{
        static const enum entity_text facts[] = {ENTITY_TEXT_MODEL, ENTITY_TEXT_UUID,
                                                 ENTITY_TEXT_HOST,  ENTITY_TEXT_JOB,
                                                 ENTITY_TEXT_POD,   ENTITY_TEXT_MIG_PROFILE};
        const struct entity *e = row->sample.who;
        if (ui_contains(explain_class(row), filter) ||
            ui_contains(health_name(row->health.state), filter) || ui_contains(e->label, filter))
                return true;
        for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
                if (ui_contains(e->text[facts[i]], filter))
                        return true;
        }
        return false;
}

/* A missing value sorts after all others. */
static double sort_key(const struct row *row, enum fleet_sort sort)
{
        static const enum metric metrics[FLEET_SORT_COUNT] = {
            [FLEET_SORT_REAL] = METRIC_REAL_UTIL, [FLEET_SORT_UTIL] = METRIC_GPU_UTIL,
            [FLEET_SORT_MEMORY] = METRIC_FB_USED, [FLEET_SORT_POWER] = METRIC_POWER,
            [FLEET_SORT_TEMP] = METRIC_GPU_TEMP,
        };
        if (sort == FLEET_SORT_HEALTH)
                return (double)row->health.state;
        struct value v = row->sample.m[metrics[sort]];
        return value_or(v, -1);
}

/* By insertion: rows move little from tick to tick, and equal ones keep their order. */
static void sort_order(struct ui *ui, const struct frame *f)
{
        for (size_t i = 1; ui->sort != FLEET_SORT_GPU && i < ui->n_order; i++) {
                size_t row = ui->order[i], k = i;
                double key = sort_key(&f->rows[row], ui->sort);
                while (k > 0 && sort_key(&f->rows[ui->order[k - 1]], ui->sort) < key) {
                        ui->order[k] = ui->order[k - 1];
                        k--;
                }
                ui->order[k] = row;
        }
        for (size_t i = 0; ui->reversed && i < ui->n_order / 2; i++) {
                size_t other = ui->n_order - 1 - i, row = ui->order[i];
                ui->order[i] = ui->order[other];
                ui->order[other] = row;
        }
}

static int make_order(struct ui *ui, const struct frame *f)
{
        if (!LIST_RESERVE(ui->order, f->n, ui->cap_order))
                return -ENOMEM;
        ui->n_order = 0;
        for (size_t i = 0; i < f->n; i++) {
                if (row_matches(&f->rows[i], ui->filter))
                        ui->order[ui->n_order++] = i;
        }
        sort_order(ui, f);
        return 0;
}

void ui_choose(struct ui *ui, const struct ui_data *data, size_t place)
{
        if (!data->frame || ui->n_order == 0)
                return;
        ui->cursor = MIN(place, ui->n_order - 1);
        ui->chosen_slot = data->frame->rows[ui->order[ui->cursor]].sample.who->slot;
        ui->chosen = true;
}

/* The choice stays with the GPU when the order changes. */
static void follow_choice(struct ui *ui, const struct ui_data *data)
{
        const struct frame *f = data->frame;
        for (size_t i = 0; ui->chosen && i < ui->n_order; i++) {
                if (f->rows[ui->order[i]].sample.who->slot == ui->chosen_slot) {
                        ui->cursor = i;
                        return;
                }
        }
        ui_choose(ui, data, ui->cursor);
}

const struct row *ui_chosen(const struct ui *ui, const struct ui_data *data)
{
        if (!data->frame || ui->cursor >= ui->n_order)
                return NULL;
        return &data->frame->rows[ui->order[ui->cursor]];
}

bool ui_is_stale(const struct ui_data *d)
{
        return d->frame && (d->late || d->frame->stale || d->state == SOURCE_FAILED);
}

int64_t ui_stale_ns(const struct ui_data *d)
{
        uint32_t youngest_ms = UINT32_MAX;
        for (size_t i = 0; i < d->frame->n; i++) {
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        struct value v = d->frame->rows[i].sample.m[m];
                        if (v.state == STATE_STALE)
                                youngest_ms = MIN(youngest_ms, v.age_ms);
                }
        }
        int64_t old = youngest_ms == UINT32_MAX ? 0 : (int64_t)youngest_ms * NS_PER_MS;
        return MAX(d->age_ns, (int64_t)0) + old;
}

static void note_state(struct ui *ui, const struct ui_data *data, int64_t wall_ns)
{
        if (data->state != ui->last_state && data->state == SOURCE_FAILED)
                ui_log(ui, wall_ns, INK_WARN, "the source failed: %s", data->error);
        else if (data->state != ui->last_state && data->state == SOURCE_ENDED)
                ui_log(ui, wall_ns, INK_DIM, "the capture ends here");
        else if (ui_is_stale(data) && !ui->last_late)
                ui_log(ui, wall_ns, INK_WARN, "the source gives nothing new");
        else if (!ui_is_stale(data) && ui->last_late)
                ui_log(ui, wall_ns, INK_DIM, "the source answers again");
        ui->last_state = data->state;
        ui->last_late = ui_is_stale(data);
}

int ui_update(struct ui *ui, const struct ui_data *data)
{
        const struct frame *f = data->frame;
        note_state(ui, data, f ? f->wall_ns : 0);
        past_see_host(&ui->past, data->host);
        if (!f)
                return 0;
        int r = make_order(ui, f);
        if (r == 0 && f->wall_ns != ui->last_wall_ns)
                r = past_see_processes(&ui->past, data->processes, f->wall_ns, ui_bucket_ns(data));
        if (r == 0 && f->wall_ns != ui->last_wall_ns)
                r = notes_take(ui, data);
        ui->last_wall_ns = f->wall_ns;
        if (r == 0)
                follow_choice(ui, data);
        return r;
}

void ui_show(struct ui *ui, enum view_id view)
{
        if (ui->view < VIEW_TABS)
                ui->before = ui->view;
        ui->view = view;
}
