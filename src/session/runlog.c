#include "session/runlog.h"

#include "base/clock.h"
#include "base/jsonin.h"
#include "base/outfile.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

/* 15 digits give back every decimal a person wrote; 17 would turn 0.1 into 0.10000000000000001. */
#define DUMP (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
#define STAMP_MAX 40
#define CHUNK (128 * 1024)              /* longer than a line of our own */
#define LOOK_BEHIND (256 * 1024 * 1024) /* bytes of the log searched for a phase's beginning */

static void format_stamp(int64_t wall_ns, char buf[STAMP_MAX])
{
        int64_t ms = wall_ns / NS_PER_MS;
        time_t t = (time_t)(ms / 1000);
        struct tm tm;
        gmtime_r(&t, &tm);
        size_t n = strftime(buf, STAMP_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(buf + n, STAMP_MAX - n, ".%03d+00:00", (int)(ms % 1000));
}

static json_t *seconds_of(double s)
{
        return json_real(round(s * 1000) / 1000);
}

static void put_phase(json_t *o, const struct mark *m, int64_t began_ns)
{
        char began[STAMP_MAX];
        json_object_set_new(o, "type", json_string(m->type == MARK_BEGIN ? "begin" : "phase"));
        json_object_set_new(o, "name", json_string(m->name));
        if (m->type == MARK_PHASE)
                json_object_set_new(o, "seconds", seconds_of(m->seconds));
        if (m->type == MARK_END && began_ns != 0) {
                /* As the line's two times say, which are cut; never less than nothing. */
                int64_t ms = m->wall_ns / NS_PER_MS - began_ns / NS_PER_MS;
                json_object_set_new(o, "seconds", seconds_of((double)MAX(ms, 0) / 1000));
                format_stamp(began_ns, began);
                json_object_set_new(o, "began", json_string(began));
        }
        json_t *keys = m->data ? jsonin_text(m->data, 0, NULL) : NULL;
        json_object_update_missing(o, keys);
        json_decref(keys);
}

static void put_step(json_t *o, const struct mark *m)
{
        json_object_set_new(o, "type", json_string("step"));
        json_object_set_new(o, "name", json_string(m->name));
        if (m->has_seconds)
                json_object_set_new(o, "seconds", json_real(m->seconds));
        if (m->has_value)
                json_object_set_new(o, "waited", json_real(m->value));
}

static json_t *object_of(const struct mark *m, int64_t began_ns)
{
        char ts[STAMP_MAX];
        json_t *o = json_object();
        format_stamp(m->wall_ns, ts);
        json_object_set_new(o, "ts", json_string(ts));
        switch (m->type) {
        case MARK_PHASE:
        case MARK_BEGIN:
        case MARK_END:
                put_phase(o, m, began_ns);
                break;
        case MARK_EVENT:
                json_object_set_new(o, "type", json_string("event"));
                json_object_set_new(o, "event", json_string(m->name));
                if (m->data)
                        json_object_set_new(o, "data", jsonin_text(m->data, JSON_DECODE_ANY, NULL));
                break;
        case MARK_METRIC:
                json_object_set_new(o, "type", json_string("metric"));
                json_object_set_new(o, "name", json_string(m->name));
                json_object_set_new(o, "value", json_real(m->value));
                break;
        case MARK_STEP:
                put_step(o, m);
                break;
        case MARK_COUNT:
                break;
        }
        return o;
}

int runlog_line(const struct mark *m, int64_t began_ns, struct strbuf *out)
{
        json_t *o = object_of(m, began_ns);
        char *s = o ? json_dumps(o, DUMP) : NULL;
        json_decref(o);
        if (!s)
                return -ENOMEM;
        strbuf_puts(out, s);
        strbuf_putc(out, '\n');
        free(s);
        return 0;
}

int64_t runlog_time(const char *s)
{
        struct tm tm = {0};
        int ms = 0, used = 0;
        if (!s || sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                         &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &used) != 7)
                return 0;
        tm.tm_year -= 1900;
        tm.tm_mon -= 1;
        int64_t seconds = timegm(&tm); /* of years that no recording is of, too */
        return seconds > 0 && seconds < CLOCK_FILE_MAX_NS / NS_PER_S
                   ? seconds * NS_PER_S + ms * NS_PER_MS
                   : 0;
}

/* Looks for the beginning of the innermost open phase of a name, from the log's end backwards. */
struct search {
        const char *name;
        size_t ended; /* phases of that name that ended later than what is examined */
        int64_t began_ns;
};

/* Whether this line is the beginning. */
static bool take_line(struct search *s, const char *line, size_t len)
{
        /* Only "begin" and "began" matter; most lines of a long run are numbers. */
        if (!memmem(line, len, "\"beg", 4))
                return false;
        json_t *o = jsonin_load(line, len, 0, NULL);
        const char *type = json_string_value(json_object_get(o, "type"));
        const char *name = json_string_value(json_object_get(o, "name"));
        bool same = type && name && strcmp(name, s->name) == 0, found = false;
        if (same && strcmp(type, "begin") == 0) {
                found = s->ended == 0;
                s->ended -= !found;
                s->began_ns = runlog_time(json_string_value(json_object_get(o, "ts")));
        } else if (same && strcmp(type, "phase") == 0 &&
                   json_is_string(json_object_get(o, "began"))) {
                s->ended++;
        }
        json_decref(o);
        return found;
}

/* Whether one of these whole lines is the beginning, the last one first. */
static bool take_lines(struct search *s, const char *text, size_t len)
{
        while (len > 0) {
                size_t start = len - 1;
                while (start > 0 && text[start - 1] != '\n')
                        start--;
                if (take_line(s, text + start, len - start))
                        return true;
                len = start;
        }
        return false;
}

/* When the phase that ends now began; 0 when the log does not report. */
static int64_t find_beginning(int fd, const char *name)
{
        struct search s = {.name = name};
        bool found = false;
        char *text = malloc(CHUNK);
        if (!text)
                return 0;
        off_t end = lseek(fd, 0, SEEK_END);
        off_t stop = end > LOOK_BEHIND ? end - LOOK_BEHIND : 0;
        while (!found && end > stop) {
                off_t from = end > CHUNK ? end - CHUNK : 0;
                ssize_t got = pread(fd, text, (size_t)(end - from), from);
                if (got <= 0)
                        break;
                /* The first line belongs to the chunk before; one that fills a chunk is not ours.
                 */
                const char *newline = from > 0 ? memchr(text, '\n', (size_t)got - 1) : NULL;
                size_t skip = newline ? (size_t)(newline - text) + 1 : 0;
                found = take_lines(&s, text + skip, (size_t)got - skip);
                end = from + (off_t)skip;
        }
        free(text);
        return found ? s.began_ns : 0;
}

/* Lines of a log would destroy it. */
static bool is_session(int fd)
{
        static const char magic[] = "SQLite format 3";
        char head[sizeof(magic)];
        return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
               memcmp(head, magic, sizeof(head)) == 0;
}

int runlog_append(const char *path, const struct mark *m, struct err *err)
{
        struct strbuf line = {0};
        if (!text_is_utf8(m->name)) {
                err_set(err, ERR_USAGE, "cannot write the log '%s': the name is not UTF-8", path);
                return err_hint(err, "names and values must be UTF-8");
        }
        int fd = outfile_open(path, O_RDWR | O_APPEND | O_CREAT, 0666, "the log ", err);
        if (fd < 0)
                return err_hint(err, "give another file with --log FILE");
        if (is_session(fd)) {
                close(fd);
                err_set(err, ERR_USAGE, "'%s' is a session, and no log", path);
                return err_hint(err, "give another file with --log FILE");
        }
        int r = runlog_line(m, m->type == MARK_END ? find_beginning(fd, m->name) : 0, &line);
        if (r == 0)
                r = strbuf_flush(&line, fd);
        close(fd);
        strbuf_finish(&line);
        return r < 0 ? err_set(err, r, "cannot write the log '%s': %s", path, strerror(-r)) : 0;
}

static bool is_reserved(const char *key)
{
        static const char *const ours[] = {"ts", "type", "name", "seconds", "began"};
        for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
                if (strcmp(key, ours[i]) == 0)
                        return true;
        }
        return false;
}

static int add_key(json_t *o, const char *word, struct err *err)
{
        char key[MARK_NAME_MAX];
        const char *equals = strchr(word, '=');
        size_t len = equals ? (size_t)(equals - word) : 0;
        if (len == 0 || len >= sizeof(key)) {
                err_set(err, ERR_USAGE, "'%s' is not key=value", word);
                return err_hint(err, "write for example step=100; text with blanks in quotes");
        }
        memcpy(key, word, len);
        key[len] = '\0';
        if (is_reserved(key)) {
                err_set(err, ERR_USAGE, "'%s' is a key of the log itself", key);
                return err_hint(err, "call it something else");
        }
        json_t *v = jsonin_text(equals + 1, JSON_DECODE_ANY, NULL);
        if (!json_is_number(v) && !json_is_boolean(v) && !json_is_null(v)) {
                json_decref(v);
                v = json_string(equals + 1);
        }
        if (!v || json_object_set_new(o, key, v) < 0) {
                err_set(err, ERR_USAGE, "'%s' is not UTF-8", word);
                return err_hint(err, "keys and values must be text");
        }
        return 0;
}

int runlog_keys(const char *const *words, size_t n, char **ret, struct err *err)
{
        int r = 0;
        if (n == 0)
                return *ret = NULL, 0;
        json_t *o = json_object();
        for (size_t i = 0; r == 0 && i < n; i++)
                r = add_key(o, words[i], err);
        char *s = r == 0 ? json_dumps(o, DUMP) : NULL;
        json_decref(o);
        if (r < 0)
                return r;
        if (!s || strlen(s) > MARK_DATA_MAX) {
                free(s);
                return err_set(err, ERR_USAGE, "more keys than fit a mark");
        }
        *ret = s;
        return 0;
}

int runlog_data(const char *text, char **ret, struct err *err)
{
        json_error_t why;
        json_t *v = jsonin_text(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
        char *s = v ? json_dumps(v, DUMP) : NULL;
        json_decref(v);
        if (!v) {
                err_set(err, ERR_USAGE, "--data is not JSON: %s", why.text);
                return err_hint(err, "write for example --data '{\"lr\":0.1}'");
        }
        if (!s || strlen(s) > MARK_DATA_MAX) {
                free(s);
                return err_set(err, ERR_USAGE, "--data is longer than %d bytes", MARK_DATA_MAX);
        }
        *ret = s;
        return 0;
}
