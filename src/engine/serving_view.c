#include "engine/serving_view.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "compute/serving.h"
#include "read/engines/engines.h"
#include "read/host/files.h"
#include "read/host/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_NS (2 * NS_PER_S)
#define DISCOVER_EVERY_NS (30 * NS_PER_S) /* it examines all processes of this user */
#define DEPTH_MAX 16                      /* of a family of processes */

struct serving_view {
        struct engines *engines;
        int root;
        bool discovers;
        int64_t discovered_ns; /* 0: not yet */
        size_t n;
        struct serving list[SERVINGS_MAX];
        struct serving_reading before[SERVINGS_MAX];
        bool has_before[SERVINGS_MAX];
        uint64_t holders[SERVINGS_MAX]; /* a digest of those that its GPUs were found by */
};

static int add_word(struct serving_view *v, const char *word, size_t len, struct err *err)
{
        char url[1024];
        if (len == 4 && memcmp(word, "auto", 4) == 0) {
                v->discovers = true;
                return 0;
        }
        if (len == 0 || len >= sizeof(url)) {
                err_set(err, ERR_USAGE, "--engine: '%.*s' is no address", (int)MIN(len, (size_t)64),
                        word);
                return err_hint(err, "http://localhost:8000, or auto for those that run here");
        }
        snprintf(url, sizeof(url), "%.*s", (int)len, word);
        return engines_add(v->engines, url, 0, err);
}

static int add_words(struct serving_view *v, const char *words, struct err *err)
{
        for (const char *at = words ? words : ""; *at;) {
                size_t len = strcspn(at, ",");
                int r = add_word(v, at, len, err);
                if (r < 0)
                        return r;
                at += len + (at[len] == ',');
        }
        return 0;
}

int serving_view_open(const struct serving_config *config, struct serving_view **ret,
                      struct err *err)
{
        struct serving_view *v = calloc(1, sizeof(*v));
        if (!v)
                return err_set(err, -ENOMEM, "out of memory");
        const char *root = config->root ? config->root : "";
        const struct engines_config ec = {
            .root = root, .listing = config->listing, .timeout_ns = TIMEOUT_NS};
        v->root = files_open_root(root);
        int r = v->root < 0 ? err_set(err, v->root, "cannot open '%s'", root)
                            : engines_open(&ec, &v->engines, err);
        if (r == 0)
                r = add_words(v, config->engines, err);
        if (r < 0) {
                serving_view_close(v);
                return r;
        }
        *ret = v;
        return 0;
}

void serving_view_close(struct serving_view *v)
{
        if (!v)
                return;
        engines_close(v->engines);
        closep(&v->root);
        free(v);
}

static void fill_absent(struct serving *s, const struct engine_target *t)
{
        snprintf(s->why, sizeof(s->why), "%s", t->why);
        for (size_t i = 0; i < SERVING_COUNT; i++)
                s->v[i] = value_missing(STATE_BLANK);
}

static void fill_serving(struct serving_view *v, size_t i)
{
        const struct engine_target *t = engines_at(v->engines, i);
        struct serving *s = &v->list[i];
        snprintf(s->url, sizeof(s->url), "%s", t->url);
        s->present = t->answered;
        s->pid = t->pid;
        s->front = t->front;
        s->why[0] = '\0';
        if (!t->answered) {
                v->has_before[i] = false;
                fill_absent(s, t);
                return;
        }
        s->kind = t->reading.kind;
        memcpy(s->model, t->reading.model, sizeof(s->model));
        struct value apart = s->v[SERVING_APART];
        serving_compute(v->has_before[i] ? &v->before[i] : NULL, &t->reading, s);
        s->v[SERVING_APART] = apart;
        v->before[i] = t->reading;
        v->has_before[i] = true;
}

bool serving_view_tick(struct serving_view *v, int64_t until_ns)
{
        int64_t now = clock_mono_ns();
        if (v->discovers &&
            (v->discovered_ns == 0 || now - v->discovered_ns >= DISCOVER_EVERY_NS)) {
                engines_discover(v->engines);
                v->discovered_ns = now;
        }
        bool went_on = engines_query(v->engines, until_ns);
        for (size_t known = v->n; known < engines_count(v->engines); known++)
                v->list[known].kind = ENGINE_UNKNOWN;
        v->n = engines_count(v->engines);
        for (size_t i = 0; i < v->n; i++)
                fill_serving(v, i);
        return went_on;
}

void serving_view_wake(struct serving_view *v)
{
        engines_wake(v->engines);
}

const struct serving *serving_view_list(const struct serving_view *v, size_t *ret_n)
{
        *ret_n = v->n;
        return v->list;
}

/* --- which GPUs are whose -------------------------------------------------------------------- */

static int32_t parent_process(const struct serving_view *v, int32_t pid)
{
        char path[48], text[1024];
        struct proc_stat st;
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        ssize_t n = files_read(v->root, path, text, sizeof(text));
        return n > 0 && procfs_stat(text, (size_t)n, &st) == 0 ? st.ppid : 0;
}

static bool is_of_family(const struct serving_view *v, int32_t pid, int32_t head)
{
        for (int depth = 0; depth < DEPTH_MAX && pid > 1; depth++) {
                if (pid == head)
                        return true;
                pid = parent_process(v, pid);
        }
        return false;
}

static uint64_t digest_holders(const struct gpu_use *use, int32_t pid)
{
        uint64_t h = (uint64_t)pid + use->n_processes;
        for (size_t i = 0; i < use->n_processes; i++)
                h = h * 1099511628211u + (uint64_t)use->processes[i].pid * 64 +
                    use->processes[i].gpu;
        return h;
}

static void find_gpus(const struct serving_view *v, const struct gpu_use *use, int32_t head,
                      struct serving *s)
{
        bool has[HOST_GPUS_MAX] = {0}, holds = false;
        struct strbuf names = {0};
        for (size_t i = 0; i < use->n_processes; i++) {
                int32_t pid = use->processes[i].pid;
                holds |= pid == s->pid;
                if (!has[use->processes[i].gpu])
                        has[use->processes[i].gpu] = is_of_family(v, pid, head);
        }
        for (size_t i = 0; i < use->n; i++) {
                if (has[i])
                        strbuf_putf(&names, "%s%s", names.len > 0 ? "," : "", use->labels[i]);
        }
        snprintf(s->gpus, sizeof(s->gpus), "%s", strbuf_str(&names));
        strbuf_finish(&names);
        s->v[SERVING_APART] = s->gpus[0] ? value_ok(!holds) : value_missing(STATE_NONE);
}

void serving_view_see(struct serving_view *v, const struct gpu_use *use)
{
        for (size_t i = 0; i < v->n; i++) {
                struct serving *s = &v->list[i];
                if (s->pid == 0 || !use->knows_processes)
                        continue;
                int32_t known = engines_at(v->engines, i)->head, head = known > 0 ? known : s->pid;
                uint64_t now = digest_holders(use, head);
                if (now != v->holders[i])
                        find_gpus(v, use, head, s);
                v->holders[i] = now;
        }
}
