#include "cmd/prefs.h"

#include "app/output.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (1024 * 1024)

static int report_write_error(struct err *err, const char *path, int code)
{
        err_set(err, code, "cannot save to '%s': %s", path, strerror(-code));
        return err_hint(err, "check who owns the file and its folder");
}

static int read_file(const char *path, struct strbuf *ret)
{
        FILE *file = fopen(path, "re");
        char buf[4096];
        size_t n;
        if (!file)
                return errno == ENOENT ? 0 : -errno;
        while ((n = fread(buf, 1, sizeof(buf), file)) > 0 && ret->len <= FILE_MAX)
                strbuf_put(ret, buf, n);
        int r = ferror(file) ? -EIO : ret->len > FILE_MAX ? -EFBIG : 0;
        fclose(file);
        return r;
}

/* Which preference a line sets: "name = value" or "name: value". n when none. */
static size_t line_sets(const char *line, size_t len, const struct pref *prefs, size_t n)
{
        size_t start = 0, end;
        while (start < len && isblank((unsigned char)line[start]))
                start++;
        for (end = start; end < len && !strchr("=: \t", line[end]);)
                end++;
        for (size_t i = 0; i < n; i++) {
                const char *name = option_info(prefs[i].option)->name;
                if (strlen(name) == end - start && memcmp(name, line + start, end - start) == 0)
                        return i;
        }
        return n;
}

static void put_pref(struct strbuf *out, const struct pref *p)
{
        strbuf_putf(out, "%s = %s\n", option_info(p->option)->name, p->value);
}

/* Lines that set a preference are replaced; new ones come before the first section. */
static void rewrite_prefs(const char *text, const struct pref *prefs, size_t n, struct strbuf *out)
{
        bool done[OPT_COUNT_OF] = {false};
        struct strbuf head = {0}, tail = {0}, *to = &head;
        while (*text) {
                size_t len = strcspn(text, "\n");
                size_t i = line_sets(text, len, prefs, n);
                if (text[strspn(text, " \t")] == '[')
                        to = &tail;
                if (i < n && !done[i]) {
                        put_pref(to, &prefs[i]);
                        done[i] = true;
                } else if (i == n) {
                        strbuf_put(to, text, len);
                        strbuf_putc(to, '\n');
                }
                text += len + (text[len] == '\n');
        }
        strbuf_put(out, strbuf_str(&head), head.len);
        for (size_t i = 0; i < n; i++) {
                if (!done[i])
                        put_pref(out, &prefs[i]);
        }
        strbuf_put(out, strbuf_str(&tail), tail.len);
        strbuf_finish(&head);
        strbuf_finish(&tail);
}

static int make_folders(const char *path)
{
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%s", path);
        for (char *s = strchr(folder + 1, '/'); s; s = strchr(s + 1, '/')) {
                *s = '\0';
                if (mkdir(folder, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *s = '/';
        }
        return 0;
}

int prefs_save(const char *path, const struct pref *prefs, size_t n, struct err *err)
{
        struct strbuf old = {0}, text = {0};
        int r = make_folders(path);
        if (r == 0)
                r = read_file(path, &old);
        if (r == 0) {
                rewrite_prefs(strbuf_str(&old), prefs, n, &text);
                r = text.failed || old.failed ? -ENOMEM : output_replace(path, &text, NULL);
        }
        strbuf_finish(&old);
        strbuf_finish(&text);
        return r < 0 ? report_write_error(err, path, r) : 0;
}
