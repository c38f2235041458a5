#include "present/stream/parquet_frame.h"

#include "base/attr.h"

#define TEXTS(TEXT)                                                                                \
        TEXT(GPU, "gpu")                                                                           \
        TEXT(UUID, "uuid")                                                                         \
        TEXT(MODEL, "model")                                                                       \
        TEXT(CLASS, "class")                                                                       \
        TEXT(HEALTH, "health")                                                                     \
        TEXT(LIMITER, "limiter")

enum {
        COLUMN_TIME,
#define TEXT(id, name) COLUMN_##id,
        TEXTS(TEXT)
#undef TEXT
            COLUMN_METRICS,
        COLUMNS = COLUMN_METRICS + METRIC_COUNT
};

static const struct parquet_column columns[COLUMNS] = {{"time", PARQUET_TIME, UNIT_NUMBER},
#define TEXT(id, name) {name, PARQUET_TEXT, UNIT_NUMBER},
                                                       TEXTS(TEXT)
#undef TEXT
#define METRIC(id, name, kind, unit, ...) {name, PARQUET_NUMBER, UNIT_##unit},
#include "model/metrics.def"
};

int parquet_begin_frames(struct parquet *p, struct strbuf *out)
{
        return parquet_begin(p, columns, COLUMNS, out);
}

static int put_row(struct parquet *p, const struct frame *f, const struct row *row)
{
        const struct entity *who = row->sample.who;
        char label[FRAME_LABEL_MAX];
        frame_label(f, who, label, sizeof(label));
        parquet_put_time(p, COLUMN_TIME, f->wall_ns);
        parquet_put_text(p, COLUMN_GPU, label);
        parquet_put_text(p, COLUMN_UUID, who->text[ENTITY_TEXT_UUID]);
        parquet_put_text(p, COLUMN_MODEL, who->text[ENTITY_TEXT_MODEL]);
        parquet_put_text(p, COLUMN_CLASS, workload_status(row->verdict.workload));
        parquet_put_text(p, COLUMN_HEALTH, health_name(row->health.state));
        parquet_put_text(p, COLUMN_LIMITER, limiter_name((enum limiter)row->limit.limiter));
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (value_is_set(row->sample.m[m]))
                        parquet_put_number(p, COLUMN_METRICS + m, row->sample.m[m].v);
        }
        return parquet_end_row(p);
}

int parquet_put_frame(struct parquet *p, const struct frame *f)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < f->n; i++)
                r = put_row(p, f, &f->rows[i]);
        return r;
}
