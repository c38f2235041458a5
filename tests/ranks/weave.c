/*
 * weave BASE.assay OUT.assay < SCRIPT: writes the session of one rank with the samples of a real
 * recording, changed as the script says. Lines, in order of time; times are seconds since the
 * start:
 *
 *   start NS                          wall clock of the start, before all else
 *   text KEY WORDS…                   a fact, as text
 *   number KEY VALUE                  a fact, as a number
 *   tick T                            a tick of the GPUs; its rows follow
 *   row GPU SAMPLE [CHANGE]…          SAMPLE: the place of the base's tick that is taken
 *   host T SAMPLE [CHANGE]…           the same of the host's samples
 *   mark T begin|end|event NAME
 *   mark T metric NAME VALUE
 *   stack T PID TID running|waiting|blocked CALL FILE:LINE:FUNCTION;…
 *                                     a thread for a second, the outermost frame first; CALL "-" is
 * none
 *
 * CHANGE is NAME=VALUE, or NAME*FACTOR of the base's value; VALUE "-" is missing. Names of a row
 * are those of metrics; of the host: those of the evidence ("cpu_thread"), "system.NAME", and
 * "process.NAME" of the process level. "pid=N" on a row names the process that holds the GPU, and
 * each "other=N" one more.
 */
#include "base/clock.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define ROWS_MAX 16
#define PROCESSES 32

struct base {
        struct frame *frames;
        struct row *rows; /* one a frame */
        struct host *hosts;
        size_t n, n_hosts;
        struct entity who;
};

struct weave {
        struct base base;
        struct session *out;
        int64_t start_ns;
        struct stack_table *stacks; /* NULL before the first */
        struct entity who[ROWS_MAX];
        struct row rows[ROWS_MAX];
        struct process processes[PROCESSES];
        struct frame frame;
        uint64_t ticks, host_ticks;
        bool open;
        char host[64];
};

static void die(const char *what, const char *about)
{
        fprintf(stderr, "weave: %s '%s'\n", what, about);
        exit(1);
}

static void *grow(void *list, size_t n, size_t size)
{
        if ((n & (n - 1)) != 0)
                return list;
        list = realloc(list, (n ? 2 * n : 1) * size);
        if (!list)
                die("out of", "memory");
        return list;
}

static void read_base(struct base *b, const char *path)
{
        struct session_reader *r;
        const struct frame *f;
        const struct host *h;
        struct err err = {0};
        if (session_open(path, &r, &err) < 0)
                die(err.msg, path);
        while (session_next(r, &f, &err) > 0) {
                if (f->n == 0)
                        continue;
                b->rows = grow(b->rows, b->n, sizeof(*b->rows));
                b->rows[b->n++] = f->rows[0];
                b->who = *f->rows[0].sample.who;
        }
        while (session_next_host(r, &h, &err) > 0) {
                b->hosts = grow(b->hosts, b->n_hosts, sizeof(*b->hosts));
                b->hosts[b->n_hosts++] = *h;
        }
        session_reader_close(r);
        if (b->n == 0)
                die("no tick in", path);
}

static void change(struct value *v, const char *text)
{
        if (text[0] == '=' && strcmp(text + 1, "-") == 0)
                *v = value_missing(STATE_UNSUPPORTED);
        else if (text[0] == '=')
                *v = value_ok(strtod(text + 1, NULL));
        else if (value_is_set(*v))
                v->v *= strtod(text + 1, NULL);
}

static void flush(struct weave *w)
{
        struct err err = {0};
        if (w->open && session_add(w->out, &w->frame, &err) < 0)
                die("cannot add", err.msg);
        w->open = false;
}

static int64_t at(const struct weave *w, const char *seconds)
{
        return w->start_ns + clock_from_seconds(strtod(seconds, NULL));
}

static void do_tick(struct weave *w, char *rest)
{
        flush(w);
        int64_t wall = at(w, rest);
        w->frame = (struct frame){.tick = w->ticks++,
                                  .wall_ns = wall,
                                  .mono_ns = wall - w->start_ns + NS_PER_S,
                                  .provenance = "nvml+gpm",
                                  .rows = w->rows,
                                  .knows_processes = true};
        w->frame.processes.list = w->processes;
        w->open = true;
}

static void add_process(struct weave *w, size_t gpu, const char *pid, bool other)
{
        struct process *p = &w->processes[w->frame.processes.n];
        if (w->frame.processes.n == PROCESSES)
                return;
        w->frame.processes.n++;
        memset(p, 0, sizeof(*p));
        p->pid = (int32_t)strtol(pid, NULL, 10);
        snprintf(p->gpu, sizeof(p->gpu), "%zu", gpu);
        snprintf(p->command, sizeof(p->command), "%s", other ? "other" : "train.py");
        snprintf(p->user, sizeof(p->user), "%s", other ? "bob" : "alice");
        p->gpu_memory = value_ok(1e9);
}

static void do_row(struct weave *w, char *rest)
{
        char *word = strsep(&rest, " "), *sample = strsep(&rest, " ");
        size_t gpu = (size_t)strtoul(word, NULL, 10);
        size_t place = sample ? (size_t)strtoul(sample, NULL, 10) : 0;
        if (!w->open || w->frame.n == ROWS_MAX || gpu >= ROWS_MAX)
                die("row out of place", word);
        struct row *row = &w->rows[w->frame.n++];
        *row = w->base.rows[place % w->base.n];
        struct entity *e = &w->who[gpu];
        if (e->text[ENTITY_TEXT_UUID][0] == '\0') {
                *e = w->base.who;
                e->index = (int32_t)gpu;
                e->slot = (uint32_t)gpu;
                snprintf(e->label, sizeof(e->label), "%zu", gpu);
                snprintf(e->text[ENTITY_TEXT_UUID], ENTITY_TEXT_MAX, "GPU-%s-%zu", w->host, gpu);
                snprintf(e->text[ENTITY_TEXT_HOST], ENTITY_TEXT_MAX, "%s", w->host);
        }
        row->sample.who = e;
        while ((word = strsep(&rest, " "))) {
                size_t len = strcspn(word, "=*");
                if (strncmp(word, "pid=", 4) == 0 || strncmp(word, "other=", 6) == 0) {
                        add_process(w, gpu, word + len + 1, word[0] == 'o');
                        continue;
                }
                enum metric m = 0;
                while (m < METRIC_COUNT && (strncmp(metric_info(m)->name, word, len) != 0 ||
                                            metric_info(m)->name[len] != '\0'))
                        m++;
                if (m == METRIC_COUNT)
                        die("no metric", word);
                change(&row->sample.m[m], word + len);
        }
}

static bool is_name(const char *name, const char *word, size_t len)
{
        return strncmp(name, word, len) == 0 && name[len] == '\0';
}

static void change_host(struct host *h, char *word)
{
        size_t len = strcspn(word, "=*");
        const char *dot = memchr(word, '.', len);
        if (!dot) {
                for (enum evidence e = 0; e < EVIDENCE_COUNT; e++) {
                        for (size_t g = 0;
                             is_name(evidence_info(e)->name, word, len) && g < h->n_gpus; g++)
                                change(&h->evidence[g].e[e], word + len);
                }
        } else if (strncmp(word, "system.", 7) == 0) {
                for (enum system_figure f = 0; f < SYSTEM_COUNT; f++) {
                        if (is_name(system_figure_info(f)->name, dot + 1, len - 7))
                                change(&h->system[f], word + len);
                }
        } else {
                for (enum figure f = 0; f < FIGURE_COUNT; f++) {
                        if (is_name(figure_info(f)->name, dot + 1, len - (size_t)(dot + 1 - word)))
                                change(&h->levels[LEVEL_PROCESS].f[f], word + len);
                }
        }
}

/* The host's samples are of the base's GPU; each of the rank's has what that had. */
static void give_gpus(const struct weave *w, struct host *h)
{
        const struct host from = *h;
        h->n_gpus = 0;
        for (size_t g = 0; g < ROWS_MAX && from.n_gpus > 0; g++) {
                if (w->who[g].text[ENTITY_TEXT_UUID][0] == '\0')
                        continue;
                snprintf(h->gpus[h->n_gpus], sizeof(h->gpus[0]), "%zu", g);
                h->evidence[h->n_gpus] = from.evidence[0];
                for (enum level l = 0; l < LEVEL_COUNT; l++)
                        h->levels[l].gpus[h->n_gpus] = from.levels[l].gpus[0];
                h->n_gpus++;
        }
}

static void do_host(struct weave *w, char *rest)
{
        static struct host h;
        struct err err = {0};
        char *t = strsep(&rest, " "), *sample = strsep(&rest, " "), *word;
        flush(w);
        if (w->base.n_hosts == 0)
                return;
        h = w->base.hosts[(sample ? strtoul(sample, NULL, 10) : 0) % w->base.n_hosts];
        int64_t wall = at(w, t);
        h.tick = w->host_ticks++;
        h.wall_ns = wall;
        h.mono_ns = wall - w->start_ns + NS_PER_S;
        give_gpus(w, &h);
        while ((word = strsep(&rest, " ")))
                change_host(&h, word);
        if (session_add_host(w->out, &h, &err) < 0)
                die("cannot add", err.msg);
}

static void do_mark(struct weave *w, char *rest)
{
        struct mark m;
        struct err err = {0};
        char *t = strsep(&rest, " "), *type = strsep(&rest, " "), *name = strsep(&rest, " ");
        if (!name)
                die("no name in a mark at", t);
        mark_init(&m, mark_type_find(type));
        m.wall_ns = at(w, t);
        m.mono_ns = m.wall_ns - w->start_ns + NS_PER_S;
        m.pid = rest && m.type != MARK_METRIC ? strtol(rest, NULL, 10) : 1000;
        snprintf(m.host, sizeof(m.host), "%s", w->host);
        snprintf(m.name, sizeof(m.name), "%s", name);
        m.value = rest ? strtod(rest, NULL) : 0;
        if (session_mark(w->out, &m, &err) < 0)
                die("cannot mark", err.msg);
}

static uint32_t intern(struct weave *w, const char *s)
{
        return stack_intern_text(w->stacks, s, strlen(s));
}

static uint32_t push_frames(struct weave *w, char *frames)
{
        uint32_t stack = STACK_EMPTY;
        char *word;
        while ((word = strsep(&frames, ";"))) {
                char *file = strsep(&word, ":"), *line = strsep(&word, ":");
                if (!line || !word)
                        die("no frame", file);
                const struct stack_frame f = {.file = intern(w, file),
                                              .function = intern(w, word),
                                              .line = (uint32_t)strtoul(line, NULL, 10),
                                              .whose =
                                                  strchr(file, '/') ? STACK_LIBRARY : STACK_USER};
                stack = stack_intern_call(w->stacks, stack, stack_intern_frame(w->stacks, &f));
        }
        return stack;
}

static void do_stack(struct weave *w, char *rest)
{
        char *t = strsep(&rest, " "), *pid = strsep(&rest, " "), *tid = strsep(&rest, " ");
        char *state = strsep(&rest, " "), *call = strsep(&rest, " ");
        if (!rest)
                die("half a stack at", t);
        if (!w->stacks && stack_table_open(&w->stacks) < 0)
                die("out of", "memory");
        const struct stack_process process = {.pid = (int32_t)strtol(pid, NULL, 10),
                                              .ppid = 1,
                                              .start_ticks = 77,
                                              .access = STACK_READABLE,
                                              .runtime = "CPython 3.11.7",
                                              .command = "python train.py"};
        struct stack_sample s = {.mono_ns = at(w, t) - w->start_ns + NS_PER_S,
                                 .stands_for_ns = NS_PER_S,
                                 .start_ticks = process.start_ticks,
                                 .pid = process.pid,
                                 .tid = (int32_t)strtol(tid, NULL, 10),
                                 .thread = intern(w, "python"),
                                 .call = strcmp(call, "-") == 0 ? STACK_TEXT_NONE : intern(w, call),
                                 .stack = push_frames(w, rest)};
        s.is_main = s.pid == s.tid;
        s.state = state[0] == 'r' ? STACK_RUNNING : state[0] == 'w' ? STACK_WAITING : STACK_BLOCKED;
        session_add_stack_process(w->out, &process);
        session_add_stacks(w->out, w->stacks, &s, 1);
}

static void do_fact(struct weave *w, char *rest, bool number)
{
        char *key = strsep(&rest, " ");
        if (!rest)
                die("no value for", key);
        if (number)
                session_set_number(w->out, key, strtod(rest, NULL));
        else
                session_set_text(w->out, key, rest);
        if (strcmp(key, "host") == 0)
                snprintf(w->host, sizeof(w->host), "%s", rest);
}

static void do_line(struct weave *w, const char *path, char *line)
{
        struct err err = {0};
        char *rest = line, *word = strsep(&rest, " ");
        if (!rest)
                die("half a line", line);
        if (strcmp(word, "start") == 0) {
                w->start_ns = strtoll(rest, NULL, 10);
                if (session_create(path, w->start_ns, &w->out, &err) < 0)
                        die("cannot write", err.msg);
                session_relax(w->out, NULL);
                session_set_time(w->out, "start_mono_ns", NS_PER_S);
        } else if (!w->out) {
                die("no start before", word);
        } else if (strcmp(word, "text") == 0 || strcmp(word, "number") == 0) {
                do_fact(w, rest, word[0] == 'n');
        } else if (strcmp(word, "stop") == 0) {
                session_set_time(w->out, "stop_ns", at(w, rest));
        } else if (strcmp(word, "tick") == 0) {
                do_tick(w, rest);
        } else if (strcmp(word, "row") == 0) {
                do_row(w, rest);
        } else if (strcmp(word, "host") == 0) {
                do_host(w, rest);
        } else if (strcmp(word, "mark") == 0) {
                do_mark(w, rest);
        } else if (strcmp(word, "stack") == 0) {
                do_stack(w, rest);
        } else {
                die("unknown line", word);
        }
}

int main(int argc, char **argv)
{
        static struct weave w;
        char line[LINE_MAX_BYTES];
        struct err err = {0};
        if (argc != 3)
                die("usage: weave", "BASE OUT < SCRIPT");
        read_base(&w.base, argv[1]);
        while (fgets(line, sizeof(line), stdin)) {
                line[strcspn(line, "\n")] = '\0';
                if (line[0])
                        do_line(&w, argv[2], line);
        }
        flush(&w);
        struct session_counts counts = {.asked = w.ticks, .taken = w.ticks};
        if (w.out)
                session_set_counts(w.out, &counts);
        if (w.stacks && session_commit(w.out, &err) < 0)
                die("cannot write", err.msg);
        if (w.stacks)
                session_end_stacks(w.out);
        if (session_close(w.out, &err) < 0)
                die("cannot close", err.msg);
        stack_table_close(w.stacks);
        return 0;
}
