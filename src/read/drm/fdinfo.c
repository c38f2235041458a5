#include "read/drm/fdinfo.h"

#include "base/attr.h"
#include "base/num.h"

#include <string.h>

/* A piece of text that ends nowhere in particular. */
struct span {
        const char *s;
        size_t n;
};

static bool span_starts(struct span key, const char *prefix, struct span *ret_rest)
{
        size_t n = strlen(prefix);
        if (key.n <= n || memcmp(key.s, prefix, n) != 0)
                return false;
        *ret_rest = (struct span){key.s + n, key.n - n};
        return true;
}

static bool span_is(struct span a, const char *word)
{
        return a.n == strlen(word) && memcmp(a.s, word, a.n) == 0;
}

static void copy_span(char to[FDINFO_NAME_MAX], struct span from)
{
        size_t n = MIN(from.n, (size_t)FDINFO_NAME_MAX - 1);
        memcpy(to, from.s, n);
        to[n] = '\0';
}

/* "28257900", "16 MiB", "500 MHz": a whole number and a unit that multiplies it. */
static bool read_amount(struct span value, uint64_t *ret)
{
        static const struct {
                const char *unit;
                uint64_t scale;
        } units[] = {{"", 1},           {"ns", 1}, {"B", 1},      {"KiB", 1024},   {"MiB", 1048576},
                     {"GiB", 1u << 30}, {"Hz", 1}, {"KHz", 1000}, {"MHz", 1000000}};
        const char *gap = memchr(value.s, ' ', value.n);
        size_t digits = gap ? (size_t)(gap - value.s) : value.n;
        struct span unit = {value.s + digits, value.n - digits};
        uint64_t v;
        while (unit.n > 0 && unit.s[0] == ' ')
                unit = (struct span){unit.s + 1, unit.n - 1};
        if (!num_parse_u64(value.s, digits, &v))
                return false;
        for (size_t i = 0; i < ARRAY_LEN(units); i++) {
                if (span_is(unit, units[i].unit))
                        return !__builtin_mul_overflow(v, units[i].scale, ret);
        }
        return false;
}

static struct fdinfo_engine *engine_of(struct fdinfo *f, struct span name)
{
        for (size_t i = 0; i < f->n_engines; i++) {
                if (span_is(name, f->engines[i].name))
                        return &f->engines[i];
        }
        if (f->n_engines == FDINFO_ENGINES_MAX || name.n >= FDINFO_NAME_MAX)
                return NULL;
        struct fdinfo_engine *e = &f->engines[f->n_engines++];
        *e = (struct fdinfo_engine){.capacity = 1};
        copy_span(e->name, name);
        return e;
}

static void set_region(struct fdinfo *f, struct span name, uint8_t rank, uint64_t bytes)
{
        struct fdinfo_region *r = NULL;
        for (size_t i = 0; i < f->n_regions; i++) {
                if (span_is(name, f->regions[i].name))
                        r = &f->regions[i];
        }
        if (!r && (f->n_regions == FDINFO_REGIONS_MAX || name.n >= FDINFO_NAME_MAX))
                return;
        if (!r) {
                r = &f->regions[f->n_regions++];
                *r = (struct fdinfo_region){0};
                copy_span(r->name, name);
        }
        if (rank >= r->rank) {
                r->rank = rank;
                r->bytes = bytes;
        }
}

enum engine_key { ENGINE_CAPACITY, ENGINE_NS, ENGINE_TOTAL, ENGINE_CYCLES, ENGINE_MAX_HZ };

static void set_engine(struct fdinfo_engine *e, enum engine_key key, uint64_t v)
{
        switch (key) {
        case ENGINE_CAPACITY:
                e->capacity = (uint32_t)MIN(MAX(v, 1u), 1024u);
                break;
        case ENGINE_NS:
                e->ns = v;
                e->has_ns = true;
                break;
        case ENGINE_TOTAL:
                e->total_cycles = v;
                e->has_total = true;
                break;
        case ENGINE_CYCLES:
                e->cycles = v;
                e->has_cycles = true;
                break;
        case ENGINE_MAX_HZ:
                e->max_hz = v;
                break;
        }
}

/* The longer prefixes come first: "drm-total-cycles-" is not the memory region "cycles-". */
static bool read_engine_key(struct fdinfo *f, struct span key, struct span value)
{
        static const struct {
                const char *prefix;
                enum engine_key key;
        } keys[] = {{"drm-engine-capacity-", ENGINE_CAPACITY},
                    {"drm-engine-", ENGINE_NS},
                    {"drm-total-cycles-", ENGINE_TOTAL},
                    {"drm-cycles-", ENGINE_CYCLES},
                    {"drm-maxfreq-", ENGINE_MAX_HZ}};
        struct span name;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                uint64_t v;
                if (!span_starts(key, keys[i].prefix, &name))
                        continue;
                struct fdinfo_engine *e = read_amount(value, &v) ? engine_of(f, name) : NULL;
                if (e)
                        set_engine(e, keys[i].key, v);
                return true;
        }
        return false;
}

static void read_memory_key(struct fdinfo *f, struct span key, struct span value)
{
        static const struct {
                const char *prefix;
                uint8_t rank;
        } keys[] = {{"drm-resident-", 3}, {"drm-memory-", 2}, {"drm-total-", 1}};
        struct span name;
        uint64_t v;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                if (span_starts(key, keys[i].prefix, &name) && read_amount(value, &v))
                        set_region(f, name, keys[i].rank, v);
        }
}

static void read_line(struct fdinfo *f, struct span key, struct span value)
{
        if (span_is(key, "drm-driver"))
                copy_span(f->driver, value);
        else if (span_is(key, "drm-pdev"))
                copy_span(f->pdev, value);
        else if (span_is(key, "drm-client-id"))
                f->has_client = num_parse_u64(value.s, value.n, &f->client);
        else if (!read_engine_key(f, key, value))
                read_memory_key(f, key, value);
}

static struct span trim_span(const char *s, const char *end)
{
        while (s < end && (*s == ' ' || *s == '\t'))
                s++;
        while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        return (struct span){s, (size_t)(end - s)};
}

bool fdinfo_parse(const char *text, size_t len, struct fdinfo *ret)
{
        struct fdinfo f;
        f.driver[0] = f.pdev[0] = '\0';
        f.has_client = false;
        f.client = 0;
        f.n_engines = f.n_regions = 0;
        for (const char *s = text, *stop = text + len; s < stop;) {
                const char *end = memchr(s, '\n', (size_t)(stop - s));
                end = end ? end : stop;
                const char *colon = memchr(s, ':', (size_t)(end - s));
                if (colon && end - s > 4 && memcmp(s, "drm-", 4) == 0)
                        read_line(&f, (struct span){s, (size_t)(colon - s)},
                                  trim_span(colon + 1, end));
                s = end + 1;
        }
        if (f.driver[0] == '\0')
                return false;
        *ret = f;
        return true;
}

/* amdgpu and xe say vram, i915 says local. */
static bool on_device(const struct fdinfo_region *r)
{
        return strncmp(r->name, "vram", 4) == 0 || strncmp(r->name, "local", 5) == 0;
}

uint64_t fdinfo_device_bytes(const struct fdinfo *f)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < f->n_regions; i++)
                sum += on_device(&f->regions[i]) ? f->regions[i].bytes : 0;
        return sum;
}

uint64_t fdinfo_host_bytes(const struct fdinfo *f)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < f->n_regions; i++)
                sum += on_device(&f->regions[i]) ? 0 : f->regions[i].bytes;
        return sum;
}
