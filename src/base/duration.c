#include "base/duration.h"

#include "base/attr.h"
#include "base/num.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

bool duration_parse(const char *s, double *ret_seconds)
{
        static const struct {
                const char *unit;
                double seconds;
        } units[] = {{"", 1},     {"ms", 1e-3}, {"s", 1},     {"m", 60},
                     {"min", 60}, {"h", 3600},  {"d", 86400}, {"w", 604800}};
        double v;
        size_t n = num_parse(s, strlen(s), &v);
        for (size_t i = 0; n > 0 && v >= 0 && i < ARRAY_LEN(units); i++) {
                if (strcmp(s + n, units[i].unit) != 0 || !isfinite(v * units[i].seconds))
                        continue;
                *ret_seconds = v * units[i].seconds;
                return true;
        }
        return false;
}

bool duration_has_unit(const char *s)
{
        size_t len = strlen(s);
        return len > 0 && isalpha((unsigned char)s[len - 1]);
}
