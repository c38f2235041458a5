#include "read/collect/line.h"

#include "base/attr.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SOCKET_PREFIX "unix:"

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static size_t skip_blanks(const char *s, size_t at, size_t len)
{
        while (at < len && (s[at] == ' ' || s[at] == '\t' || s[at] == '\r'))
                at++;
        return at;
}

/* kB/s, %, 1/s, °C is written degC: letters that are the same in every output. */
static bool is_unit(const char *s, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (!is_letter(s[i]) && !is_digit(s[i]) && !strchr("/%^*._-", s[i]))
                        return false;
        }
        return len < COLLECTED_UNIT_MAX;
}

bool collect_parse_line(const char *s, size_t len, struct collected *ret)
{
        char number[COLLECT_LINE_MAX], *end;
        size_t from = skip_blanks(s, 0, len), to = from;
        while (to < len && (is_digit(s[to]) || strchr("+-.eE", s[to])) && s[to])
                to++;
        if (to == from || to - from >= sizeof(number))
                return false;
        memcpy(number, s + from, to - from);
        number[to - from] = '\0';
        double value = strtod(number, &end);
        if (*end || !isfinite(value))
                return false;
        size_t unit = skip_blanks(s, to, len), last = unit;
        while (last < len && !strchr(" \t\r", s[last]))
                last++;
        if (skip_blanks(s, last, len) != len || !is_unit(s + unit, last - unit))
                return false;
        memcpy(ret->unit, s + unit, last - unit);
        ret->unit[last - unit] = '\0';
        ret->value = value;
        return true;
}

/* ---- what is to be collected ---- */

static bool is_name(const char *s, size_t len)
{
        bool fits = len > 0 && len < COLLECTED_NAME_MAX && is_letter(s[0]);
        for (size_t i = 0; fits && i < len; i++)
                fits = is_letter(s[i]) || is_digit(s[i]) || s[i] == '_';
        return fits;
}

static int refuse_name(const char *line, size_t len, struct err *err)
{
        err_set(err, ERR_USAGE, "--collect: '%.*s' is not NAME=COMMAND", (int)MIN(len, (size_t)80),
                line);
        return err_hint(err, "write for example --collect 'queue=wc -l < queue.txt'; a name has "
                             "letters, digits and _");
}

static int check_new(const struct collect_list *list, const char *name, struct err *err)
{
        for (size_t i = 0; i < list->n; i++) {
                if (strcmp(list->items[i].name, name) == 0)
                        return err_set(err, ERR_USAGE, "--collect: '%s' is there twice", name);
        }
        if (list->n == COLLECTED_MAX)
                return err_set(err, ERR_USAGE, "--collect: more than %d numbers", COLLECTED_MAX);
        return 0;
}

static int add_item(const char *line, size_t len, struct collect_list *list, struct err *err)
{
        const char *equals = memchr(line, '=', len);
        size_t name = equals ? (size_t)(equals - line) : 0;
        if (!is_name(line, name) || name + 1 == len)
                return refuse_name(line, len, err);
        struct collect_item item = {0};
        memcpy(item.name, line, name);
        int r = check_new(list, item.name, err);
        if (r < 0)
                return r;
        const char *from = equals + 1;
        size_t left = len - name - 1;
        item.is_socket =
            left > strlen(SOCKET_PREFIX) && memcmp(from, SOCKET_PREFIX, strlen(SOCKET_PREFIX)) == 0;
        if (item.is_socket) {
                from += strlen(SOCKET_PREFIX);
                left -= strlen(SOCKET_PREFIX);
        }
        item.from = strndup(from, left);
        if (!item.from)
                return err_set(err, -ENOMEM, "out of memory");
        list->items[list->n++] = item;
        return 0;
}

int collect_parse_list(const char *text, struct collect_list *ret, struct err *err)
{
        int r = 0;
        *ret = (struct collect_list){0};
        for (const char *s = text; r == 0 && *s;) {
                size_t len = strcspn(s, "\n");
                r = len > 0 ? add_item(s, len, ret, err) : 0;
                s += len + (s[len] == '\n');
        }
        return r;
}

void collect_list_finish(struct collect_list *list)
{
        for (size_t i = 0; i < list->n; i++)
                free(list->items[i].from);
        list->n = 0;
}
