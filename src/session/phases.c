#include "session/phases.h"

#include "base/clock.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A phase that has begun. */
struct opening {
        struct mark *mark;
        size_t phase;
};

struct openings {
        struct opening *list; /* in order of time */
        size_t n;
};

/*
 * The last open phase of the name: one that the same process began, or else one of the same host,
 * since each mark of a shell is a process of its own. Nodes and ranks do not end one another's.
 */
static size_t find_open(const struct openings *open, const struct mark *end)
{
        size_t found = open->n;
        for (size_t i = open->n; i-- > 0;) {
                const struct mark *m = open->list[i].mark;
                if (strcmp(m->name, end->name) != 0 || strcmp(m->host, end->host) != 0)
                        continue;
                if (m->pid == end->pid)
                        return i;
                found = found < open->n ? found : i;
        }
        return found;
}

/* What the end tells is kept with what the beginning told; where both do, the end knows better. */
static char *joined(const char *begin, const char *end)
{
        if (!begin)
                return strdup(end);
        json_t *keys = json_loads(begin, 0, NULL), *more = json_loads(end, 0, NULL);
        char *s = json_object_update(keys, more) == 0
                      ? json_dumps(keys, JSON_COMPACT | JSON_REAL_PRECISION(15))
                      : NULL;
        json_decref(keys);
        json_decref(more);
        return s;
}

static void close_phase(struct phase *phases, struct openings *open, const struct mark *end)
{
        size_t i = find_open(open, end);
        if (i == open->n)
                return;
        struct phase *p = &phases[open->list[i].phase];
        p->open = false;
        p->end_ns = end->wall_ns;
        struct mark *begin = open->list[i].mark;
        char *data = end->data ? joined(begin->data, end->data) : NULL;
        if (data) {
                free(begin->data);
                p->data = begin->data = data;
        }
        open->n--;
        memmove(&open->list[i], &open->list[i + 1], (open->n - i) * sizeof(*open->list));
}

static int compare(const void *a, const void *b)
{
        const struct phase *x = a, *y = b;
        if (x->begin_ns != y->begin_ns)
                return x->begin_ns < y->begin_ns ? -1 : 1;
        /* The outer one first. */
        return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static struct phase phase_of(const struct mark *m, int64_t run_end_ns)
{
        struct phase p = {.open = m->type == MARK_BEGIN, .data = m->data};
        snprintf(p.name, sizeof(p.name), "%s", m->name);
        p.begin_ns = m->wall_ns - (p.open ? 0 : clock_from_seconds(MAX(m->seconds, 0.0)));
        p.end_ns = p.open ? MAX(run_end_ns, m->wall_ns) : m->wall_ns;
        return p;
}

/* Gives how many phases there are. Both lists have room for n. */
static size_t fill(struct mark *marks, size_t n, int64_t run_end_ns, struct phase *list,
                   struct opening *openings)
{
        struct openings open = {.list = openings};
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
                if (marks[i].type == MARK_END)
                        close_phase(list, &open, &marks[i]);
                if (marks[i].type == MARK_BEGIN)
                        open.list[open.n++] = (struct opening){&marks[i], count};
                if (marks[i].type == MARK_BEGIN || marks[i].type == MARK_PHASE)
                        list[count++] = phase_of(&marks[i], run_end_ns);
        }
        qsort(list, count, sizeof(*list), compare);
        return count;
}

int phases_from_marks(struct mark *marks, size_t n, int64_t run_end_ns, struct phase **ret,
                      size_t *ret_n)
{
        struct phase *list = calloc(n + 1, sizeof(*list));
        struct opening *openings = calloc(n + 1, sizeof(*openings));
        if (!list || !openings) {
                free(list);
                free(openings);
                return -ENOMEM;
        }
        *ret_n = fill(marks, n, run_end_ns, list, openings);
        *ret = list;
        free(openings);
        return 0;
}

/* "-3" → n - 3; clamped to 0..n. False when it is no number. */
static bool parse_place(const char *s, size_t len, size_t n, long *ret)
{
        char text[24], *end;
        if (len == 0 || len >= sizeof(text))
                return false;
        memcpy(text, s, len);
        text[len] = '\0';
        long v = strtol(text, &end, 10);
        if (*end != '\0')
                return false;
        v = v < 0 ? v + (long)n : v;
        *ret = MIN(MAX(v, 0L), (long)n);
        return true;
}

static bool parse_range(const char *s, size_t n, long *from, long *to)
{
        const char *colon = strchr(s, ':');
        *from = 0;
        *to = (long)n;
        if (!colon) {
                if (!parse_place(s, strlen(s), n, from) || *from >= (long)n)
                        return false;
                *to = *from + 1;
                return true;
        }
        return (colon == s || parse_place(s, (size_t)(colon - s), n, from)) &&
               (colon[1] == '\0' || parse_place(colon + 1, strlen(colon + 1), n, to));
}

static int choose_by_name(struct phase *phases, size_t n, const char *name)
{
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
                if (strcmp(phases[i].name, name) == 0)
                        phases[kept++] = phases[i];
        }
        return (int)kept;
}

int phases_choose(struct phase *phases, size_t n, const char *range, struct err *err)
{
        long from, to;
        int kept = choose_by_name(phases, n, range);
        if (kept > 0)
                return kept;
        if (parse_range(range, n, &from, &to) && from < to) {
                memmove(phases, phases + from, (size_t)(to - from) * sizeof(*phases));
                return (int)(to - from);
        }
        err_set(err, ERR_USAGE, "there is no phase '%s'", range);
        if (n == 0)
                return err_hint(err, "nothing was marked in this run; see 'assay help mark'");
        return err_hint(err,
                        "there are %zu, from 0 '%s' to %zu '%s'; ranges are 5, 2:8, :5 or 3:", n,
                        phases[0].name, n - 1, phases[n - 1].name);
}
