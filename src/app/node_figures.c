#include "app/node_figures.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/levels.h"
#include "read/host/files.h"
#include "read/host/system.h"

#include <stdlib.h>
#include <unistd.h>

struct node_watch {
        int root;
        struct system_reader *reader;
        struct host samples[2];
};

static void close_watch(struct node_watch *w)
{
        system_close(w->reader);
        closep(&w->root);
        free(w);
}

static void read_sample(struct node_watch *w, struct host *ret)
{
        ret->mono_ns = clock_mono_ns();
        ret->levels[LEVEL_SYSTEM].asked = ret->levels[LEVEL_SYSTEM].present = true;
        system_read(w->reader, (uint64_t)sysconf(_SC_CLK_TCK), ret);
}

struct node_watch *node_watch_begin(void)
{
        struct node_watch *w = calloc(1, sizeof(*w));
        if (!w)
                return NULL;
        w->root = files_open_root("/");
        if (w->root < 0 || system_open(w->root, &w->reader) < 0) {
                close_watch(w);
                return NULL;
        }
        read_sample(w, &w->samples[0]);
        levels_compute(NULL, &w->samples[0]);
        return w;
}

void node_watch_end(struct node_watch *w, struct snapshot_host *ret)
{
        if (!w)
                return;
        read_sample(w, &w->samples[1]);
        levels_compute(&w->samples[0], &w->samples[1]);
        node_figures_take(&w->samples[1], ret);
        close_watch(w);
}

void node_figures_take(const struct host *host, struct snapshot_host *ret)
{
        const struct value *system = host->system, *level = host->levels[LEVEL_SYSTEM].f;
        ret->node[NODE_MEM_TOTAL] = system[SYSTEM_MEM_TOTAL];
        ret->node[NODE_MEM_AVAILABLE] = system[SYSTEM_MEM_AVAILABLE];
        ret->node[NODE_SWAP_USED] = system[SYSTEM_SWAP_USED];
        ret->node[NODE_IO_STALLED] = system[SYSTEM_PSI_IO_FULL];
        ret->node[NODE_DISK_READ] = level[FIGURE_READ];
        ret->node[NODE_DISK_WRITTEN] = level[FIGURE_WRITE];
        ret->node[NODE_NET_RX] = system[SYSTEM_NET_RX];
        ret->node[NODE_NET_TX] = system[SYSTEM_NET_TX];
}
