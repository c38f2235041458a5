#include "present/stream/columns.h"

#include "base/clock.h"
#include "base/suggest.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct column table[] = {
#define COLUMN(name, set, kind, what, decimals, help)                                              \
        {name, COLUMN_SET_##set, COLUMN_##kind, what, decimals, help},
#include "present/stream/columns.def"
#undef COLUMN
};
_Static_assert(ARRAY_LEN(table) <= COLUMNS_MAX, "COLUMNS_MAX is too small");

const struct column *column_at(size_t i)
{
        return i < ARRAY_LEN(table) ? &table[i] : NULL;
}

static const char *column_name(size_t i, const void *arg UNUSED)
{
        return i < ARRAY_LEN(table) ? table[i].name : NULL;
}

static int choose_set(enum column_set widest, const struct column *ret[COLUMNS_MAX])
{
        int n = 0;
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (table[i].set <= widest)
                        ret[n++] = &table[i];
        }
        return n;
}

/* The default set has an order of its own: what people know first, then what we add. */
static int choose_default(const struct column *ret[COLUMNS_MAX], struct err *err)
{
        return columns_choose("timestamp,gpu_id,model,gpu_util_pct,mem_used_mib,real_util_pct,"
                              "sm_active_pct,tensor_active_pct,dram_active_pct",
                              ret, err);
}

static const struct column *columns_find(const char *s, size_t len)
{
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (strlen(table[i].name) == len && memcmp(table[i].name, s, len) == 0)
                        return &table[i];
        }
        return NULL;
}

static int refuse_column(const char *s, size_t len, struct err *err)
{
        char word[64];
        snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), s);
        err_set(err, ERR_USAGE, "there is no column '%s'", word);
        const char *near = suggest_nearest(word, column_name, NULL);
        if (near)
                return err_hint(err, "did you mean '%s'? 'assay columns' lists them all", near);
        return err_hint(err, "'assay columns' lists them all");
}

bool columns_is_preset(const char *spec)
{
        return strcmp(spec, "default") == 0 || strcmp(spec, "all") == 0 ||
               strcmp(spec, "full") == 0;
}

int columns_choose(const char *spec, const struct column *ret[COLUMNS_MAX], struct err *err)
{
        if (strcmp(spec, "default") == 0)
                return choose_default(ret, err);
        if (strcmp(spec, "all") == 0)
                return choose_set(COLUMN_SET_ALL, ret);
        if (strcmp(spec, "full") == 0)
                return choose_set(COLUMN_SET_FULL, ret);
        int n = 0;
        for (const char *s = spec;;) {
                s += strspn(s, " ");
                size_t len = strcspn(s, ","), word = len;
                while (word > 0 && s[word - 1] == ' ')
                        word--;
                const struct column *c = word > 0 ? columns_find(s, word) : NULL;
                if (word > 0 && !c)
                        return refuse_column(s, word, err);
                if (word > 0 && n == COLUMNS_MAX)
                        return err_set(err, ERR_USAGE, "more than %d columns", COLUMNS_MAX);
                if (c)
                        ret[n++] = c;
                if (s[len] == '\0')
                        break;
                s += len + 1;
        }
        if (n == 0) {
                err_set(err, ERR_USAGE, "no columns in '%s'", spec);
                return err_hint(err,
                                "give default, all, full, or names: 'assay columns' lists them");
        }
        return n;
}

/* Past the words that name the maker or the brand and not the GPU. */
static const char *skip_brand(const char *s)
{
        static const char *const brands[] = {"NVIDIA ", "AMD ", "Intel ", "Instinct ", "Arc "};
        for (size_t i = 0; i < ARRAY_LEN(brands); i++) {
                if (*s == brands[i][0] && strncmp(s, brands[i], strlen(brands[i])) == 0)
                        s += strlen(brands[i]);
                while (*s == ' ')
                        s++;
        }
        return strncmp(s, "Radeon RX", 9) == 0 ? s + 7 : s;
}

size_t model_short_name(const char *model, char *buf, size_t size)
{
        const char *s = *model ? skip_brand(model) : model; /* most captures name none */
        size_t series = strncmp(s, "RTX", 3) == 0 ? 3 : strncmp(s, "RX", 2) == 0 ? 2 : 0;
        if (series > 0) {
                const char *digits = s + series + strspn(s + series, " ");
                size_t n = strspn(digits, "0123456789");
                if (n > 0)
                        return (size_t)snprintf(buf, size, "%.*s%.*s", (int)series, s,
                                                (int)MIN(n, (size_t)8), digits);
        }
        size_t n = *s ? strcspn(s, " -") : 0;
        if (n == 0)
                s = "GPU", n = 3;
        n = MIN(n, size - 1);
        memcpy(buf, s, n);
        buf[n] = '\0';
        return n;
}

const struct column_scale column_scales[COLUMN_KIND_COUNT] = {
    [COLUMN_PERCENT] = {100, 1, 0, 100},           [COLUMN_MIB] = {1, 1048576, -INFINITY, INFINITY},
    [COLUMN_GIGA] = {1, 1e9, -INFINITY, INFINITY}, [COLUMN_MEGA] = {1, 1e6, -INFINITY, INFINITY},
    [COLUMN_RAW] = {1, 1, -INFINITY, INFINITY},
};

void column_write(const struct column *column, const struct frame *frame, const struct row *row,
                  struct csvw *c)
{
        const struct entity *who = row->sample.who;
        char name[32];
        double value;
        switch (column->kind) {
        case COLUMN_TIME:
                csvw_fixed(c, clock_to_seconds(frame->wall_ns), column->decimals);
                return;
        case COLUMN_ID:
                csvw_name(c, who->label);
                return;
        case COLUMN_MODEL:
                model_short_name(who->text[ENTITY_TEXT_MODEL], name, sizeof(name));
                csvw_name(c, name);
                return;
        case COLUMN_STATUS:
                csvw_text(c, workload_status(row->verdict.workload));
                return;
        case COLUMN_HEALTH:
                csvw_text(c, health_name(row->health.state));
                return;
        case COLUMN_LIMITER:
                csvw_text(c, limiter_name((enum limiter)row->limit.limiter));
                return;
        case COLUMN_HELD_BY:
                if (row->limit.held_by != HELD_BY_NOTHING)
                        csvw_text(c, held_by_name((enum held_by)row->limit.held_by));
                else
                        csvw_begin(c);
                return;
        case COLUMN_BASIS:
                csvw_text(c, basis_name((enum basis)row->limit.basis));
                return;
        case COLUMN_CEILING:
                if (row->limit.ceilings.present & CEILING_AT(column->what))
                        csvw_fixed(c, (double)row->limit.ceilings.v[column->what],
                                   column->decimals);
                else
                        csvw_begin(c);
                return;
        case COLUMN_PROVENANCE:
                csvw_name(c, frame->provenance);
                return;
        case COLUMN_TEXT:
                csvw_name(c, who->text[column->what]);
                return;
        case COLUMN_NONE:
        case COLUMN_KIND_COUNT:
                csvw_begin(c);
                return;
        case COLUMN_PERCENT:
        case COLUMN_MIB:
        case COLUMN_GIGA:
        case COLUMN_MEGA:
        case COLUMN_RAW:
                csvw_fixed(c, column_value(column, row, &value) ? value : NAN, column->decimals);
                return;
        }
}
