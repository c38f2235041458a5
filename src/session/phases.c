#include "session/phases.h"

#include "base/clock.h"

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

/* The last opening of a name and host, or of a name, host and process; hashed, open addressing. */
struct heads {
        size_t *at;  /* NONE where there is none */
        size_t size; /* a power of two */
        bool by_pid;
};

struct openings {
        struct opening *list; /* in order of time */
        size_t n;
        struct heads hosts, pids;
};

static uint64_t hash_text(uint64_t h, const char *s)
{
        for (; *s; s++)
                h = (h ^ (uint8_t)*s) * 1099511628211u;
        return (h ^ 0xff) * 1099511628211u;
}

static bool is_same(const struct mark *a, const struct mark *b, bool by_pid)
{
        return (!by_pid || a->pid == b->pid) && strcmp(a->name, b->name) == 0 &&
               strcmp(a->host, b->host) == 0;
}

/* The head of a mark's chain, or the empty place for it. */
static size_t *head_of(struct openings *open, struct heads *heads, const struct mark *m)
{
        uint64_t h = hash_text(hash_text(14695981039346656037u, m->name), m->host);
        if (heads->by_pid)
                h = (h ^ (uint64_t)m->pid) * 1099511628211u;
        size_t i = (size_t)(h ^ h >> 32) & (heads->size - 1);
        while (heads->at[i] != NONE && !is_same(open->list[heads->at[i]].mark, m, heads->by_pid))
                i = (i + 1) & (heads->size - 1);
        return &heads->at[i];
}

/* The head stays where the last of a chain is closed: it holds the place of its name. */
static size_t last_open(struct openings *open, struct heads *heads, const struct mark *m)
{
        size_t *head = head_of(open, heads, m);
        if (*head == NONE)
                return NONE;
        for (;;) {
                const struct opening *o = &open->list[*head];
                size_t before = heads->by_pid ? o->before_pid : o->before_host;
                if (!o->closed)
                        return *head;
                if (before == NONE)
                        return NONE;
                *head = before;
        }
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

static void open_phase(struct openings *open, struct mark *m, size_t phase)
{
        size_t *host = head_of(open, &open->hosts, m), *pid = head_of(open, &open->pids, m);
        open->list[open->n] = (struct opening){m, phase, *host, *pid, false};
        *host = *pid = open->n++;
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
        if (i == NONE)
                return;
        struct phase *p = &phases[open->list[i].phase];
        p->open = false;
        p->end_ns = clock_bounded(end->wall_ns);
        struct mark *begin = open->list[i].mark;
        char *data = end->data ? joined(begin->data, end->data) : NULL;
        if (data) {
                free(begin->data);
                p->data = begin->data = data;
        }
        open->list[i].closed = true;
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
        int64_t took = p.open ? 0 : clock_bounded(clock_from_seconds(MAX(m->seconds, 0.0)));
        p.begin_ns = clock_bounded(clock_bounded(m->wall_ns) - took);
        p.end_ns = clock_bounded(p.open ? MAX(run_end_ns, m->wall_ns) : m->wall_ns);
        return p;
}

/* Gives how many phases there are. Both lists have room for n. */
static size_t fill(struct mark *marks, size_t n, int64_t run_end_ns, struct phase *list,
                   struct openings *open)
{
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
                if (marks[i].type == MARK_END)
                        close_phase(list, open, &marks[i]);
                if (marks[i].type == MARK_BEGIN)
                        open_phase(open, &marks[i], count);
                if (marks[i].type == MARK_BEGIN || marks[i].type == MARK_PHASE)
                        list[count++] = phase_of(&marks[i], run_end_ns);
        }
        qsort(list, count, sizeof(*list), compare);
        return count;
}

static bool make_heads(struct heads *h, size_t n, bool by_pid)
{
        *h = (struct heads){.size = 16, .by_pid = by_pid};
        while (h->size < 2 * n)
                h->size *= 2;
        h->at = malloc(h->size * sizeof(*h->at));
        for (size_t i = 0; h->at && i < h->size; i++)
                h->at[i] = NONE;
        return h->at != NULL;
}

int phases_from_marks(struct mark *marks, size_t n, int64_t run_end_ns, struct phase **ret,
                      size_t *ret_n)
{
        struct phase *list = calloc(n + 1, sizeof(*list));
        struct openings open = {.list = calloc(n + 1, sizeof(*open.list))};
        bool fine = make_heads(&open.hosts, n, false);
        fine = make_heads(&open.pids, n, true) && fine && list && open.list;
        if (fine) {
                *ret_n = fill(marks, n, clock_bounded(run_end_ns), list, &open);
                *ret = list;
        } else {
                free(list);
        }
        free(open.list);
        free(open.hosts.at);
        free(open.pids.at);
        return fine ? 0 : -ENOMEM;
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
