/* What `assay diff` takes as words: --gate and --allow. */
#include "fuzz.h"

#include "app/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct run_diff *r = calloc(1, sizeof(*r));
        struct err err = {0};
        char *text = malloc(size + 1);
        if (!text || !r)
                abort();
        memcpy(text, data, size);
        text[size] = '\0';
        if (run_diff_gates(r, text, &err) < 0 && err.msg[0] == '\0')
                abort();
        for (size_t i = 0; i < r->n_gates; i++) {
                if (!(r->gates[i].most >= 0) || isinf(r->gates[i].most))
                        abort();
        }
        err = (struct err){0};
        if (run_diff_allow(r, text, &err) < 0 && err.msg[0] == '\0')
                abort();
        free(text);
        free(r);
        return 0;
}
