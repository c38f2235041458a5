/* assay tour: a bundled session of an H200, with captions. */
#include "cmd/tour.h"

#include "app/input.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define SESSION "tour.assay"
/* Where a table, without a screen, is taken: in the middle of the matrix products. */
#define MOMENT "13"

/* Below this, engines and SMs are idle. */
#define IDLE_RATIO 0.01
/* Idle time that is played: long enough to be seen. */
#define IDLE_SHOWN_NS (2 * NS_PER_S)
#define STRETCHES_MAX 64

struct tour_stretch {
        int64_t begin_ns, end_ns; /* from the beginning */
};

struct tour {
        int64_t first_ns;
        struct input input;
        struct tour_stretch idle[STRETCHES_MAX];
        size_t n_idle;
        size_t shown; /* the phase whose caption was given last, from 1; 0 for none */
};

/* What to examine in each phase of the bundled session. */
static const struct {
        const char *phase, *text;
} captions[] = {
    {"idle", "A program starts and loads its libraries: the GPU has nothing to do yet"},
    {"bf16_matmul",
     "bf16 matrix products: tensor cores busy; a Real Utilization of 79 is as good as it gets"},
    {"tf32_matmul", "tf32 matrix products: the tensor cores are as busy as with bf16"},
    {"fp32_matmul", "fp32: SMs at 95 %, tensor cores idle; tf32 would be several times faster"},
    {"fp64_matmul", "fp64 matrix products run on tensor cores too"},
    {"fp64_elementwise", "fp64 element by element: no tensor cores, DRAM at 73 %"},
    {"hbm_copy", "a copy within the GPU: DRAM at 89 %, tensor cores idle"},
    {"h2d_copy", "a copy from the host: utilization says 98 %, the SMs do nothing; look at PCIe"},
    {"tiny_kernels", "thousands of tiny kernels: launching takes longer than computing"},
    {"train_healthy", "a training loop that keeps the GPU busy"},
    {"train_starved_by_dataloader",
     "the same loop waiting for its data: the GPU idles between steps"},
    {"train_checkpoint",
     "the GPU waits while a checkpoint is written; look at the host's disk (view host)"},
    {"decode_batch1", "decoding one token at a time: kernels are small, the GPU is mostly waiting"},
    {"idle_allocated",
     "memory is held, nothing runs: allocated is not used. 'assay report' sums it up"},
};

static const char *caption_of(const char *phase)
{
        for (size_t i = 0; i < ARRAY_LEN(captions); i++) {
                if (strcmp(captions[i].phase, phase) == 0)
                        return captions[i].text;
        }
        return phase;
}

static bool is_idle(const struct frame *frame)
{
        static const enum metric busy[] = {METRIC_GPU_UTIL, METRIC_GR_ACTIVE, METRIC_SM_ACTIVE};
        for (size_t i = 0; i < frame->n; i++) {
                for (size_t k = 0; k < ARRAY_LEN(busy); k++) {
                        struct value v = frame->rows[i].sample.m[busy[k]];
                        if (value_is_set(v) && v.v >= IDLE_RATIO)
                                return false;
                }
        }
        return true;
}

static void note_frame(struct tour *t, int64_t at, bool idle, bool *was_idle)
{
        struct tour_stretch *s = &t->idle[t->n_idle];
        if (idle && !*was_idle)
                s->begin_ns = at;
        if (*was_idle)
                s->end_ns = at;
        if (!idle && *was_idle && s->end_ns - s->begin_ns > IDLE_SHOWN_NS)
                t->n_idle++;
        *was_idle = idle && t->n_idle < STRETCHES_MAX;
}

static int find_idle(const struct config *config, const char *path, struct tour *t, struct err *err)
{
        struct pipeline *p = NULL;
        const struct frame *frame;
        bool was_idle = false;
        int r = open_pipeline_at(config, path, false, 0, &p, err);
        while (r >= 0 && p && (r = pipeline_next(p, &frame, err)) > 0) {
                t->first_ns = t->first_ns ? t->first_ns : frame->wall_ns;
                note_frame(t, frame->wall_ns - t->first_ns, is_idle(frame), &was_idle);
        }
        pipeline_close(p);
        return r;
}

int tour_open(const struct config *config, const char *path, struct tour **ret, struct err *err)
{
        struct tour *t = calloc(1, sizeof(*t));
        if (!t)
                return err_set(err, -ENOMEM, "out of memory");
        int r = input_open(&t->input, path, err);
        if (r == 0)
                r = find_idle(config, path, t, err);
        if (r < 0) {
                tour_close(t);
                return r;
        }
        *ret = t;
        return 0;
}

void tour_close(struct tour *t)
{
        if (!t)
                return;
        input_finish(&t->input);
        free(t);
}

const char *tour_caption(struct tour *t, int64_t position_ns)
{
        int64_t now = t->first_ns + position_ns;
        size_t found = 0;
        for (size_t i = 0; i < t->input.n_phases; i++) {
                const struct phase *p = &t->input.phases[i];
                if (phase_holds(p, now))
                        found = i + 1;
        }
        if (found == 0 || found == t->shown)
                return NULL;
        t->shown = found;
        return caption_of(t->input.phases[found - 1].name);
}

int64_t tour_skip(const struct tour *t, int64_t position_ns)
{
        for (size_t i = 0; i < t->n_idle; i++) {
                const struct tour_stretch *s = &t->idle[i];
                if (position_ns > s->begin_ns + IDLE_SHOWN_NS / 2 &&
                    position_ns < s->end_ns - IDLE_SHOWN_NS / 2)
                        return s->end_ns - IDLE_SHOWN_NS / 2;
        }
        return -1;
}

/* Installed beside the program, where the build says, or in the source tree. */
static int find_session(char path[PATH_MAX], struct err *err)
{
        static const char *const places[] = {"../share/assay/" SESSION, DATA_DIR "/assay/" SESSION,
                                             "../docs/example/" SESSION};
        char self[PATH_MAX - 64];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        self[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(self, '/');
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                if (places[i][0] == '/')
                        snprintf(path, PATH_MAX, "%s", places[i]);
                else
                        snprintf(path, PATH_MAX, "%.*s/%s", slash ? (int)(slash - self) : 0, self,
                                 places[i]);
                if (access(path, R_OK) == 0)
                        return 0;
        }
        err_set(err, ERR_NO_SOURCE, "the bundled session '%s' is not installed", SESSION);
        return err_hint(err, "'meson install' puts it into share/assay, beside the program's bin");
}

/* Without a screen: one moment of it. */
static int show_moment(const struct config *given, const char *path, struct err *err)
{
        struct config config = {0};
        int r = config_copy(given, &config);
        config.command = "once";
        if (r == 0)
                r = config_put(&config, OPT_SOURCE, path, err);
        if (r == 0)
                r = config_put(&config, OPT_AT, MOMENT, err);
        int status = r == 0 ? command_find("once")->run(&config) : complain(err);
        config_finish(&config);
        return status;
}

static int play_tour(const struct config *given, const char *path, struct err *err)
{
        struct config config = {0};
        struct tour *tour = NULL;
        int r = config_copy(given, &config);
        if (r == 0)
                r = config_put(&config, OPT_SOURCE, path, err);
        if (r == 0)
                r = tour_open(&config, path, &tour, err);
        int status = r == 0 ? top_play(&config, tour) : complain(err);
        tour_close(tour);
        config_finish(&config);
        return status;
}

static int tour_run(const struct config *config)
{
        char path[PATH_MAX];
        struct err err = {0};
        if (find_session(path, &err) < 0)
                return complain(&err);
        return isatty(STDOUT_FILENO) ? play_tour(config, path, &err)
                                     : show_moment(config, path, &err);
}

const struct command command_tour = {
    .name = "tour",
    .args = "",
    .summary = "watch 90 seconds of a real H200, with captions; needs no GPU",
    .words = WORDS_NONE,
    .examples = {{"assay tour", "play it; q quits"},
                 {"assay tour --speed 2", "twice as fast"},
                 {"assay tour --view plot", "start with the curves"}},
    .run = tour_run,
};
