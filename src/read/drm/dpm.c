#include "read/drm/dpm.h"

#include "base/attr.h"
#include "base/num.h"

#include <string.h>
#include <strings.h>

#define MHZ_MAX 100000 /* above it is not a clock of a GPU */

/* The length of the label before the value, colon and spaces included; 0 when there is none. */
static size_t label_len(const char *s, size_t n)
{
        size_t i = 0;
        while (i < n && i < 3 && s[i] >= '0' && s[i] <= '9')
                i++;
        if (i == 0 && n > 0 && s[0] == 'S')
                i = 1;
        if (i == 0 || i >= n || s[i] != ':')
                return 0;
        for (i++; i < n && s[i] == ' ';)
                i++;
        return i;
}

static bool read_level(const char *s, size_t n, double *ret_mhz, bool *ret_now)
{
        size_t i = label_len(s, n), k = i > 0 ? num_parse(s + i, n - i, ret_mhz) : 0;
        if (k == 0 || n - i - k < 3 || strncasecmp(s + i + k, "mhz", 3) != 0)
                return false;
        *ret_now = memchr(s + i + k, '*', n - i - k) != NULL;
        return *ret_mhz >= 0 && *ret_mhz <= MHZ_MAX;
}

bool dpm_parse(const char *text, size_t len, struct dpm *ret)
{
        struct dpm d = {0};
        for (size_t at = 0; at < len;) {
                const char *end = memchr(text + at, '\n', len - at);
                size_t n = end ? (size_t)(end - text) - at : len - at;
                double mhz;
                bool now;
                if (read_level(text + at, n, &mhz, &now)) {
                        d.max_mhz = d.has_max ? MAX(d.max_mhz, mhz) : mhz;
                        d.has_max = true;
                        if (now) {
                                d.now_mhz = mhz;
                                d.has_now = true;
                        }
                }
                at += n + 1;
        }
        if (!d.has_max)
                return false;
        *ret = d;
        return true;
}
