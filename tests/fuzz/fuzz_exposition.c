/* Any text through the exposition parser, twice, so that what was learnt is used. */
#include "fuzz.h"

#include "formats/exposition/exposition.h"
#include "formats/exposition/text.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct batch *b)
{
        for (size_t i = 0; i < b->n; i++) {
                const struct entity_key *k = &b->readings[i].who;
                if (k->index < 0 && k->uuid_len == 0)
                        abort();
                for (size_t f = 0; f < b->schema->n; f++) {
                        const struct raw *raw = &b->readings[i].values[f];
                        if (raw->state >= STATE_COUNT)
                                abort();
                        /* Every byte is looked at, so that the sanitizer sees them all. */
                        if (raw->text && memchr(raw->text, '\n', raw->len) && raw->len == 0)
                                abort();
                }
        }
}

static void read_round(struct exposition *x, const char *s, const char *end)
{
        exposition_begin(x);
        while (s < end) {
                const char *nl = memchr(s, '\n', (size_t)(end - s));
                size_t n = nl ? (size_t)(nl - s) : (size_t)(end - s);
                if (exposition_line(x, s, n) == EXPOSITION_REPEATS) {
                        struct batch b;
                        exposition_give(x, &b);
                        check(&b);
                        exposition_begin(x);
                        if (exposition_line(x, s, n) != EXPOSITION_SAMPLE)
                                abort(); /* a series cannot repeat in a round that just began */
                }
                s = nl ? nl + 1 : end;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *s = (const char *)data;
        struct exposition *x;
        struct batch b;
        exposition_probe(s, size);
        if (exposition_open(NULL, &x) < 0)
                return 0;
        for (int i = 0; i < 2; i++) {
                read_round(x, s, s + size);
                exposition_give(x, &b);
                check(&b);
                exposition_set_age(x, STATE_STALE, 1000);
        }
        exposition_close(x);
        return 0;
}
