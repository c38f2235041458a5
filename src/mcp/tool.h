/* The commands that a client of the Model Context Protocol may run, and what they take. */
#pragma once

#include "base/err.h"
#include "base/jsonw.h"

#include <jansson.h>
#include <stdbool.h>

#define TOOL_WORDS_MAX 64 /* of a command line, the name of the command included */
#define TOOL_TEXT_MAX 4096

enum tool_arg_kind {
        TOOL_ARG_FILE,
        TOOL_ARG_FILES,
        TOOL_ARG_TEXT,
        TOOL_ARG_CHOICE,
        TOOL_ARG_COUNT,
        TOOL_ARG_SECONDS,
        TOOL_ARG_FLAG,
};

struct tool_arg {
        const char *tool, *name;
        enum tool_arg_kind kind;
        const char *flag;    /* NULL: a word of its own */
        const char *choices; /* a|b|c */
        bool required;
        const char *about;
};

struct tool {
        const char *name, *about;
};

/* A command line after the program's name. The words are its own. */
struct tool_line {
        char *words[TOOL_WORDS_MAX];
        bool is_path[TOOL_WORDS_MAX]; /* this word names a file */
        size_t n;
};

/* NULL when there is none of that name. */
const struct tool *tool_find(const char *name);
/* Of all tools; NULL at the end. */
const struct tool_arg *tool_arg_at(size_t i);

/* The tools as a result of tools/list: an array of this name. */
void tool_write_list(struct jsonw *j, const char *name);
/*
 * The command line for a tool's arguments, an object or NULL for none. Every word is an option of
 * the table with its value, or a path that begins with '/' or './', so that none of them can be
 * another option or an address. 0, or a negative code with err; finish ret either way.
 */
int tool_make_line(const struct tool *t, const json_t *arguments, struct tool_line *ret,
                   struct err *err);
void tool_line_finish(struct tool_line *line);
