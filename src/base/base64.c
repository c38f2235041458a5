#include "base/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct strbuf *out, const char *data, size_t n)
{
        const unsigned char *d = (const unsigned char *)data;
        for (size_t i = 0; i < n; i += 3) {
                uint32_t bits = (uint32_t)d[i] << 16 | (uint32_t)(i + 1 < n ? d[i + 1] : 0) << 8 |
                                (uint32_t)(i + 2 < n ? d[i + 2] : 0);
                strbuf_putc(out, digits[bits >> 18]);
                strbuf_putc(out, digits[bits >> 12 & 63]);
                strbuf_putc(out, i + 1 < n ? digits[bits >> 6 & 63] : '=');
                strbuf_putc(out, i + 2 < n ? digits[bits & 63] : '=');
        }
}

bool base64_read(const char *s, size_t n, char *ret, size_t size, size_t *ret_n)
{
        uint32_t bits = 0;
        unsigned held = 0;
        size_t out = 0;
        while (n > 0 && s[n - 1] == '=')
                n--;
        for (size_t i = 0; i < n; i++) {
                const char *at = s[i] ? strchr(digits, s[i]) : NULL;
                if (!at)
                        return false;
                bits = bits << 6 | (uint32_t)(at - digits);
                held += 6;
                if (held < 8)
                        continue;
                held -= 8;
                if (out == size)
                        return false;
                ret[out++] = (char)(bits >> held & 255);
        }
        *ret_n = out;
        return n % 4 != 1;
}
