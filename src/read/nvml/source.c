/* NVIDIA GPUs of this machine through NVML, with GPM's counters where the GPU has them. */
#include "read/nvml/source.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/nvml/hub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIRST_PATIENCE_NS NS_PER_S
#define PATIENCE_SHORTEST_NS (100 * NS_PER_MS)
#define PATIENCE_LONGEST_NS (500 * NS_PER_MS)
#define FACT_CADENCE_NS (600 * NS_PER_S) /* what is read so rarely does not age */
#define WIDTH (NVML_TEXT_COUNT + (size_t)NVML_FIELD_COUNT)

struct source {
        struct nvml_hub *hub;
        const atomic_bool *process_use; /* NULL: wanted */
        uint64_t next_beat;
        bool given; /* a batch was */
        int64_t last_mono_ns;
        size_t n, cap;
        struct nvml_row *row; /* copies: the threads continue writing theirs */
        struct raw *cells;    /* WIDTH a row */
        struct reading *reading;
        struct schema schema;
};

static int64_t boot_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_BOOTTIME, &ts);
        return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static void nvml_close(struct source *s)
{
        if (!s)
                return;
        if (s->hub)
                nvml_hub_close(s->hub);
        free(s->row);
        free(s->cells);
        free(s->reading);
        free(s);
}

/* Lock held. */
static bool any_gpm(const struct nvml_hub *hub)
{
        for (size_t i = 0; i < hub->n; i++) {
                if (hub->slot[i]->has_gpm)
                        return true;
        }
        return false;
}

static int check_counters(struct nvml_hub *hub, struct err *err)
{
        crew_lock(&hub->crew);
        bool any = any_gpm(hub);
        crew_unlock(&hub->crew);
        if (any)
                return 0;
        err_set(err, ERR_NO_SOURCE, "no GPU here gives its counters through NVML");
        return err_hint(err, "GPM needs Hopper or newer; older ones give them through DCGM");
}

static int nvml_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        if (!s || !(s->hub = nvml_hub_new())) {
                free(s);
                return err_set(err, -ENOMEM, "out of memory");
        }
        struct nvml_env *env = &s->hub->env;
        s->process_use = config->process_use;
        nvml_schema(&s->schema);
        s->hub->preview = config->preview;
        nvml_env_init(env, config->wanted, config->poll_ns);
        env->mono_ns = clock_mono_ns;
        env->boot_ns = boot_ns;
        gethostname(env->host, sizeof(env->host) - 1);
        snprintf(env->root, sizeof(env->root), "%s", config->root ? config->root : "");
        snprintf(s->hub->lib_path, sizeof(s->hub->lib_path), "%s",
                 config->nvml_lib ? config->nvml_lib : "");
        int r = nvml_hub_open(s->hub, err);
        if (r == 0 && config->need_counters)
                r = check_counters(s->hub, err);
        if (r < 0) {
                nvml_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

static int64_t clamp_ns(int64_t v, int64_t lo, int64_t hi)
{
        return v < lo ? lo : v > hi ? hi : v;
}

/* Lock held. Waits for the beat, and a moment longer for GPUs that have always answered. False when
 * interrupted. */
static bool wait_for_beat(struct source *s, uint64_t beat)
{
        struct nvml_hub *hub = s->hub;
        int64_t due = nvml_hub_beat_ns(hub, beat);
        int64_t patience = clamp_ns(hub->env.poll_ns, PATIENCE_SHORTEST_NS, PATIENCE_LONGEST_NS);
        int64_t until = due + (s->given ? patience : FIRST_PATIENCE_NS);
        if (nvml_hub_is_preview(hub, beat))
                until = nvml_hub_beat_ns(hub, beat + 1);
        hub->awaited = beat;
        for (;;) {
                int64_t now = clock_mono_ns();
                bool complete = nvml_hub_complete(hub, beat);
                if (hub->interrupted)
                        return false;
                if (now >= until || (complete && now >= due))
                        return true;
                crew_wait(&hub->crew, complete ? due : until);
        }
}

/* Lock held. A reader that fell behind gets the newest beat, not all it missed. */
static uint64_t beat_to_give(const struct source *s)
{
        return MAX(s->next_beat, nvml_hub_beat_at(s->hub, clock_mono_ns()));
}

static bool reserve_rows(struct source *s, size_t n)
{
        if (LIKELY(n <= s->cap))
                return true;
        if (!LIST_RESIZE(s->row, n) || !LIST_RESIZE(s->cells, n * WIDTH) ||
            !LIST_RESIZE(s->reading, n))
                return false;
        s->cap = n;
        return true;
}

static uint32_t age_ms(int64_t now_ns, int64_t read_ns)
{
        int64_t ms = (now_ns - read_ns) / NS_PER_MS;
        return ms <= 0 ? 0 : (uint32_t)MIN(ms, (int64_t)UINT32_MAX);
}

/* A value keeps the age of its lane; what the GPU's thread did not renew is old, and says so. */
static struct raw cell_of(const struct nvml_row *row, enum nvml_field f, int64_t at_ns,
                          int64_t now_ns, bool fresh)
{
        struct nvml_value c = row->value[f];
        struct raw raw = {.num = c.v, .state = c.state};
        int64_t read_ns = row->read_ns[nvml_field_lane(f)];
        int64_t cadence = nvml_lane_cadence_ns(nvml_field_lane(f));
        bool timeless = cadence == 0 || cadence >= FACT_CADENCE_NS;
        if (c.state != STATE_OK || (fresh && timeless))
                return raw;
        raw.age_ms = age_ms(now_ns, read_ns > 0 ? read_ns : at_ns);
        if (!fresh)
                raw.state = STATE_STALE;
        return raw;
}

static void nvml_fill(struct source *s, size_t i, const struct nvml_slot *slot, int64_t now_ns,
                      bool fresh)
{
        const struct nvml_row *row = &s->row[i];
        struct raw *to = s->cells + i * WIDTH;
        for (size_t t = 0; t < NVML_TEXT_COUNT; t++) {
                size_t len = strlen(row->text[t]);
                to[t] = (struct raw){.text = row->text[t],
                                     .len = (uint16_t)len,
                                     .state = len > 0 ? STATE_OK : STATE_NONE};
        }
        for (size_t f = 0; f < NVML_FIELD_COUNT; f++)
                to[NVML_TEXT_COUNT + f] = cell_of(row, f, slot->at_ns, now_ns, fresh);
        const char *uuid = row->text[NVML_TEXT_UUID];
        s->reading[i] = (struct reading){.who = {.kind = row->kind,
                                                 .index = row->index,
                                                 .gi = row->gi,
                                                 .ci = row->ci,
                                                 .flat = -1,
                                                 .vendor = VENDOR_NVIDIA,
                                                 .ordinal = row->index,
                                                 .ordinals = 1,
                                                 .host = "",
                                                 .uuid = uuid,
                                                 .uuid_len = strlen(uuid)},
                                         .values = to};
}

/* Lock held. Copies what the threads published. */
static bool collect_rows(struct source *s, uint64_t beat, struct batch *ret)
{
        struct nvml_hub *hub = s->hub;
        int64_t now = clock_mono_ns();
        size_t total = 0, fresh_gpus = 0;
        *ret = (struct batch){.schema = &s->schema, .mono_ns = now, .wall_ns = clock_wall_ns()};
        for (size_t i = 0; i < hub->n; i++)
                total += hub->slot[i]->hidden ? 0 : hub->slot[i]->n;
        if (!reserve_rows(s, total))
                return false;
        s->n = 0;
        for (size_t i = 0; i < hub->n; i++) {
                struct nvml_slot *slot = hub->slot[i];
                bool fresh = slot->seq != slot->shown;
                slot->late = slot->seq <= beat && !nvml_hub_is_preview(hub, beat);
                slot->shown = slot->seq;
                if (slot->hidden)
                        continue;
                if (fresh && fresh_gpus++ == 0) {
                        ret->mono_ns = slot->at_ns;
                        ret->wall_ns = slot->wall_ns;
                }
                if (fresh && ret->window_ns == 0)
                        ret->window_ns = slot->window_ns;
                if (slot->n > 0)
                        memcpy(&s->row[s->n], slot->row, slot->n * sizeof(*slot->row));
                for (size_t k = 0; k < slot->n; k++)
                        nvml_fill(s, s->n++, slot, now, fresh);
        }
        ret->stale = fresh_gpus == 0;
        /* News that came late was measured before the last batch was given out as stale. */
        if (ret->mono_ns <= s->last_mono_ns) {
                ret->mono_ns = now;
                ret->wall_ns = clock_wall_ns();
        }
        s->last_mono_ns = ret->mono_ns;
        ret->readings = s->reading;
        ret->n = s->n;
        return true;
}

static int nvml_next(struct source *s, struct batch *ret, struct err *err)
{
        struct nvml_hub *hub = s->hub;
        crew_lock(&hub->crew);
        uint64_t beat = beat_to_give(s);
        bool go = wait_for_beat(s, beat);
        bool filled = go && collect_rows(s, beat, ret);
        crew_unlock(&hub->crew);
        if (!go)
                return 0;
        if (!filled)
                return err_set(err, -ENOMEM, "out of memory");
        s->next_beat = beat + 1;
        s->given = !nvml_hub_is_preview(hub, beat);
        return 1;
}

static const char *nvml_provenance(const struct source *s)
{
        crew_lock(&s->hub->crew);
        bool gpm = any_gpm(s->hub);
        crew_unlock(&s->hub->crew);
        return gpm ? "nvml+gpm" : "nvml";
}

static void nvml_trouble(const struct source *s, struct source_trouble *ret)
{
        int64_t now = clock_mono_ns(), oldest = 0;
        *ret = (struct source_trouble){0};
        crew_lock(&s->hub->crew);
        /* The one that is silent longest: another may only be a moment late. */
        for (size_t i = 0; i < s->hub->n; i++) {
                const struct nvml_slot *slot = s->hub->slot[i];
                int64_t age = now - (slot->at_ns ? slot->at_ns : s->hub->start_ns);
                if (!slot->late || slot->hidden || age <= oldest)
                        continue;
                oldest = age;
                snprintf(ret->notice, sizeof(ret->notice),
                         "GPU %zu: stale %.1f s: the driver does not answer", i,
                         clock_to_seconds(age));
        }
        crew_unlock(&s->hub->crew);
}

static void nvml_interrupt(struct source *s)
{
        crew_lock(&s->hub->crew);
        s->hub->interrupted = true;
        crew_request_stop(&s->hub->crew);
        crew_unlock(&s->hub->crew);
}

static struct value util_of(const struct nvml_process *p, uint32_t percent)
{
        if (p->util_state != STATE_OK)
                return value_missing((enum state)p->util_state);
        return value_ok(MIN(percent, 100u) / 100.0);
}

static void describe_process(const struct nvml_process *p, size_t gpu, struct process *ret)
{
        *ret = (struct process){
            .pid = (int32_t)p->pid,
            .on = {(int32_t)gpu, p->gi < 0 ? -1 : p->gi},
            .type =
                (uint8_t)(((p->types & (NVML_PROCESS_COMPUTE | NVML_PROCESS_MPS)) ? PROCESS_COMPUTE
                                                                                  : 0) |
                          ((p->types & NVML_PROCESS_GRAPHICS) ? PROCESS_GRAPHICS : 0)),
            .gpu_memory = p->memory == NVML_NO_MEMORY ? value_missing(STATE_UNSUPPORTED)
                                                      : value_ok((double)p->memory),
            .sm_util = util_of(p, p->sm),
            .mem_copy_util = util_of(p, p->mem),
            .enc_util = util_of(p, p->enc),
            .dec_util = util_of(p, p->dec),
        };
}

static size_t list_processes(struct source *s, struct process *ret, size_t max)
{
        struct nvml_hub *hub = s->hub;
        size_t n = 0;
        bool known = true;
        crew_lock(&hub->crew);
        hub->watch_processes = true;
        hub->watch_process_use = !s->process_use || atomic_load(s->process_use);
        for (size_t gpu = 0; gpu < hub->n; gpu++) {
                const struct nvml_slot *slot = hub->slot[gpu];
                known &= slot->processes_seq == slot->seq;
                for (size_t i = 0; i < slot->n_processes && n < max; i++)
                        describe_process(&slot->process[i], gpu, &ret[n++]);
        }
        crew_unlock(&hub->crew);
        return known ? n : PROCESSES_UNKNOWN;
}

const struct source_ops source_nvml = {
    .name = "nvml",
    .help = "NVIDIA GPUs of this machine, with counters on Hopper and newer",
    .poll_floor_ns = NVML_GPM_FLOOR_NS,
    .local = true,
    .open = nvml_open,
    .next = nvml_next,
    .provenance = nvml_provenance,
    .trouble = nvml_trouble,
    .processes = list_processes,
    .interrupt = nvml_interrupt,
    .close = nvml_close,
};
