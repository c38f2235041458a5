/* Any bytes as a model server's metrics, as /proc/net/tcp and as a command line: bounded, and no
 * figure that is negative or no number. */
#include "fuzz.h"

#include "compute/serving.h"
#include "read/engines/find.h"
#include "read/engines/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(struct value v)
{
        if (value_is_set(v) && !(v.v >= 0))
                abort();
}

static void check_reading(const struct serving_reading *r)
{
        for (size_t i = 0; i < SERVING_COUNT; i++)
                check(r->v[i]);
        for (size_t i = 0; i < SERVING_TIME_COUNT; i++) {
                if (r->times[i].n > SERVING_BUCKETS_MAX)
                        abort();
                for (size_t k = 1; k < r->times[i].n; k++) {
                        if (!(r->times[i].buckets[k].most > r->times[i].buckets[k - 1].most))
                                abort();
                }
        }
        if (strlen(r->model) >= SERVING_TEXT_MAX)
                abort();
}

static void read_metrics(const char *s, size_t n)
{
        struct engine_parser *p;
        static struct serving_reading first, second;
        struct serving out = {0};
        if (engine_parser_open(&p) < 0)
                return;
        engine_parse(p, s, n / 2, &first);
        engine_parse(p, s, n, &second);
        check_reading(&first);
        check_reading(&second);
        first.mono_ns = 1;
        second.mono_ns = 1000000001;
        serving_compute(&first, &second, &out);
        for (size_t i = 0; i < SERVING_COUNT; i++)
                check(out.v[i]);
        engine_parser_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *s = malloc(size + 1);
        enum engine_kind kind;
        const char *path;
        bool loopback;
        if (!s)
                return 0;
        memcpy(s, data, size);
        s[size] = '\0';
        read_metrics(s, size);
        for (size_t at = 0; engines_next_socket(s, size, &at, 8000, &loopback) > 0;)
                ;
        engines_command_port(s, size + 1, &kind, &path);
        free(s);
        return 0;
}
