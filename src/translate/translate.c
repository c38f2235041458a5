#include "translate/translate.h"

#include "base/attr.h"
#include "base/num.h"
#include "model/throttle.h"
#include "translate/map.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

static const struct map_row *find(enum dialect dialect, const char *name, size_t len)
{
        const struct map *map = map_for(dialect);
        for (size_t i = 0; len > 0 && i < map->n; i++) {
                if (strncmp(map->rows[i].name, name, len) == 0 && map->rows[i].name[len] == '\0')
                        return &map->rows[i];
        }
        return NULL;
}

bool translate_wants(enum dialect dialect, const char *field, size_t len)
{
        return find(dialect, field, len) != NULL;
}

void translate_bind(struct binding *b, const struct schema *schema)
{
        if (LIKELY(b->bound && b->dialect == schema->dialect && b->revision == schema->revision))
                return;
        b->dialect = schema->dialect;
        b->revision = schema->revision;
        b->bound = true;
        b->n_metrics = b->n_texts = b->n_either = 0;
        for (size_t i = 0; i < schema->n; i++) {
                const char *name = schema->names[i];
                const struct map_row *row = find(schema->dialect, name, strlen(name));
                if (!row)
                        continue;
                struct target t = {(uint16_t)i, row->to, row->conversion};
                b->n_either += !row->text && row->conversion == CONVERT_RATIO_OR_PERCENT;
                if (row->text)
                        b->texts[b->n_texts++] = t;
                else
                        b->metrics[b->n_metrics++] = t;
        }
}

/* Groups of reasons as the bits that NVIDIA's driver has for the same. */
static double drm_throttle(double v)
{
        static const unsigned bits[] = {
            THROTTLE_POWER_CAP,     /* power */
            THROTTLE_SLOWDOWN,      /* current */
            THROTTLE_HEAT_SOFTWARE, /* heat */
            THROTTLE_HEAT_HARDWARE, /* the board asks for it */
            0,                      /* others have no bit */
        };
        unsigned groups = v < 32 ? (unsigned)v : 0, reasons = 0;
        for (size_t i = 0; i < ARRAY_LEN(bits); i++)
                reasons |= groups & (1u << i) ? bits[i] : 0;
        return reasons;
}

static double convert(enum conversion conversion, double v)
{
        switch (conversion) {
        case CONVERT_PERCENT:
                return v / 100.0;
        case CONVERT_MIB:
        case CONVERT_MIB_PER_S:
                return v * MIB;
        case CONVERT_DCGM_MB_PER_S:
                return v * 1000 * 1024;
        case CONVERT_NANOSECONDS:
                return v / 1e9;
        case CONVERT_MB_PER_S:
        case CONVERT_MHZ:
                return v * 1e6;
        case CONVERT_GB_PER_S:
                return v * 1e9;
        case CONVERT_KB_PER_S:
                return v * 1e3;
        case CONVERT_MILLIWATTS:
        case CONVERT_MILLIJOULES:
                return v / 1000.0;
        case CONVERT_MICROWATTS:
        case CONVERT_MICROJOULES:
                return v / 1e6;
        case CONVERT_MILLICELSIUS:
                return v / 1000.0;
        case CONVERT_JOULES_16:
                return v / 65536.0;
        case CONVERT_DRM_THROTTLE:
                return drm_throttle(v);
        case CONVERT_FLAG:
                return v > 0 ? 1 : 0;
        case CONVERT_SECONDS:
        case CONVERT_RATIO_OR_PERCENT: /* of which nothing is known but that all are at most 1 */
        case CONVERT_ENGINE_RATIO:
        case CONVERT_RATIO:
        case CONVERT_SCORE:
        case CONVERT_BYTES:
        case CONVERT_BYTES_PER_S:
        case CONVERT_WATTS:
        case CONVERT_JOULES:
        case CONVERT_CELSIUS:
        case CONVERT_HERTZ:
        case CONVERT_COUNT:
        case CONVERT_PER_S:
        case CONVERT_NUMBER:
        case CONVERT_BITS:
                break;
        }
        return v;
}

/* Ratios are estimates: counters of two clocks are divided, and a little more than all of it
 * happens. What is further off makes no sense. */
#define RATIO_MOST 2
#define RATIO_LEAST (-0.01)

static bool to_ratio(double *v)
{
        if (!(*v >= RATIO_LEAST && *v <= RATIO_MOST))
                return false;
        *v = *v > 1 ? 1 : *v > 0 ? *v : 0;
        return true;
}

/*
 * Whether a number, in the metric's unit, can be true. Below zero only a temperature can; "-0.000"
 * is a small negative number that was rounded.
 */
static bool sensible(enum metric metric, double *v)
{
        const struct metric_info *info = metric_info(metric);
        double least = metric_least(metric);
        if (info->unit == UNIT_RATIO)
                return to_ratio(v);
        return *v <= info->most && *v >= least && (least < 0 || !signbit(*v));
}

static void set_value(struct value *to, const struct raw *raw, struct target t)
{
        if (raw->state != STATE_OK && raw->state != STATE_STALE) {
                to->state = raw->state;
                return;
        }
        double v = raw->text ? 0 : convert((enum conversion)t.conversion, raw->num);
        bool flag_below = t.conversion == CONVERT_FLAG && raw->num < 0;
        if (UNLIKELY(raw->text || flag_below || !sensible((enum metric)t.to, &v))) {
                to->state = STATE_ERROR;
                return;
        }
        to->v = v;
        to->age_ms = raw->age_ms;
        to->state = raw->state;
}

void translate_learn_units(struct binding *b, const struct batch *batch)
{
        for (size_t i = 0; b->n_either > 0 && i < b->n_metrics; i++) {
                if (b->metrics[i].conversion != CONVERT_RATIO_OR_PERCENT)
                        continue;
                for (size_t k = 0; k < batch->n; k++) {
                        const struct reading *r = &batch->readings[k];
                        const struct raw *raw = &r->values[b->metrics[i].field];
                        if (raw->state == STATE_OK && !raw->text && raw->num > 1)
                                b->percent[r->origin / 64] |= 1ULL << (r->origin % 64);
                }
        }
}

static bool is_percent(const struct binding *b, const struct reading *r)
{
        return b->percent[r->origin / 64] >> (r->origin % 64) & 1;
}

/* The busier one of two engines. */
static void take_busier(struct value *to, const struct raw *raw, struct target t)
{
        struct value other = {.state = STATE_NONE};
        set_value(&other, raw, t);
        if (value_there(other) && other.v > to->v)
                *to = other;
}

void translate_reading(const struct binding *b, const struct reading *reading, struct sample *ret)
{
        memset(ret->m, 0, sizeof(ret->m));
        for (size_t i = 0; i < b->n_metrics; i++) {
                struct target t = b->metrics[i];
                struct value *to = &ret->m[t.to];
                if (UNLIKELY(t.conversion == CONVERT_RATIO_OR_PERCENT && is_percent(b, reading)))
                        t.conversion = CONVERT_PERCENT;
                if (UNLIKELY(t.conversion == CONVERT_ENGINE_RATIO && value_there(*to)))
                        take_busier(to, &reading->values[t.field], t);
                /* A field the source does not have is no reason; another field's may be. */
                if (LIKELY(!value_there(*to)) && reading->values[t.field].state != STATE_NONE)
                        set_value(to, &reading->values[t.field], t);
        }
}

/* A GPU keeps its name, but its job ends. */
static bool comes_and_goes(enum entity_text text)
{
        return text == ENTITY_TEXT_JOB || text == ENTITY_TEXT_CONTAINER ||
               text == ENTITY_TEXT_NAMESPACE || text == ENTITY_TEXT_POD;
}

void translate_identity(const struct binding *b, const struct reading *reading, struct entity *ret)
{
        /* Several fields may tell the same: those that are missing do not undo the one that is not.
         */
        for (size_t i = 0; i < b->n_texts; i++) {
                if (comes_and_goes((enum entity_text)b->texts[i].to))
                        ret->text[b->texts[i].to][0] = '\0';
        }
        for (size_t i = 0; i < b->n_texts; i++) {
                struct target t = b->texts[i];
                const struct raw *raw = &reading->values[t.field];
                if (raw->state != STATE_OK)
                        continue;
                /* dcgmi has the profile where a GPU has its name. */
                if (t.conversion == TEXT_NAME_OR_PROFILE && reading->who.kind != ENTITY_GPU)
                        t.to = ENTITY_TEXT_MIG_PROFILE;
                char number[NUM_FORMAT_MAX]; /* a serial number reads as a number */
                bool is_text = raw->text != NULL;
                size_t len = is_text ? raw->len : num_format(number, raw->num, 0);
                if (len > 0)
                        entity_set_text(ret, (enum entity_text)t.to, is_text ? raw->text : number,
                                        len);
        }
}
