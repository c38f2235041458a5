#include "present/why/words.h"

#include "base/attr.h"
#include "present/format.h"
#include "present/text/where.h"

#include <stdio.h>
#include <string.h>

#define RANGES_MAX 16 /* of ranks that are named; of more it is said how many there are */

static bool has_host(const struct why *w, uint32_t host)
{
        return host != WHY_NONE && host < w->snapshot->n_hosts &&
               w->snapshot->hosts[host].name[0] != '\0';
}

static void put_seconds(double seconds, struct strbuf *out)
{
        char text[FORMAT_MAX];
        strbuf_puts(out, format_length(text, sizeof(text), seconds));
}

/* "rank 2 (pid 4711 on node3)", "node3", "rank 5". */
static void why_put_rank(const struct why *w, const struct why_finding *f, struct strbuf *out)
{
        const struct snapshot_process *p =
            f->process == WHY_NONE ? NULL : &w->snapshot->processes[f->process];
        bool named = value_is_set(f->rank);
        if (named)
                strbuf_putf(out, "rank %.0f", f->rank.v);
        if (p)
                strbuf_putf(out, named ? " (pid %d" : "pid %d", p->is.pid);
        if (has_host(w, f->host))
                strbuf_putf(out,
                            p       ? " on %s"
                            : named ? " (on %s"
                                    : "%s",
                            w->snapshot->hosts[f->host].name);
        if (named && (p || has_host(w, f->host)))
                strbuf_putc(out, ')');
        if (!named && !p && !has_host(w, f->host))
                strbuf_puts(out, f->gpu == WHY_NONE ? "a rank" : "this node");
}

void why_put_line(const struct stack_snapshot *l, uint32_t thread, struct strbuf *out)
{
        struct where_place place = {0};
        if (why_line(l, thread, &place.own, &place.inner))
                where_put_place(out, &place);
}

void why_put_finding(const struct why *w, const struct why_finding *f, struct strbuf *out)
{
        struct code_line own, inner;
        why_put_rank(w, f, out);
        strbuf_putf(out, " %s", why_cause_info(f->cause)->words);
        if (why_line(w->snapshot, f->thread, &own, &inner)) {
                strbuf_puts(out, ": at ");
                why_put_line(w->snapshot, f->thread, out);
        }
        if (f->detail[0])
                strbuf_putf(out, "%s%s", own.file[0] && f->thread != WHY_NONE ? ", " : ": ",
                            f->detail);
        if (value_is_set(f->since_s)) {
                strbuf_puts(out, ", for ");
                put_seconds(f->since_s.v, out);
        }
}

void why_put_ranks(const struct why *w, uint32_t group, struct strbuf *out)
{
        size_t ranges = 0, left = 0;
        double from = -2, last = -2;
        for (size_t i = 0; i <= w->n_ranks; i++) {
                bool end = i == w->n_ranks;
                struct value rank = end ? value_missing(STATE_NONE)
                                        : w->snapshot->processes[w->ranks[i].process].rank;
                if (!end && (w->ranks[i].group != group || !value_is_set(rank)))
                        continue;
                if (!end && rank.v == last + 1) {
                        last = rank.v;
                        continue;
                }
                if (from >= 0 && ranges < RANGES_MAX) {
                        strbuf_putf(out, "%s%.0f", ranges > 0 ? ", " : "", from);
                        if (last > from)
                                strbuf_putf(out, "-%.0f", last);
                }
                left += from >= 0 && ranges >= RANGES_MAX;
                ranges += from >= 0;
                from = last = end ? -2 : rank.v;
        }
        if (left > 0)
                strbuf_putf(out, " and %zu more", left);
}

void why_put_doing(const struct why *w, const struct why_rank *r, struct strbuf *out)
{
        static const char *const words[WHY_DOING_COUNT] = {
            "unknown", "makes progress",        "waits for input",
            "waits",   "runs without progress", "stopped"};
        strbuf_puts(out, words[r->doing]);
        if (r->thread == WHY_NONE || (r->doing != WHY_WAITS && r->doing != WHY_IDLE))
                return;
        const struct snapshot_thread *t = &w->snapshot->threads[r->thread];
        const char *call = stack_text(w->snapshot->table, t->call);
        const char *target = stack_text(w->snapshot->table, t->target);
        if (call[0])
                strbuf_putf(out, " in %s", call);
        if (call[0] && target[0])
                strbuf_putf(out, " (%s)", target);
}

static size_t count_doing(const struct why *w, enum why_doing doing)
{
        size_t n = 0;
        for (size_t i = 0; i < w->n_ranks; i++)
                n += w->ranks[i].doing == doing;
        return n;
}

static const char *job_noun(const struct why *w)
{
        bool ranks =
            w->n_ranks > 0 && value_is_set(w->snapshot->processes[w->ranks[0].process].rank);
        return ranks             ? w->n_ranks == 1 ? "rank" : "ranks"
               : w->n_ranks == 1 ? "process"
                                 : "processes";
}

static void put_stalled(const struct why *w, struct strbuf *out)
{
        if (!value_is_set(w->stalled_s))
                return;
        strbuf_puts(out, "stalled for ");
        put_seconds(w->stalled_s.v, out);
        strbuf_puts(out, ": ");
}

void why_put_title(const struct why *w, struct strbuf *out)
{
        switch (w->outcome) {
        case WHY_FINE:
                strbuf_putf(out, "no hang found: %zu %s", w->n_ranks, job_noun(w));
                if (count_doing(w, WHY_MOVES) > 0)
                        strbuf_putf(out, ", %zu of them making progress",
                                    count_doing(w, WHY_MOVES));
                if (w->in_common > 0)
                        strbuf_putf(out, ", %zu waiting in one place", w->in_common);
                break;
        case WHY_FOUND:
                put_stalled(w, out);
                why_put_rank(w, &w->findings[0], out);
                strbuf_putf(out, " %s", why_cause_info(w->findings[0].cause)->words);
                if (w->in_common > 0)
                        strbuf_putf(out, "; %zu %s wait", w->in_common, job_noun(w));
                break;
        case WHY_NOT_KNOWN:
                put_stalled(w, out);
                strbuf_puts(out, "cause not known; ");
                why_put_rank(w, &w->findings[0], out);
                strbuf_putf(out, " %s", why_cause_info(w->findings[0].cause)->words);
                break;
        }
}
