#include "model/throttle.h"

#include "base/attr.h"

static const struct {
        uint64_t bit;
        const char *words;
} table[] = {
#define THROTTLE(id, bit, kind, words) {bit, words},
    THROTTLES(THROTTLE)
#undef THROTTLE
};

void throttle_put(struct strbuf *out, uint64_t bits)
{
        const char *gap = "";
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (!(bits & table[i].bit))
                        continue;
                strbuf_putf(out, "%s%s", gap, table[i].words);
                gap = ", ";
        }
        if (bits == 0)
                strbuf_puts(out, "none");
        else if (*gap == '\0')
                strbuf_putf(out, "0x%llx", (unsigned long long)bits);
}
