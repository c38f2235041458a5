#include "session/runlog.h"

#include "base/clock.h"
#include "base/jsonin.h"
#include "base/lines.h"
#include "base/list.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK 4096 /* bytes at the beginning that say what a file is */

static const char *text_at(const json_t *o, const char *key)
{
        const char *s = json_string_value(json_object_get(o, key));
        return s ? s : "";
}

/* A phase that was begun and ended is one that ends now; another says how long it took. */
static bool take_phase(const json_t *o, struct mark *m)
{
        m->seconds = json_number_value(json_object_get(o, "seconds"));
        m->has_seconds = json_is_number(json_object_get(o, "seconds"));
        m->type = json_is_string(json_object_get(o, "began")) ? MARK_END : MARK_PHASE;
        return m->type == MARK_END ||
               (m->has_seconds && m->seconds >= 0 && m->seconds <= MARK_SECONDS_MAX);
}

static bool is_length(const json_t *o, const char *key, bool *ret_has, double *ret)
{
        const json_t *v = json_object_get(o, key);
        *ret_has = json_is_number(v);
        *ret = json_number_value(v);
        return !*ret_has || (*ret >= 0 && *ret <= MARK_SECONDS_MAX);
}

static bool take_step(const json_t *o, struct mark *m)
{
        m->type = MARK_STEP;
        return is_length(o, "seconds", &m->has_seconds, &m->seconds) &&
               is_length(o, "waited", &m->has_value, &m->value);
}

static bool take_kind(const json_t *o, const char *type, struct mark *m)
{
        if (strcmp(type, "phase") == 0)
                return take_phase(o, m);
        if (strcmp(type, "metric") == 0) {
                m->type = MARK_METRIC;
                m->value = json_number_value(json_object_get(o, "value"));
                return json_is_number(json_object_get(o, "value")) && isfinite(m->value);
        }
        if (strcmp(type, "step") == 0)
                return take_step(o, m);
        m->type = strcmp(type, "event") == 0 ? MARK_EVENT : MARK_BEGIN;
        return m->type == MARK_EVENT || strcmp(type, "begin") == 0;
}

bool runlog_parse(const char *line, size_t len, struct mark *ret)
{
        struct mark m = {0};
        json_t *o = jsonin_load(line, len, JSON_REJECT_DUPLICATES, NULL);
        const char *type = text_at(o, "type");
        const char *name = text_at(o, strcmp(type, "event") == 0 ? "event" : "name");
        m.wall_ns = runlog_time(text_at(o, "ts"));
        m.mono_ns = m.wall_ns;
        bool good =
            m.wall_ns > 0 && name[0] && strlen(name) < sizeof(m.name) && take_kind(o, type, &m);
        if (good)
                memcpy(m.name, name, strlen(name) + 1);
        json_decref(o);
        if (good)
                *ret = m;
        return good;
}

bool runlog_is_one(const char *path)
{
        char buf[LOOK];
        struct mark m;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n = fd < 0 ? 0 : pread(fd, buf, sizeof(buf), 0);
        if (fd >= 0)
                close(fd);
        char *end = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
        return end && buf[0] == '{' && runlog_parse(buf, (size_t)(end - buf), &m);
}

static bool runlog_read_add(struct mark **list, size_t *n, size_t *room, const struct mark *m)
{
        if (!LIST_ROOM(*list, *n, *room))
                return false;
        (*list)[(*n)++] = *m;
        return true;
}

int runlog_read(const char *path, struct mark **ret, size_t *ret_n, size_t *ret_skipped,
                struct err *err)
{
        struct lines lines;
        struct line line;
        struct mark *list = NULL, m;
        size_t n = 0, room = 0, skipped = 0;
        int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : lines_init(&lines, fd);
        if (r < 0) {
                closep(&fd);
                return err_set(err, r, "cannot read '%s': %s", path, strerror(-r));
        }
        while ((r = lines_next(&lines, &line)) > 0) {
                if (n == RUNLOG_MAX) {
                        r = err_set(err, ERR_DATA, "'%s' has more than %d entries", path,
                                    RUNLOG_MAX);
                        break;
                }
                bool entry = runlog_parse(line.s, line.len, &m);
                skipped += !entry && line.len > 0;
                if (entry && !runlog_read_add(&list, &n, &room, &m)) {
                        r = err_set(err, -ENOMEM, "out of memory");
                        break;
                }
        }
        lines_finish(&lines);
        if (r < 0) {
                free(list);
                return err && err->code ? r : err_set(err, r, "cannot read '%s'", path);
        }
        *ret = list;
        *ret_n = n;
        *ret_skipped = skipped;
        return 0;
}
