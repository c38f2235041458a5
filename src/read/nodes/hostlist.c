#include "read/nodes/hostlist.h"

#include "base/brackets.h"
#include "base/list.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void hostlist_finish(struct hostlist *h)
{
        free(h->names);
        *h = (struct hostlist){0};
}

static int hostlist_refuse(struct err *err, const char *word, size_t len, const char *why)
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

/* NULL where all is well. An address may stand in brackets: "[::1]:9400". */
static const char *name_fault(const struct hostlist *h, const char *name)
{
        const char *host = strrchr(name, '@');
        host = host ? host + 1 : name;
        if (strlen(name) >= HOSTLIST_NAME_MAX)
                return "the name is too long";
        if (name[0] == '-' || host[0] == '-')
                return "it starts with a dash";
        if (host[0] == '\0')
                return "it has no name";
        for (const char *s = name; *s; s++) {
                if (!is_name_letter(h, *s) && !(h->addresses && (*s == '[' || *s == ']')))
                        return "a name has letters, digits and .-_@";
        }
        return NULL;
}

static bool is_known(const struct hostlist *h, const char *name)
{
        for (size_t i = 0; i < h->n; i++) {
                if (strcmp(h->names[i], name) == 0)
                        return true;
        }
        return false;
}

struct expansion {
        struct brackets brackets;
        struct hostlist *hosts;
        struct err *err;
};

static int add_name(void *arg, const char *name)
{
        struct expansion *x = arg;
        struct hostlist *h = x->hosts;
        x->brackets.why = name_fault(h, name);
        if (x->brackets.why)
                return BRACKETS_BAD;
        if (h->made++ < HOSTLIST_MADE_MAX && is_known(h, name))
                return 0;
        if (h->n >= HOSTLIST_MAX || h->made > HOSTLIST_MADE_MAX) {
                err_set(x->err, ERR_USAGE, "more than %d hosts", HOSTLIST_MAX);
                return err_hint(x->err, "past that, ask a Prometheus that reads 'assay serve'");
        }
        if (!LIST_ROOM(h->names, h->n, h->cap))
                return err_set(x->err, -ENOMEM, "out of memory");
        memcpy(h->names[h->n++], name, strlen(name) + 1);
        return 0;
}

int hostlist_add(struct hostlist *h, const char *text, struct err *err)
{
        struct expansion x = {{.each = add_name, .arg = &x}, h, err};
        while (*text) {
                text += strspn(text, ", \t\r\n\v\f"); /* all that end a word */
                if (*text == '#') {
                        text += strcspn(text, "\n");
                        continue;
                }
                size_t len = brackets_word(text, strlen(text));
                int r = len > 0 ? brackets_expand(&x.brackets, text, len) : 0;
                if (r != 0)
                        return r == BRACKETS_BAD ? hostlist_refuse(err, text, len, x.brackets.why)
                                                 : r;
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
