/* Our JSON lines: one object an entity and tick, as `assay export --format jsonl` writes them. */
#include "base/clock.h"
#include "formats/format.h"
#include "model/metric.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static bool jsonl_probe(const char *s, size_t len)
{
        size_t i = 0;
        while (i < len && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
                i++;
        return i < len && s[i] == '{';
}

/* The fields are always the same: every metric, then every fact about the entity. */
static int jsonl_begin(struct capture *c)
{
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                batcher_add_field(&c->batcher, metric_info(m)->name, strlen(metric_info(m)->name));
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++)
                batcher_add_field(&c->batcher, entity_text_name(t), strlen(entity_text_name(t)));
        return 0;
}

static int32_t get_id(const json_t *object, const char *name)
{
        const json_t *v = json_object_get(object, name);
        json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
        return i >= 0 && i <= UINT16_MAX ? (int32_t)i : -1;
}

static const char *get_text(const json_t *object, const char *name, size_t *ret_len)
{
        const json_t *v = json_object_get(object, name);
        *ret_len = json_string_length(v); /* 0 for what is no string */
        return *ret_len > 0 ? json_string_value(v) : NULL;
}

static struct entity_key key_of(const json_t *object)
{
        struct entity_key key = {.index = get_id(object, "index"),
                                 .gi = get_id(object, "gi"),
                                 .ci = get_id(object, "ci"),
                                 .flat = get_id(object, "flat")};
        const json_t *identity = json_object_get(object, "identity");
        key.uuid = get_text(identity, "uuid", &key.uuid_len);
        key.host = get_text(identity, "hostname", &key.host_len);
        bool flat_compute = key.flat >= 0 && json_is_true(json_object_get(object, "compute"));
        if (key.ci >= 0 || flat_compute)
                key.kind = ENTITY_COMPUTE_INSTANCE;
        else if (key.gi >= 0 || key.flat >= 0)
                key.kind = ENTITY_GPU_INSTANCE;
        else
                key.kind = ENTITY_GPU;
        return key;
}

static enum state state_of(const json_t *missing, const char *name)
{
        const json_t *v = json_object_get(missing, name);
        for (enum state s = 0; json_is_string(v) && s < STATE_COUNT; s++) {
                if (strcmp(state_name(s), json_string_value(v)) == 0)
                        return s;
        }
        return STATE_NONE;
}

static void fill_cells(struct capture *c, const json_t *object, struct raw *cells)
{
        const json_t *metrics = json_object_get(object, "metrics");
        const json_t *missing = json_object_get(object, "missing");
        const json_t *identity = json_object_get(object, "identity");
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                const char *name = metric_info((enum metric)i)->name;
                const json_t *v = json_object_get(metrics, name);
                if (json_is_number(v))
                        cells[i] = (struct raw){.num = json_number_value(v), .state = STATE_OK};
                else
                        cells[i].state = (uint8_t)state_of(missing, name);
        }
        for (size_t i = 0; i < ENTITY_TEXT_COUNT; i++) {
                size_t len;
                const char *s = get_text(identity, entity_text_name((enum entity_text)i), &len);
                if (s)
                        cells[METRIC_COUNT + i] =
                            (struct raw){.text = batcher_text(&c->batcher, s, len),
                                         .len = (uint16_t)MIN(len, (size_t)UINT16_MAX),
                                         .state = STATE_OK};
        }
}

/* 1: taken, 0: belongs to the next round, or a negative errno. */
static int take(struct capture *c, const struct line *line, const json_t *object)
{
        const json_t *time = json_object_get(object, "time");
        struct entity_key key = key_of(object);
        if (!json_is_number(time) || !json_is_object(json_object_get(object, "metrics")))
                return capture_bad_line(c, line), 1;
        int64_t wall = clock_from_seconds(json_number_value(time));
        if (c->batcher.n > 0 && (wall != c->wall_ns || batcher_find(&c->batcher, &key)))
                return capture_hold(c, line), 0;
        struct raw *cells = batcher_add(&c->batcher, &key);
        if (!cells)
                return -ENOMEM;
        c->has_times = true;
        c->wall_ns = wall;
        fill_cells(c, object, cells);
        return 1;
}

static int jsonl_round(struct capture *c)
{
        struct line line;
        int r;
        while ((r = capture_line(c, &line)) > 0) {
                if (line.len == 0)
                        continue;
                json_error_t why;
                json_t *object = json_loadb(line.s, line.len, JSON_REJECT_DUPLICATES, &why);
                if (json_is_object(object))
                        r = take(c, &line, object);
                else if (line.cut)
                        capture_cut_row(c);
                else
                        capture_bad_line(c, &line);
                json_decref(object);
                if (r <= 0)
                        return r < 0 ? r : 1;
        }
        return r < 0 ? r : c->batcher.n > 0;
}

const struct format_ops format_jsonl = {
    .name = "assay JSON lines",
    .dialect = DIALECT_CANON,
    .probe = jsonl_probe,
    .begin = jsonl_begin,
    .round = jsonl_round,
};
