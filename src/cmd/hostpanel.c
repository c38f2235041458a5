#include "cmd/hostpanel.h"

#include "base/clock.h"
#include "session/session.h"

#include <stdio.h>
#include <string.h>

/* ---- a sample ---- */

static void fill_level(const struct host *h, enum level level, struct host_panel *p)
{
        const struct level_state *l = &h->levels[level];
        if (!l->asked || p->n_levels == HOST_LEVELS_MAX)
                return;
        struct host_level *to = &p->level[p->n_levels++];
        *to = (struct host_level){.name = level_name(level),
                                  .cpu = l->f[FIGURE_CPU],
                                  .cpu_ratio = l->f[FIGURE_CPU_SHARE],
                                  .memory = l->f[FIGURE_MEMORY],
                                  .memory_limit = l->f[FIGURE_MEMORY_LIMIT],
                                  .read = l->f[FIGURE_READ],
                                  .write = l->f[FIGURE_WRITE],
                                  .processes = l->f[FIGURE_PROCESSES],
                                  .threads = l->f[FIGURE_THREADS]};
        if (!l->present)
                snprintf(to->why, sizeof(to->why), "%.*s", (int)sizeof(to->why) - 1,
                         l->why[0] ? l->why : "not here");
}

void host_panel_fill(const struct host *h, struct host_panel *p)
{
        const struct value *s = h->system;
        p->cpu = host_cpu_busy(h);
        p->load1 = s[SYSTEM_LOAD_1];
        p->load5 = s[SYSTEM_LOAD_5];
        p->load15 = s[SYSTEM_LOAD_15];
        p->memory_used = s[SYSTEM_MEM_USED];
        p->memory_total = s[SYSTEM_MEM_TOTAL];
        p->swap_used = s[SYSTEM_SWAP_USED];
        p->swap_total = s[SYSTEM_SWAP_TOTAL];
        p->psi_cpu = s[SYSTEM_PSI_CPU];
        p->psi_memory = s[SYSTEM_PSI_MEMORY];
        p->psi_io = s[SYSTEM_PSI_IO];
        p->disk_read = h->levels[LEVEL_SYSTEM].f[FIGURE_READ];
        p->disk_write = h->levels[LEVEL_SYSTEM].f[FIGURE_WRITE];
        p->net_rx = s[SYSTEM_NET_RX];
        p->net_tx = s[SYSTEM_NET_TX];
        p->n_cores = MIN(h->n_cores, (size_t)HOST_CORES_MAX);
        for (size_t i = 0; i < p->n_cores; i++)
                p->core[i] = h->cores[i].util;
        p->n_levels = 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                fill_level(h, l, p);
}

/* ---- a recorded run ---- */

struct hostplay {
        char *path;
        struct session_reader *reader;
        const struct host *next; /* read, and still to come; NULL at the end */
        int64_t at_ns;           /* of the panel; INT64_MIN before the first */
        struct host_panel panel;
};

static bool rewind_to_start(struct hostplay *h)
{
        session_reader_close(h->reader);
        h->reader = NULL;
        h->next = NULL;
        h->at_ns = INT64_MIN;
        if (session_open(h->path, &h->reader, NULL) < 0)
                return false;
        return session_next_host(h->reader, &h->next, NULL) > 0 || (h->next = NULL, true);
}

struct hostplay *hostplay_open(const char *path)
{
        struct hostplay *h = session_is_one(path) ? calloc(1, sizeof(*h)) : NULL;
        if (!h)
                return NULL;
        h->path = strdup(path);
        if (!h->path || !rewind_to_start(h)) {
                hostplay_close(h);
                return NULL;
        }
        return h;
}

/* Samples are some seconds apart at most; older ones are of a host that nobody recorded any more.
 */
#define KNOWN_NS (15 * NS_PER_S)

bool hostplay_at(struct hostplay *h, int64_t wall_ns, struct host_panel *ret)
{
        if (wall_ns < h->at_ns && !rewind_to_start(h))
                return false;
        while (h->next && h->next->wall_ns <= wall_ns) {
                h->at_ns = h->next->wall_ns;
                host_panel_fill(h->next, &h->panel);
                if (session_next_host(h->reader, &h->next, NULL) <= 0)
                        h->next = NULL;
        }
        if (h->at_ns == INT64_MIN || wall_ns - h->at_ns > KNOWN_NS)
                return false;
        *ret = h->panel;
        return true;
}

void hostplay_close(struct hostplay *h)
{
        if (!h)
                return;
        session_reader_close(h->reader);
        free(h->path);
        free(h);
}
