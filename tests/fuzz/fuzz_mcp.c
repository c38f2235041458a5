/* What an agent sends: every answer is one line of JSON, and no command line has a word that is not
 * of the table. */
#include "fuzz.h"

#include "base/attr.h"
#include "mcp/protocol.h"

#include <stdlib.h>
#include <string.h>

static bool is_flag_of(const struct tool_line *line, const char *word)
{
        const struct tool_arg *a;
        for (size_t i = 0; (a = tool_arg_at(i)); i++) {
                size_t n = a->flag ? strlen(a->flag) : 0;
                if (n > 0 && strcmp(a->tool, line->words[0]) == 0 &&
                    strncmp(word, a->flag, n) == 0 && (word[n] == '=' || word[n] == '\0'))
                        return true;
        }
        return false;
}

static int check_line(void *arg UNUSED, const struct tool_line *line, struct mcp_result *ret,
                      struct err *err)
{
        if (line->n == 0 || line->n >= TOOL_WORDS_MAX || !tool_find(line->words[0]))
                abort();
        for (size_t i = 1; i < line->n; i++) {
                const char *word = line->words[i];
                bool path = word[0] == '/' || strncmp(word, "./", 2) == 0;
                bool number = word[0] && strspn(word, "0123456789") == strlen(word);
                if (line->is_path[i] != path || (path && strstr(word, "://")) ||
                    (!path && !number && !is_flag_of(line, word)))
                        abort();
        }
        strbuf_puts(&ret->text, line->words[line->n - 1]);
        return line->n % 3 ? 0 : err_set(err, -1, "%s", line->words[line->n - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct mcp_server server = {.version = "0", .run = check_line};
        struct strbuf out = {0};
        json_error_t why;
        mcp_answer(&server, (const char *)data, size, &out);
        if (out.len > 0) {
                if (memchr(out.s, '\n', out.len) != out.s + out.len - 1)
                        abort();
                json_t *answer = json_loadb(out.s, out.len, 0, &why);
                if (!answer)
                        abort();
                json_decref(answer);
        }
        strbuf_finish(&out);
        return 0;
}
