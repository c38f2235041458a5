#include "formats/targets/targets.h"

#include "base/brackets.h"
#include "base/jsonw.h"
#include "base/list.h"
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void targets_finish(struct target_list *t)
{
        free(t->list);
        *t = (struct target_list){0};
}

/* --- one host ----------------------------------------------------------------------------------
 */

static bool is_name_char(char c)
{
        return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

static bool is_name(const char *s, size_t n)
{
        if (n == 0 || n >= TARGET_HOST_MAX || s[0] == '-' || s[0] == '.')
                return false;
        for (size_t i = 0; i < n; i++) {
                if (!is_name_char(s[i]))
                        return false;
        }
        return true;
}

/* An IPv6 address, without brackets. */
static bool is_six(const char *s, size_t n)
{
        size_t colons = 0;
        for (size_t i = 0; i < n; i++) {
                colons += s[i] == ':';
                if (!isxdigit((unsigned char)s[i]) && s[i] != ':' && s[i] != '.')
                        return false;
        }
        return n > 1 && n < 46 && colons >= 2;
}

/* why may be NULL. */
static int targets_refuse(struct err *err, const char *s, size_t n, const char *why)
{
        err_set(err, ERR_DATA, "'%.*s' is not a host%s%s", (int)(n < 80 ? n : 80), s,
                why ? ": " : "", why ? why : "");
        return err_hint(err, "write names or addresses: node[001-128],login1,10.0.0.7:9500");
}

static int add_target(struct target_list *t, const struct target *one, struct err *err)
{
        if (t->n == TARGETS_MAX)
                return err_set(err, ERR_DATA, "there are more than %d hosts", TARGETS_MAX);
        if (!LIST_ROOM(t->list, t->n, t->cap))
                return err_set(err, -ENOMEM, "out of memory");
        t->list[t->n++] = *one;
        return 0;
}

/* "name", "name:port", "[fd00::1]:port", "fd00::1". */
static int add_host(struct target_list *t, const char *s, size_t n, struct err *err)
{
        struct target one = {0};
        const char *host = s, *port = NULL;
        size_t host_len = n;
        uint64_t number = 0;
        if (n > 0 && s[0] == '[') {
                const char *end = memchr(s, ']', n);
                host = s + 1;
                host_len = end ? (size_t)(end - host) : 0;
                port = end && end + 1 < s + n ? end + 1 : NULL;
        } else if (!is_six(s, n) && (port = memchr(s, ':', n))) {
                host_len = (size_t)(port - s);
        }
        bool good = is_six(host, host_len) || (s[0] != '[' && is_name(host, host_len));
        if (good && port)
                good = *port == ':' &&
                       num_parse_u64(port + 1, (size_t)(s + n - port - 1), &number) && number > 0 &&
                       number <= UINT16_MAX;
        if (!good)
                return targets_refuse(err, s, n, NULL);
        memcpy(one.host, host, host_len);
        one.port = (uint16_t)number;
        return add_target(t, &one, err);
}

/* --- lists -------------------------------------------------------------------------------------
 */

struct adding {
        struct target_list *list;
        struct err *err;
};

static int add_word(void *arg, const char *word)
{
        struct adding *a = arg;
        return add_host(a->list, word, strlen(word), a->err);
}

int targets_parse_list(struct target_list *t, const char *s, size_t len, struct err *err)
{
        struct adding adding = {t, err};
        struct brackets b = {.each = add_word, .arg = &adding};
        for (size_t at = 0, n; at < len; at += n + 1) {
                n = brackets_word(s + at, len - at);
                int r = n > 0 ? brackets_expand(&b, s + at, n) : 0;
                if (r != 0)
                        return r == BRACKETS_BAD ? targets_refuse(err, s + at, n, b.why) : r;
        }
        return 0;
}

/* --- lines -------------------------------------------------------------------------------------
 */

static int at_line(struct err *err, size_t number, int r)
{
        char msg[sizeof(err->msg)];
        if (r != ERR_DATA)
                return r;
        snprintf(msg, sizeof(msg), "%s", err->msg);
        struct err with = *err;
        err_set(err, r, "line %zu: %.200s", number, msg);
        memcpy(err->hint, with.hint, sizeof(err->hint));
        return r;
}

struct text_line {
        const char *s;
        size_t n, number;
};

static bool next_line(const char **at, const char *end, struct text_line *ret)
{
        if (*at >= end)
                return false;
        const char *nl = memchr(*at, '\n', (size_t)(end - *at));
        ret->s = *at;
        ret->n = (size_t)((nl ? nl : end) - *at);
        ret->number++;
        *at = nl ? nl + 1 : end;
        return true;
}

int targets_parse_hosts(struct target_list *t, const char *s, size_t len, struct err *err)
{
        struct text_line line = {0};
        const char *end = s + len;
        while (next_line(&s, end, &line)) {
                const char *comment = memchr(line.s, '#', line.n);
                size_t n = comment ? (size_t)(comment - line.s) : line.n;
                int r = targets_parse_list(t, line.s, n, err);
                if (r < 0)
                        return at_line(err, line.number, r);
        }
        return 0;
}

/* "gpu:h100:8(S:0-1),craynetwork:4": a word that is gpu, or begins with gpu and a colon. */
static bool has_gpu(const char *s, size_t n)
{
        for (size_t at = 0; at < n;) {
                const char *comma = memchr(s + at, ',', n - at);
                size_t len = comma ? (size_t)(comma - s) - at : n - at;
                if (len >= 3 && memcmp(s + at, "gpu", 3) == 0 &&
                    (len == 3 || s[at + 3] == ':' || s[at + 3] == '('))
                        return true;
                at += len + 1;
        }
        return false;
}

int targets_parse_sinfo(struct target_list *t, const char *s, size_t len, struct err *err)
{
        struct text_line line = {0};
        const char *end = s + len;
        while (next_line(&s, end, &line)) {
                while (line.n > 0 && isspace((unsigned char)line.s[line.n - 1]))
                        line.n--;
                const char *bar = memchr(line.s, '|', line.n);
                if (line.n == 0)
                        continue;
                int r = bar ? 0 : targets_refuse(err, line.s, line.n, NULL);
                if (r == 0 && has_gpu(bar + 1, line.n - (size_t)(bar - line.s) - 1))
                        r = add_host(t, line.s, (size_t)(bar - line.s), err);
                if (r < 0)
                        return at_line(err, line.number, r);
        }
        return 0;
}

/* --- order and text ----------------------------------------------------------------------------
 */

static const char *name_of(const struct target *t)
{
        return t->instance[0] ? t->instance : t->host;
}

static int compare_targets(const void *a, const void *b)
{
        const struct target *x = a, *y = b;
        int order = strverscmp(name_of(x), name_of(y));
        if (order == 0)
                order = strcmp(x->host, y->host);
        return order ? order : (x->port > y->port) - (x->port < y->port);
}

void targets_sort(struct target_list *t)
{
        size_t kept = 0;
        if (t->n > 0)
                qsort(t->list, t->n, sizeof(*t->list), compare_targets);
        for (size_t i = 0; i < t->n; i++) {
                if (kept == 0 || compare_targets(&t->list[kept - 1], &t->list[i]) != 0)
                        t->list[kept++] = t->list[i];
        }
        t->n = kept;
}

static void put_target(struct jsonw *j, const struct target *one, uint16_t port)
{
        char text[TARGET_HOST_MAX + 16];
        bool six = strchr(one->host, ':') != NULL;
        snprintf(text, sizeof(text), "%s%s%s:%u", six ? "[" : "", one->host, six ? "]" : "",
                 one->port ? one->port : port);
        jsonw_line(j);
        jsonw_text(j, NULL, text);
}

static void put_labels(struct jsonw *j, const struct target_label *labels, size_t n,
                       const char *instance)
{
        jsonw_line(j);
        jsonw_object(j, "labels");
        for (size_t i = 0; i < n; i++)
                jsonw_text(j, labels[i].name, labels[i].value);
        if (instance[0])
                jsonw_text(j, "instance", instance);
        jsonw_end(j);
}

static void put_group(struct jsonw *j, const struct target_list *t, size_t only, uint16_t port,
                      const struct target_label *labels, size_t n_labels)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_array(j, "targets");
        for (size_t i = 0; i < t->n; i++) {
                if (only == t->n ? !t->list[i].instance[0] : i == only)
                        put_target(j, &t->list[i], port);
        }
        jsonw_end(j);
        put_labels(j, labels, n_labels, only == t->n ? "" : t->list[only].instance);
        jsonw_end(j);
}

void targets_write(const struct target_list *t, uint16_t port, const struct target_label *labels,
                   size_t n_labels, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        bool plain = false;
        jsonw_array(&j, NULL);
        for (size_t i = 0; i < t->n; i++)
                plain |= !t->list[i].instance[0];
        if (plain)
                put_group(&j, t, t->n, port, labels, n_labels);
        for (size_t i = 0; i < t->n; i++) {
                if (t->list[i].instance[0])
                        put_group(&j, t, i, port, labels, n_labels);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
