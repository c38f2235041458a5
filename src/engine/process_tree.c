#include "engine/process_tree.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/holders.h"
#include "read/host/scanner.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define TREE_FDS 64

struct process_tree {
        int root;
        struct scanner *scanner;
        struct holders *holders;
        size_t n_gpus;
        uint32_t slots[HOST_GPUS_MAX]; /* a GPU keeps its number: orphans keep serving the GPU they
                                          served */
        struct scan_holder held[SCAN_HOLDERS_MAX];
};

int process_tree_open(const char *root, struct listing *listing, struct process_tree **ret)
{
        struct process_tree *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;
        t->root = files_open_root(root);
        const struct scan_config config = {.root = t->root,
                                           .listing = listing,
                                           .target.group_kind = CGROUP_KINDS,
                                           .fd_budget = TREE_FDS};
        const struct holders_config holders = {.root = t->root, .fd_budget = TREE_FDS};
        int r = t->root < 0 ? t->root : scanner_open(&config, &t->scanner, NULL);
        if (r == 0)
                r = holders_open(&holders, &t->holders);
        if (r < 0) {
                process_tree_close(t);
                return r;
        }
        *ret = t;
        return 0;
}

void process_tree_close(struct process_tree *t)
{
        if (!t)
                return;
        holders_close(t->holders);
        scanner_close(t->scanner);
        closep(&t->root);
        free(t);
}

static size_t gpu_number(struct process_tree *t, uint32_t slot)
{
        for (size_t i = 0; i < t->n_gpus; i++) {
                if (t->slots[i] == slot)
                        return i;
        }
        if (t->n_gpus == HOST_GPUS_MAX)
                return HOST_GPUS_MAX - 1;
        t->slots[t->n_gpus] = slot;
        return t->n_gpus++;
}

static void publish_holders(struct process_tree *t, const struct process *list, size_t n)
{
        size_t held = 0;
        for (size_t i = 0; i < n && held < SCAN_HOLDERS_MAX; i++)
                t->held[held++] =
                    (struct scan_holder){list[i].pid, SCAN_GROUP_BIT(gpu_number(t, list[i].slot))};
        scanner_set_holders(t->scanner, t->held, held);
}

/* Behind the n that hold GPUs, and as they are on one. */
static void add_child(const struct process_tree *t, const struct scan_process *q,
                      const struct process *list, size_t n, struct process *ret)
{
        uint32_t slot = t->slots[__builtin_ctzll(q->serves)];
        size_t i = 0;
        while (i < n - 1 && list[i].slot != slot)
                i++;
        *ret = (struct process){
            .pid = q->pid, .ppid = q->ppid, .child = true, .on = list[i].on, .slot = slot};
        memcpy(ret->gpu, list[i].gpu, sizeof(ret->gpu));
}

size_t process_tree_fill(struct process_tree *t, int64_t mono_ns, struct process *list, size_t n,
                         size_t max)
{
        struct timespec boot;
        size_t place = 0, added = 0;
        publish_holders(t, list, n);
        clock_gettime(CLOCK_BOOTTIME, &boot);
        if (n == 0 || scanner_tick(t->scanner, (int64_t)boot.tv_sec * NS_PER_S + boot.tv_nsec) < 0)
                return 0;
        holders_tick(t->holders, t->scanner, mono_ns);
        for (size_t i = 0; i < n; i++) {
                const struct scan_process *q = scanner_find(t->scanner, list[i].pid);
                struct value framework = holders_framework(t->holders, list[i].pid);
                list[i].ppid = q ? q->ppid : 0;
                list[i].framework = value_is_set(framework) ? (uint8_t)framework.v : 0;
        }
        for (const struct scan_process *q; added < max && (q = scanner_each(t->scanner, &place));) {
                if (q->serves && q->state != 'Z')
                        add_child(t, q, list, n, &list[n + added++]);
        }
        return added;
}
