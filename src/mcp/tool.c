#include "mcp/tool.h"

#include "base/attr.h"
#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct tool tools[] = {
#define TOOL(name, about) {#name, about},
#define ARG(tool, name, kind, flag, choices, required, about)
#include "mcp/tools.def"
};

static const struct tool_arg args[] = {
#define TOOL(name, about)
#define ARG(tool, name, kind, flag, choices, required, about)                                      \
        {#tool, name, TOOL_ARG_##kind, flag, choices, required, about},
#include "mcp/tools.def"
};

const struct tool *tool_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
                if (strcmp(tools[i].name, name) == 0)
                        return &tools[i];
        }
        return NULL;
}

const struct tool_arg *tool_arg_at(size_t i)
{
        return i < ARRAY_LEN(args) ? &args[i] : NULL;
}

static bool belongs_to(const struct tool_arg *a, const struct tool *t)
{
        return strcmp(a->tool, t->name) == 0;
}

/* ---- the list ---- */

static void write_choices(struct jsonw *j, const char *choices)
{
        jsonw_array(j, "enum");
        for (const char *s = choices; *s;) {
                char word[32];
                size_t len = strcspn(s, "|");
                snprintf(word, sizeof(word), "%.*s", (int)len, s);
                jsonw_text(j, NULL, word);
                s += len + (s[len] == '|');
        }
        jsonw_end(j);
}

static void write_kind(struct jsonw *j, const struct tool_arg *a)
{
        static const char *const types[] = {
            [TOOL_ARG_FILE] = "string",   [TOOL_ARG_FILES] = "array",
            [TOOL_ARG_TEXT] = "string",   [TOOL_ARG_CHOICE] = "string",
            [TOOL_ARG_COUNT] = "integer", [TOOL_ARG_SECONDS] = "number",
            [TOOL_ARG_FLAG] = "boolean",
        };
        jsonw_text(j, "type", types[a->kind]);
        if (a->kind == TOOL_ARG_CHOICE)
                write_choices(j, a->choices);
        if (a->kind == TOOL_ARG_COUNT)
                jsonw_count(j, "minimum", 1);
        if (a->kind == TOOL_ARG_SECONDS)
                jsonw_count(j, "minimum", 0);
        if (a->kind == TOOL_ARG_FILES) {
                jsonw_object(j, "items");
                jsonw_text(j, "type", "string");
                jsonw_end(j);
                jsonw_count(j, "minItems", 1);
        }
}

static void write_arguments(struct jsonw *j, const struct tool *t)
{
        jsonw_object(j, "inputSchema");
        jsonw_text(j, "type", "object");
        jsonw_object(j, "properties");
        for (size_t i = 0; i < ARRAY_LEN(args); i++) {
                if (!belongs_to(&args[i], t))
                        continue;
                jsonw_object(j, args[i].name);
                write_kind(j, &args[i]);
                jsonw_text(j, "description", args[i].about);
                jsonw_end(j);
        }
        jsonw_end(j);
        jsonw_array(j, "required");
        for (size_t i = 0; i < ARRAY_LEN(args); i++) {
                if (belongs_to(&args[i], t) && args[i].required)
                        jsonw_text(j, NULL, args[i].name);
        }
        jsonw_end(j);
        jsonw_bool(j, "additionalProperties", false);
        jsonw_end(j);
}

void tool_write_list(struct jsonw *j, const char *name)
{
        jsonw_array(j, name);
        for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
                jsonw_object(j, NULL);
                jsonw_text(j, "name", tools[i].name);
                jsonw_text(j, "description", tools[i].about);
                write_arguments(j, &tools[i]);
                jsonw_object(j, "annotations");
                jsonw_bool(j, "readOnlyHint", true);
                jsonw_bool(j, "openWorldHint", false);
                jsonw_end(j);
                jsonw_end(j);
        }
        jsonw_end(j);
}

/* ---- from arguments to a command line ---- */

/* Takes ownership of the word. */
static int add_word(struct tool_line *line, char *word, bool is_path, struct err *err)
{
        if (!word)
                return err_set(err, -ENOMEM, "out of memory");
        if (line->n == TOOL_WORDS_MAX - 1) {
                free(word);
                return err_set(err, -E2BIG, "more than %d words", TOOL_WORDS_MAX - 1);
        }
        line->is_path[line->n] = is_path;
        line->words[line->n++] = word;
        return 0;
}

static int refuse_argument(const struct tool_arg *a, const char *what, struct err *err)
{
        return err_set(err, -EINVAL, "argument '%s' %s", a->name, what);
}

static const char *bounded_text(const struct tool_arg *a, const json_t *v, struct err *err)
{
        const char *s = json_string_value(v);
        if (!s || !*s)
                return refuse_argument(a, "is not a text", err), NULL;
        if (json_string_length(v) > TOOL_TEXT_MAX)
                return refuse_argument(a, "is too long", err), NULL;
        return s;
}

static int add_path(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                    struct err *err)
{
        char *word = NULL;
        const char *s = bounded_text(a, v, err);
        if (!s)
                return -EINVAL;
        if (strstr(s, "://"))
                return refuse_argument(a, "is an address, and files alone are read", err);
        if (asprintf(&word, "%s%s", s[0] == '/' ? "" : "./", s) < 0)
                word = NULL;
        return add_word(line, word, true, err);
}

static int add_paths(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                     struct err *err)
{
        if (!json_is_array(v) || json_array_size(v) == 0)
                return refuse_argument(a, "is not a list of paths", err);
        int r = add_word(line, strdup(a->flag), false, err);
        for (size_t i = 0; r == 0 && i < json_array_size(v); i++)
                r = add_path(a, json_array_get(v, i), line, err);
        return r;
}

static int add_option(const struct tool_arg *a, const char *value, struct tool_line *line,
                      struct err *err)
{
        char *word = NULL;
        if (asprintf(&word, "%s%s%s", a->flag ? a->flag : "", a->flag ? "=" : "", value) < 0)
                word = NULL;
        return add_word(line, word, false, err);
}

static bool is_choice(const char *choices, const char *word)
{
        size_t n = strlen(word);
        for (const char *s = choices; *s;) {
                size_t len = strcspn(s, "|");
                if (len == n && memcmp(s, word, n) == 0)
                        return true;
                s += len + (s[len] == '|');
        }
        return false;
}

static int add_text(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                    struct err *err)
{
        const char *s = bounded_text(a, v, err);
        if (!s)
                return -EINVAL;
        if (a->choices && !is_choice(a->choices, s)) {
                refuse_argument(a, "has another value", err);
                return err_hint(err, "one of: %s", a->choices), -EINVAL;
        }
        return add_option(a, s, line, err);
}

static int add_number(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                      struct err *err)
{
        char text[48];
        double number = json_number_value(v);
        bool whole = a->kind == TOOL_ARG_COUNT;
        if (whole ? !json_is_integer(v) : !json_is_number(v))
                return refuse_argument(a, whole ? "is not a whole number" : "is not a number", err);
        if (!(number >= (whole ? 1 : 0) && number <= INT32_MAX))
                return refuse_argument(a, "is out of range", err);
        snprintf(text, sizeof(text), whole ? "%.0f" : "%.3f", number);
        return add_option(a, text, line, err);
}

static int add_flag(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                    struct err *err)
{
        if (!json_is_boolean(v))
                return refuse_argument(a, "is neither true nor false", err);
        return json_is_true(v) ? add_word(line, strdup(a->flag), false, err) : 0;
}

static int add_argument(const struct tool_arg *a, const json_t *v, struct tool_line *line,
                        struct err *err)
{
        switch (a->kind) {
        case TOOL_ARG_FILE:
                return add_path(a, v, line, err);
        case TOOL_ARG_FILES:
                return add_paths(a, v, line, err);
        case TOOL_ARG_TEXT:
        case TOOL_ARG_CHOICE:
                return add_text(a, v, line, err);
        case TOOL_ARG_COUNT:
        case TOOL_ARG_SECONDS:
                return add_number(a, v, line, err);
        case TOOL_ARG_FLAG:
                return add_flag(a, v, line, err);
        }
        return 0;
}

/* An argument that is null counts as left out. */
static int add_known(const struct tool *t, const json_t *arguments, size_t *taken,
                     struct tool_line *line, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(args); i++) {
                const struct tool_arg *a = &args[i];
                if (!belongs_to(a, t))
                        continue;
                const json_t *v = json_object_get(arguments, a->name);
                *taken += v != NULL;
                if (v && !json_is_null(v))
                        r = add_argument(a, v, line, err);
                else if (a->required)
                        r = refuse_argument(a, "is required", err);
        }
        return r;
}

int tool_make_line(const struct tool *t, const json_t *arguments, struct tool_line *ret,
                   struct err *err)
{
        size_t taken = 0;
        *ret = (struct tool_line){0};
        if (arguments && !json_is_object(arguments) && !json_is_null(arguments))
                return err_set(err, -EINVAL, "the arguments are not an object");
        int r = add_word(ret, strdup(t->name), false, err);
        if (r == 0)
                r = add_known(t, arguments, &taken, ret, err);
        if (r == 0 && taken < json_object_size(arguments))
                r = err_set(err, -EINVAL, "an argument that '%s' does not take", t->name);
        return r;
}

void tool_line_finish(struct tool_line *line)
{
        for (size_t i = 0; i < line->n; i++)
                free(line->words[i]);
        line->n = 0;
}
