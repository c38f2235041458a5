/*
 * The interface: what is chosen and shown, and what keys do. It draws from plain data and asks for
 * everything else (seek, pause, signals) by a request, so it knows no source and no terminal.
 */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/process.h"
#include "model/stack_live.h"
#include "model/trend.h"
#include "model/where.h"
#include "present/tui/canvas.h"
#include "present/tui/chart.h"
#include "present/tui/keys.h"
#include "present/tui/past.h"
#include "present/tui/theme.h"

enum view_id {
#define VIEW(id, symbol) VIEW_##id,
#include "present/tui/views.def"
#undef VIEW
        VIEW_COUNT
};
#define VIEW_TABS VIEW_HELP /* the views before it have a tab */

#define UI_WIDTH_MIN 40
#define UI_HEIGHT_MIN 8
#define UI_TEXT_MAX 128
#define UI_LOG_MAX 256
#define UI_SERIES_MAX 16

enum source_state {
        SOURCE_STARTING,
        SOURCE_RUNNING,
        SOURCE_PAUSED,
        SOURCE_ENDED,
        SOURCE_FAILED,
};

/* One of the doctor's checks. */
struct ui_check {
        const char *name, *says, *remedy; /* remedy is empty when there is nothing to do */
        uint8_t ink;
        bool wrong;
};

/* A part of a recording that has a name: a phase, or what limits a GPU meanwhile. */
struct ui_part {
        const char *name;
        int64_t begin_ns, end_ns; /* from the beginning */
        uint8_t ink;
};

/* What is drawn. All of it is borrowed for the time of one call. */
struct ui_data {
        const struct frame *frame; /* NULL before the first */
        struct trends trends;
        const char *version;
        enum source_state state;
        const char *error; /* why the source failed; "" for no reason */
        const char *hint;
        int64_t age_ns;      /* since the frame came */
        int64_t interval_ns; /* between frames */
        bool late;           /* no frame for so long that the values count as old */
        bool replay;         /* seek, speed and step are to be had */
        double speed;
        int64_t position_ns, duration_ns;     /* of a replay; duration 0 while not known */
        const struct process_list *processes; /* NULL: nobody gives any */
        bool asking_processes;                /* they come with the next sample */
        const struct host *host;              /* NULL: nobody gives any */
        int64_t host_old_ns;                  /* since when it gives nothing new; 0 while it does */
        const char *awaited;              /* the GPUs that the kernel names, before any sample */
        const struct stack_live *stacks;  /* of the processes; NULL: nobody examines them */
        const struct where *where;        /* lines behind the chosen GPU's limiter; or NULL */
        const struct where *server_lines; /* of the frame's model servers; or NULL */
        bool read_only;                   /* no signals */
        const struct ui_check *checks;    /* NULL: none were made */
        size_t n_checks;
        bool checking;                /* more are to come */
        const struct ui_part *phases; /* of a recording, in order of their beginnings */
        size_t n_phases;
        const struct ui_part *findings; /* likewise: stretches with what limits them */
        size_t n_findings;
};

/* Whether what is shown is old: the source does not answer, or says itself that nothing is new. */
bool ui_is_stale(const struct ui_data *d);
/* Since when there is no news, as far as is known. */
int64_t ui_stale_ns(const struct ui_data *d);

/* What the interface wants done. */
enum request {
        REQUEST_NONE,
        REQUEST_QUIT,
        REQUEST_PAUSE,
        REQUEST_STEP,     /* number: 1 or -1 samples */
        REQUEST_SEEK_BY,  /* number: seconds */
        REQUEST_SEEK_TO,  /* number: seconds from the beginning */
        REQUEST_SPEED,    /* number: the new speed */
        REQUEST_INTERVAL, /* number: the new interval in seconds */
        REQUEST_SIGNAL,   /* SIGTERM to pid */
        REQUEST_THEME,
        REQUEST_SAVE,
        REQUEST_DUMP,
        REQUEST_REDRAW,
};

struct ui_request {
        enum request what;
        double number;
        int32_t pid;
        int64_t start_ns; /* of that process */
};

enum layout { LAYOUT_AUTO, LAYOUT_CARDS, LAYOUT_LINES, LAYOUT_COUNT };

/* FLEET_SORT(id, name): orders of the fleet, the busiest or worst first except by GPU. */
#define FLEET_SORTS(FLEET_SORT)                                                                    \
        FLEET_SORT(GPU, "gpu")                                                                     \
        FLEET_SORT(REAL, "real")                                                                   \
        FLEET_SORT(UTIL, "util")                                                                   \
        FLEET_SORT(MEMORY, "memory")                                                               \
        FLEET_SORT(POWER, "power")                                                                 \
        FLEET_SORT(TEMP, "temp")                                                                   \
        FLEET_SORT(HEALTH, "health")
enum fleet_sort {
#define FLEET_SORT(id, name) FLEET_SORT_##id,
        FLEET_SORTS(FLEET_SORT)
#undef FLEET_SORT
            FLEET_SORT_COUNT
};

struct ui_note {
        int64_t wall_ns;
        uint8_t ink;
        char text[UI_TEXT_MAX];
};

enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_COMMAND, PROMPT_SIGNAL };

struct ui {
        enum view_id view, before; /* before: where Esc leads from help and log */
        enum theme theme;
        enum layout layout;
        enum fleet_sort sort;
        bool reversed;
        char filter[UI_TEXT_MAX];
        enum prompt prompt;
        char typed[UI_TEXT_MAX];
        char message[UI_TEXT_MAX]; /* one line below; goes with the next key */
        struct ui_request request; /* to be taken by the caller */

        size_t *order; /* rows of the frame as they are shown */
        size_t n_order, cap_order;
        size_t cursor; /* place in order */
        uint32_t chosen_slot;
        bool chosen; /* chosen_slot is one */
        int scroll;  /* first line of the fleet shown */
        int columns; /* of the fleet's grid, when drawn last */
        int page;    /* rows of the fleet's grid, when drawn last */

        struct {
                int scroll;
                bool absent; /* also metrics the source lacks */
                bool raw;    /* rules, and names as files have them */
        } focus;
        struct {
                enum metric metrics[UI_SERIES_MAX];
                size_t n;
                unsigned set;      /* of the built-in ones; beyond them: the user's own */
                bool all;          /* one metric, every GPU */
                int64_t span_ns;   /* 0: that of ui_span_ns */
                int64_t back_ns;   /* how long before now the window ends */
                int64_t cursor_ns; /* CHART_NO_CURSOR for none */
                struct chart drawn;
        } plot;
        struct {
                unsigned sort;
                size_t cursor;
                int scroll;
                int shift;         /* columns of the commands left out on the left */
                int32_t stacks_of; /* the process whose stacks are shown; 0: the list is */
                int stacks_scroll;
                bool reversed, tree;
        } job;
        int help_scroll, log_scroll;

        struct past past; /* of the host and of processes */

        struct ui_note log[UI_LOG_MAX]; /* a ring */
        size_t n_log;                   /* notes ever made */
        struct watched *watched;        /* by slot: what was reported it last */
        size_t n_watched;
        uint8_t *nodes_reported; /* by node: the state that was reported last */
        size_t n_nodes_reported;
        int64_t noted_ns;  /* when changes were searched for */
        size_t last_phase; /* of the timeline, from 1; 0 for none */
        int64_t last_wall_ns;
        enum source_state last_state;
        bool last_late;

        struct chart_scratch scratch;
        struct strbuf text;   /* for sentences */
        struct area body;     /* where the view was drawn last */
        struct area timeline; /* likewise; no lines while there is none */
};

struct view_ops {
        const char *name;         /* as --view and :commands spell it */
        const char *title;        /* on the tab */
        const char *hints;        /* keys worth showing at the bottom: "Enter focus  s sort" */
        const char *acting_hints; /* more, where processes run and signals are allowed; or NULL */
        void (*draw)(struct ui *ui, const struct ui_data *data, struct canvas *c, struct area area);
        /* Returns whether the action was the view's. May be NULL. */
        bool (*act)(struct ui *ui, const struct ui_data *data, enum action action);
        /* A click or a turn of the wheel inside the area. May be NULL. */
        void (*mouse)(struct ui *ui, const struct ui_data *data, const struct key_event *event);
};

const struct view_ops *view_at(enum view_id id);
/* VIEW_COUNT when there is none of that name. */
enum view_id view_find(const char *name);

void ui_init(struct ui *ui);
void ui_finish(struct ui *ui);
/* Takes in a new frame or state: order, choice, log of health changes. 0 or -ENOMEM. */
int ui_update(struct ui *ui, const struct ui_data *data);
void ui_draw(struct ui *ui, const struct ui_data *data, struct canvas *c);
void ui_key(struct ui *ui, const struct ui_data *data, const struct key_event *event);

/* The chosen row; NULL when there is none. */
const struct row *ui_chosen(const struct ui *ui, const struct ui_data *data);
void ui_choose(struct ui *ui, const struct ui_data *data, size_t place);
void ui_show(struct ui *ui, enum view_id view);
void ui_notify(struct ui *ui, const char *fmt, ...) PRINTF_LIKE(2, 3);
void ui_log(struct ui *ui, int64_t wall_ns, uint8_t ink, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Case does not matter. An empty needle is in everything. */
bool ui_contains(const char *haystack, const char *needle);
/* shell: a card in the middle of an area without GPUs: what is so, why, what to do,
 * and the keys that help. Why and hint may be "". */
void shell_draw_card(const struct ui_data *data, struct canvas *c, struct area area,
                     const char *title, const char *why, const char *hint);
/* Looks for changes worth a line in the log. 0 or -ENOMEM. */
int notes_take(struct ui *ui, const struct ui_data *data);
const char *fleet_sort_name(enum fleet_sort sort);
/* FLEET_SORT_COUNT when there is none of that name. */
enum fleet_sort fleet_sort_find(const char *name);
const char *layout_name(enum layout layout);
enum layout layout_find(const char *name);
/* How much time a column of a sparkline covers. */
int64_t ui_bucket_ns(const struct ui_data *data);
/* How long charts are that nobody chose a length for: as long as what there is, in four steps up to
 * a minute, or more where samples are rare. */
int64_t ui_span_ns(const struct ui_data *data);
/* Why there is no list of processes. */
const char *ui_why_no_processes(const struct ui_data *data);
/* What ':' commands do; complains by ui_notify. */
void ui_command(struct ui *ui, const struct ui_data *data, const char *text);
/* job: processes that hold a GPU. */
size_t job_count(const struct ui_data *data);
/* job: headings and as many of them as fit, in the order of the view, nothing chosen. */
void job_draw_list(struct ui *ui, const struct ui_data *data, struct canvas *c, struct area area);
/* job: the largest GPU memory first. */
void job_use_default_order(struct ui *ui);
/* stacks: what the threads of ui->job.stacks_of are doing. */
void stacks_draw(struct ui *ui, const struct ui_data *data, struct canvas *c, struct area area);
/* stacks: the line that a process is in; empty when that is not known. */
void stacks_put_line(const struct ui_data *data, int32_t pid, struct strbuf *out);
/* plot: makes the i-th built-in set of metrics the shown one. */
void plot_use_set(struct ui *ui, unsigned i);
