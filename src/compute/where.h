/*
 * Joins the stacks of a run with what limited it: for each stretch and each finding the lines in
 * which the threads that count for its limiter spent that time. Samples are added window by window,
 * in bounded memory; a place with too few samples is left out.
 */
#pragma once

#include "compute/line_tally.h"
#include "model/process.h"
#include "model/stretch.h"
#include "model/where.h"

#define WHERE_ENTRIES_MAX 65536 /* different lines of all stretches together */
#define WHERE_EVERY_GPU SIZE_MAX

/* What a process is to the GPUs. */
struct where_role {
        int32_t pid, ppid;
        bool holds;
        char gpu[ENTITY_LABEL_MAX];
};

/* What a process of the recording is to the GPUs, decided once. */
struct where_person {
        bool is_known;
        uint8_t who; /* enum where_who */
        size_t gpu;  /* place in the list of the stretches; WHERE_EVERY_GPU: of any */
};

/* Time of threads in one line, and in the innermost line below it. */
struct where_entry {
        struct line_samples of;
        uint32_t stretch;
        uint8_t who, doing;
};

/* All zeros to begin with. */
struct where_finder {
        struct where_role *roles;
        size_t n_roles, cap_roles;
        struct where_person *persons; /* one a process of the recording */
        struct where_entry *entries;
        size_t n_entries, cap_entries;
        struct lookup by_key;
};

/* Who held or served a GPU at some time; of each frame. 0 or -ENOMEM. */
int where_see_processes(struct where_finder *w, const struct process_list *list);
/* Adds a window, of which begin_s is the time since the first tick: always of the same log and
 * list, and after all frames were seen. 0 or -ENOMEM. */
int where_add(struct where_finder *w, const struct stretch_list *list, const struct stack_log *log,
              double begin_s, const struct stack_window *window);
/* What a process of the log is to the GPUs; valid until where_finish. After all frames were seen,
 * and always of the same log and list. 0 or -ENOMEM. */
int where_find_person(struct where_finder *w, const struct stretch_list *list,
                      const struct stack_log *log, uint32_t process,
                      const struct where_person **ret);
/* Whether a process of the log works for the GPUs of a stretch, as far as anybody knows: 1, 0 or
 * -ENOMEM. */
int where_serves(struct where_finder *w, const struct stretch_list *list, const struct stretch *s,
                 const struct stack_log *log, uint32_t process);
/* Gives stretches and findings what was found. 0 or -ENOMEM. */
int where_conclude(struct where_finder *w, const struct stack_log *log, struct stretch_list *list);
/* The lines of one limiter of one GPU in a window alone. 0 or -ENOMEM. */
int where_find_now(const struct process_list *list, const struct stack_log *log,
                   const struct stack_window *window, const char *gpu, enum limiter limiter,
                   struct where *ret);
void where_finish(struct where_finder *w);

/* The lines of one process, whether or not it uses a GPU. It must stay where it is. */
struct where_process {
        struct where_finder finder;
        struct stretch stretch;
        struct stretch_gpu gpu;
        struct stretch_list list;
};

/* 0 or -ENOMEM; where_process_end it in any case. */
int where_process_begin(struct where_process *w, int32_t pid);
/* Always of the same log. 0 or -ENOMEM. */
int where_process_add(struct where_process *w, const struct stack_log *log,
                      const struct stack_window *window);
/* What it does with its CPU time, or where its main thread is. 0 or -ENOMEM. */
int where_process_end(struct where_process *w, const struct stack_log *log, struct where *ret);
