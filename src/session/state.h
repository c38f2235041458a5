/*
 * A session that is being written. Its parts (frames, the host, processes, facts) each keep what
 * came in since the last commit; session/write.c commits them together.
 */
#pragma once

#include "base/lookup.h"
#include "session/block.h"
#include "session/db.h"
#include "session/host_series.h"
#include "session/series.h"
#include "session/session.h"

#include "base/strbuf.h"

#include <pthread.h>

/* Ticks wait here before they are sorted by series: a tick touches a few lines of memory that way,
 * and not one for each series. A part of a block. */
#define STAGE_TICKS 8

/* What is kept of an entity while its block is open. */
struct track {
        struct entity who;
        bool written;                      /* the entity's own row is in the file */
        uint8_t staged;                    /* bits: ticks of the stage that it is in */
        struct coded stored[SERIES_COUNT]; /* what the file has of the open block */
        cell stage[STAGE_TICKS][SERIES_COUNT];
        cell cells[SERIES_COUNT][BLOCK_TICKS];
};

struct tick_row {
        int64_t wall_us, skew_us, window_ms;
        bool stale;
        uint16_t cores; /* of the host's ticks: how many it had */
};

/* The block that ticks are added to. Frames have one and the host has one. */
struct open_block {
        struct tick_row ticks[BLOCK_TICKS];
        size_t n;         /* ticks in it */
        size_t committed; /* how many of them are in the file */
        uint64_t block;
        uint64_t dropped; /* ticks of earlier blocks that memory did not allow to keep */
};

/* A row of the table block or host_block that a commit is going to write. */
struct coded_row {
        uint32_t entity; /* or the item */
        uint16_t series;
        struct coded coded;
        struct coded *stored; /* what remembers that it was written */
        size_t at;            /* of its bytes in bytes */
};

/* What a commit writes of a block. A full one waits in a queue as this. */
struct coded_block {
        struct coded_block *next;
        bool host;
        uint64_t block;
        size_t from, to; /* its ticks that the file may not have */
        struct tick_row ticks[BLOCK_TICKS];
        struct coded_row *rows;
        size_t n_rows, cap_rows;
        struct strbuf bytes;
};

/*
 * Full blocks that the next commit writes, oldest first. They are the only ones who wait for a slow
 * or a full disk: adding ticks continues, until so many bytes of them wait.
 */
#define WAITING_MAX ((size_t)32 << 20)

struct block_queue {
        struct coded_block *first, **end; /* end: where the next goes; NULL while empty */
        size_t bytes;
        struct coded_block *spare; /* for reuse, so that a steady run allocates nothing */
        size_t n_spare;
};

/* One series of one item of the host while its block is open. */
struct host_track {
        uint16_t series, item;
        struct coded stored;
        cell cells[BLOCK_TICKS];
};

/* A level has another name, or another reason not to be there, from this tick on. */
struct level_note {
        uint64_t tick;
        uint8_t level;
        char name[HOST_TEXT_MAX], why[HOST_TEXT_MAX];
};

#define LEVEL_NOTES_MAX 64

/* Another server takes a place, or its state changes, from this tick on. */
struct serving_note {
        uint64_t tick;
        enum engine_kind kind;
        uint8_t item;
        int32_t front; /* as in struct serving */
        char url[SERVING_TEXT_MAX], model[SERVING_TEXT_MAX], gpus[SERVING_TEXT_MAX];
        char why[SERVING_TEXT_MAX]; /* "" while it answers */
};

#define SERVING_NOTES_MAX 32

struct serving_notes {
        struct serving_note now[SERVINGS_MAX]; /* what was said last; tick and item are 0 */
        bool known[SERVINGS_MAX];
        struct serving_note list[SERVING_NOTES_MAX]; /* not in the file yet */
        size_t n, noted;                             /* noted: written by the commit under way */
};

void serving_notes_add(struct serving_notes *n, const struct host *host, uint64_t tick);
int serving_notes_write(struct session *s, struct serving_notes *n);
void serving_notes_written(struct serving_notes *n);

struct host_part {
        struct open_block open;
        struct host_track **tracks; /* by place; NULL before the first host */
        char gpus[HOST_GPUS_MAX][ENTITY_LABEL_MAX];
        size_t n_gpus;
        bool gpus_written;
        struct level_note now[LEVEL_COUNT]; /* what was said last */
        bool known[LEVEL_COUNT];
        struct level_note notes[LEVEL_NOTES_MAX]; /* not in the file yet */
        size_t n_notes, noted;                    /* noted: written by the commit under way */
        struct serving_notes servings;
};

#define PROCESS_FIGURES 7

struct process_track {
        int64_t id;
        struct process who;
        bool written, writing, present; /* writing: by the commit under way */
        int64_t sampled_ns;             /* on the monotonic clock */
        cell cells[PROCESS_FIGURES];
};

struct process_sample {
        uint64_t tick;
        int64_t process;
        bool gone;
        cell cells[PROCESS_FIGURES];
};

#define PROCESS_TRACKS_MAX 4096
#define PROCESS_SAMPLES_MAX 65536

struct process_part {
        struct process_track *tracks;
        size_t n_tracks, cap_tracks;
        int64_t last_id;
        struct process_sample *samples; /* not in the file yet */
        size_t n_samples, cap_samples, sampled;
};

/* A thread whose stacks are kept; its place is its id. */
struct stack_track {
        int32_t pid, tid;
        uint64_t start_ticks; /* of the process */
        uint32_t name;
        bool is_main;
};

/* What a thread was seen doing; its place in the list is its id. */
struct stack_kind {
        uint32_t thread, stack, call, flags; /* flags: enum stack_state; 4: it holds the GIL */
};

struct stack_process_track {
        struct stack_process who;
        bool written, writing;
};

/* How long a thread was seen in a stack during a window; a window's rows stand together. */
struct stack_row {
        int64_t window;
        uint32_t kind, n_samples;
        int64_t ns;
};

#define STACK_THREADS_MAX 65535
#define STACK_ROWS_MAX 65536       /* that wait for a commit */
#define STACK_KINDS_MAX (1u << 20) /* three bytes of a packed row would hold more */
#define STACK_ROW_BYTES 6          /* kind 3, looks 1, milliseconds 2 */

/* Ids below a bound are known here; below the bound that is written, to the file. */
struct stack_part {
        const struct stack_table *table; /* NULL before the first sample */
        struct stack_track *threads;
        size_t n_threads, cap_threads;
        struct stack_process_track *processes;
        size_t n_processes, cap_processes;
        struct stack_kind *kinds;
        size_t n_kinds, cap_kinds;
        struct lookup by_kind;
        struct stack_row *rows;
        size_t n_rows, cap_rows;
        uint32_t texts, frames, nodes;
        uint32_t texts_staged, frames_staged, nodes_staged; /* by the commit under way */
        size_t threads_staged, kinds_staged, rows_staged;
        uint32_t texts_written, frames_written, nodes_written;
        size_t threads_written, kinds_written;
        uint64_t dropped; /* samples that memory did not allow to keep */
        struct strbuf bytes;
};

struct fact {
        char key[64];
        double number;
        int64_t whole; /* when is_whole: times do not fit a double */
        bool is_whole;
        bool written;
        char *text; /* NULL when it is a number */
};

#define TRACKS_MAX SESSION_GPUS_MAX
#define FACTS_MAX 160

struct session {
        char path[4096];
        struct db db;
        pthread_mutex_t writing;  /* held by a commit: the database and what is staged */
        pthread_mutex_t lock;     /* what is added to */
        int spool;                /* the folder, locked while we record; -1 when it is another's */
        struct err spool_trouble; /* why there is none; code 0 when there is */
        int64_t start_wall_ns, start_mono_ns;
        bool start_written, mono_written;

        struct series_scale scales[SERIES_COUNT];
        struct open_block open;
        struct track **tracks; /* by entity slot */
        size_t n_tracks;
        size_t tracks_max;
        bool left_out; /* there were more than tracks_max */
        struct host_part host;
        struct process_part processes;
        struct stack_part stacks;
        enum session_commands commands;
        int file; /* which file it is, whatever its name means by now; to examine alone */
        struct session_counts counts;
        struct fact facts[FACTS_MAX];
        size_t n_facts;

        struct block_queue full;
        struct block_queue kept;   /* of a session in memory: what was taken out of full */
        size_t kept_most;          /* bytes of that */
        struct coded_block now[2]; /* the open blocks, as the commit under way writes them */
};

/* Without database, spool and file. NULL when memory is short. */
struct session *session_alloc(const char *path, int64_t start_wall_ns);
void session_free(struct session *s);

/* The open blocks, where they have news, into now. With s->writing and s->lock held. */
int session_code_open(struct session *s);

/* When a tick was, on the session's clock. The first one may set that clock. */
struct tick_row session_tick_row(struct session *s, int64_t wall_ns, int64_t mono_ns,
                                 int64_t window_ns);

/* How frames, and the host, fill blocks. */
struct block_part {
        bool host;
        /* Codes the series of the open block that the file does not have; all when it is full. */
        int (*code)(struct session *s, struct coded_block *to);
        void (*clear)(struct session *s);
};
extern const struct block_part frames_part, host_part;

/* Puts an open block that is full into the queue and begins the next. With s->lock held. */
int session_next_block(struct session *s, const struct block_part *part, struct open_block *open);

/* The ticks of an open block, without its rows; then a row, unless the file has it so already. */
void block_begin(struct coded_block *to, bool host, const struct open_block *open);
int block_add_row(struct coded_block *to, const cell *cells, struct coded_row row);
/* Writes ticks and rows. */
int block_write(struct db *db, const struct coded_block *b);
/* The file has it now; nothing to note when the block has changed since. */
void block_note_written(const struct coded_block *b, struct open_block *open);
/* What keeping a block costs. */
size_t block_size(const struct coded_block *b);
void block_enqueue(struct block_queue *q, struct coded_block *b);
void block_free(struct coded_block *b);
/* Takes the n oldest out of the queue. */
void block_queue_drop(struct block_queue *q, size_t n);
void block_queue_free(struct block_queue *q);

/* The parts of a commit. Those that write run inside its transaction, with s->lock held. */
int frames_write_entities(struct session *s);
void frames_drop_written(struct session *s);
void frames_free(struct session *s);

int host_write_notes(struct session *s);
void host_note_written(struct session *s);
void host_drop_written(struct session *s);
void host_free(struct session *s);

/* Takes the processes of the frame that is being added as the given tick. */
void processes_add(struct session *s, const struct frame *f, uint64_t tick);
int processes_write(struct session *s);
void processes_note_written(struct session *s);
void processes_drop_written(struct session *s);
/* Who they are is written again at the next commit. With s->lock held. */
void processes_rewrite(struct session *s);
void processes_free(struct session *s);
/* The figures of a process, in the order of the columns. */
struct value process_figure(const struct process *p, size_t i);
void process_set_figure(struct process *p, size_t i, struct value v);
struct series_scale process_figure_scale(size_t i);

int stacks_write(struct session *s);
void stacks_note_written(struct session *s);
void stacks_drop_written(struct session *s);
void stacks_free(struct session *s);

int facts_write(struct session *s);
void facts_drop_written(struct session *s);
void facts_free(struct session *s);
