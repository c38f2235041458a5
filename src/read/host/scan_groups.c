/*
 * Who holds a GPU and who serves it. Holders are reported; a process that holds none serves what
 * its nearest holding ancestor holds, so that the loader workers of each rank are that rank's, also
 * where the ranks' parent holds a GPU itself. One whose parent ended stays with whom it served.
 * What the watched command runs beside its holders (a server that feeds them, their parent) serves
 * all that they hold.
 */
#include "base/clock.h"
#include "read/host/scanner_table.h"

#define DEPTH_MAX 64
#define COMMAND SCAN_GROUP_BIT(SCAN_COMMAND)
#define GPUS (COMMAND - 1)

/* The only living child; NULL when there is none or several. */
static struct scan_process *only_child(struct scanner *s, const struct scan_process *p)
{
        struct scan_process *only = NULL;
        SCAN_EACH(s, q)
        {
                if (!scan_alive(s, q) || q->ppid != p->pid || q->state == 'Z')
                        continue;
                if (only)
                        return NULL;
                only = q;
        }
        return only;
}

/* The command's main process: what is started through shells and launchers that only wait for it
 * is it, not they. */
static struct scan_process *find_main(struct scanner *s)
{
        struct scan_process *p =
            s->config.target.pid > 0 ? table_find(s, s->config.target.pid) : NULL;
        if (!p || !scan_alive(s, p) || p->start != s->target_start)
                return NULL;
        for (unsigned depth = 0; depth < DEPTH_MAX && s->now_ns - p->moved_ns > NS_PER_S; depth++) {
                struct scan_process *child = only_child(s, p);
                if (!child)
                        break;
                p = child;
        }
        return p;
}

static bool is_of_command(struct scanner *s, const struct scan_process *p)
{
        for (unsigned depth = 0; p && depth < DEPTH_MAX; depth++) {
                if (p->holds & COMMAND)
                        return true;
                p = table_parent(s, p);
        }
        return false;
}

/* GPUs that the watched command's processes hold. */
static uint64_t held_by_command(struct scanner *s)
{
        uint64_t held = 0;
        SCAN_EACH(s, p)
        {
                if ((p->holds & GPUS) && is_of_command(s, p))
                        held |= p->holds & GPUS;
        }
        return held;
}

/* True when somebody began or ceased to hold. */
static bool set_holders(struct scanner *s)
{
        uint64_t held = 0, fed;
        bool changed = false;
        SCAN_EACH(s, p)
        {
                p->groups_before = p->holds | p->serves;
                p->holds = 0;
        }
        for (size_t i = 0; i < s->n_holders; i++) {
                struct scan_process *p = table_find(s, s->holders[i].pid);
                if (p && scan_alive(s, p) && !p->denied)
                        p->holds |= s->holders[i].groups & GPUS;
        }
        struct scan_process *main = find_main(s);
        if (main)
                main->holds |= COMMAND;
        SCAN_EACH(s, p)
        {
                held |= p->holds;
                changed |= p->holds != p->holds_before;
                p->holds_before = p->holds;
        }
        fed = held_by_command(s);
        changed |= held != s->held || fed != s->fed;
        s->held = held;
        s->fed = fed;
        return changed;
}

/* Whom an orphan served it still serves; nobody else says so. */
static uint64_t kept_groups(const struct scanner *s, const struct scan_process *p)
{
        return p->ppid != p->first_ppid ? p->serves & s->held : 0;
}

static uint64_t served_groups(struct scanner *s, const struct scan_process *p)
{
        uint64_t found = kept_groups(s, p);
        const struct scan_process *q = table_parent(s, p);
        for (unsigned depth = 0; q && depth < DEPTH_MAX; depth++) {
                found |= (q->holds | kept_groups(s, q)) & (found & GPUS ? COMMAND : ~0ULL);
                q = table_parent(s, q);
        }
        bool beside = ((p->holds | found) & COMMAND) && !(found & GPUS);
        /* Who holds a GPU works for itself. */
        return p->holds & GPUS ? 0 : (found & ~p->holds) | (beside ? s->fed : 0);
}

size_t scanner_servers(const struct scanner *s, struct host_server *list, size_t max)
{
        size_t n = 0;
        SCAN_EACH(s, p)
        {
                if (n < max && scan_alive(s, p) && !p->denied && (p->holds | p->serves))
                        list[n++] = (struct host_server){.pid = p->pid, .holds = p->holds != 0};
        }
        return n;
}

void groups_decide(struct scanner *s)
{
        if (s->n_holders == 0 && s->held == 0 && s->config.target.pid == 0)
                return;
        bool changed = set_holders(s);
        SCAN_EACH(s, p)
        {
                if (!scan_alive(s, p) || p->denied)
                        continue;
                if (p->fresh)
                        p->first_ppid = p->ppid;
                if (changed || p->fresh)
                        p->serves = served_groups(s, p);
                /* Who joins is counted from here, so here its counters must be known. */
                if (((p->holds | p->serves) & ~p->groups_before) && p->read_at != s->tick &&
                    scan_read_stat(s, p) < 0)
                        p->seen = s->tick - 1;
        }
}
