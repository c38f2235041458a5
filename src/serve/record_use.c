#include "base/num.h"
#include "serve/records.h"

#include <stdio.h>

#define NUMBER_MAX 1e18

static void put_kept(struct strbuf *out, const char *name, struct value v)
{
        if (value_is_set(v))
                strbuf_putf(out, "%s=%.17g\n", name, v.v);
}

static const char *const use_names[] = {"job cpu_s", "job cpus", "job memory_peak",
                                        "job memory_limit"};
static const char *const gpu_names[] = {"util", "memory_peak", "memory_total"};

static struct value *use_place(struct record_use *u, size_t i)
{
        struct value *const places[] = {&u->cpu_s, &u->cpus, &u->memory_peak, &u->memory_limit};
        return places[i];
}

static struct value *gpu_place(struct record_gpu *g, size_t i)
{
        struct value *const places[] = {&g->util, &g->memory_peak, &g->memory_total};
        return places[i];
}

void record_put_use(const struct record *r, struct strbuf *out)
{
        struct record_use use = r->use;
        char name[64];
        for (size_t i = 0; i < ARRAY_LEN(use_names); i++)
                put_kept(out, use_names[i], *use_place(&use, i));
        for (size_t g = 0; g < r->n_each; g++) {
                struct record_gpu gpu = r->each[g];
                for (size_t i = 0; i < ARRAY_LEN(gpu_names); i++) {
                        snprintf(name, sizeof(name), "gpu %zu %s", g, gpu_names[i]);
                        put_kept(out, name, *gpu_place(&gpu, i));
                }
        }
}

/* "gpu 3 util": the place of the value; NULL for other names. */
static struct value *use_place_of(struct record *r, const char *name)
{
        uint64_t g;
        size_t n = strncmp(name, "gpu ", 4) == 0 ? strcspn(name + 4, " ") : 0;
        for (size_t i = 0; i < ARRAY_LEN(use_names); i++) {
                if (strcmp(name, use_names[i]) == 0)
                        return use_place(&r->use, i);
        }
        if (n == 0 || name[4 + n] != ' ' || !num_parse_u64(name + 4, n, &g) || g >= RECORD_EACH_MAX)
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(gpu_names); i++) {
                if (strcmp(name + 4 + n + 1, gpu_names[i]) == 0) {
                        r->n_each = MAX(r->n_each, (size_t)g + 1);
                        return gpu_place(&r->each[g], i);
                }
        }
        return NULL;
}

void record_parse_use(const char *text, struct record *r)
{
        for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
                char line[128];
                double v;
                snprintf(line, sizeof(line), "%.*s",
                         (int)MIN(strcspn(text, "\n"), sizeof(line) - 1), text);
                char *equals = strchr(line, '=');
                if (!equals)
                        continue;
                *equals = '\0';
                struct value *place = use_place_of(r, line);
                if (place && num_parse_all(equals + 1, strlen(equals + 1), &v) && v >= 0 &&
                    v <= NUMBER_MAX)
                        *place = value_ok(v);
        }
}

bool record_gpu_name(const struct record *r, size_t i, char *ret, size_t size)
{
        const char *at = r->gpus;
        for (; i > 0 && *at; i--) {
                at += strcspn(at, ",");
                at += *at == ',';
        }
        size_t n = strcspn(at, ",");
        return n > 0 && snprintf(ret, size, "%.*s", (int)n, at) < (int)size;
}
