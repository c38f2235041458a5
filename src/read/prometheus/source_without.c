/* Stands in for source.c where libcurl's headers were missing at build time. */
#include "base/clock.h"
#include "read/prometheus/many.h"

static int open_nothing(const struct source_config *config UNUSED, struct source **ret UNUSED,
                        struct err *err)
{
        err_set(err, ERR_NO_SOURCE, "this assay was built without libcurl, which exporters need");
        return err_hint(err, "build it where libcurl's headers are installed, or save what the "
                             "exporter writes and read the file");
}

static int next_nothing(struct source *source UNUSED, struct batch *ret UNUSED,
                        struct err *err UNUSED)
{
        return 0;
}

static void close_nothing(struct source *source UNUSED)
{
}

#define NOTHING                                                                                    \
        {                                                                                          \
                .name = "prometheus", .help = "exporters; this assay was built without libcurl",   \
                .poll_floor_ns = NS_PER_S, .poll_floor_is_error = true, .open = open_nothing,      \
                .next = next_nothing, .close = close_nothing,                                      \
        }

const struct source_ops source_many = NOTHING;
const struct source_ops source_prometheus = NOTHING;
