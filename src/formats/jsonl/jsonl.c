/* Our JSON lines: one object an entity and tick, as `assay export --format jsonl` writes them. */
#include "formats/jsonl/jsonl.h"

#include "base/clock.h"
#include "base/jsonin.h"
#include "base/text.h"
#include "formats/format.h"
#include "model/metric.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static bool jsonl_probe(const char *s, size_t len)
{
        size_t i = 0;
        while (i < len && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
                i++;
        return i < len && s[i] == '{';
}

void jsonl_fields(struct batcher *b)
{
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                batcher_add_field(b, metric_info(m)->name, strlen(metric_info(m)->name));
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++)
                batcher_add_field(b, entity_text_name(t), strlen(entity_text_name(t)));
}

static int jsonl_begin(struct capture *c)
{
        jsonl_fields(&c->batcher);
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
        *ret_len = json_string_length(v); /* 0 for what is not a string */
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

static void fill_cells(struct batcher *b, const json_t *object, struct raw *cells)
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
                            (struct raw){.text = batcher_text(b, s, len),
                                         .len = (uint16_t)MIN(len, (size_t)UINT16_MAX),
                                         .state = STATE_OK};
        }
}

/* 1: taken, 0: belongs to the next round, or a negative errno. */
static int jsonl_take(struct capture *c, const struct line *line, const json_t *object)
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
        fill_cells(&c->batcher, object, cells);
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
                json_t *object = jsonin_load(line.s, line.len, JSON_REJECT_DUPLICATES, &why);
                if (json_is_object(object))
                        r = jsonl_take(c, &line, object);
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

/* What a node reports its values' age. One that is old as a whole has nothing new at all. */
static void fill_ages(const json_t *object, struct raw *cells)
{
        const json_t *ages = json_object_get(object, "age");
        bool stale = json_is_true(json_object_get(object, "stale"));
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                if (cells[i].state != STATE_OK)
                        continue;
                double age =
                    json_number_value(json_object_get(ages, metric_info((enum metric)i)->name));
                cells[i].age_ms = age > 0 ? (uint32_t)(MIN(age, 4e6) * 1000) : 0;
                cells[i].state = stale ? STATE_STALE : STATE_OK;
        }
}

enum jsonl_result jsonl_add_row(struct batcher *b, const char *s, size_t len)
{
        json_error_t why;
        json_t *object = jsonin_load(s, len, JSON_REJECT_DUPLICATES, &why);
        enum jsonl_result r = JSONL_BAD;
        if (json_is_object(json_object_get(object, "metrics"))) {
                struct entity_key key = key_of(object);
                bool again = batcher_find(b, &key) != NULL;
                struct raw *cells = again ? NULL : batcher_add(b, &key);
                r = again ? JSONL_BAD : cells ? JSONL_TAKEN : JSONL_NO_MEMORY;
                if (cells) {
                        fill_cells(b, object, cells);
                        fill_ages(object, cells);
                }
        }
        json_decref(object);
        return r;
}

enum jsonl_kind jsonl_kind(const char *s, size_t len)
{
        static const struct {
                enum jsonl_kind kind;
                const char *begins;
        } kinds[] = {
            {JSONL_HELLO, "{\"assay\":"}, {JSONL_CLOCK, "{\"clock\":"}, {JSONL_END, "{\"end\":"}};
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                size_t n = strlen(kinds[i].begins);
                if (len > n && memcmp(s, kinds[i].begins, n) == 0)
                        return kinds[i].kind;
        }
        return JSONL_ROW;
}

bool jsonl_read_hello(const char *s, size_t len, struct jsonl_hello *ret)
{
        json_error_t why;
        json_t *object = jsonin_load(s, len, JSON_REJECT_DUPLICATES, &why);
        const char *version = json_string_value(json_object_get(object, "assay"));
        const json_t *protocol = json_object_get(object, "protocol");
        bool fine = version && json_is_integer(protocol);
        if (fine) {
                json_int_t number = json_integer_value(protocol);
                snprintf(ret->version, sizeof(ret->version), "%s", version);
                text_clean(ret->version);
                ret->protocol = number >= 0 && number <= INT32_MAX ? (int)number : -1;
        }
        json_decref(object);
        return fine;
}

bool jsonl_read_time(const char *s, size_t len, uint64_t *ret_number, int64_t *ret_wall_ns)
{
        json_error_t why;
        json_t *object = jsonin_load(s, len, JSON_REJECT_DUPLICATES, &why);
        bool clock = jsonl_kind(s, len) == JSONL_CLOCK;
        const json_t *number = json_object_get(object, clock ? "clock" : "end");
        const json_t *time = json_object_get(object, "time");
        bool fine = json_is_integer(number) && json_is_number(time);
        if (fine) {
                *ret_number = (uint64_t)json_integer_value(number);
                *ret_wall_ns = clock_bounded(clock_from_seconds(json_number_value(time)));
        }
        json_decref(object);
        return fine;
}

const struct format_ops format_jsonl = {
    .name = "assay JSON lines",
    .dialect = DIALECT_CANON,
    .probe = jsonl_probe,
    .begin = jsonl_begin,
    .round = jsonl_round,
};
