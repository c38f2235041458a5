/*
 * The Model Context Protocol, as a server with tools alone: JSON-RPC 2.0, one message a line. What
 * comes in is someone else's; nothing here reads or writes anything.
 */
#pragma once

#include "mcp/tool.h"

/* The result of running a command. */
struct mcp_result {
        struct strbuf text; /* what it wrote */
        struct strbuf said; /* on standard error */
        bool failed;
};

struct mcp_server {
        const char *version; /* of the program */
        /* Runs a command line and fills the result; 0, or a negative code with err. */
        int (*run)(void *arg, const struct tool_line *line, struct mcp_result *ret,
                   struct err *err);
        void *arg;
};

/* Appends the answer to a message, a line with its end; nothing where none is due. */
void mcp_answer(const struct mcp_server *s, const char *message, size_t len, struct strbuf *out);
/* The answer to a message that is longer than what is read. */
void mcp_answer_too_long(struct strbuf *out);
