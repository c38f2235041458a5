/* What keys and commands do, wherever one is. */
#include "base/clock.h"
#include "base/num.h"
#include "base/suggest.h"
#include "present/tui/timeline.h"

#include <stdio.h>
#include <string.h>

#define SEEK_S 5.0
#define SPEED_MIN 0.0625
#define SPEED_MAX 64.0

static void request_action(struct ui *ui, enum request what, double number)
{
        ui->request = (struct ui_request){.what = what, .number = number};
}

static void request_replay(struct ui *ui, const struct ui_data *d, enum request what, double number)
{
        if (d->replay)
                request_action(ui, what, number);
        else
                ui_notify(ui, "the source is live: there is nothing to seek");
}

/* --- commands ------------------------------------------------------------------------------ */

struct ui_command {
        const char *name;
        void (*run)(struct ui *ui, const struct ui_data *d, const char *arg);
};

static void do_quit(struct ui *ui, const struct ui_data *d UNUSED, const char *arg UNUSED)
{
        request_action(ui, REQUEST_QUIT, 0);
}

/* :q leaves what one is in: a view, or from the fleet the dashboard. */
static void do_leave(struct ui *ui, const struct ui_data *d, const char *arg)
{
        if (ui->view == VIEW_FLEET)
                do_quit(ui, d, arg);
        else
                ui->view = ui->view >= VIEW_TABS ? ui->before : VIEW_FLEET;
}

static void do_focus(struct ui *ui, const struct ui_data *d, const char *arg)
{
        for (size_t i = 0; *arg && d->frame && i < ui->n_order; i++) {
                const struct entity *e = d->frame->rows[ui->order[i]].sample.who;
                if (frame_label_matches(d->frame, e, arg) ||
                    (strlen(arg) >= 4 && strstr(e->text[ENTITY_TEXT_UUID], arg))) {
                        ui_choose(ui, d, i);
                        ui_show(ui, VIEW_FOCUS);
                        return;
                }
        }
        if (*arg)
                ui_notify(ui, "there is no GPU '%s' here", arg);
        else
                ui_show(ui, VIEW_FOCUS);
}

static const char *metric_name_at(size_t i, const void *arg UNUSED)
{
        return i < METRIC_COUNT ? metric_info((enum metric)i)->name : NULL;
}

static void do_plot(struct ui *ui, const struct ui_data *d UNUSED, const char *arg)
{
        enum metric chosen[UI_SERIES_MAX];
        size_t n = 0;
        while (*arg && n < UI_SERIES_MAX) {
                size_t len = strcspn(arg, " ,");
                chosen[n] = metric_find(arg, len);
                if (len > 0 && chosen[n++] == METRIC_COUNT) {
                        char word[64];
                        snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), arg);
                        const char *near = suggest_nearest(word, metric_name_at, NULL);
                        ui_notify(ui, "there is no metric '%s'%s%s", word,
                                  near ? ", did you mean " : "", near ? near : "");
                        return;
                }
                arg += len + strspn(arg + len, " ,");
        }
        if (n > 0) {
                memcpy(ui->plot.metrics, chosen, sizeof(chosen));
                ui->plot.n = n;
                ui->plot.set = UINT32_MAX;
        }
        ui_show(ui, VIEW_PLOT);
}

static void do_seek(struct ui *ui, const struct ui_data *d, const char *arg)
{
        double v;
        if (num_parse_all(arg, strlen(arg), &v) && v >= 0)
                request_replay(ui, d, REQUEST_SEEK_TO, v);
        else
                ui_notify(ui, "seek takes seconds from the beginning, such as :seek 38");
}

static void do_speed(struct ui *ui, const struct ui_data *d, const char *arg)
{
        double v;
        if (num_parse_all(arg, strlen(arg), &v) && v > 0)
                request_replay(ui, d, REQUEST_SPEED, MIN(MAX(v, SPEED_MIN), SPEED_MAX));
        else
                ui_notify(ui, "speed takes a factor, such as :speed 4");
}

static void do_save(struct ui *ui, const struct ui_data *d UNUSED, const char *arg UNUSED)
{
        request_action(ui, REQUEST_SAVE, 0);
}

static void do_filter(struct ui *ui, const struct ui_data *d, const char *arg)
{
        snprintf(ui->filter, sizeof(ui->filter), "%s", arg);
        ui_update(ui, d);
}

static const struct ui_command commands[] = {
    {"q", do_leave},     {"quit", do_quit}, {"exit", do_quit},
    {"focus", do_focus}, {"plot", do_plot}, {"seek", do_seek},
    {"speed", do_speed}, {"save", do_save}, {"filter", do_filter},
};

static const char *command_name_at(size_t i, const void *arg UNUSED)
{
        if (i < ARRAY_LEN(commands))
                return commands[i].name;
        i -= ARRAY_LEN(commands);
        return i < VIEW_COUNT ? view_at((enum view_id)i)->name : NULL;
}

void ui_command(struct ui *ui, const struct ui_data *d, const char *text)
{
        char name[UI_TEXT_MAX];
        text += strspn(text, " ");
        size_t len = strcspn(text, " ");
        snprintf(name, sizeof(name), "%.*s", (int)len, text);
        const char *arg = text + len + strspn(text + len, " ");
        for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
                if (strcmp(commands[i].name, name) == 0) {
                        commands[i].run(ui, d, arg);
                        return;
                }
        }
        enum view_id view = view_find(name);
        const char *near = suggest_nearest(name, command_name_at, NULL);
        if (view != VIEW_COUNT)
                ui_show(ui, view);
        else if (*name)
                ui_notify(ui, "there is no command '%s'%s%s", name, near ? ", did you mean " : "",
                          near ? near : "");
}

/* --- the line below ------------------------------------------------------------------------ */

static void finish_prompt(struct ui *ui, const struct ui_data *d)
{
        enum prompt prompt = ui->prompt;
        ui->prompt = PROMPT_NONE;
        if (prompt == PROMPT_COMMAND)
                ui_command(ui, d, ui->typed);
}

/* The question is answered by y alone; any other key is a no. */
static void answer_signal(struct ui *ui, int key)
{
        if (key == 'y' || key == 'Y')
                ui->request.what = REQUEST_SIGNAL;
        else
                ui->request = (struct ui_request){0};
        ui->prompt = PROMPT_NONE;
}

static void type_character(struct ui *ui, int key)
{
        size_t n = strlen(ui->typed);
        if (key >= 0x20 && key < 0x7f && n + 1 < sizeof(ui->typed)) {
                ui->typed[n] = (char)key;
                ui->typed[n + 1] = '\0';
        }
}

static void prompt_key(struct ui *ui, const struct ui_data *d, int key)
{
        size_t n = strlen(ui->typed);
        if (ui->prompt == PROMPT_SIGNAL) {
                answer_signal(ui, key);
                return;
        }
        if (key == INPUT_ENTER || key == '\n') {
                finish_prompt(ui, d);
        } else if (key == INPUT_ESCAPE || (key == INPUT_BACKSPACE && n == 0)) {
                if (ui->prompt == PROMPT_FILTER)
                        ui->filter[0] = '\0';
                ui->prompt = PROMPT_NONE;
        } else if (key == INPUT_BACKSPACE) {
                ui->typed[n - 1] = '\0';
        } else if (key == CTRL('u')) {
                ui->typed[0] = '\0';
        } else {
                type_character(ui, key);
        }
        /* A filter works while it is typed. */
        if (ui->prompt == PROMPT_FILTER)
                memcpy(ui->filter, ui->typed, sizeof(ui->filter));
        ui_update(ui, d);
}

static void open_prompt(struct ui *ui, enum prompt prompt, const char *text)
{
        ui->prompt = prompt;
        snprintf(ui->typed, sizeof(ui->typed), "%s", text);
}

/* --- actions that mean the same in every view ---------------------------------------------- */

static void return_to_view(struct ui *ui, const struct ui_data *d)
{
        if (ui->view >= VIEW_TABS) {
                ui->view = ui->before;
        } else if (ui->filter[0]) {
                ui->filter[0] = '\0';
                ui_update(ui, d);
        } else {
                ui->view = VIEW_FLEET;
        }
}

static void turn_view(struct ui *ui, int by)
{
        enum view_id from = ui->view < VIEW_TABS ? ui->view : ui->before;
        ui_show(ui, (enum view_id)(((int)from + by + VIEW_TABS) % VIEW_TABS));
}

static void change_interval(struct ui *ui, const struct ui_data *d, bool longer)
{
        static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
        double now = clock_to_seconds(d->interval_ns), next = now;
        if (d->replay) {
                ui_notify(ui, "a capture has its own interval; [ and ] change the speed");
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                if (longer && steps[i] > now * 1.01) {
                        next = steps[i];
                        break;
                }
                if (!longer && steps[i] < now * 0.99)
                        next = steps[i];
        }
        request_action(ui, REQUEST_INTERVAL, next);
        ui_notify(ui, "a sample every %g s", next);
}

static void change_speed(struct ui *ui, const struct ui_data *d, double factor)
{
        double base = d->speed > 0 ? d->speed : 1;
        request_replay(ui, d, REQUEST_SPEED, MIN(MAX(base * factor, SPEED_MIN), SPEED_MAX));
}

static void change_theme(struct ui *ui)
{
        ui->theme = ui->theme == THEME_DARK    ? THEME_LIGHT
                    : ui->theme == THEME_LIGHT ? THEME_MONO
                                               : THEME_DARK;
        ui_notify(ui, "theme %s; w saves it", theme_name(ui->theme));
        request_action(ui, REQUEST_THEME, 0);
}

static void act_on_source(struct ui *ui, const struct ui_data *d, enum action action)
{
        if (action == ACTION_PAUSE)
                request_action(ui, REQUEST_PAUSE, 0);
        else if (action == ACTION_STEP)
                request_action(ui, REQUEST_STEP, 1);
        else if (action == ACTION_STEP_BACK)
                request_replay(ui, d, REQUEST_STEP, -1);
        else if (action == ACTION_SEEK_BACK || action == ACTION_SEEK_ON)
                request_replay(ui, d, REQUEST_SEEK_BY, action == ACTION_SEEK_ON ? SEEK_S : -SEEK_S);
        else if (action == ACTION_JUMP_ON || action == ACTION_JUMP_BACK)
                timeline_jump(ui, d, action == ACTION_JUMP_ON);
        else if (action == ACTION_SLOWER || action == ACTION_FASTER)
                change_speed(ui, d, action == ACTION_FASTER ? 2 : 0.5);
        else if (action == ACTION_LONGER || action == ACTION_SHORTER)
                change_interval(ui, d, action == ACTION_LONGER);
}

static void input_act(struct ui *ui, const struct ui_data *d, enum action action)
{
        if (action == ACTION_QUIT && ui->view >= VIEW_TABS)
                return_to_view(ui, d);
        else if (action == ACTION_QUIT)
                request_action(ui, REQUEST_QUIT, 0);
        else if (action == ACTION_BACK)
                return_to_view(ui, d);
        else if (action == ACTION_NEXT_VIEW || action == ACTION_PREVIOUS_VIEW)
                turn_view(ui, action == ACTION_NEXT_VIEW ? 1 : -1);
        else if (action >= ACTION_FLEET && action <= ACTION_HOST)
                ui_show(ui, (enum view_id)(action - ACTION_FLEET));
        else if (action == ACTION_HELP || action == ACTION_LOG)
                ui_show(ui, action == ACTION_HELP ? VIEW_HELP : VIEW_LOG);
        else if (action == ACTION_ENTER)
                ui_show(ui, VIEW_FOCUS);
        else if (action == ACTION_FILTER)
                open_prompt(ui, PROMPT_FILTER, ui->filter);
        else if (action == ACTION_COMMAND)
                open_prompt(ui, PROMPT_COMMAND, "");
        else if (action == ACTION_THEME)
                change_theme(ui);
        else if (action == ACTION_SAVE)
                request_action(ui, REQUEST_SAVE, 0);
        else if (action == ACTION_REDRAW)
                request_action(ui, REQUEST_REDRAW, 0);
        else if (action == ACTION_DUMP)
                request_action(ui, REQUEST_DUMP, 0);
        else
                act_on_source(ui, d, action);
}

static void click_tab(struct ui *ui, int x, int width)
{
        int at = width >= 70 ? 8 : 1;
        for (enum view_id i = 0; i < VIEW_TABS; i++) {
                int w = (int)strlen(view_at(i)->title) + 4;
                if (x >= at && x < at + w)
                        ui_show(ui, i);
                at += w;
        }
}

void ui_key(struct ui *ui, const struct ui_data *d, const struct key_event *event)
{
        const struct view_ops *view = view_at(ui->view);
        ui->message[0] = '\0';
        if (event->key == INPUT_MOUSE) {
                if (event->y == 0 && event->button == MOUSE_LEFT)
                        click_tab(ui, event->x, ui->body.w);
                else if (event->button == MOUSE_LEFT && timeline_click(ui, d, event->x, event->y))
                        ;
                else if (view->mouse)
                        view->mouse(ui, d, event);
                return;
        }
        if (ui->prompt != PROMPT_NONE) {
                prompt_key(ui, d, event->key);
                return;
        }
        enum action action = key_action(event->key);
        if (!view->act || !view->act(ui, d, action))
                input_act(ui, d, action);
}
