/*
 * A process that holds a GPU, or a descendant of one that holds none, as far as it is known. What
 * is not known is missing or empty.
 */
#pragma once

#include "model/entity.h"
#include "model/value.h"

#define PROCESS_NAME_MAX 32
#define PROCESS_COMMAND_MAX 256

enum process_type {
        PROCESS_COMPUTE = 1,
        PROCESS_GRAPHICS = 2,
};

/* The GPU that a process is on, by the numbers of the source; index is -1 in a recording, which has
 * the label alone. */
struct process_on {
        int32_t index, gi; /* gi is -1 for the whole GPU */
};

struct process {
        int32_t pid, ppid; /* ppid is 0 when not known */
        int64_t start_ns;  /* with the pid, who it is: a reused pid is another process */
        uint8_t type;      /* a set of enum process_type; 0 when not known */
        bool child;        /* holds no GPU: a descendant of one that holds gpu */
        uint8_t framework; /* enum framework; FRAMEWORK_NONE also when not known */
        char user[PROCESS_NAME_MAX];
        char group[PROCESS_NAME_MAX];
        struct process_on on; /* a child's is that of its holder, as the next two */
        uint32_t slot;        /* the entity's, of the slice or the GPU; the engine finds it */
        char
            gpu[ENTITY_LABEL_MAX]; /* its label, for people; a slice's also where it is not shown */
        struct value gpu_memory;   /* bytes */
        struct value sm_util, mem_copy_util, enc_util, dec_util; /* ratios of the GPU */
        struct value cpu;     /* ratio of one core; may exceed 1 */
        struct value rss;     /* bytes */
        struct value elapsed; /* seconds since it started */
        char slurm_job[PROCESS_NAME_MAX];
        char container[PROCESS_NAME_MAX];
        char command[PROCESS_COMMAND_MAX]; /* secrets in it are masked */
        char name[PROCESS_NAME_MAX];       /* of the program, as the kernel has it */
        bool foreign;                      /* another user's process, or its user is unknown */
};

struct process_list {
        const struct process *list;
        size_t n;
};
