/* A command: one file, one const entry. */
#pragma once

#include "app/setup.h"
#include "config/config.h"

#include <stdio.h>

/* What may stand after a command's name besides options. */
enum command_words {
        WORDS_NONE,
        WORDS_SOURCE,  /* one file or address, which becomes --source */
        WORDS_OWN,     /* the command examines config->args itself */
        WORDS_COMMAND, /* a command line of another program, in config->rest */
};

#define EXAMPLES 3

struct command {
        const char *name;
        const char *args;    /* for the usage line: "[FILE|URL]" */
        const char *summary; /* one line, lower case */
        enum command_words words;
        /* What people type first, and what it does: both short enough for one line of help. */
        struct example {
                const char *line, *what;
        } examples[EXAMPLES];
        /* Words after the command's name are in config->args from 1 on. Returns the exit status. */
        int (*run)(const struct config *config);
};

enum exit_status {
        EXIT_FINE = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_NO_SOURCE = 3,
        /* assay run and mark's own failures, as timeout and env have them. */
        EXIT_OWN = 125,
        EXIT_NOT_EXECUTABLE = 126,
        EXIT_NOT_FOUND = 127,
};

/* The table. NULL at the end. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);
/* The command whose name is nearest to a misspelt word, or NULL when none is near. */
const struct command *command_near(const char *word);

/* Writes "assay: …" and the hint to stderr; returns the exit status that fits the code. */
int complain(const struct err *err);
/* The exit status of an error. */
int exit_status(const struct err *err);
/* A line that is not an error. */
void notice(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Whether there is exactly one word, a file; else an error with an example. */
int one_file(const struct config *config, const char *example, struct err *err);
/* Whether -o FILE, or the standard output, may be written: it is not the input, nor another
 * recording unless --force. Asked before the work is done. */
int check_out(const struct config *config, const char *input, struct err *err);
/* --format; where nobody gives one, what the name of -o ends in, if the command has such a format.
 */
const char *out_format(const struct config *config);
/* Checks that, and writes everything to -o FILE, or to the standard output. A reader that has gone
 * is not a failure. 0 or a negative code with err. */
int write_out(const struct config *config, const char *input, struct strbuf *out, struct err *err);
/* The same for binary output such as a picture. */
int write_bytes(const struct config *config, const char *input, struct strbuf *out,
                struct err *err);
/*
 * Writes a text to the standard output and clears it. 0 or a negative errno. This and write_out are
 * the ways by which text leaves: whatever names are in it, it does nothing to a terminal.
 */
int print_text(struct strbuf *out);

/* Turns the options into a pipeline's configuration, poll limits and selection included. */
int prepare_pipeline(const struct config *config, bool margins, struct pipeline_config *ret,
                     struct err *err);
/* Opens it for a recording: an engine that is yet to start is waited for, and that is reported. */
int open_pipeline_waiting(const struct config *config, struct pipeline **ret, struct err *err);
/* The same, and opens it. */
int open_pipeline(const struct config *config, bool margins, struct pipeline **ret,
                  struct err *err);
/* The same, with the location and a capture's speed given; a NULL location is the default one. */
int open_pipeline_at(const struct config *config, const char *location, bool margins, double speed,
                     struct pipeline **ret, struct err *err);
/* Tells each line of a text on stderr. */
void print_notices(struct strbuf *notices);
/* Tells what could not be read, and which GPU never came, on stderr. */
void report_trouble(const struct pipeline *p);
/* Tells on stderr which nodes of a frame stopped or began to answer since the last call. */
struct node_reporter {
        uint8_t *reported; /* the state that was reported last, by node */
        size_t n;
};
void report_nodes(struct node_reporter *t, const struct frame *frame);
void report_nodes_end(struct node_reporter *t);
/* The first frame at or after --at. As pipeline_next. */
int seek_start(const struct config *config, struct pipeline *p, const struct frame **ret,
               struct err *err);
