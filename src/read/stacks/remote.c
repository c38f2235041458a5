#include "read/stacks/remote.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

#define UNUSED_MAX 16       /* looks that a span stays planned without being asked for */
#define MERGED_GAP 64       /* bytes between spans that are read as one */
#define SKIPPED_MAX 8       /* spans that have gone, before the rest is read as it is asked for */
#define FIRST_PAGE_END 4096 /* never mapped: members of a null pointer */
#define USER_SPACE_END (UINT64_C(1) << 56) /* beyond it no program has memory */

int remote_init(struct remote *r)
{
        *r = (struct remote){0};
        r->arena = malloc(REMOTE_BYTES_MAX + REMOTE_READ_MAX);
        r->spans = calloc(REMOTE_SPANS_MAX, sizeof(*r->spans));
        if (r->arena && r->spans)
                return 0;
        remote_finish(r);
        return -ENOMEM;
}

void remote_finish(struct remote *r)
{
        free(r->arena);
        free(r->spans);
        *r = (struct remote){0};
}

void remote_use(struct remote *r, int32_t pid, remote_readv *readv, void *arg)
{
        r->pid = pid;
        r->readv = readv;
        r->arg = arg;
}

void remote_plan_finish(struct remote_plan *p)
{
        free(p->list);
        *p = (struct remote_plan){0};
}

static ssize_t read_vector(struct remote *r, const struct iovec *to, const struct iovec *from,
                           size_t n)
{
        if (r->calls == 0 || r->bytes == 0) {
                r->error = EOVERFLOW;
                return -1;
        }
        r->calls--;
        r->total_calls++;
        ssize_t got =
            r->readv ? r->readv(r->arg, to, from, n) : process_vm_readv(r->pid, to, 1, from, n, 0);
        if (got < 0)
                r->error = errno;
        else
                r->bytes -= MIN(r->bytes, (uint64_t)got);
        return got;
}

/* Reads the planned spans from the first on. The kernel stops at one that has gone; it is left out
 * and the rest asked for again. */
static void read_planned(struct remote *r)
{
        struct iovec from[REMOTE_SPANS_MAX];
        for (size_t i = 0; i < r->n_planned; i++)
                from[i] = (struct iovec){(void *)(uintptr_t)r->spans[i].addr, r->spans[i].n};
        size_t first = 0;
        for (int skipped = 0; first < r->n_planned && skipped < SKIPPED_MAX; skipped++) {
                size_t at = r->spans[first].at;
                const struct iovec to = {r->arena + at, r->used - at};
                ssize_t got = read_vector(r, &to, from + first, r->n_planned - first);
                for (; got > 0 && first < r->n_planned && (size_t)got >= r->spans[first].n;
                     first++) {
                        r->spans[first].is_read = true;
                        got -= r->spans[first].n;
                }
                first++;
        }
}

void remote_begin(struct remote *r, struct remote_plan *plan)
{
        r->calls = REMOTE_CALLS_MAX;
        r->bytes = REMOTE_SNAPSHOT_MAX;
        remote_begin_again(r, plan);
}

void remote_begin_again(struct remote *r, struct remote_plan *plan)
{
        r->n = r->n_planned = r->used = 0;
        r->vain = 0;
        r->error = 0;
        for (size_t i = 0; plan && i < plan->n; i++) {
                struct remote_span s = plan->list[i];
                if (r->n == REMOTE_SPANS_MAX / 2 || s.n > REMOTE_BYTES_MAX / 2 - r->used)
                        break;
                s.at = (uint32_t)r->used;
                s.is_read = false;
                s.unused++;
                r->used += s.n;
                r->spans[r->n++] = s;
        }
        r->n_planned = r->n;
        r->planned_bytes = r->used;
        read_planned(r);
        r->error = 0;
}

static int compare_spans(const void *a, const void *b)
{
        const struct remote_span *x = a, *y = b;
        return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void remote_end(struct remote *r, struct remote_plan *plan)
{
        size_t kept = 0;
        for (size_t i = 0; i < r->n_planned; i++)
                kept += r->spans[i].is_read && r->spans[i].unused < UNUSED_MAX;
        if (r->n == r->n_planned && kept == plan->n) {
                for (size_t i = 0; i < plan->n; i++)
                        plan->list[i].unused = r->spans[i].unused;
                return;
        }
        if (!LIST_RESERVE(plan->list, r->n, plan->cap))
                return;
        qsort(r->spans, r->n, sizeof(*r->spans), compare_spans);
        plan->n = 0;
        for (size_t i = 0; i < r->n; i++) {
                const struct remote_span *s = &r->spans[i];
                if (!s->is_read || s->unused >= UNUSED_MAX)
                        continue;
                struct remote_span *last = plan->n > 0 ? &plan->list[plan->n - 1] : NULL;
                uint64_t end = s->addr + s->n;
                if (last && s->addr <= last->addr + last->n + MERGED_GAP &&
                    end - last->addr <= REMOTE_READ_MAX) {
                        last->n = (uint32_t)(MAX(end, last->addr + last->n) - last->addr);
                        last->unused = MIN(last->unused, s->unused);
                } else {
                        plan->list[plan->n++] = *s;
                }
        }
}

static struct remote_span *find_planned(struct remote *r, uint64_t addr)
{
        size_t low = 0, high = r->n_planned;
        while (low < high) {
                size_t mid = (low + high) / 2;
                if (r->spans[mid].addr <= addr)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low > 0 ? &r->spans[low - 1] : NULL;
}

static bool has_bytes(const struct remote_span *s, uint64_t addr, size_t n)
{
        return s->is_read && addr >= s->addr && addr - s->addr <= s->n &&
               n <= s->n - (addr - s->addr);
}

/* Where memory may be; an address and a length in it cannot overflow. */
static bool is_plausible(uint64_t addr, size_t n)
{
        return addr >= FIRST_PAGE_END && addr < USER_SPACE_END && n <= REMOTE_READ_MAX;
}

static void make_room_for_reads(struct remote *r)
{
        r->n = r->n_planned;
        r->used = r->planned_bytes;
}

const uint8_t *remote_get(struct remote *r, uint64_t addr, size_t n)
{
        if (!is_plausible(addr, n))
                return NULL;
        struct remote_span *s = find_planned(r, addr);
        if (s && has_bytes(s, addr, n)) {
                s->unused = 0;
                return r->arena + s->at + (addr - s->addr);
        }
        for (size_t i = r->n_planned; i < r->n; i++) {
                if (has_bytes(&r->spans[i], addr, n))
                        return r->arena + r->spans[i].at + (addr - r->spans[i].addr);
        }
        if (r->n == REMOTE_SPANS_MAX || n > REMOTE_BYTES_MAX - r->used)
                make_room_for_reads(r);
        if (!remote_copy(r, addr, r->arena + r->used, n))
                return NULL;
        r->spans[r->n++] = (struct remote_span){
            .addr = addr, .n = (uint32_t)n, .at = (uint32_t)r->used, .is_read = true};
        r->used += n;
        return r->arena + r->used - n;
}

const uint8_t *remote_get_once(struct remote *r, uint64_t addr, size_t n)
{
        uint8_t *to = r->arena + REMOTE_BYTES_MAX;
        return remote_copy(r, addr, to, n) ? to : NULL;
}

bool remote_copy(struct remote *r, uint64_t addr, void *to, size_t n)
{
        if (!is_plausible(addr, n))
                return false;
        const struct iovec local = {to, n}, from = {(void *)(uintptr_t)addr, n};
        bool fine = read_vector(r, &local, &from, 1) == (ssize_t)n;
        r->vain += !fine;
        return fine;
}

uint64_t remote_u64(const uint8_t *at)
{
        uint64_t v;
        memcpy(&v, at, sizeof(v));
        return v;
}

uint32_t remote_u32(const uint8_t *at)
{
        uint32_t v;
        memcpy(&v, at, sizeof(v));
        return v;
}

bool remote_pointer(struct remote *r, uint64_t addr, uint64_t *ret)
{
        const uint8_t *at = remote_get(r, addr, sizeof(*ret));
        if (at)
                *ret = remote_u64(at);
        return at;
}
