/* A notebook monitor's session: a zip when it starts like one, a perf file alone when there is no
 * NUL byte, else files divided by them. */
#include "fuzz.h"

#include "formats/notebook/notebook.h"

#include <stdlib.h>
#include <string.h>

static void walk(struct notebook *nb)
{
        const struct frame *f;
        struct mark *marks = NULL;
        size_t n = 0;
        for (int i = 0; i < 1000 && notebook_next(nb, &f) > 0; i++) {
                for (size_t k = 0; k < f->n; k++) {
                        if (!f->rows[k].sample.who)
                                abort();
                }
        }
        struct run_facts facts = {0};
        if (notebook_facts(nb, &facts, NULL) < 0 || facts.taken > facts.asked)
                abort();
        const struct host *h;
        for (int i = 0; i < 1000 && notebook_next_host(nb, &h) > 0; i++) {
                if (h->n_gpus > HOST_GPUS_MAX || h->n_cores > HOST_CORES_MAX || h->interval_ns < 0)
                        abort();
        }
        notebook_marks(nb, &marks, &n, NULL);
        for (size_t i = 0; i < n; i++) {
                if (strlen(marks[i].name) >= MARK_NAME_MAX)
                        abort();
                mark_finish(&marks[i]);
        }
        free(marks);
}

/* manifest.json NUL perf_system.csv NUL cell_history.csv NUL perf_process.csv */
static void fill(struct bundle *files, const char *s, size_t len)
{
        static const char *const names[] = {"manifest.json", "perf_system.csv", "cell_history.csv",
                                            "perf_process.csv"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *end = memchr(s, '\0', len);
                size_t n = end ? (size_t)(end - s) : len;
                strbuf_put(bundle_add(files, names[i]), s, n);
                s += end ? n + 1 : n;
                len -= end ? n + 1 : n;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct bundle *files = calloc(1, sizeof(*files));
        struct notebook *nb = NULL;
        bool zip = size > 2 && memcmp(data, "PK", 2) == 0;
        bool alone = !zip && size > 0 && !memchr(data, 0, size);
        int r = 0;
        if (zip)
                r = bundle_read_zip(data, size, notebook_wants, files, NULL);
        else if (alone)
                strbuf_put(bundle_add(files, "perf_process.csv"), (const char *)data, size);
        else
                fill(files, (const char *)data, size);
        if (r == 0)
                r = alone ? notebook_parse_alone(files, &nb, NULL)
                          : notebook_parse(files, &nb, NULL);
        if (r == 0)
                walk(nb);
        notebook_close(nb);
        free(files);
        return 0;
}
