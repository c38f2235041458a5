#include "session/phases.h"

#include "base/clock.h"
#include "base/jsonin.h"
#include "base/lookup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define NONE SIZE_MAX

/* A phase that has begun. What began before it under the same name is found through it. */
struct opening {
        struct mark *mark;
        size_t phase;
        size_t before_host, before_pid; /* the one before of the same host, and process; or NONE */
        bool closed;
};

/* The last opening of a name and host, or of a name, host and process. */
struct heads {
        struct lookup places; /* in last */
        size_t *last;         /* an opening */
        size_t n;
        bool by_pid;
};

struct openings {
        struct opening *list; /* in order of time */
        size_t n;
        struct heads hosts, pids;
};

static bool is_same(const struct mark *a, const struct mark *b, bool by_pid)
{
        return (!by_pid || a->pid == b->pid) && strcmp(a->name, b->name) == 0 &&
               strcmp(a->host, b->host) == 0;
}

static uint32_t hash_of(const struct heads *heads, const struct mark *m)
{
        uint32_t h = hash_text(m->name, strlen(m->name)) * 31 ^ hash_text(m->host, strlen(m->host));
        return heads->by_pid ? h ^ hash_text((const char *)&m->pid, sizeof(m->pid)) : h;
}

/* The head of a mark's chain, NULL where there is none. */
static size_t *head_of(const struct openings *open, const struct heads *heads, const struct mark *m)
{
        uint32_t hash = hash_of(heads, m), i;
        for (size_t step = 0; (i = lookup_next(&heads->places, hash, &step)) != LOOKUP_END;) {
                if (is_same(open->list[heads->last[i]].mark, m, heads->by_pid))
                        return &heads->last[i];
        }
        return NULL;
}

/* The head stays where the last of a chain was closed: it keeps the place of its name. */
static size_t last_open(const struct openings *open, const struct heads *heads,
                        const struct mark *m)
{
        size_t *head = head_of(open, heads, m);
        while (head) {
                const struct opening *o = &open->list[*head];
                size_t before = heads->by_pid ? o->before_pid : o->before_host;
                if (!o->closed)
                        return *head;
                if (before == NONE)
                        return NONE;
                *head = before;
        }
        return NONE;
}

/*
 * The last open phase of the name: one that the same process began, or else one of the same host,
 * since each mark of a shell is a process of its own. Nodes and ranks do not end one another's.
 */
static size_t find_open(struct openings *open, const struct mark *end)
{
        size_t found = last_open(open, &open->pids, end);
        return found != NONE ? found : last_open(open, &open->hosts, end);
}

/* Makes the opening the head of its chain, and reports the one before it. */
static bool put_head(const struct openings *open, struct heads *heads, const struct mark *m,
                     size_t *before)
{
        size_t *head = head_of(open, heads, m);
        *before = head ? *head : NONE;
        if (!head && !lookup_put(&heads->places, hash_of(heads, m), (uint32_t)heads->n))
                return false;
        *(head ? head : &heads->last[heads->n++]) = open->n;
        return true;
}

static bool open_phase(struct openings *open, struct mark *m, size_t phase)
{
        struct opening o = {.mark = m, .phase = phase};
        if (!put_head(open, &open->hosts, m, &o.before_host) ||
            !put_head(open, &open->pids, m, &o.before_pid))
                return false;
        open->list[open->n++] = o;
        return true;
}

/* What the end reports is kept with what the beginning reported; where both do, the end wins. */
static char *join_data(const char *begin, const char *end)
{
        if (!begin)
                return strdup(end);
        json_t *keys = jsonin_text(begin, 0, NULL), *more = jsonin_text(end, 0, NULL);
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
        if (i == NONE)
                return;
        struct phase *p = &phases[open->list[i].phase];
        p->open = false;
        p->end_ns = clock_bounded(end->wall_ns);
        struct mark *begin = open->list[i].mark;
        char *data = end->data ? join_data(begin->data, end->data) : NULL;
        if (data) {
                free(begin->data);
                p->data = begin->data = data;
        }
        open->list[i].closed = true;
}

static int compare_phases(const void *a, const void *b)
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
        int64_t took = p.open ? 0 : clock_bounded(clock_from_seconds(MAX(m->seconds, 0.0)));
        p.begin_ns = clock_bounded(clock_bounded(m->wall_ns) - took);
        p.end_ns = clock_bounded(p.open ? MAX(run_end_ns, m->wall_ns) : m->wall_ns);
        return p;
}

/* Gives how many phases there are, NONE when memory is short. Both lists have room for n. */
static size_t phases_fill(struct mark *marks, size_t n, int64_t run_end_ns, struct phase *list,
                          struct openings *open)
{
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
                if (marks[i].type == MARK_END)
                        close_phase(list, open, &marks[i]);
                if (marks[i].type == MARK_BEGIN && !open_phase(open, &marks[i], count))
                        return NONE;
                if (marks[i].type == MARK_BEGIN || marks[i].type == MARK_PHASE)
                        list[count++] = phase_of(&marks[i], run_end_ns);
        }
        qsort(list, count, sizeof(*list), compare_phases);
        return count;
}

int phases_from_marks(struct mark *marks, size_t n, int64_t run_end_ns, struct phase **ret,
                      size_t *ret_n)
{
        struct phase *list = calloc(n + 1, sizeof(*list));
        struct openings open = {.list = calloc(n + 1, sizeof(*open.list)),
                                .hosts.last = calloc(n + 1, sizeof(size_t)),
                                .pids.last = calloc(n + 1, sizeof(size_t)),
                                .pids.by_pid = true};
        bool room = list && open.list && open.hosts.last && open.pids.last;
        size_t count = room ? phases_fill(marks, n, clock_bounded(run_end_ns), list, &open) : NONE;
        if (count != NONE) {
                *ret_n = count;
                *ret = list;
        } else {
                free(list);
        }
        free(open.list);
        free(open.hosts.last);
        free(open.pids.last);
        lookup_finish(&open.hosts.places);
        lookup_finish(&open.pids.places);
        return count != NONE ? 0 : -ENOMEM;
}

/* "-3" → n - 3; clamped to 0..n. False when it is not a number. */
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
