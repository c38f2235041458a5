/* Plays a saved capture: any format of formats.def, recognised by its content. */
#include "read/source.h"
#include "formats/format.h"
#include "life/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct source {
        struct capture capture;
        const struct format_ops *format;
        char location[256];
        int64_t poll_ns;
        uint64_t ticks; /* given so far */
        struct pace pace;
};

#define SQLITE_MAGIC "SQLite format 3"

static int replay_refuse(struct err *err, const char *location, const char *why)
{
        err_set(err, ERR_NO_SOURCE, "cannot read '%s': %s", location, why);
        return err_hint(err, "give a capture of 'dcgmi dmon', nvidia-smi or dcgm-exporter, or a "
                             "file that assay wrote");
}

/* Who may read it, for a file that this user may not. */
static int refuse_unreadable(struct err *err, const char *location)
{
        struct stat st;
        err_set(err, ERR_NO_SOURCE, "cannot read '%s': permission denied", location);
        if (stat(location, &st) < 0)
                return err_hint(err, "its folder may not be searched by uid %d", (int)geteuid());
        return err_hint(err, "it belongs to uid %d, mode %04o; this is uid %d", (int)st.st_uid,
                        (unsigned)st.st_mode & 07777, (int)geteuid());
}

static int open_file(const char *location, struct err *err)
{
        if (strcmp(location, "-") == 0)
                return dup(STDIN_FILENO);
        int fd = open(location, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        struct stat st;
        if (fd < 0 && errno == ENOENT) {
                err_set(err, ERR_NO_SOURCE, "no such file: '%s'", location);
                return err_hint(err, "check the name and the folder");
        }
        if (fd < 0 && (errno == EACCES || errno == EPERM))
                return refuse_unreadable(err, location);
        if (fd < 0)
                return replay_refuse(err, location, strerror(errno));
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
                close(fd);
                return replay_refuse(err, location, "it is a folder");
        }
        return fd;
}

static bool is_binary(const char *s, size_t len)
{
        return memchr(s, '\0', MIN(len, (size_t)4096)) != NULL;
}

/* An error that a tool wrote in place of rows is quoted. Nothing else is: who asks may be an agent
 * that should read recordings alone. */
static bool is_error_of_tool(const char *line, size_t len)
{
        static const char word[] = "Error";
        return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static int recognise_format(struct source *s, struct err *err)
{
        const char *text;
        size_t len;
        int r = lines_peek(&s->capture.lines, &text, &len);
        if (r < 0)
                return replay_refuse(err, s->location, strerror(-r));
        if (len == 0)
                return replay_refuse(err, s->location, "it is empty");
        if (len > sizeof(SQLITE_MAGIC) && memcmp(text, SQLITE_MAGIC, sizeof(SQLITE_MAGIC)) == 0)
                return replay_refuse(err, s->location, "a session cannot come through a pipe");
        if (is_binary(text, len))
                return replay_refuse(err, s->location, "it is not text");
        for (size_t i = 0; format_at(i); i++) {
                if (format_at(i)->probe(text, len)) {
                        s->format = format_at(i);
                        return 0;
                }
        }
        char why[120];
        const char *end = memchr(text, '\n', len);
        size_t shown = MIN(end ? (size_t)(end - text) : len, (size_t)60);
        if (is_error_of_tool(text, len))
                snprintf(why, sizeof(why), "unknown format; it begins \"%.*s\"", (int)shown, text);
        else
                snprintf(why, sizeof(why), "unknown format");
        return replay_refuse(err, s->location, why);
}

static void replay_close(struct source *s)
{
        if (!s)
                return;
        if (s->format && s->format->end)
                s->format->end(&s->capture);
        lines_finish(&s->capture.lines);
        batcher_finish(&s->capture.batcher);
        pace_finish(&s->pace);
        free(s);
}

static int replay_open(const struct source_config *config, struct source **ret, struct err *err)
{
        if (!config->location) {
                err_set(err, ERR_USAGE, "replay needs a file");
                return err_hint(err, "add --source FILE, or --source - for standard input");
        }
        struct source *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->capture.lines.fd = -1;
        s->poll_ns = config->poll_ns;
        pace_init(&s->pace, config->speed);
        s->capture.wanted = config->wanted;
        snprintf(s->location, sizeof(s->location), "%s", config->location);
        int fd = open_file(config->location, err);
        int r = fd < 0 ? fd : lines_init(&s->capture.lines, fd);
        if (r == 0)
                r = recognise_format(s, err);
        if (r == 0) {
                batcher_init(&s->capture.batcher, s->format->dialect);
                r = s->format->begin ? s->format->begin(&s->capture) : 0;
        }
        if (r < 0) {
                replay_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

static int nothing_found(struct source *s, struct err *err)
{
        const struct capture *c = &s->capture;
        bool is_error = is_error_of_tool(c->first_bad, strlen(c->first_bad));
        char why[200];
        if (c->first_bad[0])
                snprintf(why, sizeof(why), "it has no rows; line %llu %s%s%s",
                         (unsigned long long)c->trouble.first_line,
                         is_error ? "says \"" : "is not of its format, ",
                         is_error ? c->first_bad : s->format->name, is_error ? "\"" : "");
        else
                snprintf(why, sizeof(why), "its format is %s, and it has no rows of GPUs",
                         s->format->name);
        return replay_refuse(err, s->location, why);
}

static int replay_next(struct source *s, struct batch *ret, struct err *err)
{
        struct capture *c = &s->capture;
        batcher_clear(&c->batcher);
        int r = s->format->round(c);
        if (r < 0)
                return err_set(err, r, "cannot read '%s': %s", s->location, strerror(-r));
        if (r == 0)
                return s->ticks == 0 ? nothing_found(s, err) : 0;
        if (s->format->give)
                s->format->give(c, ret);
        else
                batcher_give(&c->batcher, ret);
        c->trouble.rows += ret->n;
        ret->wall_ns = c->has_times ? c->wall_ns : (int64_t)s->ticks * s->poll_ns;
        ret->mono_ns = ret->wall_ns;
        if (!pace_wait(&s->pace, ret->wall_ns))
                return 0;
        s->ticks++;
        return 1;
}

static const char *replay_provenance(const struct source *s)
{
        return s->format->name;
}

static void replay_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = s->capture.trouble;
        ret->too_long = s->capture.lines.too_long;
}

static void replay_interrupt(struct source *s)
{
        pace_interrupt(&s->pace);
}

const struct source_ops source_replay = {
    .name = "replay",
    .help = "a saved capture, of any tool we can read",
    .finite = true,
    .open = replay_open,
    .next = replay_next,
    .provenance = replay_provenance,
    .trouble = replay_trouble,
    .interrupt = replay_interrupt,
    .close = replay_close,
};
