/* Any text as an exposition that is sent: the block and the request in it can be read back; any
 * bytes through snappy. */
#include "fuzz.h"

#include "formats/remote/remote.h"
#include "remote_decode.h"

static size_t count(const struct strbuf *block)
{
        struct strbuf plain = {0};
        struct decoded one;
        bool bad = false;
        size_t n = 0;
        if (!decode_snappy(block->s, block->len, &plain))
                abort();
        const unsigned char *at = (const unsigned char *)(plain.s ? plain.s : "");
        const unsigned char *end = at + plain.len;
        while (decode_series(&at, end, &one, &bad)) {
                if (!strstr(one.labels, "__name__=") || one.time_ms != 1700000000000)
                        abort();
                n++;
        }
        if (bad)
                abort();
        strbuf_finish(&plain);
        return n;
}

static void read_back(const char *s, size_t n)
{
        struct strbuf block = {0}, plain = {0};
        snappy_put(s, n, &block);
        if (!decode_snappy(block.s, block.len, &plain) || plain.len != n ||
            (n > 0 && memcmp(plain.s, s, n) != 0))
                abort();
        strbuf_finish(&block);
        strbuf_finish(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *s = (const char *)data, *bad;
        struct remote_labels labels = {0}, parsed = {0};
        char text[512] = "";
        read_back(s, size);
        memcpy(text, s, size < sizeof(text) ? size : sizeof(text) - 1);
        remote_labels_parse(&parsed, text, &bad);
        remote_label_set(&labels, "job", "assay");
        struct remote_writer *w = remote_open(&labels);
        struct strbuf out = {0}, again = {0};
        if (w && remote_encode(w, s, size, 1700000000000, &out)) {
                size_t first = remote_series(w);
                if (count(&out) != first)
                        abort();
                strbuf_clear(&out);
                /* Everything ends with an empty text. */
                if (remote_encode(w, "", 0, 1700000000000, &out) && count(&out) != first)
                        abort();
        }
        otlp_encode(&labels, "1", s, size, 1700000000000, &out);
        strbuf_clear(&out);
        remote_relabel(&labels, s, size, &again);
        remote_close(w);
        strbuf_finish(&out);
        strbuf_finish(&again);
        return 0;
}
