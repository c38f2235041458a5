/*
 * Golden screens: every view at several sizes, from the H200 tour and from made-up fleets.
 * GOLDEN_UPDATE=1 writes what is drawn instead of comparing; read the diff as code.
 *
 * A file holds the text, then a line "--", then who has which colour (or, in mono, which
 * attributes): runs of a count and a letter.
 */
#include "test.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "compute/compute.h"
#include "engine/history.h"
#include "engine/pipeline.h"
#include "engine/slices.h"
#include "present/tui/ui.h"
#include "present/tui/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MIB 1048576.0
#define FLEET_MAX 128

struct scene {
        struct entity entities[FLEET_MAX];
        struct row rows[FLEET_MAX];
        struct frame frame;
        struct history *history;
        struct compute compute;
        struct pipeline *pipeline;
        struct ui ui;
        struct ui_data data;
        bool host_has_past;
};

/* --- scenes -------------------------------------------------------------------------------- */

static void set(struct row *row, enum metric m, double v)
{
        row->sample.m[m] = value_ok(v);
}

/* Ratios that differ from GPU to GPU and from tick to tick, and repeat for ever. */
static double wave(size_t i, int64_t tick, unsigned step)
{
        return (double)((i * 37 + (size_t)tick * step) % 101) / 100;
}

static void fill_row(struct scene *s, size_t i, int64_t tick)
{
        struct row *row = &s->rows[i];
        double sm = wave(i, tick, 3);
        *row = (struct row){.sample.who = &s->entities[i]};
        set(row, METRIC_GPU_UTIL, wave(i, tick, 7));
        set(row, METRIC_GR_ACTIVE, sm > 0.3 ? 0.95 : sm);
        set(row, METRIC_SM_ACTIVE, sm);
        set(row, METRIC_SM_OCCUPANCY, sm / 2);
        set(row, METRIC_TENSOR_ACTIVE, sm > 0.5 ? sm - 0.3 : 0);
        set(row, METRIC_DRAM_ACTIVE, wave(i, tick, 5));
        set(row, METRIC_MEM_COPY_UTIL, 0.1);
        set(row, METRIC_FB_USED, (1 + 1000.0 * (double)i) * MIB);
        set(row, METRIC_FB_TOTAL, 143771 * MIB);
        set(row, METRIC_FB_USED_RATIO, (1 + 1000.0 * (double)i) / 143771);
        set(row, METRIC_POWER, 70 + 600 * sm);
        set(row, METRIC_POWER_LIMIT, 700);
        set(row, METRIC_ENERGY, 1e6 * (double)(i + 1));
        set(row, METRIC_GPU_TEMP, 30 + 40 * sm);
        set(row, METRIC_MEM_TEMP, 40 + 30 * sm);
        set(row, METRIC_SM_CLOCK, sm > 0.5 ? 1515e6 : 1980e6);
        set(row, METRIC_SM_CLOCK_MAX, 1980e6);
        set(row, METRIC_MEM_CLOCK, 3201e6);
        set(row, METRIC_PCIE_RX, 1e8 * (double)i);
        set(row, METRIC_PCIE_TX, 1e6);
        set(row, METRIC_NVLINK_RX, 2e9);
        set(row, METRIC_NVLINK_TX, 1e9);
        set(row, METRIC_NVLINK_TOTAL, 3e9);
        set(row, METRIC_PCIE_REPLAY, 0);
        set(row, METRIC_PCIE_REPLAY_RATE, 0);
        set(row, METRIC_THROTTLE_REASONS, sm > 0.5 ? 4 : 1);
        set(row, METRIC_XID_COUNT, 0);
        set(row, METRIC_REMAP_FAILURE, 0);
        set(row, METRIC_REMAPPED_UNCORRECTABLE, 0);
}

static void no_change(struct scene *s UNUSED)
{
}

static void make_missing(struct scene *s)
{
        for (size_t i = 0; i < s->frame.n; i++) {
                for (enum metric m = 0; m < METRIC_COUNT; m++)
                        s->rows[i].sample.m[m] = value_missing(STATE_UNSUPPORTED);
        }
}

static void make_stale(struct scene *s)
{
        s->data.late = true;
        s->data.age_ns = 12 * NS_PER_S;
        for (size_t i = 0; i < s->frame.n; i++) {
                s->rows[i].sample.m[METRIC_ENERGY].state = STATE_STALE;
                s->rows[i].sample.m[METRIC_ENERGY].age_ms = 4200;
        }
}

static void make_crit(struct scene *s)
{
        set(&s->rows[1], METRIC_REMAP_FAILURE, 1);
        set(&s->rows[2], METRIC_REMAP_PENDING, 1);
        set(&s->rows[3], METRIC_GPU_TEMP, 99);
}

static void make_mig(struct scene *s)
{
        for (size_t i = 1; i < s->frame.n; i++) {
                struct entity *e = &s->entities[i];
                e->kind = ENTITY_GPU_INSTANCE;
                e->index = 0;
                e->gi = (int32_t)i;
                snprintf(e->label, sizeof(e->label), "0/%zu", i);
                entity_set_text(e, ENTITY_TEXT_MIG_PROFILE, "1g.18gb", 7);
        }
        slices_disown(&s->frame, 0, s->frame.n);
}

/* Two of NVIDIA's, a divided one of AMD's, one for a desktop, and Intel's in the processor. */
static void make_mixed(struct scene *s)
{
        static const struct {
                const char *label, *model, *driver, *partition;
                int32_t index, gi;
        } others[] = {
            {"2", "AMD Instinct MI300X OAM", "amdgpu", "DPX/NPS1", 2, -1},
            {"2/0", "AMD Instinct MI300X OAM", "amdgpu", "DPX/NPS1", 2, 0},
            {"2/1", "AMD Instinct MI300X OAM", "amdgpu", "DPX/NPS1", 2, 1},
            {"3", "AMD Radeon RX 7900 XTX", "amdgpu", "", 3, -1},
            {"4", "Intel Iris Xe Graphics", "i915", "", 4, -1},
        };
        static const enum metric kept[] = {METRIC_GPU_UTIL, METRIC_FB_USED,  METRIC_FB_TOTAL,
                                           METRIC_POWER,    METRIC_GPU_TEMP, METRIC_SM_CLOCK};
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                struct entity *e = &s->entities[2 + i];
                struct row *row = &s->rows[2 + i];
                struct sample old = row->sample;
                size_t n = others[i].gi >= 0 ? 1 : strcmp(others[i].driver, "i915") == 0 ? 0 : 6;
                e->kind = others[i].gi < 0 ? ENTITY_GPU : ENTITY_GPU_INSTANCE;
                e->index = others[i].index;
                e->gi = others[i].gi;
                snprintf(e->label, sizeof(e->label), "%s", others[i].label);
                entity_set_text(e, ENTITY_TEXT_MODEL, others[i].model, strlen(others[i].model));
                entity_set_text(e, ENTITY_TEXT_DRIVER, others[i].driver, strlen(others[i].driver));
                entity_set_text(e, ENTITY_TEXT_MIG_PROFILE, others[i].partition,
                                strlen(others[i].partition));
                for (enum metric m = 0; m < METRIC_COUNT; m++)
                        row->sample.m[m] = value_missing(STATE_UNSUPPORTED);
                for (size_t k = 0; k < n; k++)
                        row->sample.m[kept[k]] = old.m[kept[k]];
                set(row, METRIC_ASLEEP, 0);
        }
}

static void compute_rows(struct scene *s)
{
        for (size_t i = 0; i < s->frame.n; i++)
                assert_int_equal(compute_row(&s->compute, s->frame.mono_ns, NULL, &s->rows[i]), 0);
        compute_limits(&s->compute, &s->frame);
}

/* Sixty ticks of a made-up fleet, then the change. */
static void open_fleet(struct scene *s, size_t n, void (*change)(struct scene *s))
{
        s->frame = (struct frame){.n = n, .rows = s->rows, .provenance = "made up"};
        struct compute_options options = {.weights = weights_preset(WEIGHTS_AI), .margins = true};
        compute_init(&s->compute, &options);
        s->history = history_open(120);
        for (size_t i = 0; i < n; i++) {
                struct entity *e = &s->entities[i];
                *e = (struct entity){.slot = (uint32_t)i, .index = (int32_t)i, .gi = -1, .ci = -1};
                snprintf(e->label, sizeof(e->label), "%zu", i);
                entity_set_text(e, ENTITY_TEXT_MODEL, "NVIDIA H200", 11);
        }
        for (int64_t tick = 0; tick < 60; tick++) {
                s->frame.wall_ns = s->frame.mono_ns = tick * NS_PER_S;
                for (size_t i = 0; i < n; i++)
                        fill_row(s, i, tick);
                compute_rows(s);
                assert_int_equal(history_push(s->history, &s->frame), 0);
        }
        s->data = (struct ui_data){.state = SOURCE_RUNNING,
                                   .error = "",
                                   .hint = "",
                                   .interval_ns = NS_PER_S,
                                   .frame = &s->frame};
        change(s);
        compute_rows(s);
}

/* The copy phase of the tour: gpu_util 100 %, SM 0 %. */
static void open_tour(struct scene *s)
{
        char path[512];
        const struct frame *frame = NULL;
        struct pipeline_config c = {
            .ops = source_find("replay"),
            .source = {.location = path, .poll_ns = 100 * NS_PER_MS, .root = ""},
            .compute = {.weights = weights_preset(WEIGHTS_AI), .margins = true},
            .selection = {.all = true}};
        snprintf(path, sizeof(path), "%s/tour/h200-tour.dmon.txt", getenv("FIXTURES"));
        assert_int_equal(pipeline_open(&c, &s->pipeline, NULL), 0);
        s->history = history_open(1200);
        while (!frame || frame->wall_ns < 42 * NS_PER_S) {
                assert_int_equal(pipeline_next(s->pipeline, &frame, NULL), 1);
                assert_int_equal(history_push(s->history, frame), 0);
        }
        s->data = (struct ui_data){.state = SOURCE_RUNNING,
                                   .error = "",
                                   .hint = "",
                                   .interval_ns = 100 * NS_PER_MS,
                                   .replay = true,
                                   .speed = 1,
                                   .frame = frame};
}

static void finish_open(struct scene *s)
{
        s->data.version = "0.0.0";
        s->data.trends = history_trends(s->history);
        ui_init(&s->ui);
        for (int64_t tick = 0; s->host_has_past && tick < 60; tick++) {
                struct host then = *s->data.host;
                then.wall_ns = (tick + 1) * NS_PER_S;
                then.evidence[0].e[EVIDENCE_CPU_CHILDREN].v *= wave(0, tick, 2);
                past_see_host(&s->ui.past, &then);
        }
        assert_int_equal(ui_update(&s->ui, &s->data), 0);
}

static struct stack_table *stack_table; /* of a scene with stacks */

static void close_scene(struct scene *s)
{
        ui_finish(&s->ui);
        history_close(s->history);
        compute_finish(&s->compute);
        pipeline_close(s->pipeline);
        stack_table_close(stack_table);
        stack_table = NULL;
        free(s);
}

static void scene_tour(struct scene *s)
{
        open_tour(s);
}

#define FLEET_SCENE(name, n, change)                                                               \
        static void scene_##name(struct scene *s)                                                  \
        {                                                                                          \
                open_fleet(s, n, change);                                                          \
        }
/* Eight seconds after the start. */
static void make_young(struct scene *s)
{
        history_close(s->history);
        s->history = history_open(120);
        for (int64_t tick = 52; tick < 60; tick++) {
                s->frame.wall_ns = s->frame.mono_ns = tick * NS_PER_S;
                for (size_t i = 0; i < s->frame.n; i++)
                        fill_row(s, i, tick);
                compute_rows(s);
                assert_int_equal(history_push(s->history, &s->frame), 0);
        }
}

FLEET_SCENE(young, 1, make_young)
FLEET_SCENE(fleet0, 0, no_change)
FLEET_SCENE(fleet8, 8, no_change)
FLEET_SCENE(fleet128, 128, no_change)
FLEET_SCENE(mig, 8, make_mig)
FLEET_SCENE(missing, 4, make_missing)
FLEET_SCENE(stale, 4, make_stale)
FLEET_SCENE(crit, 4, make_crit)

static const struct ui_part phases[] = {
    {"load", 0, 20 * NS_PER_S, INK_KEY},
    {"train", 20 * NS_PER_S, 80 * NS_PER_S, INK_KEY},
    {"validate", 60 * NS_PER_S, 70 * NS_PER_S, INK_KEY},
};
static const struct ui_part parts[] = {
    {"start-up", 0, 21 * NS_PER_S, INK_WARN},
    {"tensor cores, power", 21 * NS_PER_S, 90 * NS_PER_S, INK_TENSOR},
};

/* A session of a hundred seconds, in the middle of its second phase. */
static void scene_session(struct scene *s)
{
        open_fleet(s, 2, no_change);
        s->data.replay = true;
        s->data.speed = 1;
        s->data.position_ns = 59 * NS_PER_S;
        s->data.duration_ns = 100 * NS_PER_S;
        s->data.phases = phases;
        s->data.n_phases = ARRAY_LEN(phases);
        s->data.findings = parts;
        s->data.n_findings = ARRAY_LEN(parts);
}

/* A recording whose length is unknown, at four times its speed; one that has ended. */
static void scene_fast(struct scene *s)
{
        scene_session(s);
        s->data.speed = 4;
        s->data.duration_ns = 0;
}

static void scene_ended(struct scene *s)
{
        scene_session(s);
        s->data.state = SOURCE_ENDED;
        s->data.speed = 0;
}

static const struct process processes[] = {
    {.pid = 4101,
     .ppid = 1,
     .type = PROCESS_COMPUTE,
     .user = "ada",
     .group = "vision",
     .slot = 0,
     .gpu = "0",
     .gpu_memory = {.v = 9.5e10, .state = STATE_OK},
     .sm_util = {.v = 0.93, .state = STATE_OK},
     .cpu = {.v = 1.02, .state = STATE_OK},
     .rss = {.v = 4e9, .state = STATE_OK},
     .elapsed = {.v = 3725, .state = STATE_OK},
     .slurm_job = "88123",
     .command = "python train.py"},
    {.pid = 4188,
     .ppid = 4101,
     .type = PROCESS_COMPUTE,
     .user = "ada",
     .group = "vision",
     .slot = 1,
     .gpu = "1",
     .gpu_memory = {.v = 2e9, .state = STATE_OK},
     .sm_util = {.v = 0.1, .state = STATE_OK},
     .cpu = {.v = 7.5, .state = STATE_OK},
     .rss = {.v = 1.1e10, .state = STATE_OK},
     .elapsed = {.v = 200000, .state = STATE_OK},
     .container = "pytorch-24.05",
     .command =
         "python -m torch.distributed.run --nproc-per-node 8 train.py --config a/long/path.yaml"},
    {.pid = 4102, /* a loader worker: holds no GPU, so it is in the tree alone */
     .ppid = 4101,
     .child = true,
     .user = "ada",
     .group = "vision",
     .slot = 0,
     .gpu = "0",
     .cpu = {.v = 0.98, .state = STATE_OK},
     .rss = {.v = 9e8, .state = STATE_OK},
     .elapsed = {.v = 3600, .state = STATE_OK},
     .slurm_job = "88123",
     .command = "python train.py"},
    {.pid = 977,
     .ppid = 1,
     .slot = 3,
     .gpu = "3",
     .gpu_memory = {.v = 5e8, .state = STATE_OK},
     .sm_util = {.state = STATE_DENIED},
     .cpu = {.state = STATE_DENIED},
     .rss = {.state = STATE_DENIED},
     .elapsed = {.state = STATE_DENIED}},
};
static const struct process_list process_list = {processes, ARRAY_LEN(processes)};

static void scene_stale_job(struct scene *s)
{
        open_fleet(s, 8, make_stale);
        s->data.processes = &process_list;
}

/* Their past is as mixed as their present. */
static void scene_mixed(struct scene *s)
{
        open_fleet(s, 7, make_mixed);
        history_close(s->history);
        s->history = history_open(120);
        for (int64_t tick = 0; tick < 60; tick++) {
                s->frame.wall_ns = s->frame.mono_ns = tick * NS_PER_S;
                for (size_t i = 0; i < s->frame.n; i++)
                        fill_row(s, i, tick);
                make_mixed(s);
                compute_rows(s);
                assert_int_equal(history_push(s->history, &s->frame), 0);
        }
}

static void scene_jobs(struct scene *s)
{
        open_fleet(s, 8, no_change);
        s->data.processes = &process_list;
}

static const struct ui_check checks[] = {
    {"GPU", "one NVIDIA H200", "", INK_GOOD, false},
    {"profiling", "only root may read counters", "ask for NVreg_RestrictProfilingToAdminUsers=0",
     INK_WARN, true},
    {"DCGM", "the host engine does not answer at localhost:5555", "", INK_CRIT, true},
};

static void scene_doctor(struct scene *s)
{
        open_fleet(s, 4, make_crit);
        s->data.checks = checks;
        s->data.n_checks = ARRAY_LEN(checks);
}

static struct host host;

static void set_level(enum level level, double cores, const char *why)
{
        struct level_state *l = &host.levels[level];
        l->asked = true;
        l->present = !why;
        if (why)
                snprintf(l->why, sizeof(l->why), "%s", why);
        else
                l->f[FIGURE_CPU] = value_ok(cores);
}

static void add_host(struct scene *s)
{
        static const struct {
                enum system_figure figure;
                double value;
        } figures[] = {{SYSTEM_USER, 0.35},       {SYSTEM_NICE, 0.07},
                       {SYSTEM_KERNEL, 0},        {SYSTEM_IRQ, 0},
                       {SYSTEM_SOFTIRQ, 0},       {SYSTEM_LOAD_1, 12.5},
                       {SYSTEM_LOAD_5, 9.25},     {SYSTEM_LOAD_15, 100},
                       {SYSTEM_MEM_USED, 3.1e11}, {SYSTEM_MEM_TOTAL, 2.1e12},
                       {SYSTEM_PSI_CPU, 0.02},    {SYSTEM_PSI_IO, 0.31},
                       {SYSTEM_NET_RX, 1.5e8}};
        host = (struct host){.n_cores = 64, .wall_ns = 60 * NS_PER_S};
        for (size_t i = 0; i < ARRAY_LEN(figures); i++)
                host.system[figures[i].figure] = value_ok(figures[i].value);
        set_level(LEVEL_PROCESS, 8.1, NULL);
        set_level(LEVEL_SLURM, 0, "not in a job");
        set_level(LEVEL_SYSTEM, 27, NULL);
        host.levels[LEVEL_SYSTEM].f[FIGURE_READ] = value_ok(2.2e9);
        for (size_t i = 0; i < host.n_cores; i++)
                host.cores[i].util = value_ok(wave(i, 3, 9));
        s->data.host = &host;
}

static void scene_host(struct scene *s)
{
        open_fleet(s, 8, no_change);
        add_host(s);
}

/* A machine with everything: GPUs, processes, host. */
#define GPUS_SCENE(n)                                                                              \
        static void scene_gpus##n(struct scene *s)                                                 \
        {                                                                                          \
                open_fleet(s, n, no_change);                                                       \
                add_host(s);                                                                       \
                s->data.processes = &process_list;                                                 \
        }
GPUS_SCENE(1)
GPUS_SCENE(2)
GPUS_SCENE(8)
GPUS_SCENE(72)

/* The GPU waits for its data, which workers read and prepare. */
static void make_starved(struct scene *s)
{
        struct row *row = &s->rows[0];
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (metric_info(m)->unit == UNIT_RATIO && value_is_set(row->sample.m[m]))
                        set(row, m, 0);
        }
}

static void scene_starved(struct scene *s)
{
        open_fleet(s, 1, make_starved);
        add_host(s);
        host.n_gpus = 1;
        snprintf(host.gpus[0], sizeof(host.gpus[0]), "0");
        struct value *e = host.evidence[0].e;
        e[EVIDENCE_HOLDERS] = value_ok(1);
        e[EVIDENCE_CPU_MAIN] = value_ok(0.2);
        e[EVIDENCE_CPU_CHILDREN] = value_ok(7.8);
        e[EVIDENCE_READ] = value_ok(2.1e8);
        e[EVIDENCE_WRITE] = value_ok(0);
        s->data.processes = &process_list;
        s->host_has_past = true;
}

/* Before the first sample. */
static void scene_waiting(struct scene *s)
{
        s->history = history_open(2);
        s->data = (struct ui_data){.state = SOURCE_STARTING,
                                   .error = "",
                                   .hint = "",
                                   .interval_ns = NS_PER_S,
                                   .age_ns = 100 * NS_PER_MS,
                                   .awaited = "8 NVIDIA H200"};
}

static void scene_failed(struct scene *s)
{
        scene_waiting(s);
        s->data.state = SOURCE_FAILED;
        s->data.error = "no GPU found: NVIDIA's library 'libnvidia-ml.so.1' cannot be loaded";
        s->data.hint = "'assay doctor' tells why; or show a capture (assay FILE) or an exporter "
                       "(assay HOST:9400)";
}

static uint32_t stack_call(uint32_t parent, const char *file, const char *function, uint32_t line,
                           enum stack_whose whose)
{
        struct stack_frame f = {.file = stack_intern_text(stack_table, file, strlen(file)),
                                .function =
                                    stack_intern_text(stack_table, function, strlen(function)),
                                .line = line,
                                .whose = whose};
        return stack_intern_call(stack_table, parent, stack_intern_frame(stack_table, &f));
}

/* A trainer in its own code, with a thread that waits; a worker that decodes; one that may not be
 * read. */
static void scene_stacks(struct scene *s)
{
        static const struct stack_process known[] = {
            {.pid = 4101,
             .access = STACK_READABLE,
             .runtime = "CPython 3.11.7",
             .threads = 2,
             .samples = 640,
             .torn = 1},
            {.pid = 4102, .access = STACK_READABLE, .runtime = "CPython 3.11.7", .threads = 1},
            {.pid = 4188, .access = STACK_DENIED, .why = "the kernel does not allow it"}};
        static struct stack_thread threads[3] = {
            {.process = 0, .is_main = true}, {.process = 0}, {.process = 1, .is_main = true}};
        static struct stack_sample newest[3];
        static struct stack_live live;
        static struct where where;
        assert_int_equal(stack_table_open(&stack_table), 0);
        uint32_t train =
            stack_call(stack_call(STACK_EMPTY, "/home/ada/train.py", "<module>", 120, STACK_USER),
                       "/home/ada/train.py", "main", 52, STACK_USER);
        uint32_t wait =
            stack_call(train, "/usr/lib/python3.11/queue.py", "Queue.get", 171, STACK_INTERPRETER);
        uint32_t decode =
            stack_call(stack_call(STACK_EMPTY, "/home/ada/data.py", "collate", 212, STACK_USER),
                       "/usr/lib/python3.11/json/decoder.py", "JSONDecoder.raw_decode", 353,
                       STACK_INTERPRETER);
        uint32_t futex = stack_intern_text(stack_table, "futex", 5);
        newest[0] = (struct stack_sample){.pid = 4101,
                                          .tid = 4101,
                                          .stack = wait,
                                          .call = futex,
                                          .state = STACK_WAITING,
                                          .is_main = true};
        newest[1] = (struct stack_sample){
            .pid = 4101,
            .tid = 4150,
            .state = STACK_WAITING,
            .call = futex,
            .thread = stack_intern_text(stack_table, "pin\x1b[31m memory", 16)};
        newest[2] = (struct stack_sample){.pid = 4102,
                                          .tid = 4102,
                                          .stack = decode,
                                          .state = STACK_RUNNING,
                                          .holds_gil = true,
                                          .is_main = true};
        live = (struct stack_live){
            .log = {stack_table, threads, 3, known, 3}, .newest = newest, .span_ns = 30 * NS_PER_S};
        const struct where_rule *rules[WHERE_PARTS_MAX];
        assert_true(where_rules(LIMITER_HOST_CODE, rules) > 0);
        where = (struct where){.n = 1,
                               .parts = {{.rule = rules[0],
                                          .n = 1,
                                          .n_samples = 600,
                                          .places = {{.share = 0.81, .n_samples = 486}}}}};
        struct stack_place place = stack_find_place(stack_table, decode);
        where_fill_line(stack_table, stack_node(stack_table, place.own)->frame,
                        &where.parts[0].places[0].own);
        where_fill_line(stack_table, stack_node(stack_table, place.inner)->frame,
                        &where.parts[0].places[0].inner);
        open_fleet(s, 8, no_change);
        s->data.processes = &process_list;
        s->data.stacks = &live;
        s->data.where = &where;
}

static const int sizes[][2] = {{80, 24}, {100, 30}, {140, 40}, {220, 60}};

/* --- screens as text ----------------------------------------------------------------------- */

static void put_runs(struct strbuf *out, const struct canvas *c, int y,
                     char (*of)(const struct cell *))
{
        for (int x = 0; x < c->w;) {
                char letter = of(canvas_at(c, x, y));
                int n = 1;
                while (x + n < c->w && of(canvas_at(c, x + n, y)) == letter)
                        n++;
                if (letter != '.' || x + n < c->w)
                        strbuf_putf(out, "%d%c", n, letter);
                x += n;
        }
        strbuf_putc(out, '\n');
}

/* A letter an ink; a cell on a coloured ground counts by its ground. */
static char ink_letter(const struct cell *cell)
{
        static const char letters[] = ".tdfTRCMIXNLPGHWQK12345678bseo";
        _Static_assert(sizeof(letters) == INK_COUNT + 1, "a letter an ink");
        uint8_t ink = cell->bg == INK_BAR || cell->bg == INK_NONE ? cell->fg : cell->bg;
        return cell->ch[0] == ' ' && cell->bg == INK_NONE ? '.' : letters[ink];
}

static char mono_letter(const struct cell *cell)
{
        uint8_t attr = cell->attr |
                       theme_appearance(THEME_MONO, DEPTH_MONO, (enum ink)cell->fg).attr |
                       theme_appearance(THEME_MONO, DEPTH_MONO, (enum ink)cell->bg).attr;
        return ".buUrRxX"[attr & 7];
}

static void put_screen(struct strbuf *out, const struct canvas *c)
{
        for (int y = 0; y < c->h; y++) {
                for (int x = 0; x < c->w; x++) {
                        const struct cell *cell = canvas_at(c, x, y);
                        strbuf_put(out, cell->ch, strnlen(cell->ch, 4));
                }
                while (out->len > 0 && out->s[out->len - 1] == ' ')
                        out->len--;
                strbuf_putc(out, '\n');
        }
        /* Colours are kept where screens are small. */
        for (int y = 0; y < c->h && c->h <= sizes[0][1]; y++) {
                if (y == 0)
                        strbuf_puts(out, "--\n");
                put_runs(out, c, y, c->ascii ? mono_letter : ink_letter);
        }
}

static void read_golden(const char *path, struct strbuf *ret)
{
        char buf[4096];
        size_t n;
        FILE *file = fopen(path, "re");
        while (file && (n = fread(buf, 1, sizeof(buf), file)) > 0)
                strbuf_put(ret, buf, n);
        if (file)
                fclose(file);
}

static void write_golden(const char *path, struct strbuf *text)
{
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fwrite(text->s, 1, text->len, file);
        fclose(file);
}

static void complain_about(const char *path, const char *drawn, const char *golden)
{
        int line = 1;
        while (*drawn && *golden) {
                size_t a = strcspn(drawn, "\n"), b = strcspn(golden, "\n");
                if (a != b || memcmp(drawn, golden, a) != 0)
                        break;
                drawn += a + (drawn[a] == '\n');
                golden += b + (golden[b] == '\n');
                line++;
        }
        fail_msg("%s differs at line %d\ndrawn:  %.*s\ngolden: %.*s\n(GOLDEN_UPDATE=1 accepts it)",
                 path, line, (int)strcspn(drawn, "\n"), drawn, (int)strcspn(golden, "\n"), golden);
}

static void compare_screen(struct scene *s, const char *name, int w, int h, bool ascii)
{
        char path[600];
        struct canvas c = {.ascii = ascii};
        struct strbuf drawn = {0}, golden = {0};
        assert_int_equal(canvas_resize(&c, w, h), 0);
        ui_draw(&s->ui, &s->data, &c);
        put_screen(&drawn, &c);
        snprintf(path, sizeof(path), "%s/../golden/tui/%s-%dx%d%s.txt", getenv("FIXTURES"), name, w,
                 h, ascii ? "-ascii" : "");
        if (getenv("GOLDEN_UPDATE"))
                write_golden(path, &drawn);
        read_golden(path, &golden);
        if (strcmp(strbuf_str(&drawn), strbuf_str(&golden)) != 0)
                complain_about(path, strbuf_str(&drawn), strbuf_str(&golden));
        strbuf_finish(&drawn);
        strbuf_finish(&golden);
        canvas_finish(&c);
}

#define ALL 15
#define SMALL 1

/* Which scenes are kept, in which view, after which keys, at which of the sizes. */
struct golden {
        const char *name;
        void (*open)(struct scene *s);
        enum view_id view;
        const char *keys;
        unsigned sizes;
};
#define GPUS(n)                                                                                    \
        {"gpus" #n "-fleet", scene_gpus##n, VIEW_FLEET, "", ALL},                                  \
            {"gpus" #n "-focus", scene_gpus##n, VIEW_FOCUS, "", ALL},                              \
            {"gpus" #n "-plot", scene_gpus##n, VIEW_PLOT, "", ALL},                                \
            {"gpus" #n "-job", scene_gpus##n, VIEW_JOB, "", ALL},                                  \
            {"gpus" #n "-host", scene_gpus##n, VIEW_HOST, "", ALL},                                \
        {                                                                                          \
                "gpus" #n "-log", scene_gpus##n, VIEW_LOG, "", ALL                                 \
        }
static const struct golden screens[] = {
    GPUS(1),
    GPUS(2),
    GPUS(8),
    GPUS(72),
    {"tour-fleet", scene_tour, VIEW_FLEET, "", ALL},
    {"tour-focus", scene_tour, VIEW_FOCUS, "", ALL},
    {"tour-plot", scene_tour, VIEW_PLOT, "", ALL},
    {"tour-plot-cursor", scene_tour, VIEW_PLOT, "zmhhhhhhhh", SMALL},
    {"tour-job", scene_tour, VIEW_JOB, "", SMALL},
    {"tour-host", scene_tour, VIEW_HOST, "", SMALL},
    {"tour-log", scene_tour, VIEW_LOG, "", SMALL},
    {"help", scene_tour, VIEW_HELP, "", ALL},
    {"jobs-flat", scene_gpus8, VIEW_JOB, "tjx", SMALL},
    {"session", scene_session, VIEW_FLEET, "", SMALL | 2},
    {"fleet0", scene_fleet0, VIEW_FLEET, "", SMALL},
    {"gpus72-sorted", scene_gpus72, VIEW_FLEET, "ss", SMALL},
    {"fleet8-sorted", scene_fleet8, VIEW_FLEET, "ssjc", SMALL},
    {"fleet8-filter", scene_fleet8, VIEW_FLEET, "/tensor", SMALL},
    {"fleet8-nothing", scene_fleet8, VIEW_FLEET, "/zebra", SMALL},
    {"fleet8-all-plot", scene_fleet8, VIEW_PLOT, "a", SMALL},
    {"fleet128", scene_fleet128, VIEW_FLEET, "G", SMALL},
    {"mixed", scene_mixed, VIEW_FLEET, "", SMALL},
    {"mixed-focus", scene_mixed, VIEW_FOCUS, "lll", SMALL},
    {"mig", scene_mig, VIEW_FLEET, "", SMALL},
    {"young", scene_young, VIEW_FLEET, "", SMALL},
    {"young-plot", scene_young, VIEW_PLOT, "", SMALL},
    {"waiting", scene_waiting, VIEW_FLEET, "", SMALL | 2},
    {"failed", scene_failed, VIEW_FLEET, "", SMALL | 2},
    {"starved", scene_starved, VIEW_FLEET, "", SMALL | 4},
    {"starved-focus", scene_starved, VIEW_FOCUS, "", 4},
    {"fleet8-raw-focus", scene_fleet8, VIEW_FOCUS, "v", SMALL},
    {"gpus8-job-shifted", scene_gpus8, VIEW_JOB, "ll", SMALL},
    {"stale-job", scene_stale_job, VIEW_JOB, "", SMALL},
    {"stacks-job", scene_stacks, VIEW_JOB, "", SMALL | 4},
    {"stacks", scene_stacks, VIEW_JOB, "S", SMALL},
    {"stacks-denied", scene_stacks, VIEW_JOB, "jS", SMALL},
    {"stacks-focus", scene_stacks, VIEW_FOCUS, "", SMALL},
    {"missing", scene_missing, VIEW_FLEET, "", SMALL},
    {"missing-focus", scene_missing, VIEW_FOCUS, "", SMALL},
    {"stale", scene_stale, VIEW_FLEET, "", SMALL},
    {"stale-focus", scene_stale, VIEW_FOCUS, "", SMALL},
    {"crit", scene_crit, VIEW_FLEET, "", SMALL},
    {"crit-focus", scene_crit, VIEW_FOCUS, "l", SMALL},
    {"crit-log", scene_crit, VIEW_LOG, "", SMALL},
    {"doctor-log", scene_doctor, VIEW_LOG, "", SMALL},
    {"doctor-log-end", scene_doctor, VIEW_LOG, "G", SMALL},
    {"fleet8-reversed", scene_fleet8, VIEW_FLEET, "sssr", SMALL | 4},
    {"fleet8-from-the-last", scene_fleet8, VIEW_FLEET, "rc", SMALL},
    {"fleet128-page", scene_fleet128, VIEW_FLEET, "\x06", SMALL},
    {"fleet8-typing", scene_fleet8, VIEW_FLEET, ":foc", SMALL},
    {"jobs-sorted", scene_gpus8, VIEW_JOB, "sss", SMALL},
    {"jobs-reversed", scene_gpus8, VIEW_JOB, "sr", SMALL},
    {"jobs-tree-reversed", scene_gpus8, VIEW_JOB, "tsr", SMALL},
    {"plot-set", scene_tour, VIEW_PLOT, "mm", SMALL},
    {"plot-back", scene_tour, VIEW_PLOT, "z\x02\x02", SMALL | 4},
    {"plot-whole", scene_tour, VIEW_PLOT, "ZZ", SMALL},
    {"mig-focus", scene_mig, VIEW_FOCUS, "l", SMALL},
    {"mixed-focus-absent", scene_mixed, VIEW_FOCUS, "lla", SMALL},
    {"mixed-all-plot", scene_mixed, VIEW_PLOT, "a", SMALL},
    {"session-fast", scene_fast, VIEW_FLEET, "", SMALL},
    {"session-ended", scene_ended, VIEW_FLEET, "", SMALL},
    {"session-plot", scene_session, VIEW_PLOT, "", 2},
};

static void compare_golden(const struct golden *g, int w, int h)
{
        struct scene *s = calloc(1, sizeof(*s));
        struct canvas c = {0};
        g->open(s);
        finish_open(s);
        s->ui.view = g->view;
        assert_int_equal(canvas_resize(&c, w, h), 0);
        ui_draw(&s->ui, &s->data, &c);
        for (const char *key = g->keys; *key; key++) {
                ui_key(&s->ui, &s->data, &(struct key_event){.key = *key});
                ui_draw(&s->ui, &s->data, &c);
        }
        canvas_finish(&c);
        compare_screen(s, g->name, w, h, false);
        /* Letters and attributes alone: once a view. */
        if (g->sizes == ALL && w == sizes[0][0] && strncmp(g->name, "gpus", 4) != 0)
                compare_screen(s, g->name, w, h, true);
        close_scene(s);
}

static void goldens(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(screens); i++) {
                for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
                        if (screens[i].sizes >> k & 1)
                                compare_golden(&screens[i], sizes[k][0], sizes[k][1]);
                }
        }
}

/* Any key, in any view, at any size: nothing is drawn outside, nothing is read outside. */
static void survives_any_key(void **state UNUSED)
{
        static void (*const opens[])(struct scene *) = {
            scene_fleet0, scene_session, scene_gpus8, scene_stacks,  scene_starved,
            scene_failed, scene_jobs,    scene_host,  scene_missing, scene_mig};
        static const int odd[][2] = {{1, 1},  {39, 8},   {40, 7}, {40, 8},
                                     {61, 9}, {300, 12}, {80, 90}};
        for (size_t o = 0; o < ARRAY_LEN(opens); o++) {
                struct scene *s = calloc(1, sizeof(*s));
                struct canvas c = {0};
                uint64_t random = 88172645463325252ULL + o;
                opens[o](s);
                finish_open(s);
                for (int i = 0; i < 3000; i++) {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        int key = (int)(random % 150);
                        if (key >= 128)
                                key = INPUT_ESCAPE + key - 128;
                        struct key_event e = {.key = key,
                                              .button = (enum mouse_button)(random >> 20 & 3),
                                              .x = (int)(random >> 24 & 127) - 4,
                                              .y = (int)(random >> 32 & 63) - 4};
                        size_t size = (random >> 40) % ARRAY_LEN(odd);
                        ui_key(&s->ui, &s->data, &e);
                        s->ui.request = (struct ui_request){0};
                        assert_int_equal(ui_update(&s->ui, &s->data), 0);
                        assert_int_equal(canvas_resize(&c, odd[size][0], odd[size][1]), 0);
                        ui_draw(&s->ui, &s->data, &c);
                }
                canvas_finish(&c);
                close_scene(s);
        }
}

static void press(struct scene *s, const char *keys)
{
        for (; *keys; keys++)
                ui_key(&s->ui, &s->data,
                       &(struct key_event){.key = *keys == '\r' ? INPUT_ENTER : *keys});
}

static void commands_work(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        scene_jobs(s);
        finish_open(s);
        press(s, ":focus 5\r");
        assert_int_equal(s->ui.view, VIEW_FOCUS);
        assert_string_equal(ui_chosen(&s->ui, &s->data)->sample.who->label, "5");
        press(s, ":plot power sm_active\r");
        assert_int_equal(s->ui.view, VIEW_PLOT);
        assert_int_equal(s->ui.plot.n, 2);
        assert_int_equal(s->ui.plot.metrics[0], METRIC_POWER);
        press(s, ":plot powr\r");
        assert_non_null(strstr(s->ui.message, "did you mean power"));
        press(s, ":job\r");
        assert_int_equal(s->ui.view, VIEW_JOB);
        press(s, ":seek 3\r");
        assert_non_null(strstr(s->ui.message, "live"));
        assert_int_equal(s->ui.request.what, REQUEST_NONE);
        press(s, ":qiut\r");
        assert_non_null(strstr(s->ui.message, "quit"));
        press(s, "?");
        press(s, ":q\r");
        assert_int_equal(s->ui.view, VIEW_JOB);
        press(s, ":q\r");
        assert_int_equal(s->ui.view, VIEW_FLEET);
        assert_int_equal(s->ui.request.what, REQUEST_NONE);
        press(s, ":q\r");
        assert_int_equal(s->ui.request.what, REQUEST_QUIT);
        s->ui.request = (struct ui_request){0};
        press(s, ":job\r:exit\r");
        assert_int_equal(s->ui.request.what, REQUEST_QUIT);
        close_scene(s);
}

#define MANY 40

/* The pid on the chosen row, and how many rows are chosen. */
static int chosen_pid(const struct canvas *c, int *ret_rows)
{
        int pid = 0;
        *ret_rows = 0;
        for (int y = 0; y < c->h; y++) {
                if (canvas_at(c, 1, y)->bg != INK_SELECT)
                        continue;
                ++*ret_rows;
                for (int x = 0; x < c->w && pid < 1000; x++) {
                        char letter = canvas_at(c, x, y)->ch[0];
                        pid = letter >= '0' && letter <= '9' ? 10 * pid + letter - '0' : 0;
                }
        }
        return pid;
}

/* However far it goes down and up again, the chosen process is on the screen. */
static void the_cursor_stays_on_the_screen(void **state UNUSED)
{
        static struct process many[MANY];
        struct scene *s = calloc(1, sizeof(*s));
        struct canvas c = {0};
        open_fleet(s, 8, no_change);
        for (int i = 0; i < MANY; i++)
                many[i] = (struct process){.pid = 5000 + i,
                                           .ppid = 1,
                                           .slot = 0,
                                           .gpu = "0",
                                           .gpu_memory = value_ok((MANY - i) * 1e9),
                                           .user = "ann",
                                           .command = "train"};
        s->data.processes = &(struct process_list){many, MANY};
        finish_open(s);
        s->ui.view = VIEW_JOB;
        static const int lengths[] = {14, 10, 24};
        for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
                assert_int_equal(canvas_resize(&c, 100, lengths[k]), 0);
                for (int step = 0; step < 4 * MANY; step++) {
                        int rows;
                        press(s, step < 2 * MANY ? "j" : "k");
                        ui_draw(&s->ui, &s->data, &c);
                        int down = MIN(step + 1, MANY - 1), up = MAX(3 * MANY - 2 - step, 0);
                        assert_int_equal(chosen_pid(&c, &rows),
                                         5000 + (step < 2 * MANY ? down : up));
                        assert_int_equal(rows, 1);
                }
        }
        canvas_finish(&c);
        close_scene(s);
}

/* A signal needs a yes, and --read-only forbids even the question. */
static void signals_are_asked_for(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        scene_jobs(s);
        finish_open(s);
        press(s, "4x");
        assert_int_equal(s->ui.prompt, PROMPT_SIGNAL);
        press(s, "n");
        assert_int_equal(s->ui.request.what, REQUEST_NONE);
        press(s, "x\r");
        assert_int_equal(s->ui.request.what, REQUEST_NONE);
        press(s, "xy");
        assert_int_equal(s->ui.request.what, REQUEST_SIGNAL);
        assert_int_equal(s->ui.request.pid, 4101);
        s->ui.request = (struct ui_request){0};
        s->data.read_only = true;
        press(s, "xy");
        assert_int_equal(s->ui.request.what, REQUEST_NONE);
        close_scene(s);
}

/* Health that changes is logged once, with the time. */
static void health_changes_are_logged(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        scene_fleet8(s);
        finish_open(s);
        set(&s->rows[2], METRIC_REMAP_FAILURE, 1);
        compute_rows(s);
        for (int i = 0; i < 3; i++) {
                s->frame.wall_ns += NS_PER_S;
                assert_int_equal(ui_update(&s->ui, &s->data), 0);
        }
        size_t n = 0;
        for (size_t i = 0; i < s->ui.n_log; i++)
                n += strstr(s->ui.log[i].text, "GPU 2 is CRIT, was OK") != NULL;
        assert_int_equal(n, 1);
        close_scene(s);
}

/* Plays so many seconds of a GPU that is, or is not, limited by its tensor cores. */
static void play(struct scene *s, int seconds, bool (*busy)(int second))
{
        for (int i = 0; i < seconds; i++) {
                s->frame.wall_ns += NS_PER_S;
                s->frame.mono_ns += NS_PER_S;
                fill_row(s, 0, 0);
                s->rows[0].limit.limiter = busy(i) ? LIMITER_COMPUTE_TENSOR : LIMITER_HOST_INPUT;
                s->rows[0].limit.held_by = busy(i) ? HELD_BY_POWER : HELD_BY_NOTHING;
                assert_int_equal(history_push(s->history, &s->frame), 0);
                assert_int_equal(ui_update(&s->ui, &s->data), 0);
        }
}

static bool always(int second UNUSED)
{
        return true;
}

static bool never(int second UNUSED)
{
        return false;
}

static bool now_and_then(int second)
{
        return second % 2 == 0;
}

/* A limiter that settles is told, with starvation and throttling of the last half minute; one that
 * changes every second is not told every second. */
static void limiters_are_logged_without_flapping(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        open_fleet(s, 1, no_change);
        finish_open(s);
        play(s, 60, always);
        size_t before = s->ui.n_log;
        play(s, 60, now_and_then);
        assert_in_range(s->ui.n_log - before, 0, 3);
        before = s->ui.n_log;
        play(s, 60, never);
        size_t limited = 0, starved = 0, held = 0;
        for (size_t i = before; i < s->ui.n_log; i++) {
                const char *text = s->ui.log[i % UI_LOG_MAX].text;
                limited += strstr(text, "limited by the input pipeline") != NULL;
                starved += strstr(text, "waited for the host") != NULL;
                held += strstr(text, "no longer held") != NULL;
        }
        assert_in_range(limited, 0, 1);
        assert_in_range(starved, 0, 1);
        assert_in_range(held, 0, 1);
        assert_in_range(s->ui.n_log - before, 1, 4);
        close_scene(s);
}

/* A class that changes under the same limiter is told once, when it has settled. */
static void classes_are_logged(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        size_t reported = 0;
        open_fleet(s, 1, no_change);
        finish_open(s);
        play(s, 30, always);
        for (int i = 0; i < 30; i++) {
                s->frame.wall_ns += NS_PER_S;
                s->frame.mono_ns += NS_PER_S;
                s->rows[0].verdict.workload = WORKLOAD_MEMORY_BOUND;
                assert_int_equal(history_push(s->history, &s->frame), 0);
                assert_int_equal(ui_update(&s->ui, &s->data), 0);
        }
        for (size_t i = 0; i < s->ui.n_log; i++)
                reported += strstr(s->ui.log[i % UI_LOG_MAX].text, "memory-bound, was ") != NULL;
        assert_int_equal(reported, 1);
        close_scene(s);
}

/* n and N go to the beginnings of phases and findings, a click to any time. */
static void timeline_jumps(void **state UNUSED)
{
        static const struct {
                int64_t at_s;
                const char *keys;
                double to; /* -1: nowhere */
        } jumps[] = {
            {0, "n", 20},  {20, "n", 21}, {30, "n", 60}, {60, "n", -1},
            {61, "N", 60}, {60, "N", 21}, {21, "N", 20}, {0, "N", -1},
        };
        struct scene *s = calloc(1, sizeof(*s));
        scene_session(s);
        finish_open(s);
        for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
                s->data.position_ns = jumps[i].at_s * NS_PER_S;
                s->ui.request = (struct ui_request){0};
                press(s, jumps[i].keys);
                if (jumps[i].to < 0)
                        assert_int_equal(s->ui.request.what, REQUEST_NONE);
                else
                        assert_true(s->ui.request.what == REQUEST_SEEK_TO &&
                                    s->ui.request.number == jumps[i].to);
        }
        struct canvas c = {0};
        assert_int_equal(canvas_resize(&c, 80, 24), 0);
        ui_draw(&s->ui, &s->data, &c);
        struct key_event click = {.key = INPUT_MOUSE, .button = MOUSE_LEFT, .x = 79, .y = 22};
        ui_key(&s->ui, &s->data, &click);
        assert_true(s->ui.request.what == REQUEST_SEEK_TO && s->ui.request.number == 100);
        canvas_finish(&c);
        close_scene(s);
}

/* A ring keeps what fits; holes, going back and long gaps leave no old values. */
static void rings_forget(void **state UNUSED)
{
        struct ring r = {0};
        ring_put(&r, 1000, value_ok(3));
        ring_put(&r, 1001, value_ok(5));
        assert_true(ring_most(&r) == 5);
        ring_put(&r, 1003, value_missing(STATE_NONE));
        assert_true(ring_most(&r) == 5);
        ring_put(&r, 999, value_ok(1)); /* a replay went back */
        assert_true(ring_most(&r) == 1);
        ring_put(&r, 999 + 2 * RING_LEN, value_ok(2));
        assert_true(ring_most(&r) == 2);
}

/* A new order is looked at from its top; after that the choice stays with the GPU. */
static void choice_follows(void **state UNUSED)
{
        struct scene *s = calloc(1, sizeof(*s));
        scene_fleet8(s);
        finish_open(s);
        press(s, "jjs");
        assert_int_equal(s->ui.cursor, 0);
        press(s, "jj");
        char label[ENTITY_LABEL_MAX];
        strcpy(label, ui_chosen(&s->ui, &s->data)->sample.who->label);
        for (size_t i = 0; i < s->frame.n; i++)
                set(&s->rows[i], METRIC_REAL_UTIL, (double)i);
        assert_int_equal(ui_update(&s->ui, &s->data), 0);
        assert_string_equal(ui_chosen(&s->ui, &s->data)->sample.who->label, label);
        close_scene(s);
}

static bool screen_says(struct scene *s, const char *words)
{
        struct canvas c = {0};
        struct strbuf drawn = {0};
        assert_int_equal(canvas_resize(&c, 100, 30), 0);
        ui_draw(&s->ui, &s->data, &c);
        put_screen(&drawn, &c);
        bool says = strstr(strbuf_str(&drawn), words) != NULL;
        strbuf_finish(&drawn);
        canvas_finish(&c);
        return says;
}

/* The strip of limiters is the chosen GPU's, and the heading names it; with all GPUs each has its
 * own. */
static void strips_are_of_their_gpu(void **state UNUSED)
{
        static const enum limiter limiters[] = {LIMITER_COMPUTE_TENSOR, LIMITER_HOST_INPUT};
        struct scene *s = calloc(1, sizeof(*s));
        open_fleet(s, ARRAY_LEN(limiters), no_change);
        finish_open(s);
        for (int second = 0; second < 90; second++) {
                s->frame.wall_ns += NS_PER_S;
                s->frame.mono_ns += NS_PER_S;
                for (size_t i = 0; i < ARRAY_LEN(limiters); i++)
                        s->rows[i].limit.limiter = (uint8_t)limiters[i];
                assert_int_equal(history_push(s->history, &s->frame), 0);
                assert_int_equal(ui_update(&s->ui, &s->data), 0);
        }
        s->ui.view = VIEW_PLOT;
        for (size_t slot = 0; slot < ARRAY_LEN(limiters); slot++) {
                char heading[48];
                snprintf(heading, sizeof(heading), "GPU %s ",
                         ui_chosen(&s->ui, &s->data)->sample.who->label);
                assert_int_equal(ui_chosen(&s->ui, &s->data)->sample.who->slot, slot);
                assert_true(screen_says(s, heading));
                assert_true(screen_says(s, limiter_brief(limiters[slot])));
                assert_false(screen_says(s, limiter_brief(limiters[1 - slot])));
                press(s, "j");
        }
        press(s, "a");
        assert_true(screen_says(s, "all GPUs"));
        for (size_t i = 0; i < ARRAY_LEN(limiters); i++)
                assert_true(screen_says(s, limiter_brief(limiters[i])));
        close_scene(s);
}

/* After the end of a recording no sample comes any more that could bring its processes. */
static void processes_that_are_not_there_yet(void **state UNUSED)
{
        static const struct {
                bool asking;
                enum source_state state;
                const char *words;
        } cases[] = {
            {false, SOURCE_RUNNING, "this source names no processes"},
            {false, SOURCE_ENDED, "this source names no processes"},
            {true, SOURCE_RUNNING, "processes come with the next sample"},
            {true, SOURCE_ENDED, "the recording has ended: < goes back to its processes"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct ui_data d = {.asking_processes = cases[i].asking,
                                          .state = cases[i].state};
                assert_string_equal(ui_why_no_processes(&d), cases[i].words);
        }
}

/* No name of a file's column among the words of the focus view, however long it is. */
static void names_are_words(void **state UNUSED)
{
        static const int widths[] = {10, 16, 23, 60};
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
                        char name[64];
                        words_metric(name, sizeof(name), m, widths[i]);
                        assert_null(strchr(name, '_'));
                        assert_true(name[0] != '\0');
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(names_are_words),
            cmocka_unit_test(strips_are_of_their_gpu),
            cmocka_unit_test(goldens),
            cmocka_unit_test(survives_any_key),
            cmocka_unit_test(commands_work),
            cmocka_unit_test(the_cursor_stays_on_the_screen),
            cmocka_unit_test(signals_are_asked_for),
            cmocka_unit_test(health_changes_are_logged),
            cmocka_unit_test(limiters_are_logged_without_flapping),
            cmocka_unit_test(classes_are_logged),
            cmocka_unit_test(timeline_jumps),
            cmocka_unit_test(rings_forget),
            cmocka_unit_test(choice_follows),
            cmocka_unit_test(processes_that_are_not_there_yet),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
