#include "read/nodes/hostlist.h"

#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS_MAX 9
#define BRACKETS_MAX 4

void hostlist_finish(struct hostlist *h)
{
        free(h->names);
        *h = (struct hostlist){0};
}

static int refuse(struct err *err, const char *word, size_t len, const char *why)
{
        err_set(err, ERR_USAGE, "'%.*s' is no host or address: %s", (int)MIN(len, (size_t)80), word,
                why);
        return err_hint(err, "write a,b,c or node[01-16], or @FILE with a host a line");
}

static bool is_name_letter(const struct hostlist *h, char c)
{
        return isalnum((unsigned char)c) || (c && strchr("._-@:%", c)) ||
               (h->addresses && c && strchr("/?&=+~!*();$", c));
}

/* "[::1]" is an address and no range. */
static bool is_address(const struct hostlist *h, const char *open, const char *close)
{
        return h->addresses && close && memchr(open, ':', (size_t)(close - open));
}

static bool is_known(const struct hostlist *h, const char *name)
{
        for (size_t i = 0; i < h->n; i++) {
                if (strcmp(h->names[i], name) == 0)
                        return true;
        }
        return false;
}

static int add_name(struct hostlist *h, const char *name, struct err *err)
{
        size_t len = strlen(name);
        const char *host = strrchr(name, '@');
        host = host ? host + 1 : name;
        if (name[0] == '-' || host[0] == '-')
                return refuse(err, name, len, "it starts with a dash");
        if (host[0] == '\0')
                return refuse(err, name, len, "it has no name");
        if (h->made++ < HOSTLIST_MADE_MAX && is_known(h, name))
                return 0;
        if (h->n >= HOSTLIST_MAX || h->made > HOSTLIST_MADE_MAX) {
                err_set(err, ERR_USAGE, "more than %d hosts", HOSTLIST_MAX);
                return err_hint(err, "past that, ask a Prometheus that reads 'assay serve'");
        }
        if (h->n == h->cap) {
                size_t cap = h->cap ? h->cap * 2 : 16;
                void *more = realloc(h->names, cap * sizeof(*h->names));
                if (!more)
                        return err_set(err, -ENOMEM, "out of memory");
                h->names = more;
                h->cap = cap;
        }
        memcpy(h->names[h->n++], name, len + 1);
        return 0;
}

/* One range, "01-16" or "7": false when it is none. Width is that of the first number. */
static bool read_range(const char *s, size_t len, unsigned long *lo, unsigned long *hi, int *width)
{
        char *end;
        size_t digits = strspn(s, "0123456789");
        if (digits == 0 || digits > DIGITS_MAX || digits > len)
                return false;
        *lo = *hi = strtoul(s, &end, 10);
        *width = (int)digits;
        if (digits == len)
                return true;
        const char *second = s + digits + 1;
        size_t more = strspn(second, "0123456789");
        if (s[digits] != '-' || more == 0 || more > DIGITS_MAX || digits + 1 + more != len)
                return false;
        *hi = strtoul(second, &end, 10);
        return *hi >= *lo;
}

struct expansion {
        struct hostlist *hosts;
        const char *word; /* for complaints */
        size_t len;
        struct err *err;
};

static int expand(const struct expansion *x, const char *done, const char *rest, unsigned depth);

/* Every number of one range, each followed by what stands after the bracket. */
static int expand_range(const struct expansion *x, const char *done, const char *range, size_t len,
                        const char *after, unsigned depth)
{
        char name[HOSTLIST_NAME_MAX];
        unsigned long lo, hi;
        int width;
        if (!read_range(range, len, &lo, &hi, &width))
                return refuse(x->err, x->word, x->len, "in [] stand numbers and ranges, 01-16,20");
        if (hi - lo >= HOSTLIST_MAX)
                return refuse(x->err, x->word, x->len, "the range is too long");
        for (unsigned long i = lo; i <= hi; i++) {
                int n = snprintf(name, sizeof(name), "%s%0*lu", done, width, i);
                if (n < 0 || n >= (int)sizeof(name))
                        return refuse(x->err, x->word, x->len, "the name is too long");
                int r = expand(x, name, after, depth + 1);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* done: the beginning of the name; rest: what is left of the word, which ends at its end. */
static int expand(const struct expansion *x, const char *done, const char *rest, unsigned depth)
{
        char name[HOSTLIST_NAME_MAX];
        const char *end = x->word + x->len;
        size_t plain = 0;
        for (; rest + plain < end; plain++) {
                const char *here = rest + plain;
                const char *close = memchr(here, ']', (size_t)(end - here));
                if (*here == '[' && !is_address(x->hosts, here, close))
                        break;
                if (*here == '[')
                        plain += (size_t)(close - here);
                else if (!is_name_letter(x->hosts, *here))
                        return refuse(x->err, x->word, x->len,
                                      "a name has letters, digits and .-_@");
        }
        int n = snprintf(name, sizeof(name), "%s%.*s", done, (int)plain, rest);
        if (n < 0 || n >= (int)sizeof(name))
                return refuse(x->err, x->word, x->len, "the name is too long");
        const char *open = rest + plain;
        if (open == end)
                return add_name(x->hosts, name, x->err);
        const char *close = memchr(open, ']', (size_t)(end - open));
        if (!close || depth >= BRACKETS_MAX)
                return refuse(x->err, x->word, x->len,
                              close ? "too many brackets" : "a bracket is not closed");
        for (const char *s = open + 1; s <= close;) {
                size_t len = strcspn(s, ",]");
                int r = expand_range(x, name, s, len, close + 1, depth);
                if (r < 0)
                        return r;
                s += len + 1;
        }
        return 0;
}

/* A word ends at a separator that stands in no bracket. */
static size_t word_length(const char *s)
{
        size_t n = 0;
        for (bool inside = false; s[n]; n++) {
                if (s[n] == '\n' || (!inside && (isspace((unsigned char)s[n]) || s[n] == ',')))
                        break;
                inside = s[n] == '[' || (inside && s[n] != ']');
        }
        return n;
}

int hostlist_add(struct hostlist *h, const char *text, struct err *err)
{
        while (*text) {
                size_t skip = strspn(text, ", \t\r\n");
                text += skip;
                if (*text == '#') {
                        text += strcspn(text, "\n");
                        continue;
                }
                size_t len = word_length(text);
                struct expansion x = {h, text, len, err};
                if (*text == '-')
                        return refuse(err, text, len, "it starts with a dash");
                int r = len > 0 ? expand(&x, "", text, 0) : 0;
                if (r < 0)
                        return r;
                text += len;
        }
        return 0;
}

static int read_file(const char *path, struct strbuf *text, struct err *err)
{
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;
        ssize_t n = -1;
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
                errno = EISDIR;
        } else {
                while (fd >= 0 && text->len <= HOSTLIST_FILE_MAX && strbuf_reserve(text, 4096) &&
                       (n = read(fd, text->s + text->len, 4096)) > 0)
                        text->len += (size_t)n;
        }
        if (n < 0) {
                err_set(err, ERR_USAGE, "cannot read '%s': %s", path, strerror(errno));
                return err_hint(err, "@FILE is a file with a host or an address a line");
        }
        if (text->len > HOSTLIST_FILE_MAX || memchr(text->s, '\0', text->len)) {
                err_set(err, ERR_USAGE, "'%s' is no list of hosts", path);
                return err_hint(err, "@FILE is a text file with a host or an address a line");
        }
        return 0;
}

int hostlist_read(struct hostlist *h, const char *option, const char *text, struct err *err)
{
        struct strbuf file = {0};
        int r = text[0] == '@' ? read_file(text + 1, &file, err) : 0;
        if (r == 0)
                r = hostlist_add(h, text[0] == '@' ? strbuf_str(&file) : text, err);
        strbuf_finish(&file);
        if (r == 0 && h->n == 0) {
                r = err_set(err, ERR_USAGE, "%s: the list names no host", option);
                err_hint(err, "write a,b,c or node[01-16], or @FILE with a host a line");
        }
        return r;
}
