/* What NCCL's service says: the first byte chooses the form. */
#include "fuzz.h"

#include "formats/ras/ras.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct ras_report report = {0};
        struct err err = {0};
        if (size == 0)
                return 0;
        const char *text = (const char *)data + 1;
        int r = data[0] == 'J' ? ras_parse_json(text, size - 1, &report, &err)
                               : ras_parse_text(text, size - 1, &report, &err);
        if (r < 0 && err.msg[0] == '\0')
                abort();
        for (size_t i = 0; i < report.n; i++) {
                const struct ras_rank *k = &report.ranks[i];
                if (k->trouble >= RAS_TROUBLE_COUNT || k->pid < 0 ||
                    memchr(k->text, 27, strlen(k->text)) || memchr(k->host, 27, strlen(k->host)))
                        abort();
                if (value_is_set(k->count) && value_is_set(k->most) && k->trouble == RAS_BEHIND &&
                    k->count.v >= k->most.v)
                        abort();
        }
        ras_report_finish(&report);
        return 0;
}
