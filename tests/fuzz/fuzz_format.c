/* One capture format, through translate, compute and CSV and JSON output. -DFORMAT=dmon chooses. */
#include "fuzz.h"

#include "compute/compute.h"
#include "entity/registry.h"
#include "formats/format.h"
#include "present/stream/columns.h"
#include "present/stream/json.h"
#include "translate/translate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OPS(name) JOIN(format_, name)
extern const struct format_ops OPS(FORMAT);

#define ROUNDS_MAX 200

static int memory_file(const uint8_t *data, size_t size)
{
        int fd = memfd_create("fuzz", 0);
        if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
                abort();
        return fd;
}

/* Everything the pipeline does with a batch. */
static void present(const struct batch *batch, struct binding *binding, struct registry *registry,
                    struct compute *compute, struct strbuf *out)
{
        static struct row row;
        struct frame frame = {.provenance = "fuzz", .n = 1, .rows = &row};
        translate_bind(binding, batch->schema);
        for (size_t i = 0; i < batch->n; i++) {
                struct entity *e = registry_resolve(registry, &batch->readings[i].who, i);
                if (!e)
                        return;
                row.sample.who = e;
                translate_identity(binding, &batch->readings[i], e);
                translate_reading(binding, &batch->readings[i], &row.sample);
                if (compute_row(compute, 0, NULL, &row) < 0)
                        abort();
                struct csvw csv = {.out = out};
                strbuf_clear(out);
                for (size_t c = 0; column_at(c); c++)
                        column_write(column_at(c), &frame, &row, &csv);
                json_write_row(&frame, &row, out);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct binding binding;
        struct capture c = {0};
        struct registry registry = {0};
        struct compute compute;
        struct strbuf out = {0};
        struct compute_options options = {.weights = {0.35, 0.35, 0.2, 0.1}, .margins = true};
        OPS(FORMAT).probe((const char *)data, size);
        if (lines_init(&c.lines, memory_file(data, size)) < 0)
                abort();
        batcher_init(&c.batcher, OPS(FORMAT).dialect);
        c.wanted = translate_wants;
        compute_init(&compute, &options);
        binding.bound = false;
        if (!OPS(FORMAT).begin || OPS(FORMAT).begin(&c) == 0) {
                for (int i = 0; i < ROUNDS_MAX && OPS(FORMAT).round(&c) > 0; i++) {
                        struct batch batch;
                        batcher_give(&c.batcher, &batch);
                        present(&batch, &binding, &registry, &compute, &out);
                        batcher_clear(&c.batcher);
                }
        }
        if (OPS(FORMAT).end)
                OPS(FORMAT).end(&c);
        lines_finish(&c.lines);
        batcher_finish(&c.batcher);
        registry_finish(&registry);
        compute_finish(&compute);
        strbuf_finish(&out);
        return 0;
}
