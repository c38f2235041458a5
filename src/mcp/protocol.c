#include "mcp/protocol.h"

#include "base/attr.h"
#include "base/jsonin.h"

#include <errno.h>
#include <string.h>

#define BATCH_MAX 16

/* Codes of JSON-RPC. */
enum rpc_code {
        RPC_PARSE = -32700,
        RPC_INVALID = -32600,
        RPC_NO_METHOD = -32601,
        RPC_PARAMS = -32602,
};

/* Versions of the protocol that differ in nothing that is used here, the newest first. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
    "assay tells what GPUs are doing and what holds them back. Call 'once' for the machine now, "
    "'report' for a recorded run (made by 'assay run -o run.assay -- COMMAND'), 'diff' to compare "
    "runs, 'why' when a job hangs, 'stacks' for the lines of the program that threads are in. All "
    "of them only read.";

/* ---- answers ---- */

static void begin_answer(struct jsonw *j, const json_t *id)
{
        jsonw_object(j, NULL);
        jsonw_text(j, "jsonrpc", "2.0");
        if (json_is_string(id))
                jsonw_text(j, "id", json_string_value(id));
        else if (json_is_integer(id))
                jsonw_whole(j, "id", json_integer_value(id));
        else if (json_is_real(id))
                jsonw_number(j, "id", json_real_value(id));
        else
                jsonw_null(j, "id");
}

static void write_error(struct jsonw *j, const json_t *id, enum rpc_code code, const char *words)
{
        begin_answer(j, id);
        jsonw_object(j, "error");
        jsonw_whole(j, "code", code);
        jsonw_text(j, "message", words);
        jsonw_end(j);
        jsonw_end(j);
}

static void write_content(struct jsonw *j, struct strbuf *text)
{
        if (text->len == 0)
                return;
        jsonw_object(j, NULL);
        jsonw_text(j, "type", "text");
        jsonw_text(j, "text", strbuf_str(text));
        jsonw_end(j);
}

static void write_result(struct jsonw *j, const json_t *id, struct mcp_result *result)
{
        begin_answer(j, id);
        jsonw_object(j, "result");
        jsonw_array(j, "content");
        write_content(j, &result->text);
        write_content(j, &result->said);
        jsonw_end(j);
        jsonw_bool(j, "isError", result->failed);
        jsonw_end(j);
        jsonw_end(j);
}

/* What a person would have read on the terminal. */
static void put_error(const struct err *err, struct mcp_result *result)
{
        result->failed = true;
        strbuf_clear(&result->text);
        strbuf_puts(&result->said, err->msg);
        if (err->hint[0])
                strbuf_putf(&result->said, "\n%s", err->hint);
}

/* ---- methods ---- */

static void reply_initialize(const struct mcp_server *s, struct jsonw *j, const json_t *id,
                             const json_t *params)
{
        const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
        const char *spoken = versions[0];
        for (size_t i = 0; wanted && i < ARRAY_LEN(versions); i++) {
                if (strcmp(versions[i], wanted) == 0)
                        spoken = versions[i];
        }
        begin_answer(j, id);
        jsonw_object(j, "result");
        jsonw_text(j, "protocolVersion", spoken);
        jsonw_object(j, "capabilities");
        jsonw_object(j, "tools");
        jsonw_end(j);
        jsonw_end(j);
        jsonw_object(j, "serverInfo");
        jsonw_text(j, "name", "assay");
        jsonw_text(j, "version", s->version);
        jsonw_end(j);
        jsonw_text(j, "instructions", instructions);
        jsonw_end(j);
        jsonw_end(j);
}

static void reply_ping(const struct mcp_server *s UNUSED, struct jsonw *j, const json_t *id,
                       const json_t *params UNUSED)
{
        begin_answer(j, id);
        jsonw_object(j, "result");
        jsonw_end(j);
        jsonw_end(j);
}

static void list_tools(const struct mcp_server *s UNUSED, struct jsonw *j, const json_t *id,
                       const json_t *params UNUSED)
{
        begin_answer(j, id);
        jsonw_object(j, "result");
        tool_write_list(j, "tools");
        jsonw_end(j);
        jsonw_end(j);
}

static void call_tool(const struct mcp_server *s, struct jsonw *j, const json_t *id,
                      const json_t *params)
{
        struct mcp_result result = {0};
        struct tool_line line = {0};
        struct err err = {0};
        const char *name = json_string_value(json_object_get(params, "name"));
        const struct tool *t = name ? tool_find(name) : NULL;
        if (!t) {
                write_error(j, id, RPC_PARAMS, "unknown tool; tools/list has those there are");
                return;
        }
        int r = tool_make_line(t, json_object_get(params, "arguments"), &line, &err);
        if (r == 0)
                r = s->run(s->arg, &line, &result, &err);
        if (r < 0)
                put_error(&err, &result);
        write_result(j, id, &result);
        strbuf_finish(&result.text);
        strbuf_finish(&result.said);
        tool_line_finish(&line);
}

static const struct {
        const char *name;
        void (*answer)(const struct mcp_server *s, struct jsonw *j, const json_t *id,
                       const json_t *params);
} methods[] = {
    {"initialize", reply_initialize},
    {"ping", reply_ping},
    {"tools/list", list_tools},
    {"tools/call", call_tool},
};

/* ---- messages ---- */

/* What has no id is a notification, what has no method an answer: neither is answered. */
static void answer_one(const struct mcp_server *s, struct jsonw *j, const json_t *message)
{
        const json_t *id = json_object_get(message, "id");
        const char *method = json_string_value(json_object_get(message, "method"));
        const char *rpc = json_string_value(json_object_get(message, "jsonrpc"));
        bool is_answer = json_object_get(message, "result") || json_object_get(message, "error");
        if (!rpc || strcmp(rpc, "2.0") != 0 || (!method && !is_answer)) {
                write_error(j, id, RPC_INVALID, "not a request of JSON-RPC 2.0");
                return;
        }
        if (!method || !id)
                return;
        if (!json_is_string(id) && !json_is_number(id)) {
                write_error(j, NULL, RPC_INVALID, "the id is neither a text nor a number");
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
                if (strcmp(methods[i].name, method) == 0) {
                        methods[i].answer(s, j, id, json_object_get(message, "params"));
                        return;
                }
        }
        write_error(j, id, RPC_NO_METHOD, "no such method");
}

/* One array of answers; nothing where none is due. */
static void answer_batch(const struct mcp_server *s, const json_t *messages, struct strbuf *out)
{
        size_t n = json_array_size(messages);
        struct strbuf answers = {0};
        struct jsonw j = {.out = &answers};
        if (n == 0 || n > BATCH_MAX) {
                j.out = out;
                write_error(&j, NULL, RPC_INVALID, "a batch has 1 to 16 requests");
                return;
        }
        jsonw_array(&j, NULL);
        size_t empty = answers.len;
        for (size_t i = 0; i < n; i++)
                answer_one(s, &j, json_array_get(messages, i));
        bool any = answers.len > empty;
        jsonw_end(&j);
        if (any)
                strbuf_put(out, answers.s, answers.len);
        out->failed |= answers.failed;
        strbuf_finish(&answers);
}

static bool is_blank_line(const char *s, size_t len)
{
        while (len > 0 && strchr(" \t\r", s[len - 1]) && s[len - 1])
                len--;
        return len == 0;
}

void mcp_answer(const struct mcp_server *s, const char *message, size_t len, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        size_t before = out->len;
        json_error_t why;
        if (is_blank_line(message, len))
                return;
        json_t *m = jsonin_load(message, len, JSON_REJECT_DUPLICATES, &why);
        if (!m)
                write_error(&j, NULL, RPC_PARSE, "not JSON");
        else if (json_is_array(m))
                answer_batch(s, m, out);
        else
                answer_one(s, &j, m);
        json_decref(m);
        if (out->len > before)
                strbuf_putc(out, '\n');
}

void mcp_answer_too_long(struct strbuf *out)
{
        struct jsonw j = {.out = out};
        write_error(&j, NULL, RPC_PARSE, "a message of more than 256 KiB");
        strbuf_putc(out, '\n');
}
