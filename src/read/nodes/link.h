/*
 * The way to one node: the program that reaches it, what it writes, and its clock. Everything is
 * done in small steps that never wait; the source calls them from one poll loop.
 */
#pragma once

#include "life/helper.h"
#include "model/node.h"
#include "read/nodes/command.h"
#include "read/nodes/stream.h"

#define LINK_SAID_MAX 1024
#define LINK_ASKS 8

enum link_stage {
        LINK_WAITING, /* for the time of the next attempt */
        LINK_LOGIN,   /* started, and no line of our protocol came yet */
        LINK_STREAM,  /* it has greeted */
        LINK_ENDING,  /* nothing more comes; the program is waited for */
};

struct link {
        char target[256]; /* as it was named: user@host */
        char job[40];     /* the Slurm job to go through; empty for none */
        enum link_stage stage;
        struct helper helper;
        struct stream stream;
        char said[LINK_SAID_MAX]; /* the end of its standard error */
        size_t said_len;
        int64_t begun_ns, heard_ns;  /* when it was started; when the last line of our own came */
        int64_t retry_ns;            /* of LINK_WAITING */
        int64_t ending_ns;           /* since when LINK_ENDING */
        char why[NODE_WORDS_MAX];    /* our reason to end it; empty: its own */
        unsigned failures;           /* in a row */
        bool sampled;                /* values came in this attempt */
        unsigned samples;            /* since samples_ns */
        int64_t samples_ns, mute_ns; /* until mute_ns its standard error is not read */

        /* Its clock: the answers to the last questions, and the best of them. */
        struct link_send_request {
                int64_t rtt_ns, offset_ns;
        } asks[LINK_ASKS];
        uint64_t asked; /* questions so far */
        size_t answers;
        int64_t asked_mono_ns, asked_wall_ns, ask_ns; /* the last, and when the next is due */
        bool waits;                                   /* for an answer */
};

void link_init(struct link *l, const char *target, const char *job);
/* Ends the program if it runs; waits for it only as long as helper_stop does. */
void link_finish(struct link *l);
/* Starts an attempt. One that fails ends at once. */
void link_start(struct link *l, const struct node_command *command, bool is_srun, int64_t now_ns,
                struct node *node);
/* Reads what there is. 1, 0 when nothing more comes, -1 when it is too much for a stream of our
 * own. */
int link_read(struct link *l);
/* Notes what its standard error says, a bounded part of it. */
void link_read_stderr(struct link *l, int64_t now_ns);
/* Whether its output, and its standard error, are to be read now: one that writes too much waits.
 */
bool link_reads(struct link *l, int64_t now_ns, int64_t interval_ns);
bool link_listens(const struct link *l, int64_t now_ns);
/* The next event of the bytes that were read. */
enum stream_event link_event(struct link *l, struct batcher *b, int64_t now_ns, struct node *node);
/* Asks for its time when that is due. */
void link_send_request(struct link *l, int64_t now_ns, int64_t wall_ns);
/* When the values of a sample were measured, on our monotonic clock. */
int64_t link_measured(const struct link *l, int64_t now_ns, int64_t wall_ns);
/* The attempt is over, for a reason of our own or (NULL) for that which it gives itself. */
void link_end(struct link *l, const char *why, int64_t now_ns);
/* Why a program that reached a node ended, of what it wrote to its standard error; whether
 * that is known, else node has its last words. */
bool node_explain_end(const char *said, int status, struct node *node);
/* Of one that ends: looks whether it has, and is less kind the longer that takes. Says why in node
 * when it has. */
void link_bury(struct link *l, int64_t now_ns, struct node *node);
